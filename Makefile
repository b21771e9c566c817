# The doors of the workshop. Anything longer than a line is a script in scripts/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup run test openapi test-faults test-real-model test-server bench fuzz fmt lint

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what the other commands need (they call it themselves)
	@scripts/setup.sh test

run: ## Build, and show what it does: a reply read, calls run, an agent at work
	@scripts/run.sh

test: ## Everything that must hold: format, licences, lints, tests
	@scripts/test.sh

openapi: ## Write the description of the API anew (crates/server/openapi.json)
	@scripts/openapi.sh

test-faults: ## Kill a run at every record of its journal, fill its disk, cut its files (some minutes)
	@scripts/faults.sh

test-real-model: ## Talk to a small real model on this machine (MODEL=path.gguf for another)
	@scripts/real-model.sh || [ $$? = 77 ]

test-server: ## Ask a running server everything that its description allows, and much that it does not
	@scripts/schemathesis.sh || [ $$? = 77 ]

bench: ## Measure the speed
	@scripts/bench.sh

fuzz: ## Look for inputs that break something (FUZZ_SECONDS=60 for each target)
	@scripts/fuzz.sh

fmt: ## Format the code
	@scripts/setup.sh run
	@. scripts/env.sh && cargo fmt --all

lint: ## The checks of `make test` that run no test
	@scripts/test.sh lint
