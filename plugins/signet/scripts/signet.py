"""Signs and verifies with HMAC-SHA256. Standard library only.

Arguments come as a JSON object on stdin, the key in SIGNING_KEY; the answer is the envelope on stdout.
"""

import base64
import hashlib
import hmac
import json
import os
import sys

MIN_KEY = 16


class Failure(Exception):
    def __init__(self, kind, message):
        super().__init__(message)
        self.kind = kind


def content(arguments):
    text, file = arguments.get("text"), arguments.get("file")
    if (text is None) == (file is None):
        raise Failure("ParameterValidationError", "give either 'text' or 'file'")
    if text is not None:
        return text.encode("utf-8")
    if "base64" in file:
        return base64.b64decode(file["base64"])
    return file["text"].encode("utf-8")


def signature(arguments):
    key = os.environ.get("SIGNING_KEY", "").strip().encode("utf-8")
    if len(key) < MIN_KEY:
        raise Failure(
            "DependencyError",
            f"the signing key is missing or shorter than {MIN_KEY} characters; set it with `innkeeper plugin config signet set signing_key`",
        )
    purpose = (arguments.get("purpose") or "").encode("utf-8")
    # With its length before it, the end of a purpose cannot pass for the beginning of a text.
    message = b"signet v1\0" + len(purpose).to_bytes(8, "big") + purpose + content(arguments)
    return "v1:" + hmac.new(key, message, hashlib.sha256).hexdigest()


def sign(arguments):
    return {"signature": signature(arguments), "bytes": len(content(arguments))}


def verify(arguments):
    given = arguments.get("signature", "").strip().lower().encode("utf-8")
    return {"valid": hmac.compare_digest(given, signature(arguments).encode("utf-8"))}


def main():
    try:
        arguments = json.load(sys.stdin)
        if not isinstance(arguments, dict):
            raise Failure("ParameterValidationError", "expected a JSON object on stdin")
        answer = {"success": True, "outputData": {"sign": sign, "verify": verify}[sys.argv[1]](arguments)}
    except Failure as failure:
        answer = {"success": False, "error": {"type": failure.kind, "message": str(failure)}}
    except (ValueError, KeyError, IndexError) as error:
        answer = {"success": False, "error": {"type": "ScriptError", "message": f"{type(error).__name__}: {error}"}}
    json.dump(answer, sys.stdout, ensure_ascii=False)
    return 0 if answer["success"] else 1


if __name__ == "__main__":
    sys.exit(main())
