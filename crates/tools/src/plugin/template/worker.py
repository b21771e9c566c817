"""Greets people for as long as it is needed: a JSON-RPC call a line comes in, an answer a line goes out."""

import json
import os
import sys

GREETING = os.environ.get("GREETING", "Hello")


def send(**message) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def greet(call_id: int, arguments: dict) -> str:
    send(method="progress", params={"id": call_id, "fraction": 0.5, "message": "Taking a breath"})
    return f"{GREETING}, {arguments['name']}!"


def main() -> None:
    # What takes long to load is loaded here, once. The loop ends when standard input does: then nobody needs us.
    for line in sys.stdin:
        message = json.loads(line)
        # There is also "cancel". It is read only when the call before it is done, which is soon enough for a greeting.
        if message["method"] != "call":
            continue
        call_id, params = message["id"], message["params"]
        try:
            send(id=call_id, result=greet(call_id, params["arguments"]))
        except Exception as error:
            send(id=call_id, error={"code": 1, "message": str(error)})


if __name__ == "__main__":
    main()
