#!/usr/bin/env bash
# Writes what the code says of the API into the file that is checked in. `make test` compares the two.
set -euo pipefail
"$(dirname "${BASH_SOURCE[0]}")/setup.sh" test
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"
INNKEEPER_WRITE_OPENAPI=1 cargo nextest run --locked --cargo-profile ci --profile ci -p innkeeper-server description
