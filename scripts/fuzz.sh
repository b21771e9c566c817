#!/usr/bin/env bash
# Runs every fuzz target for a bounded time. Usage: scripts/fuzz.sh [TARGET…], FUZZ_SECONDS=60 for each.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
[ -f fuzz/Cargo.toml ] || fail "there are no fuzz targets yet (fuzz/Cargo.toml is missing)."
scripts/setup.sh fuzz

seconds=${FUZZ_SECONDS:-60}
cargo run --quiet --manifest-path fuzz/Cargo.toml --example seed
if [ $# -gt 0 ]; then targets=("$@"); else mapfile -t targets < <(cargo fuzz list); fi
for target in "${targets[@]}"; do
  say "Fuzzing $target for $seconds s"
  # A workflow of any use is longer than what breaks a parser.
  if [ "$target" = workflow ]; then longest=16384; else longest=4096; fi
  # Without a sanitizer the stable toolchain will do; there is no unsafe code for one to watch.
  cargo fuzz run --sanitizer none "$target" -- -max_total_time="$seconds" -max_len="$longest" -timeout=10 -rss_limit_mb=4096
done
