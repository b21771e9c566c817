import contextlib, io, json, re, sys, traceback

asked = json.load(sys.stdin)
scope = {**asked["inputs"], "result": None, "__name__": "__main__"}
printed, error = io.StringIO(), ""
with contextlib.redirect_stdout(printed):
    try:
        exec(compile(asked["code"], "<code>", "exec"), scope)
    except SystemExit as end:
        if end.code:
            error = f"the code ended itself with {end.code}"
    except BaseException as problem:
        trace = problem.__traceback__.tb_next
        error = "".join(traceback.format_exception(type(problem), problem, trace))
result = scope.get("result")
try:
    result = json.loads(json.dumps(result, default=str, allow_nan=False))
except (TypeError, ValueError, RecursionError) as problem:
    result, error = None, error or f"'result' cannot be passed on as JSON: {problem}"
answer = {"result": result, "stdout": printed.getvalue(), "error": error}


def written(indent=None):
    # Half a character pair can stand in a text here, and nowhere else.
    text = json.dumps(answer, ensure_ascii=False, indent=indent)
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


told = written()
# What is printed is shown as a text in JSON, where a quote is two characters.
if len(json.dumps(told, ensure_ascii=False)) > asked["most"]:
    with open(asked["file"], "w", encoding="utf-8") as file:
        file.write(written(indent=0))
    told = json.dumps({"file": asked["file"]})
print(told)
# Whoever only sees the end of the program knows too.
sys.exit(1 if error else 0)
