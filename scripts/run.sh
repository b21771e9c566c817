#!/usr/bin/env bash
# Builds Innkeeper and shows what it can do today: read a model's reply, run the tool calls in it, list its tools, let an
# agent do a whole piece of work, run a workflow.
set -euo pipefail
"$(dirname "${BASH_SOURCE[0]}")/setup.sh" run
# shellcheck source=scripts/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/env.sh"

cargo build --locked --package innkeeper
innkeeper() { cargo run --quiet --locked --package innkeeper -- "$@"; }
# Files and data of this show stay out of your own.
export INNKEEPER_HOME="${CARGO_TARGET_DIR:-target}/make-run"

say "A model wrote this (examples/hello.txt)"
cat examples/hello.txt

say "Innkeeper reads it so (innkeeper parse examples/hello.txt)"
innkeeper parse examples/hello.txt

say "A model wrote this (examples/evening.txt)"
cat examples/evening.txt

say "Innkeeper runs it, and tells the model (innkeeper call examples/evening.txt)"
innkeeper call examples/evening.txt

say "These tools are there out of the box (innkeeper tools list)"
innkeeper tools list

say "An agent writes a letter: it drafts, changes, publishes, ends. A script plays the model, the rest is real"
echo 'innkeeper run default-writer "write a letter about tea"'
innkeeper run default-writer "write a letter about tea"

say "All of it is kept (innkeeper runs show last)"
innkeeper runs show last

say "An agent as a workflow: it thinks, rolls the dice, looks at them, answers. A script plays the model"
echo 'innkeeper workflow run agent-loop --input user_query="Roll 2d6+3 for me" --watch'
innkeeper workflow run agent-loop --input user_query="Roll 2d6+3 for me" --watch > "$INNKEEPER_HOME/agent.txt"
grep '^final_reply:' "$INNKEEPER_HOME/agent.txt"

say "The same workflow as a picture (innkeeper workflow graph agent-loop --format svg)"
innkeeper workflow graph agent-loop --format svg --output "$INNKEEPER_HOME/agent-loop.svg"

cat <<'END'

== Go on
  cargo run -q -p innkeeper -- --help               all commands
  cargo run -q -p innkeeper -- run help             what can be said to the agent
  cargo run -q -p innkeeper -- call YOUR-FILE       run a reply of your own model
  cargo run -q -p innkeeper -- tools manifest       what to tell your model about the tools
  cargo run -q -p innkeeper -- workflow list        workflows that come along
  cargo run -q -p innkeeper -- plugin new greetings begin a plugin
  make test                                         see that everything holds
  docs/command-line.md, docs/protocol.md            commands; what a model may write
  docs/agents.md                                    agents and their runs
  docs/workflows.md, docs/nodes.md                  workflows; the nodes to build them with
  README.md, docs/architecture.md                   what this is and where it is going
END
