"""What schemathesis must know of this server: who asks, what must stay, and how a refusal looks.

Loaded by schemathesis (SCHEMATHESIS_HOOKS); drive.py says in the environment where the server is.
"""

import atexit
import collections
import json
import os
import time

import requests
import schemathesis

URL = os.environ["INNKEEPER_URL"]
TOKEN = os.environ["INNKEEPER_TOKEN"]
# What was put in before: seeds.py.
SEEDED = json.loads(os.environ["INNKEEPER_SEEDED"])
TALLY = os.environ["INNKEEPER_TALLY"]

# What can be refused, whatever is asked. More than that is a mistake of the server, or of its description.
REFUSALS = {400, 401, 403, 404, 405, 409, 413, 415, 429}


def ask(method, path, body=None):
    answer = requests.request(
        method, URL + path, json=body, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20
    )
    answer.raise_for_status()
    return answer.json()


def another_token():
    return ask("POST", "/api/v1/access/tokens", {"name": "spare", "scope": "admin"})


def another_run(message="write something"):
    return ask("POST", "/api/v1/runs", {"message": message, "profileId": "innkeeper"})["runId"]


def another_channel():
    name = f"spare-{time.monotonic_ns()}"
    ask("POST", "/api/v1/models/channels", {"provider": "custom", "name": name, "baseUrl": "http://127.0.0.1:9/v1"})
    return name


def another_profile():
    profile = ask("GET", "/api/v1/profiles/default-writer")
    profile["id"] = f"spare-{time.monotonic_ns()}"
    saved = requests.put(
        f"{URL}/api/v1/profiles/{profile['id']}", json=profile, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20
    )
    saved.raise_for_status()
    return profile["id"]


def another_question():
    """A run that waits for a person, and the call that it asks for."""
    run = another_run("ask for leave")
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        waiting = ask("GET", f"/api/v1/runs/{run}/approvals")["approvals"]
        if waiting:
            return run, waiting[0]["callId"]
        time.sleep(0.02)
    raise RuntimeError(f"{run} asks nobody")


@schemathesis.auth(refresh_interval=None)
class Shown:
    def get(self, case, _context):
        # Whoever goes out does not come in again with the same token.
        if operation(case) == "signOut":
            return another_token()["token"]
        return TOKEN

    def set(self, case, token, _context):
        case.headers = case.headers or {}
        case.headers["Authorization"] = f"Bearer {token}"


def operation(case):
    return case.operation.definition.raw.get("operationId")


def kept(kind):
    return SEEDED["kept"].get(kind, [])


@schemathesis.hook
def before_call(_context, case, **_):
    """Whoever takes away what others still want to find gets something else of the same kind."""
    path = case.path_parameters or {}
    name = operation(case)
    if name == "revokeToken" and path.get("id") in kept("token"):
        path["id"] = another_token()["id"]
    if name in ("deleteRun", "cancelRun") and path.get("runId") in kept("run"):
        path["runId"] = another_run()
    if name == "deleteChat" and path.get("chatId") in kept("chat"):
        path["chatId"] = ask("POST", "/api/v1/chats", {})["chatId"]
    if name == "removeChannel" and path.get("channel") in kept("channel"):
        path["channel"] = another_channel()
    if name == "deleteProfile" and path.get("profileId") == "seeded":
        path["profileId"] = another_profile()
    if name == "approveToolCall" and path.get("callId") in kept("call"):
        path["runId"], path["callId"] = another_question()
        # What is always allowed is never asked again.
        if isinstance(case.body, dict) and case.body.get("remember") == "always":
            case.body["remember"] = "run"


@schemathesis.hook
def before_load_schema(_context, description):
    """Examples of what only somebody who knows the house can ask for, as if they stood in the description."""
    for methods in description["paths"].values():
        for described in methods.values():
            for number, (path, body) in enumerate(SEEDED["examples"].get(described.get("operationId"), [])):
                for parameter in described.get("parameters", []):
                    if parameter["name"] in path:
                        told = {"value": path[parameter["name"]]}
                        parameter.setdefault("examples", {})[f"seeded-{number}"] = told
                if body is not None:
                    kind = described["requestBody"]["content"]["application/json"]
                    kind.setdefault("examples", {})[f"seeded-{number}"] = {"value": body}


@schemathesis.check
def a_refusal_is_a_problem(_context, response, case):
    """One of the statuses that there are, and a problem document that says the same and links to its page."""
    status = response.status_code
    if status < 400:
        return
    assert status in REFUSALS, f"{status} is no refusal that the server knows"
    kind = response.headers.get("content-type", [""])[0]
    assert kind == "application/problem+json", f"refused in the form of {kind!r}"
    if case.method == "HEAD":
        return
    problem = response.json()
    assert problem["status"] == status, f"{problem['status']} in a problem of status {status}"
    assert problem["type"] == f"/docs/errors/{problem['code']}", problem["type"]
    assert has_page(problem["type"]), f"{problem['type']} explains nothing"
    assert problem["detail"].strip(), "nothing is said"


@schemathesis.check
def an_answer_is_closed_to_others(_context, response, _case):
    """What every answer says to browsers."""
    for name, value in (
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("cache-control", "no-store"),
    ):
        assert response.headers.get(name) == [value], f"{name}: {response.headers.get(name)}"
    assert response.headers.get("x-request-id"), "the request has no name"
    assert response.headers.get("content-security-policy"), "no content security policy"


PAGES = {}


def has_page(address):
    if address not in PAGES:
        PAGES[address] = requests.get(URL + address, timeout=20).status_code == 200
    return PAGES[address]


STATUSES = collections.defaultdict(collections.Counter)


@schemathesis.hook
def after_call(_context, case, response):
    told = str(response.status_code)
    if response.headers.get("content-type") == ["application/problem+json"] and case.method != "HEAD":
        told += " " + response.json()["code"]
    STATUSES[operation(case)][told] += 1


@atexit.register
def tell():
    with open(TALLY, "w", encoding="utf-8") as file:
        json.dump(STATUSES, file)
