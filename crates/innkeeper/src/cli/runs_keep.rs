//! `innkeeper runs memory …` and `innkeeper runs prune`: what can be typed.

use clap::{Args, Subcommand};
use innkeeper_agent::limits::MAX_RETENTION_RUNS;

pub(super) const MEMORY: &str = "\
Examples:
  innkeeper runs memory list                          Chats that have a memory
  innkeeper runs memory list evening                  The states of a chat
  innkeeper runs memory list last                     The states of the chat of the newest run
  innkeeper runs memory show last last                The newest of them, with its files
  innkeeper runs memory diff last 0197aa 0197bb       What was learnt between two
  innkeeper runs memory copy chat_b30dd8f137c0e127 chat_84134139c4785d9f

When a run is complete, what it has in persist/ becomes a state, named after the run, and later runs of its chat begin \
with it. A chat is named by its stable id (that of innkeeper run --chat, or of an application), by its workspace \
(chat_…), or by one of its runs; a state by its id, the beginning of it, or `last`.";

const LIST: &str = "\
Examples:
  innkeeper runs memory list
  innkeeper runs memory list last --json | jq -r '.states[].stateId'";

const SHOW: &str = "\
Examples:
  innkeeper runs memory show last last
  innkeeper runs memory show last last --file persist/names.md";

const DIFF: &str = "\
Examples:
  innkeeper runs memory diff last 0197aa last
  innkeeper runs memory diff last none last           All that the newest holds";

const COPY: &str = "\
Examples:
  innkeeper runs memory copy letters letters-2
  innkeeper runs memory copy chat_b30dd8f137c0e127 chat_84134139c4785d9f

To a chat of innkeeper run --chat, new or not: what the next run of CHAT would begin with, files and private states; the next \
run of TARGET begins with it, whatever becomes of CHAT. To a chat of an application: all states, under the same ids, so that \
messages that were copied into a branch find theirs; done again, it adds what has come since.";

const FORGET: &str = "\
Examples:
  innkeeper runs memory prune last 0197aa 0197bb --yes

For states that no message of the chat names any more. One that a run without an end began with stays.";

pub(super) const PRUNE: &str = "\
Examples:
  innkeeper runs prune --dry-run                      What would go, and why
  innkeeper runs prune                                Ask, then do it
  innkeeper runs prune --keep 50 --keep-full 10 --yes

Of the runs that are over, those that ended last are kept whole; the next ones keep their record and their events; the \
rest goes. How many is said in [retention] of innkeeper.toml, or here. Runs without an end, and damaged ones, stay. \
Contents that another run or a memory needs stay, too. What a run without a chat remembers goes with it; of a chat, what no later \
run can begin with any more. With --json: the plan, or what came of it.

Exit codes: 0 done, 1 something could not be removed, or you said no, 2 wrong usage, 6 another process drives the runs.";

#[derive(Debug, Subcommand)]
pub(crate) enum RunsMemoryCommand {
    /// List the chats that have a memory, or the states of one
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List(MemoryListArgs),
    /// Show a state: its files, or one of them
    #[command(after_help = SHOW, args_override_self = true, max_term_width = 100)]
    Show(MemoryShowArgs),
    /// Show what is different between two states
    #[command(after_help = DIFF, args_override_self = true, max_term_width = 100)]
    Diff(MemoryDiffArgs),
    /// Copy the memory of a chat to a branch of it
    #[command(after_help = COPY, args_override_self = true, max_term_width = 100)]
    Copy(MemoryCopyArgs),
    /// Remove states that no message names any more
    #[command(after_help = FORGET, args_override_self = true, max_term_width = 100)]
    Prune(MemoryPruneArgs),
}

#[derive(Debug, Args)]
pub(crate) struct MemoryListArgs {
    /// A chat by its stable id, its workspace, or one of its runs
    #[arg(value_name = "CHAT")]
    pub(crate) chat: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryShowArgs {
    /// A chat by its stable id, its workspace, or one of its runs
    #[arg(value_name = "CHAT")]
    pub(crate) chat: String,
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "STATE")]
    pub(crate) state: String,
    /// The text of one of its files
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryDiffArgs {
    /// A chat by its stable id, its workspace, or one of its runs
    #[arg(value_name = "CHAT")]
    pub(crate) chat: String,
    /// A state, `last`, or `none`
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// A state, `last`, or `none`
    #[arg(value_name = "TO", default_value = "last")]
    pub(crate) to: String,
    /// Only which files, and how many lines of each
    #[arg(long)]
    pub(crate) stat: bool,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryCopyArgs {
    /// Whose memory: a chat by its stable id, its workspace, or one of its runs
    #[arg(value_name = "CHAT")]
    pub(crate) chat: String,
    /// Where to: a chat by its stable id, also a new one, its workspace, or one of its runs
    #[arg(value_name = "TARGET")]
    pub(crate) target: String,
}

#[derive(Debug, Args)]
pub(crate) struct MemoryPruneArgs {
    /// A chat by its stable id, its workspace, or one of its runs
    #[arg(value_name = "CHAT")]
    pub(crate) chat: String,
    /// States, by their ids or the beginnings of them
    #[arg(value_name = "STATE", required = true)]
    pub(crate) states: Vec<String>,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsPruneArgs {
    /// So many of the runs that ended last are kept at all
    #[arg(long, value_name = "NUMBER", value_parser = number())]
    pub(crate) keep: Option<u32>,
    /// So many of these are kept whole
    #[arg(long, value_name = "NUMBER", value_parser = number())]
    pub(crate) keep_full: Option<u32>,
    /// Only say what would go
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

fn number() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(MAX_RETENTION_RUNS))
}
