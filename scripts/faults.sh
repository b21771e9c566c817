#!/usr/bin/env bash
# Whole runs under every fault there is: `make test` tries a sample of it. Arguments go to nextest.
set -euo pipefail
"$(dirname "${BASH_SOURCE[0]}")/setup.sh" test
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

say "Faults at every step of a run"
cargo nextest run --locked --cargo-profile ci --profile faults -p innkeeper-agent --test all --run-ignored only \
  -E 'test(/^suite::(kill|kill_agents|faults|small_disk)::/)' "$@"
