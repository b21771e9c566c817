#!/usr/bin/env bash
# Asks a running server everything that its description allows, and much that it does not: nothing may fail inside, and every
# answer must be one that is described. What is left out, and why: scripts/schemathesis/schemathesis.toml.
# Usage: [INNKEEPER=path] scripts/schemathesis.sh [further words for `schemathesis run`]
# Ends with 77 and a line that begins "skipped:" where schemathesis cannot be installed.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

# Wheels of PyPI, pinned with their hashes.
wheels=scripts/schemathesis/requirements.txt
venv=$tools/schemathesis
python=$venv/bin/python
# What is installed, as it was pinned then.
installed=$venv/installed.txt

skip() {
  printf 'skipped: schemathesis against the server: %s\n' "$*"
  exit 77
}

if ! cmp -s "$wheels" "$installed"; then
  command -v python3 >/dev/null || skip "there is no python3"
  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "it needs Python 3.11"
  echo "Installing schemathesis into $venv (pip, 12 MB)."
  mkdir -p "$tools"
  # A folder that was left half made must not look like a whole one.
  rm -rf "$venv"
  python3 -m venv "$venv" >/dev/null 2>&1 || {
    rm -rf "$venv"
    skip "python3 cannot make a venv (Debian: python3-venv)"
  }
  why=$("$python" -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
    -r "$wheels" 2>&1 </dev/null) || {
    # Not somebody's missing network, but a wheel that somebody has changed.
    case $why in *"DO NOT MATCH THE HASHES"*) fail "A wheel is not what $wheels pins: $why" ;; esac
    skip "it cannot be installed (${why##*$'\n'})"
  }
  cp "$wheels" "$installed"
fi

innkeeper=${INNKEEPER:-}
if [ -z "$innkeeper" ]; then
  scripts/setup.sh run
  cargo build --locked --profile ci -p innkeeper
  innkeeper=${CARGO_TARGET_DIR:-$root/target}/ci/innkeeper
fi

say "The server, asked by its own description"
export PYTHONDONTWRITEBYTECODE=1
"$python" scripts/schemathesis/drive.py "$innkeeper" "$@"
