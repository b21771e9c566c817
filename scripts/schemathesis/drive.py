"""Starts a server on a home of its own, puts something into it, lets schemathesis ask it, and stops it.

Usage: drive.py PATH-OF-INNKEEPER [further words for `schemathesis run`]
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import seeds

HERE = pathlib.Path(__file__).resolve().parent
# Then it is stopped, and has failed.
MOST_SECONDS = 600
# Nobody listens there.
NOWHERE = "http://127.0.0.1:9"
# Random cases of all operations together.
FUZZED = 320

# Operations that cannot succeed here, and why.
NEVER_SUCCEEDS = {
    "cancelTask": "nobody works for another here",
    "readTask": "nothing is done in the background here",
    "cancelCallTask": "nothing is done in the background here",
    "openSocket": "not asked: it is no HTTP",
    "signIn": "there is one person, and no password",
    "pair": "the one code that fits is not guessed",
}


PLUGIN = """name: seeded
version: "1.0.0"
description: Greets.
tools:
  entry: ./tools
configOptions:
  - key: city
    type: string
    label: City
    description: Where it is.
    defaultValue: Bern
"""
TOOL = {
    "id": "Greet",
    "description": "Greets.",
    "implementation": {"type": "script", "command": "./greet.sh"},
    "parameters": {"type": "object", "properties": {}},
}


class Inn:
    """The server, its home, and one who may do everything."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.home = folder / "home"
        self.home.mkdir()
        shutil.copy(HERE / "model.yaml", self.home)
        (self.home / "innkeeper.toml").write_text('[models]\nrehearsal = "model.yaml"\n')
        plugin = self.home / "plugins" / "seeded"
        (plugin / "tools").mkdir(parents=True)
        (plugin / "plugin.yaml").write_text(PLUGIN)
        (plugin / "tools" / "greet.tool.json").write_text(json.dumps(TOOL))
        (plugin / "greet.sh").write_text('#!/bin/sh\necho "{}"\n')
        (plugin / "greet.sh").chmod(0o755)
        # Before it is served: then nobody has to say that the letter was published.
        for _ in range(2):
            self.run("run", "default-writer", "write a letter")
        self.log = folder / "server.log"
        self.process = None

    def open(self):
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.words("serve", "--port", "0"),
                # Whatever it is asked, it asks nobody outside.
                env={**os.environ, "HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE},
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )
        first = self.process.stdout.readline()
        if not first:
            raise SystemExit(f"The server did not start.\n{self.log.read_text()}")
        self.url = json.loads(first)["url"]
        made = json.loads(self.run("access", "token", "schemathesis", "--scope", "admin"))
        self.token, self.token_id = made["token"], made["id"]

    def words(self, *words):
        return [self.binary, "--home", str(self.home), "--json", *words]

    def run(self, *words):
        return subprocess.run(self.words(*words), check=True, stdout=subprocess.PIPE, text=True).stdout

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode()
        )
        request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
            return json.loads(text) if text else None

    def knock(self, method, path, token):
        request = urllib.request.Request(self.url + path, method=method)
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status
        except urllib.error.HTTPError as refused:
            return refused.code

    def has_command(self, name):
        try:
            # It takes nothing like that; whether there is such a command is said first.
            self.ask("POST", f"/api/v1/host/{name}", {"dto": []})
        except urllib.error.HTTPError as refused:
            return refused.code != 404
        return True

    def until(self, look, is_there):
        deadline = time.monotonic() + 60
        while True:
            seen = look()
            if is_there(seen):
                return seen
            if time.monotonic() > deadline:
                raise SystemExit(f"It did not happen within a minute: {seen}")
            time.sleep(0.05)

    def stop(self):
        if self.process is None:
            return None
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "none: it had to be killed"


def configuration(seeded):
    """What stands in schemathesis.toml, and what was put in."""
    lines = [(HERE / "schemathesis.toml").read_text(encoding="utf-8"), "[parameters]"]
    known = seeded["parameters"]
    for number, place in enumerate(known):
        lines.append(f'"{place}" = {{ dictionary = "known-{number}", probability = 0.6 }}')
    # No model of somebody else is asked, whatever channels there are.
    lines.append('"body.model" = { dictionary = "models" }')
    lines += ["[dictionaries.models]", 'values = ["rehearsal"]']
    for number, values in enumerate(known.values()):
        lines += [f"[dictionaries.known-{number}]", f"values = {json.dumps(values)}"]
    return "\n".join(lines) + "\n"


def check_doors(inn, described):
    """Nobody comes in without a token, or with a wrong one; too many wrong ones are told to wait."""
    wrong = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            if not operation.get("security"):
                continue
            place = re.sub(r"{[^}]*}", "x", path)
            for token, right in ((None, {401}), ("ink_nobody_nothing", {401, 429})):
                status = inn.knock(method.upper(), place, token)
                if status not in right:
                    wrong.append(f"{method.upper()} {path} with the token {token}: {status}")
    return wrong


def count(described):
    return sum(len(methods) for methods in described["paths"].values())


def check_tally(described, tally):
    """Whether every operation was asked, and could be used at least once."""
    wrong = []
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            name = operation.get("operationId")
            seen = tally.get(name, {})
            succeeded = any(status.startswith("2") for status in seen)
            told = f"{method.upper()} {path} ({name}): {seen or 'not asked'}"
            if name in NEVER_SUCCEEDS:
                continue
            if not succeeded:
                wrong.append(f"never succeeded: {told}")
    return wrong


def main():
    # Of whoever calls this; the server is here.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"
    binary, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="innkeeper-schemathesis-") as folder:
        folder = pathlib.Path(folder)
        began = time.monotonic()
        inn = Inn(binary, folder)
        try:
            inn.open()
            described = inn.ask("GET", "/api/v1/openapi.json")
            seeded = seeds.plant(inn, described)
            config = folder / "schemathesis.toml"
            config.write_text(configuration(seeded), encoding="utf-8")
            tally = folder / "tally.json"
            told = {
                "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"),
                "INNKEEPER_URL": inn.url,
                "INNKEEPER_TOKEN": inn.token,
                "INNKEEPER_SEEDED": json.dumps(seeded),
                "INNKEEPER_TALLY": str(tally),
            }
            asked = subprocess.run(
                [
                    str(pathlib.Path(sys.executable).with_name("schemathesis")),
                    "--config-file", str(config),
                    "run", f"{inn.url}/api/v1/openapi.json",
                    "--max-examples", str(max(3, FUZZED // count(described))),
                    *words,
                ],
                cwd=folder, env={**os.environ, **told}, timeout=MOST_SECONDS,
            )
            counted = json.loads(tally.read_text(encoding="utf-8")) if tally.exists() else {}
            # Whoever says which ones to ask wants no others.
            wrong = [] if words else check_doors(inn, described) + check_tally(described, counted)
            lived = inn.process.poll() is None
        finally:
            code = inn.stop()
        if not lived or code != 0:
            wrong.append(f"the server ended with {code}")
        cases = sum(sum(seen.values()) for seen in counted.values())
        print(f"{cases} cases, {len(counted)} operations, {time.monotonic() - began:.0f} s")
        for line in wrong:
            print(line)
        if asked.returncode or wrong:
            print("\n== The server's log\n" + "".join(inn.log.read_text().splitlines(True)[-100:]))
            raise SystemExit(1)


main()
