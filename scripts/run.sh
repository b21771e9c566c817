#!/usr/bin/env bash
# Builds Innkeeper and shows what it can do today: read a model's reply.
set -euo pipefail
"$(dirname "${BASH_SOURCE[0]}")/setup.sh" run
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

example=examples/hello.txt
cargo build --locked --package innkeeper

say "A model wrote this ($example)"
cat "$example"

say "Innkeeper reads it so (innkeeper parse $example)"
cargo run --quiet --locked --package innkeeper -- parse "$example"

cat <<'END'

== Go on
  cargo run -q -p innkeeper -- parse --help      all that `parse` can do
  cargo run -q -p innkeeper -- parse YOUR-FILE   read a reply of your own model
  make test                                      see that everything holds
  docs/protocol.md                               what a model may write, and what the parser says
  README.md, docs/architecture.md                what this is and where it is going
END
