"""LangGraph: one StateGraph for each graph, compiled before the clock starts, without a checkpointer.

Each graph is written the quickest way its documented interface allows. Where one node runs at a time that is `invoke`;
where many are ready at once it is `ainvoke` with async nodes, because `invoke` gives each of them a thread and takes up
to four times as long. The grid needs no barrier: all cells of a diagonal run in one superstep, so a cell's two edges
arrive together, and its state is one dict that the reducer fills in place.
"""

import asyncio
import operator
import platform
from importlib.metadata import version
from typing import Annotated, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from rounds import SIZES, measure


class Number(TypedDict):
    value: int


class Fan(TypedDict):
    value: int
    parts: Annotated[int, operator.add]
    total: int


def fill(cells, more):
    cells.update(more)
    return cells


class Grid(TypedDict):
    cells: Annotated[dict, fill]


def add(state):
    return {"value": state["value"] + 1}


def chain(length):
    graph = StateGraph(Number)
    before = START
    for index in range(length):
        graph.add_node(f"n{index}", add)
        graph.add_edge(before, f"n{index}")
        before = f"n{index}"
    graph.add_edge(before, END)
    compiled = graph.compile()
    # A superstep for each node, and the graph's own first one.
    limit = {"recursion_limit": length + 2}
    return lambda: compiled.invoke({"value": 0}, limit)["value"]


def fan(width):
    async def source(state):
        return {"value": state["value"] + 1}

    async def part(state):
        return {"parts": state["value"] + 1}

    async def total(state):
        return {"total": state["parts"]}

    graph = StateGraph(Fan)
    graph.add_node("source", source)
    graph.add_node("sum", total)
    graph.add_edge(START, "source")
    for index in range(width):
        graph.add_node(f"n{index}", part)
        graph.add_edge("source", f"n{index}")
        graph.add_edge(f"n{index}", "sum")
    graph.add_edge("sum", END)
    compiled = graph.compile()
    return lambda: asyncio.run(compiled.ainvoke({"value": 0}))["total"]


def grid(side, modulus):
    def cell(row, column):
        here, left, above = (row, column), (row, column - 1), (row - 1, column)

        async def first(_state):
            return {"cells": {here: 1}}

        async def inner(state):
            cells = state["cells"]
            return {"cells": {here: (cells.get(left, 0) + cells.get(above, 0)) % modulus}}

        return inner if row or column else first

    graph = StateGraph(Grid)
    for row in range(side):
        for column in range(side):
            graph.add_node(f"{row}.{column}", cell(row, column))
            if column:
                graph.add_edge(f"{row}.{column - 1}", f"{row}.{column}")
            if row:
                graph.add_edge(f"{row - 1}.{column}", f"{row}.{column}")
    graph.add_edge(START, "0.0")
    graph.add_edge(f"{side - 1}.{side - 1}", END)
    compiled = graph.compile()
    limit = {"recursion_limit": 2 * side + 1}
    last = (side - 1, side - 1)
    return lambda: asyncio.run(compiled.ainvoke({"cells": {}}, limit))["cells"][last]


def loop(iterations):
    def turn(state):
        value = state["value"] + 1
        return Command(update={"value": value}, goto="turn" if value < iterations else END)

    graph = StateGraph(Number)
    graph.add_node("turn", turn, destinations=("turn", END))
    graph.add_edge(START, "turn")
    compiled = graph.compile()
    limit = {"recursion_limit": iterations + 2}
    return lambda: compiled.invoke({"value": 0}, limit)["value"]


def main():
    name = "LangGraph", f"{version('langgraph')} on Python {platform.python_version()}"
    side = SIZES["grid"]
    measure(*name, "chain", SIZES["chain"], chain(SIZES["chain"]))
    measure(*name, "fan", SIZES["fan"] + 2, fan(SIZES["fan"]))
    measure(*name, "loop", SIZES["loop"], loop(SIZES["loop"]))
    measure(*name, "grid", side * side, grid(side, SIZES["modulus"]))


if __name__ == "__main__":
    main()
