"""What is put into the house before it is asked: something to find for everybody who reads, by subject.

A subject that the description does not have is left out.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Seeds:
    def __init__(self, token_id):
        # Parameters, as schemathesis names them (`path.runId`), and values that lead somewhere.
        self.parameters = {}
        # Operations, and what to ask them: (parameters, body).
        self.examples = {}
        # What must still be there for others, by its kind.
        self.kept = {"token": [token_id]}


def plant(inn, described):
    seeds = Seeds(inn.token_id)
    operations = {
        operation["operationId"] for methods in described["paths"].values() for operation in methods.values()
    }
    for needed, subject in SUBJECTS:
        if needed in operations:
            subject(inn, seeds)
    return vars(seeds)


def access(inn, seeds):
    seeds.examples["revokeToken"] = [({"id": inn.token_id}, None)]


def errors(_inn, seeds):
    codes = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    codes = re.findall(r"^### ([a-z._]+)$", codes, re.MULTILINE)
    seeds.parameters["path.code"] = codes[:20]
    seeds.examples["explainError"] = [({"code": codes[0]}, None)]


def runs(inn, seeds):
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
    checkpoints = [checkpoint["id"] for checkpoint in checkpoints]
    call = approvals[0]["callId"]
    letter, asked = {"runId": letters[0]}, {"runId": waiting}
    seeds.kept["run"] = [*letters, failed, waiting]
    seeds.kept["call"] = [call]
    seeds.parameters |= {
        "path.runId": seeds.kept["run"],
        "path.callId": [call],
        "path.checkpointId": checkpoints,
        "query.checkpointId": ["start", *checkpoints],
        "body.checkpointId": ["start", *checkpoints],
        "query.path": ["output/main.md"],
    }
    seeds.examples |= {
        "startRun": [({}, {"message": "Good evening"})],
        "submitGuidance": [(asked, {"text": "Be brief."})],
        "makeCheckpoint": [(asked, {"note": "before dinner"})],
        "approveToolCall": [({**asked, "callId": call}, {"approved": True})],
        "resumeRun": [({"runId": failed}, {})],
        "deleteRun": [(letter, None)],
        "cancelRun": [(letter, None)],
        "readWorkspaceFile": [({**letter, "path": "output/main.md"}, None)],
        "readCheckpoint": [({**letter, "checkpointId": checkpoints[0]}, None)],
        "planRollback": [({**letter, "checkpointId": checkpoints[0]}, None)],
    }


def host(inn, seeds):
    commands = (ROOT / "docs/host-api.md").read_text(encoding="utf-8")
    commands = sorted(set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", commands)))
    commands = [command for command in commands if inn.has_command(command)]
    letter = {"runId": seeds.kept["run"][0]}
    dtos = ({}, letter, {**letter, "path": "output/main.md", "text": "Go on."})
    seeds.parameters["path.command"] = commands
    seeds.examples["invokeHostCommand"] = [
        ({"command": command}, {"dto": dto}) for command in commands for dto in dtos
    ]


def chats(inn, seeds):
    said = [{"name": "Guest", "is_user": True, "mes": f"Line {number}."} for number in range(3)]
    kept, changed = (inn.ask("POST", "/api/v1/chats", {"messages": said})["chatId"] for _ in range(2))
    seeds.kept["chat"] = [kept]
    seeds.parameters |= {"path.chatId": [kept], "path.index": [0, 1]}
    chat = {"chatId": changed}
    seeds.examples |= {
        "appendMessage": [(chat, {"text": "And another."})],
        "replaceMessage": [({**chat, "index": 1}, {"message": said[0]})],
        "deleteMessage": [({**chat, "index": 0}, None)],
        "deleteChat": [({"chatId": kept}, None)],
    }


def workflows(inn, seeds):
    ended = inn.ask(
        "POST",
        "/api/v1/executions",
        {"workflow": "agent-loop", "inputs": {"user_query": "hello"}, "waitMs": 20_000},
    )["executionId"]
    text = '{"name": "Nothing", "nodes": [], "edges": []}'
    seeds.kept["workflow"] = ["agent-loop"]
    seeds.parameters |= {
        "path.workflowId": ["agent-loop"],
        "body.workflow": ["agent-loop"],
        "path.executionId": [ended],
    }
    execution = {"executionId": ended}
    seeds.examples |= {
        "startExecution": [({}, {"workflow": "agent-loop", "inputs": {"user_query": "hello"}})],
        "cancelExecution": [(execution, None)],
        "putWorkflow": [({"workflowId": "seeded"}, {"text": text})],
        "deleteWorkflow": [({"workflowId": "seeded"}, None)],
    }


def tools(inn, seeds):
    found = [tool["id"] for tool in inn.ask("GET", "/api/v1/tools")["tools"]]
    seeds.parameters |= {"path.toolId": found[:10], "body.tool": ["dice.roll"]}
    seeds.examples |= {
        "readTool": [({"toolId": found[0]}, None)],
        "callTools": [({}, {"tool": "dice.roll", "arguments": {"formula": "2d6"}})],
    }


def nodes(inn, seeds):
    found = [node["type"] for node in inn.ask("GET", "/api/v1/nodes")["nodes"]]
    seeds.parameters["path.type"] = found[:10]
    seeds.examples["readNode"] = [({"type": found[0]}, None)]


def models(inn, seeds):
    # A door of this machine behind which nobody is.
    shed = {"provider": "custom", "name": "shed", "baseUrl": "http://127.0.0.1:9/v1", "key": "no-real-key"}
    inn.ask("POST", "/api/v1/models/channels", shed)
    seeds.kept["channel"] = ["shed"]
    seeds.parameters["path.channel"] = ["shed"]
    seeds.examples |= {
        "addChannel": [({}, {**shed, "name": "barn"})],
        "readChannel": [({"channel": "shed"}, None)],
        "removeChannel": [({"channel": "shed"}, None)],
        "setChannelKey": [({"channel": "shed"}, {"key": "another-key"})],
        "testModel": [({}, {"model": "rehearsal"})],
    }


def files(inn, seeds):
    for name in ("kept", "copied", "moved"):
        inn.ask("PUT", f"/api/v1/files/content?uri=user%3A%2F%2Fseeded%2F{name}", {})
    kept = "user://seeded/kept"
    seeds.parameters["query.uri"] = [kept, "user://seeded", "user://seeded/new"]
    seeds.examples |= {
        "readFile": [({"uri": kept}, None)],
        "writeFile": [({"uri": kept}, None)],
        "makeFolder": [({}, {"uri": "user://seeded/folder"})],
        "copyFile": [({}, {"from": "user://seeded/copied", "to": "user://seeded/copy"})],
        "moveFile": [({}, {"from": "user://seeded/moved", "to": "user://seeded/there"})],
    }


def plugins(inn, seeds):
    asked = inn.ask("GET", "/api/v1/plugins/seeded")["permissions"]
    seeded = {"plugin": "seeded"}
    seeds.parameters |= {"path.plugin": ["seeded"], "path.key": ["city"]}
    seeds.examples |= {
        "readPlugin": [(seeded, None)],
        "enablePlugin": [(seeded, {"permissions": asked})],
        "disablePlugin": [(seeded, None)],
        "readPluginSettings": [(seeded, None)],
        "setPluginSetting": [({**seeded, "key": "city"}, {"value": "Lucerne"})],
        "unsetPluginSetting": [({**seeded, "key": "city"}, None)],
    }


def profiles(inn, seeds):
    writer = inn.ask("GET", "/api/v1/profiles/default-writer")
    writer.pop("id")
    seeds.parameters["path.profileId"] = ["default-writer", "seeded"]
    seeds.examples |= {
        "saveProfile": [({"profileId": "seeded"}, writer)],
        "deleteProfile": [({"profileId": "seeded"}, None)],
    }


# With the operation that tells whether the server has it.
SUBJECTS = [
    ("listTokens", access),
    ("explainError", errors),
    ("startRun", runs),
    ("invokeHostCommand", host),
    ("createChat", chats),
    ("startExecution", workflows),
    ("listTools", tools),
    ("listNodes", nodes),
    ("addChannel", models),
    ("writeFile", files),
    ("listPlugins", plugins),
    ("saveProfile", profiles),
]
