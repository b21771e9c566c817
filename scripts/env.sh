# shellcheck shell=bash
# Sourced by the other scripts: where we are, which tools are used, how to speak.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit 1

# Tools that setup.sh installs live in a folder of their own; what is on PATH already comes first.
cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/innkeeper
tools=$cache/tools
export PATH=$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin:$tools/bin

# Where the pinned toolchain is not installed under its own name but the default one is that very version,
# use it instead of asking the network for it.
pinned=$(sed -n 's/^channel *= *"\(.*\)"$/\1/p' rust-toolchain.toml)
if [ -z "${RUSTUP_TOOLCHAIN:-}" ] && command -v rustup >/dev/null &&
    ! rustup toolchain list 2>/dev/null | grep -q "^$pinned-"; then
  for name in $(rustup toolchain list 2>/dev/null | awk '{ print $1 }'); do
    if [ "$(RUSTUP_TOOLCHAIN=$name rustc --version 2>/dev/null | awk '{ print $2 }')" = "$pinned" ]; then
      export RUSTUP_TOOLCHAIN=$name
      break
    fi
  done
fi

say() { printf '\n== %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}
