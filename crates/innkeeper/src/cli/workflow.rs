//! `innkeeper workflow …`: what can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper workflow list                            Workflows that there are
  innkeeper workflow run greet.json --input name=Ann Run a file
  innkeeper workflow run greet --watch               Run one by its name, and see it at work
  innkeeper workflow check greet.json                Everything that is wrong with it
  innkeeper workflow graph greet.json > greet.mmd    Draw it
  innkeeper workflow nodes --search text             Node types to build with

Exit codes: 0 done, 1 a run failed or a workflow has errors, 2 wrong usage or inputs, 130 stopped by Ctrl-C.";

const RUN: &str = "\
Examples:
  innkeeper workflow run greet.json --input name=Ann
  innkeeper workflow run report --input topic=@topic.md --input sections:='[\"why\", \"how\"]'
  innkeeper workflow run report --inputs inputs.json --watch
  innkeeper workflow run greet.json --json | jq .outputs
  innkeeper workflow run greet.json --events | jq -c 'select(.type == \"NODE_ERROR\")'

A workflow is named by its file, or by its id, file name or name if it is in the list. A value is read as \
the type that the interface declares: a text as it is, a number, true or false, JSON for objects and lists. \
NAME=@FILE takes the text of a file (@@ begins a text with @), NAME:=JSON takes JSON whatever the type.

A single output is printed alone, several with their names. Outputs that stream are printed as they come, \
on a terminal or with --watch. With --json: one object with status, outputs, error, failures, promptId and \
durationMs. Ctrl-C stops the run, and what it has made by then is printed.

Exit codes: 0 complete, 1 it failed, 2 wrong usage or inputs, 130 stopped by Ctrl-C.";

const CHECK: &str = "\
Examples:
  innkeeper workflow check greet.json
  innkeeper workflow check workflows/*.json --quiet
  innkeeper workflow check greet --json | jq '.[].problems[] | [.node, .slot, .message]'

Reads the file, follows the groups in it, and lays the plan as a run would; runs nothing. An error keeps the \
workflow from running, a warning does not. With --quiet only workflows with errors are told.

Exit codes: 0 no errors, 1 errors, 2 wrong usage or a file that cannot be read.";

const LIST: &str = "\
Examples:
  innkeeper workflow list
  innkeeper workflow list --project tavern
  innkeeper workflow list --json | jq -r '.[] | select(.errors > 0) | .path'";

const GRAPH: &str = "\
Examples:
  innkeeper workflow graph greet.json                       Mermaid, for Markdown pages
  innkeeper workflow graph greet.json --format svg --output greet.svg
  innkeeper workflow graph report --groups                  With the insides of its groups

A workflow with mistakes is drawn as far as it can be read.";

const NODES: &str = "\
Examples:
  innkeeper workflow nodes                                  All node types
  innkeeper workflow nodes --category Flow
  innkeeper workflow nodes --search json
  innkeeper workflow nodes core:LoopZone                    Its slots, settings and modes";

#[derive(Debug, Subcommand)]
pub(crate) enum WorkflowCommand {
    /// Run a workflow and print what it gives
    #[command(after_help = RUN, args_override_self = true, max_term_width = 100)]
    Run(WorkflowRunArgs),
    /// Say everything that is wrong with workflows
    #[command(after_help = CHECK, args_override_self = true, max_term_width = 100)]
    Check(WorkflowCheckArgs),
    /// List the workflows that can be found by name
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List(WorkflowListArgs),
    /// Draw a workflow, as Mermaid or SVG
    #[command(after_help = GRAPH, args_override_self = true, max_term_width = 100)]
    Graph(GraphArgs),
    /// List the node types, or show one
    #[command(after_help = NODES, args_override_self = true, max_term_width = 100)]
    Nodes(NodesArgs),
}

/// Where names are looked for.
#[derive(Debug, Args)]
pub(crate) struct ProjectArgs {
    /// Project whose workflows and files are meant
    #[arg(long, value_name = "PROJECT", default_value = "default")]
    pub(crate) project: String,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowRunArgs {
    /// The workflow's file, or its id or name; `-` reads standard input
    #[arg(value_name = "FILE|NAME")]
    pub(crate) workflow: String,
    /// An input; NAME=@FILE takes a file's text, NAME:=JSON takes JSON
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    pub(crate) input: Vec<String>,
    /// All inputs as a file with a JSON object; `-` reads standard input; --input wins
    #[arg(long, value_name = "FILE")]
    pub(crate) inputs: Option<PathBuf>,
    /// Show the nodes at work, on standard error
    #[arg(long)]
    pub(crate) watch: bool,
    /// Print every event as a line of JSON before the result
    #[arg(long)]
    pub(crate) events: bool,
    /// Take nothing that was kept: every node does its work
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Stop the run after so long: 500ms, 30s, 5m, 1h
    #[arg(long, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Answer yes to whatever the rules say to ask about its tools
    #[arg(long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowCheckArgs {
    /// Files, or ids or names of workflows; `-` reads standard input
    #[arg(value_name = "FILE|NAME", required = true)]
    pub(crate) workflows: Vec<String>,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct WorkflowListArgs {
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The workflow's file, or its id or name; `-` reads standard input
    #[arg(value_name = "FILE|NAME")]
    pub(crate) workflow: String,
    /// How it is drawn
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        default_value = "mermaid",
        value_name = "FORMAT"
    )]
    pub(crate) format: GraphFormat,
    /// File to write, instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Draw the insides of groups too
    #[arg(long)]
    pub(crate) groups: bool,
    #[command(flatten)]
    pub(crate) project: ProjectArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// A text that Markdown viewers draw
    Mermaid,
    /// A picture, laid out as on the canvas
    Svg,
}

#[derive(Debug, Args)]
pub(crate) struct NodesArgs {
    /// Show this type: its slots, settings and modes
    #[arg(value_name = "TYPE")]
    pub(crate) kind: Option<String>,
    /// Only types of this category
    #[arg(long, value_name = "CATEGORY")]
    pub(crate) category: Option<String>,
    /// Only types with this text in their name, title or description
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
}
