# Keeps a Python state between cells. Started with `python -c`, in the working folder.
#
# In, on stdin: a line of JSON {"mark", "code", "files": [{"name", "size"}], "most_files", "most_bytes", "most_text"},
# then the bytes of those files. Out, on stdout: whatever the cell prints, and between it the answer in frames,
#
#     NUL mark LLLL payload
#
# where LLLL is the payload's length in hex. A frame is small enough to be written in one piece, so nothing that others
# print at the same time gets into it. The payloads together are a line of JSON and then the bytes of files; an empty one
# ends the answer. On stderr there is an empty frame alone. The mark is new and random for every cell: what a cell prints
# is not taken for an answer.

import ast
import builtins
import json
import linecache
import os
import resource
import stat
import sys
import traceback
import types

FRAME = 4000  # with its head less than PIPE_BUF
MAX_SEEN = 20000  # files and folders of the working folder that are looked at
AWAITING = 0x80  # inspect.CO_COROUTINE, without its import

OWN = globals()
PID = os.getpid()
FOLDER = os.getcwd()
ORDERS = os.fdopen(os.dup(0), "rb")
STDOUT = os.dup(1)
STDERR = os.dup(2)


def main():
    names = types.ModuleType("__main__")
    names.__builtins__ = builtins
    sys.modules["__main__"] = names
    sys.argv = [""]
    seen = {}
    number = 0
    while True:
        line = ORDERS.readline()
        if not line:
            return
        order = json.loads(line)
        os.chdir(FOLDER)
        take_pipes()
        for file in order["files"]:
            lay(file["name"], file["size"])
            seen[file["name"]] = look(file["name"])
        number += 1
        before = spent()
        ended = run(order["code"], "<cell %d>" % number, vars(names), order["most_text"])
        flush()
        if os.getpid() != PID:
            # A child of the cell came back here.
            os._exit(ended["exit"] & 0xFF)
        after = spent()
        ended["cpu_ms"] = int((after - before) * 1000)
        ended["memory_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        now = present()
        files, left = choose(seen, now, order["most_files"], order["most_bytes"])
        seen = now
        ended["left"] = left
        answer(order["mark"].encode(), ended, files)


# The cell.


def run(code, name, names, most_text):
    # linecache gives tracebacks their lines of source.
    linecache.cache[name] = (len(code), None, code.splitlines(True), name)
    ended = {"exit": 0, "result": None, "result_cut": False}
    try:
        body, last = compiled(code, name)
        for part in body:
            evaluate(part, names)
        value = evaluate(last, names) if last is not None else None
        if value is not None:
            names["_"] = value
            text = plain(repr(value))
            ended["result"] = text[:most_text]
            ended["result_cut"] = len(text) > most_text
    except SystemExit as leaving:
        ended["exit"] = exit_code(leaving.code)
    except BaseException as error:
        ended["exit"] = 1
        complain(error)
    return ended


def compiled(code, name):
    """What is run, and the expression at the end, whose value is shown."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(code, name, "exec", flags | ast.PyCF_ONLY_AST, True)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body.pop().value)
    body = [compile(tree, name, "exec", flags, True)] if tree.body else []
    return body, last and compile(last, name, "eval", flags, True)


def evaluate(code, names):
    value = eval(code, names)
    if not code.co_flags & AWAITING:
        return value
    import asyncio

    if "loop" not in OWN:
        OWN["loop"] = asyncio.new_event_loop()
        asyncio.set_event_loop(OWN["loop"])
    return OWN["loop"].run_until_complete(value)


def exit_code(code):
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        print(code, file=sys.stderr)
    except Exception:
        pass
    return 1


def complain(error):
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_globals is OWN:
        trace = trace.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except BaseException:
        text = type(error).__name__ + ", which cannot be described\n"
    flush()
    try:
        os.write(2, plain(text).encode())
    except OSError:
        pass


def plain(text):
    return text.encode("utf-8", "replace").decode("utf-8")


# The pipes.


def take_pipes():
    """Puts the cell's pipes where they belong, whatever the cell before has done to them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for ours, theirs in ((nothing, 0), (STDOUT, 1), (STDERR, 2)):
        os.dup2(ours, theirs)
    if nothing > 2:
        os.close(nothing)
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        stream = getattr(sys, name)
        try:
            is_fine = stream.fileno() == number and not stream.closed
        except Exception:
            is_fine = False
        if not is_fine:
            stream = open(number, mode, encoding="utf-8", errors="replace", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, stream)


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    try:
        # What was printed from C.
        import ctypes

        ctypes.CDLL(None).fflush(None)
    except Exception:
        pass


def answer(mark, ended, files):
    head = b"\0" + mark
    ended["files"] = [{"name": plain(name), "size": size, "sent": sent} for name, size, sent in files]
    frames(head, json.dumps(ended).encode() + b"\n")
    for name, size, sent in files:
        if sent:
            send(head, name, size)
    put(STDERR, head + b"0000")
    put(STDOUT, head + b"0000")


def send(head, name, size):
    """Exactly as many bytes as were announced, whatever has become of the file."""
    left = size
    try:
        with open(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            while left:
                part = file.read(min(left, FRAME))
                if not part:
                    break
                frames(head, part)
                left -= len(part)
    except OSError:
        pass
    while left:
        part = bytes(min(left, FRAME))
        frames(head, part)
        left -= len(part)


def frames(head, payload):
    for start in range(0, len(payload), FRAME):
        part = payload[start : start + FRAME]
        put(STDOUT, head + b"%04x" % len(part) + part)


def put(pipe, frame):
    while frame:
        frame = frame[os.write(pipe, frame) :]


# The working folder.


def lay(name, size):
    try:
        if os.path.lexists(name):
            os.unlink(name)
        file = open(name, "wb")
    except OSError as error:
        complain(error)
        file = open(os.devnull, "wb")
    with file:
        while size:
            part = ORDERS.read(min(size, 1 << 20))
            if not part:
                sys.exit(1)
            size -= len(part)
            try:
                file.write(part)
                file.flush()
            except OSError as error:
                complain(error)
                file = open(os.devnull, "wb")


def look(name):
    try:
        found = os.lstat(name)
    except OSError:
        return None
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def present():
    """All files of the working folder, by their path from there."""
    os.chdir(FOLDER)
    found = {}
    folders = [""]
    count = 0
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            count += 1
            if count > MAX_SEEN:
                return found
            path = os.path.join(folder, entry.name)
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode) and entry.name != "__pycache__":
                    folders.append(path)
                elif stat.S_ISREG(mode):
                    found[path] = look(path)
            except OSError:
                continue
    return found


def choose(seen, now, most_files, most_bytes):
    new = sorted(name for name, state in now.items() if seen.get(name) != state)
    chosen = []
    for name in new[:most_files]:
        size = now[name][1]
        sent = size <= most_bytes
        if sent:
            most_bytes -= size
        chosen.append((name, size, sent))
    return chosen, len(new) - len(chosen)


def spent():
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


main()
