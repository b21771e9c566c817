#!/usr/bin/env bash
# Measures the speed. Close other programs first: the numbers are only as calm as the machine.
set -euo pipefail
"$(dirname "${BASH_SOURCE[0]}")/setup.sh" bench
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
# Beside the parsers and the workflow engines of others: make bench PEERS=1
if [ "${PEERS:-}" != 1 ]; then
  exec cargo bench --locked --workspace --benches "$@"
fi
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT
INNKEEPER_BENCH_JSON=$rows cargo bench --locked --workspace --benches "$@"
cargo bench --manifest-path benches/peers/Cargo.toml "$@"
benches/peers/engines/run.sh --ours "$rows"
