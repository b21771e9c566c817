"""How a peer written in Python is timed, and how a row is printed: one line of JSON for each graph."""

import json
import pathlib
import signal
import time

# A warm-up, then rounds until the time is used up. A first round that uses it up by itself is the measurement: what a
# cold start adds is nothing beside it. A row that takes longer than the limit is given up.
WARM_UP_NS = 500_000_000
BUDGET_NS = 10_000_000_000
MOST_ROUNDS = 200
LIMIT_SECONDS = 300

SIZES = json.loads(pathlib.Path(__file__).with_name("graphs.json").read_text())


class OutOfTime(BaseException):
    """Not an Exception, so that no engine takes it for the failure of a node."""


def measure(peer, version, graph, nodes, run, limit=LIMIT_SECONDS):
    """Times `run`, which runs the whole graph once and gives back its result."""
    row = {"peer": peer, "version": version, "graph": graph, "nodes": nodes}
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(limit)
    try:
        times, row["result"] = rounds(run)
        signal.alarm(0)
        row["rounds"] = len(times)
        row["best_ns_per_node"] = round(times[0] / nodes)
        row["median_ns_per_node"] = round(times[len(times) // 2] / nodes)
    except OutOfTime:
        row["error"] = f"not done after {limit} s, so more than {limit * 1_000 / nodes:.3g} ms a node"
    except Exception as error:  # One graph that fails must not cost the others their rows.
        row["error"] = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    print(json.dumps(row), flush=True)


def rounds(run):
    now = time.perf_counter_ns
    cold = now()
    result = run()
    first = now() - cold
    if first > BUDGET_NS:
        return [first], result
    while now() - cold < WARM_UP_NS:
        run()
    times = []
    start = now()
    while len(times) < MOST_ROUNDS and now() - start < BUDGET_NS:
        begin = now()
        result = run()
        times.append(now() - begin)
    return sorted(times), result


def stop(_signal, _frame):
    raise OutOfTime
