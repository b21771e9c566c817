#!/usr/bin/env bash
# Measures the speed. Close other programs first: the numbers are only as calm as the machine.
#
# The workflow engines of others are measured beside ours if they are installed; PEERS=1 installs them (some 500 MB) and
# measures the parsers of others too, PEERS=0 leaves all of them out.
set -euo pipefail
"$(dirname "${BASH_SOURCE[0]}")/setup.sh" bench
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
INNKEEPER_BENCH_JSON=$rows cargo bench --locked -p innkeeper-benches --benches "$@"
if [ "${PEERS:-}" = 1 ]; then
  cargo bench --manifest-path benches/peers/Cargo.toml "$@"
fi
if [ "${PEERS:-}" = 1 ] || { [ "${PEERS:-}" != 0 ] && [ -d "$tools/peers" ]; }; then
  benches/peers/engines/run.sh --ours "$rows"
elif [ "${PEERS:-}" != 0 ]; then
  say "LangGraph, Node-RED and ComfyUI are not installed: make bench PEERS=1 installs and measures them too."
fi
