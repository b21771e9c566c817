import contextlib, io, json, sys, traceback

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
told = json.dumps({"result": result, "stdout": printed.getvalue(), "error": error})
if len(told) > asked["most"]:
    with open(asked["file"], "w") as file:
        json.dump(json.loads(told), file, indent=0)
    told = json.dumps({"file": asked["file"]})
print(told)
