#!/usr/bin/env bash
# Installs what a command needs and is missing; does nothing, and needs no network, once all is there.
# Usage: scripts/setup.sh run|test|bench|fuzz
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

purpose=${1:-test}
nextest_version=0.9.143
deny_version=0.20.2
fuzz_version=0.13.2

# Programs of the system, and the Debian package of each.
need_program() {
  local program=$1 package=$2
  command -v "$program" >/dev/null && return
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing $package (apt-get): $program is missing."
    apt-get update -qq </dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" </dev/null
  else
    fail "$program is missing: install it with your system's package manager (Debian: $package)."
  fi
}

need_rust() {
  command -v cargo >/dev/null ||
    fail "Rust is missing: install it from https://rustup.rs, then run this again."
  local found
  found=$(rustc --version 2>/dev/null | awk '{ print $2 }') || true
  if [ "$found" != "$pinned" ]; then
    command -v rustup >/dev/null ||
      fail "Rust $pinned is needed, ${found:-none} was found: install rustup from https://rustup.rs."
    echo "Installing Rust $pinned (rustup), as rust-toolchain.toml says."
    rustup toolchain install "$pinned" --profile minimal --component clippy --component rustfmt
  fi
  cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
  cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
}

# A cargo sub-command: any version on PATH will do, else the pinned one is built.
need_cargo_tool() {
  local tool=$1 version=$2 takes=$3
  command -v "$tool" >/dev/null && return
  echo "Installing $tool $version (cargo install, $takes) into $tools."
  # Its build folder must not mix with ours, so it gets one of its own that is thrown away.
  env -u CARGO_TARGET_DIR cargo install --quiet --locked --root "$tools" "$tool@$version" </dev/null
}

need_program gcc gcc
need_rust
case $purpose in
  run | bench) ;;
  test)
    need_cargo_tool cargo-nextest "$nextest_version" "a few minutes"
    need_cargo_tool cargo-deny "$deny_version" "a few minutes"
    ;;
  fuzz)
    need_program g++ g++
    need_cargo_tool cargo-fuzz "$fuzz_version" "a minute"
    ;;
  *) fail "unknown purpose '$purpose': use run, test, bench or fuzz." ;;
esac

# All crates of all platforms, because the licence check looks at all of them.
cargo fetch --locked --offline --quiet 2>/dev/null || {
  echo "Fetching the crates that Cargo.lock names."
  cargo fetch --locked --quiet
}
