"""Puts the rows of all engines side by side: python table.py ROWS [--ours OURS]

Both files hold a line of JSON for each row:
  {"peer", "version", "graph", "nodes", "rounds", "best_ns_per_node", "median_ns_per_node", "result"}
or {"peer", "error"} for a peer and {"peer", "graph", "error"} for a graph that could not be measured. A row whose
result is wrong did not do the work, and is not counted.
"""

import argparse
import json
import pathlib

from rounds import SIZES

NO_LOOP = dict.fromkeys(["ComfyUI", "ComfyUI --cache-none"], "it brings no nodes for a loop")


def corner(side, modulus):
    line = [1] + [0] * (side - 1)
    for _ in range(side):
        left = 0
        for column, above in enumerate(line):
            left = line[column] = (left + above) % modulus
    return left


GRAPHS = {
    "chain": (f"A chain of {SIZES['chain']:,} nodes", "node", SIZES["chain"]),
    "fan": (f"A fan of {SIZES['fan']:,} nodes", "node", 2 * SIZES["fan"]),
    "grid": (
        f"A grid of {SIZES['grid'] ** 2:,} nodes",
        "node",
        corner(SIZES["grid"], SIZES["modulus"]),
    ),
    "loop": (f"A loop of {SIZES['loop']:,} turns", "turn", SIZES["loop"]),
}


def read(path):
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def time(nanoseconds):
    if nanoseconds < 1_000:
        return f"{nanoseconds:.0f} ns"
    if nanoseconds < 1_000_000:
        return f"{nanoseconds / 1_000:.3g} µs"
    return f"{nanoseconds / 1_000_000:.3g} ms"


def times(ratio):
    return f"{ratio:.1f}×" if ratio < 10 else f"{ratio:,.0f}×"


def line(row, expected, ours):
    name = f"{row['peer']} {row.get('version', '')}".strip()
    if "error" in row:
        return f"  {name:<46} not measured: {row['error']}"
    if row["result"] != expected:
        return f"  {name:<46} not counted: the result is {row['result']} instead of {expected}"
    best, median = row["best_ns_per_node"], row["median_ns_per_node"]
    ratio = times(best / ours) if ours else "–"
    rounds = f"{row['rounds']} round{'s' if row['rounds'] != 1 else ''}"
    return f"  {name:<46} {time(best):>9} {time(median):>9} {ratio:>9}   {rounds}"


def main():
    parser = argparse.ArgumentParser(description="Puts the rows of all engines side by side.")
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--ours", type=pathlib.Path)
    options = parser.parse_args()
    ours, peers = read(options.ours), read(options.rows)
    missing = {row["peer"]: row["error"] for row in peers if "graph" not in row}
    # A peer can give some rows before it fails, and its versions bear the first word of its name.
    names = list(dict.fromkeys(row["peer"] for row in peers if "graph" in row))
    names += [name for name in missing if name not in {known.split()[0] for known in names}]
    for graph, (title, unit, expected) in GRAPHS.items():
        mine = [row for row in ours if row["graph"] == graph]
        right = [row for row in mine if row.get("result") == expected]
        base = right[0]["best_ns_per_node"] if right else None
        print(f"\n{title}\n  {f'for each {unit}':<46} {'best':>9} {'median':>9} {'× of ours':>9}")
        if not mine:
            print(f"  {'Innkeeper':<46} not measured: no row for it")
        found = {row["peer"]: row for row in peers if row.get("graph") == graph}
        for name in names:
            reason = missing.get(name.split()[0], "no row for it")
            if graph == "loop":
                reason = NO_LOOP.get(name, reason)
            found.setdefault(name, {"peer": name, "error": reason})
        rows = sorted(found.values(), key=lambda row: row.get("best_ns_per_node", float("inf")))
        for row in mine + rows:
            print(line(row, expected, base))


if __name__ == "__main__":
    main()
