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

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# Then it is stopped, and has failed.
MOST_SECONDS = 600
# Random cases of all operations together.
FUZZED = 240

# Operations that cannot succeed here, and why.
NEVER_SUCCEEDS = {
    "cancelTask": "nobody works for another here",
    "openSocket": "not asked: it is no HTTP",
    "signIn": "there is one person, and no password",
    "pair": "the one code that fits is not guessed",
}


class Inn:
    """The server, its home, and one who may do everything."""

    def __init__(self, binary, folder):
        self.binary = binary
        self.home = folder / "home"
        self.home.mkdir()
        shutil.copy(HERE / "model.yaml", self.home)
        (self.home / "innkeeper.toml").write_text('[models]\nrehearsal = "model.yaml"\n')
        # Before it is served: then nobody has to say that the letter was published.
        for _ in range(2):
            self.run("run", "default-writer", "write a letter")
        self.log = folder / "server.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self.words("serve", "--port", "0"),
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
            return json.load(answer)

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
        self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return "none: it had to be killed"


def seed(inn):
    """Something to find for everybody who reads: by the name of the parameter that names it, and as examples of operations."""
    letters = [run["runId"] for run in inn.ask("GET", "/api/v1/runs")["runs"]]
    waiting, failed = (
        inn.ask("POST", "/api/v1/runs", {"message": message, "profileId": "innkeeper"})["runId"]
        for message in ("ask for leave", "fail at once")
    )
    approvals = inn.until(
        lambda: inn.ask("GET", f"/api/v1/runs/{waiting}/approvals")["approvals"], lambda found: found
    )
    inn.until(lambda: inn.ask("GET", f"/api/v1/runs/{failed}"), lambda run: run["status"] == "failed")
    checkpoints = inn.ask("GET", f"/api/v1/runs/{letters[0]}/checkpoints")["checkpoints"]
    commands = (ROOT / "docs/host-api.md").read_text(encoding="utf-8")
    commands = sorted(set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", commands)))
    commands = [command for command in commands if inn.has_command(command)]
    codes = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    codes = re.findall(r"^### ([a-z._]+)$", codes, re.MULTILINE)[:20]
    letter = {"runId": letters[0]}
    dtos = ({}, letter, {**letter, "path": "output/main.md", "text": "Go on."})
    return {
        "tokenId": inn.token_id,
        "parameters": {
            "runId": [*letters, failed, waiting],
            "callId": [approvals[0]["callId"]],
            "checkpointId": ["start", *(checkpoint["id"] for checkpoint in checkpoints)],
            "command": commands,
            "code": codes,
            "path": ["output/main.md"],
        },
        "examples": {
            "startRun": [({}, {"message": "Good evening"})],
            "submitGuidance": [({"runId": waiting}, {"text": "Be brief."})],
            "makeCheckpoint": [({"runId": waiting}, {"note": "before dinner"})],
            "resumeRun": [({"runId": failed}, {})],
            "deleteRun": [(letter, None)],
            "cancelRun": [(letter, None)],
            "approveToolCall": [({"runId": waiting, "callId": approvals[0]["callId"]}, {"approved": True})],
            "readWorkspaceFile": [({**letter, "path": "output/main.md"}, None)],
            "readCheckpoint": [({**letter, "checkpointId": checkpoints[0]["id"]}, None)],
            "planRollback": [({**letter, "checkpointId": checkpoints[0]["id"]}, None)],
            "revokeToken": [({"id": inn.token_id}, None)],
            "explainError": [({"code": codes[0]}, None)],
            "invokeHostCommand": [({"command": command}, {"dto": dto}) for command in commands for dto in dtos],
        },
    }


def configuration(seeded):
    """What stands in schemathesis.toml, and what was put in."""
    lines = [(HERE / "schemathesis.toml").read_text(encoding="utf-8"), "[parameters]"]
    known = seeded["parameters"]
    places = ("path.{}", "query.{}", "body.{}")
    for name in known:
        for place in places:
            place = place.format(name)
            lines.append(f'"{place}" = {{ dictionary = "{name}", probability = 0.6 }}')
    for name, values in known.items():
        lines += [f"[dictionaries.{name}]", f"values = {json.dumps(values)}"]
    return "\n".join(lines) + "\n"


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
    binary, *words = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="innkeeper-schemathesis-") as folder:
        folder = pathlib.Path(folder)
        began = time.monotonic()
        inn = Inn(binary, folder)
        try:
            seeded = seed(inn)
            config = folder / "schemathesis.toml"
            config.write_text(configuration(seeded), encoding="utf-8")
            tally = folder / "tally.json"
            described = inn.ask("GET", "/api/v1/openapi.json")
            told = {
                "SCHEMATHESIS_HOOKS": str(HERE / "hooks.py"),
                "INNKEEPER_URL": inn.url,
                "INNKEEPER_TOKEN": inn.token,
                "INNKEEPER_SEEDED": json.dumps(seeded),
                "INNKEEPER_TALLY": str(tally),
                "NO_PROXY": "127.0.0.1",
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
            counted = json.loads(tally.read_text(encoding="utf-8"))
            wrong = check_tally(described, counted)
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
