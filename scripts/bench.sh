#!/usr/bin/env bash
# Measures the speed. Close other programs first: the numbers are only as calm as the machine.
set -euo pipefail
"$(dirname "${BASH_SOURCE[0]}")/setup.sh" bench
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cargo bench --locked --workspace --benches "$@"
# The same table with other parsers in it: make bench PEERS=1
if [ "${PEERS:-}" = 1 ]; then
  cargo bench --manifest-path benches/peers/Cargo.toml "$@"
fi
