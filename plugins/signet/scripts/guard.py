"""The hook of Signet: keeps agents from writing private keys and API keys into files.

The subject {tool, arguments, caller} comes as JSON on stdin, the action goes to stdout. If anything is not as
expected it fails, and a hook that fails refuses.
"""

import json
import os
import re
import sys

# What a key looks like. The group named `key`, if there is one, must look random: `sk-xxxxxxxx…` is a placeholder.
KINDS = [
    ("private key", r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[\s\S]{0,20000}?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?"),
    ("AWS access key", r"\b(?:AKIA|ASIA)(?P<key>[0-9A-Z]{16})\b"),
    ("GitHub token", r"\bgh[pousr]_(?P<key>[A-Za-z0-9]{36,255})"),
    ("GitHub token", r"\bgithub_pat_(?P<key>[A-Za-z0-9_]{40,255})"),
    ("GitLab token", r"\bglpat-(?P<key>[A-Za-z0-9_-]{20,255})"),
    ("API key", r"\bsk-(?P<key>[A-Za-z0-9_-]{20,255})"),
    ("Stripe key", r"\b[rs]k_live_(?P<key>[A-Za-z0-9]{16,255})"),
    ("Google API key", r"\bAIza(?P<key>[0-9A-Za-z_-]{35})"),
    ("Slack token", r"\bxox[abeprs]-(?P<key>[A-Za-z0-9-]{10,255})"),
    ("npm token", r"\bnpm_(?P<key>[A-Za-z0-9]{36})"),
]
KINDS = [(name, re.compile(pattern)) for name, pattern in KINDS]
MIN_DISTINCT = 8


def looks_random(match):
    key = match.groupdict().get("key")
    return key is None or (len(set(key)) >= MIN_DISTINCT and any(sign.isdigit() or sign.isupper() for sign in key))


def search(text, found):
    """The text with every key masked; `found` collects what they are."""
    for name, pattern in KINDS:

        def mask(match, name=name):
            if not looks_random(match):
                return match[0]
            found.append(name)
            return f"[{name} removed by signet]"

        text = pattern.sub(mask, text)
    return text


def walk(value, path, found):
    if isinstance(value, str):
        here = []
        masked = search(value, here)
        found.extend((path, name) for name in here)
        return masked
    if isinstance(value, list):
        return [walk(item, f"{path}[{number}]", found) for number, item in enumerate(value)]
    if isinstance(value, dict):
        return {key: walk(item, f"{path}.{key}" if path else key, found) for key, item in value.items()}
    return value


def is_person(caller):
    actor = caller.get("actor") if isinstance(caller, dict) else None
    return actor == "person" or (isinstance(actor, dict) and actor.get("kind") == "person")


def decide(subject, mode):
    if mode == "off" or is_person(subject.get("caller")):
        return {"action": "continue"}
    found = []
    masked = walk(subject["arguments"], "", found)
    if not found:
        return {"action": "continue"}
    if mode == "mask":
        return {"action": "change", "value": masked}
    path, name = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return {
        "action": "refuse",
        "reason": f"'{path}' holds what looks like a {name}{more}; keys do not belong in files, leave it out or write a placeholder",
    }


if __name__ == "__main__":
    json.dump(decide(json.load(sys.stdin), os.environ.get("GUARD", "refuse")), sys.stdout, ensure_ascii=False)
