"""Runs one attempt: `attempt.py <file> <function> <scene as JSON>`.

An attempt that gets through simply returns; one that is stopped raises. The last line printed is
`ESCAPED: …`, `blocked: <reasons>` or `skipped: <reason>`. What has been granted and what must stay out of reach is in the scene.
"""

import ctypes
import errno
import importlib
import json
import os
import platform
import socket
import sys
import types

LIBC = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
INTEL = platform.machine() == "x86_64"


class Blocked(Exception):
    """It was stopped, for this reason."""


class Skipped(Exception):
    """It cannot be tried here."""


class Escaped(Exception):
    """It got through, here."""


def code(error):
    """`EPERM`, or the name that the resolver gives its own errors."""
    if isinstance(error, socket.gaierror):
        for name in dir(socket):
            if name.startswith("EAI_") and getattr(socket, name) == error.errno:
                return name
    if isinstance(error, socket.timeout):
        return "timeout"
    return errno.errorcode.get(error.errno, str(error.errno))


def every(tries):
    """All of `(label, function)` must be stopped; tells all the reasons, or the first that got through."""
    reasons = set()
    for label, attempt in tries:
        try:
            attempt()
        except Blocked as blocked:
            reasons.update(str(blocked).split(", "))
        except OSError as error:
            reasons.add(code(error))
        else:
            raise Escaped(label)
    raise Blocked(", ".join(sorted(reasons)))


def syscall(name, *arguments):
    """By number, past the C library. Raises what the kernel says."""
    import numbers_of_calls

    return raw(numbers_of_calls.number(name), *arguments)


def raw(number, *arguments):
    if number is None:
        raise Blocked("ENOSYS")
    ctypes.set_errno(0)
    LIBC.syscall.restype = ctypes.c_long
    result = LIBC.syscall(ctypes.c_long(number), *[as_word(a) for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def as_word(value):
    if isinstance(value, int):
        return ctypes.c_ulong(value & (2**64 - 1))
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, bytes):
        return ctypes.c_char_p(value)
    return value


def in_child(function):
    """Runs it in a child of its own, so that a deadly answer is an answer, too."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            function()
            told = "through"
        except Blocked as blocked:
            told = str(blocked)
        except OSError as error:
            told = code(error)
        os.write(writer, told.encode())
        os._exit(0)
    os.close(writer)
    told = b""
    while piece := os.read(reader, 4096):
        told += piece
    os.close(reader)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        import signal

        raise Blocked(signal.Signals(os.WTERMSIG(status)).name)
    if told != b"through":
        raise Blocked(told.decode())


def main():
    file, function, scene = sys.argv[1:4]
    scene = types.SimpleNamespace(**json.loads(scene))
    attempt = getattr(importlib.import_module(file), function)
    try:
        told = attempt(scene)
        line = "ESCAPED: " + (told or "nothing stopped it")
    except Blocked as blocked:
        line = "blocked: %s" % blocked
    except Escaped as escaped:
        line = "ESCAPED: %s" % escaped
    except Skipped as skipped:
        line = "skipped: %s" % skipped
    except MemoryError:
        line = "blocked: MemoryError"
    except OSError as error:
        line = "blocked: " + code(error)
    sys.stdout.write("\n%s\n" % line)
    sys.stdout.flush()
    # At once: threads that were left must not hold it up, nor anything be printed after that line.
    os._exit(0)


if __name__ == "__main__":
    # The other files import this one by its name: it must be the same module, or its exceptions differ.
    sys.modules["attempt"] = sys.modules["__main__"]
    main()
