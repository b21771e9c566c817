"""ComfyUI's executor (`PromptExecutor`) with graphs of trivial nodes. Usage: python comfyui_peer.py FOLDER_OF_COMFYUI

It is GPL: it is downloaded and run here, and nothing of it is part of this repository. Neither torch nor a model takes
part in running a graph of integers, so stand-ins take the place of all that touches them; they do nothing, which can
only make the rows better than a user's. Events go to a server that drops them. Each round starts without the results
of the one before, which would otherwise be taken from the cache, and the graph is not validated in the measured time.

It is measured as it comes and with `--cache-none`, which spares it the digest of each node's inputs.
"""

import contextlib
import importlib.abc
import importlib.machinery
import logging
import platform
import sys
import types

import psutil

from rounds import LIMIT_SECONDS, SIZES, measure


class Add:
    RETURN_TYPES = ("INT",)
    FUNCTION = "run"

    @classmethod
    def INPUT_TYPES(cls):
        return {"required": {"value": ("INT",)}}

    def run(self, value):
        return (value + 1,)


class Sum:
    RETURN_TYPES = ("INT",)
    FUNCTION = "run"
    # The executor asks for this dict twice for each input.
    INPUTS = {
        "required": {},
        "optional": {name: ("INT",) for name in ["start", "left", "above"]}
        | {f"part{index}": ("INT",) for index in range(SIZES["fan"])},
    }

    @classmethod
    def INPUT_TYPES(cls):
        return cls.INPUTS

    def run(self, **parts):
        return (sum(parts.values()) % SIZES["modulus"],)


class Tracker:
    def start(self): ...
    def add(self, _outputs): ...
    def end(self): ...


def nothing(*_args, **_named):
    return None


# What the executor calls of the modules that stand-ins replace; all else in them is only named.
CALLED = {
    "torch": {"inference_mode": contextlib.nullcontext},
    "nodes": {
        "NODE_CLASS_MAPPINGS": {"Add": Add, "Sum": Sum},
        "interrupt_processing": nothing,
        "before_node_execution": nothing,
    },
    "latent_preview": {"set_preview_method": nothing},
    "comfy.memory_management": {"aimdo_enabled": False, "set_ram_cache_release_state": nothing},
    "comfy.model_management": {
        "InterruptProcessingException": type("InterruptProcessingException", (Exception,), {}),
        "DISABLE_SMART_MEMORY": False,
        "cleanup_models_gc": nothing,
        "should_free_pins_for_ram_pressure": lambda _bytes: False,
    },
    "comfy.model_patcher": {"PromptModelTracker": Tracker, "is_model_patcher_output": lambda _: False},
    "comfy.model_prefetch": {},
    "comfy_aimdo": {},
    "av": {},
}


class StandIn(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        named = type(name, (), {})
        setattr(self, name, named)
        return named


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, _path, _target=None):
        if any(name == module or name.startswith(f"{module}.") for module in CALLED):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return StandIn(spec.name)

    def exec_module(self, module):
        module.__dict__.update(CALLED.get(module.__name__, {}))


class Server:
    client_id = None
    last_node_id = None

    def send_sync(self, _event, _data, _client=None): ...


def chain(length):
    return {
        str(index): {
            "class_type": "Add",
            "inputs": {"value": [str(index - 1), 0] if index else 0},
        }
        for index in range(length)
    }


def fan(width):
    prompt = {"source": {"class_type": "Add", "inputs": {"value": 0}}}
    for index in range(width):
        prompt[str(index)] = {"class_type": "Add", "inputs": {"value": ["source", 0]}}
    prompt["sum"] = {
        "class_type": "Sum",
        "inputs": {f"part{index}": [str(index), 0] for index in range(width)},
    }
    return prompt


def grid(side):
    prompt = {}
    for row in range(side):
        for column in range(side):
            inputs = {}
            if column:
                inputs["left"] = [f"{row}.{column - 1}", 0]
            if row:
                inputs["above"] = [f"{row - 1}.{column}", 0]
            prompt[f"{row}.{column}"] = {"class_type": "Sum", "inputs": inputs or {"start": 1}}
    return prompt


def main():
    sys.meta_path.insert(0, StandIns())
    sys.path.insert(0, sys.argv[1])
    # Its own options are read from the command line.
    del sys.argv[1:]
    logging.disable(logging.WARNING)
    # Its cache walks all that is upstream of a node by recursion; the usual limit would end that in the chain.
    sys.setrecursionlimit(50_000)
    from comfyui_version import __version__
    from execution import CacheType, PromptExecutor

    # As its `main` chooses them.
    gigabytes = psutil.virtual_memory().total / (1 << 30)
    thresholds = {"lru": 0, "ram": min(10, max(2, gigabytes / 10)), "ram_inactive": min(128, gigabytes)}
    version = f"{__version__} on Python {platform.python_version()}"
    graphs = {"chain": chain(SIZES["chain"]), "fan": fan(SIZES["fan"]), "grid": grid(SIZES["grid"])}
    for graph, prompt in graphs.items():
        # With a cache it does all that it does without one and more, so there is less patience for it.
        for name, cache, limit in [
            ("ComfyUI --cache-none", CacheType.NONE, LIMIT_SECONDS),
            ("ComfyUI", CacheType.RAM_PRESSURE, LIMIT_SECONDS // 5),
        ]:
            runner = PromptExecutor(Server(), cache, thresholds)
            measure(name, version, graph, len(prompt), lambda: run(runner, graph, prompt), limit)


def run(runner, graph, prompt):
    last = next(reversed(prompt))
    result = []
    # A cache that keeps nothing keeps the result neither, so it is taken on its way.
    runner.reset()
    keep = runner.caches.outputs.set

    async def keep_last(node, entry):
        if node == last:
            result.append(entry.outputs[0][0])
        return await keep(node, entry)

    runner.caches.outputs.set = keep_last
    runner.execute(prompt, graph, {}, [last])
    if not runner.success:
        raise RuntimeError(runner.status_messages[-1][1].get("exception_message"))
    return result[0]


if __name__ == "__main__":
    main()
