# The doors of the workshop. Anything longer than a line is a script in scripts/.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup run test bench fuzz fmt lint

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install what the other commands need (they call it themselves)
	@scripts/setup.sh test

run: ## Build, and show how a model's reply is read
	@scripts/run.sh

test: ## Everything that must hold: format, licences, lints, tests
	@scripts/test.sh

bench: ## Measure the speed
	@scripts/bench.sh

fuzz: ## Look for inputs that break something (FUZZ_SECONDS=60 for each target)
	@scripts/fuzz.sh

fmt: ## Format the code
	@scripts/setup.sh run
	@. scripts/env.sh && cargo fmt --all

lint: ## The checks of `make test` that run no test
	@scripts/test.sh lint
