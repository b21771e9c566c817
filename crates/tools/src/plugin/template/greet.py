"""Greets somebody: arguments as JSON on standard input, the result as JSON on standard output."""

import json
import os
import sys


def main() -> None:
    arguments = json.load(sys.stdin)
    greeting = os.environ.get("GREETING", "Hello")
    json.dump({"success": True, "outputData": f"{greeting}, {arguments['name']}!"}, sys.stdout)


if __name__ == "__main__":
    main()
