//! `innkeeper run` and `innkeeper runs …`: what can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use innkeeper_agent::limits::MAX_ADDITIONAL_ROUNDS;
use innkeeper_agent::profile::Dialect;
use innkeeper_protocol::event::RollbackScope;

use super::runs_keep::{self, RunsMemoryCommand, RunsPruneArgs};

pub(super) const RUN: &str = "\
Examples:
  innkeeper run \"Roll 2d6+3 for me\"                   Ask the agent of the house
  innkeeper run default-writer \"Write about tea\"      Ask another, by its profile
  innkeeper run - < task.md                           Read the message from standard input
  innkeeper run --model local/qwen3 \"What is new?\"    With another model, this once
  innkeeper run --chat evening \"Who was here?\"        In a chat that remembers earlier runs
  innkeeper run --resume last                         Go on with the run that was begun last
  innkeeper run --json \"Roll 2d6\" | jq -r .type       Everything that happens, a line each

What the model says is shown as it comes, with every call, its time and what it wrote. All of it is on disk before \
you see it: if the process is killed, the run goes on from there with innkeeper runs resume. Where a rule says to \
ask, you are asked in place; without a terminal the run waits, and innkeeper runs approve answers it. While it runs, a line that you type is told to the agent with its next request; from \
another terminal, or from a program, innkeeper runs guide last \"…\" does the same. Ctrl-C once cancels the run, twice \
leaves it as it is, to be resumed.

What the agent publishes, and its answer, go to standard output; the rest goes to standard error. With --json: a line \
with the run's handle, one for each event, and a summary at the end.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 4 failed after something was published, 5 cancelled by somebody else, \
paused or waiting for approval, 6 another process drives the runs of this home, 130 stopped by Ctrl-C.";

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper runs list                                 Runs, the newest first
  innkeeper runs show last                            What happened in the newest
  innkeeper runs resume --all                         Go on with all that have no end
  innkeeper runs events 0197 --follow                 See what happens in a run of another process
  innkeeper runs diff last                            What it has changed, in which lines
  innkeeper runs rollback last cp_000003              Take it back to a checkpoint
  innkeeper runs fork last cp_000003                  Go on from a checkpoint in a new run
  innkeeper runs guide last \"Make it shorter\"         Say something to a run of another process
  innkeeper runs approve last                         Answer a run that asks whether it may do something
  innkeeper runs export last --output run.json        All of it in one file
  innkeeper runs prune --dry-run                      Which old runs would go

A run is named by its id, by the beginning of it if that is clear, or by `last`.

Exit codes: 0 done, 1 failed, 2 wrong usage or no such run; those of innkeeper run where one is driven.";

const LIST: &str = "\
Examples:
  innkeeper runs list
  innkeeper runs list --status unfinished
  innkeeper runs list --status failed --status partial_success --limit 5
  innkeeper runs list --json | jq -r '.[] | [.runId, .status, .title] | @tsv'";

const SHOW: &str = "\
Examples:
  innkeeper runs show last
  innkeeper runs show last --turn 2                   What was sent in round 2, and what came back
  innkeeper runs show last --file output/main.md      A file of its workspace
  innkeeper runs show last --json | jq .spent";

const EVENTS: &str = "\
Examples:
  innkeeper runs events last
  innkeeper runs events last --after 40 --limit 20
  innkeeper runs events last --follow                 As they happen, until the run is over
  innkeeper runs events last --json | jq -c 'select(.type == \"tool_call_failed\")'

Without --after the last events are shown. With --json each is a line as the journal has it.";

const CHECKPOINTS: &str = "\
Examples:
  innkeeper runs checkpoints last
  innkeeper runs checkpoints last cp_000003           One of them, with all its files
  innkeeper runs checkpoints last --json | jq -r '.checkpoints[] | [.id, .reason] | @tsv'

A checkpoint is made at each write, patch and commit. A file as it was then: \
innkeeper runs show last --file checkpoints/cp_000003/output/main.md";

const CHECKPOINT: &str = "\
Examples:
  innkeeper runs checkpoint last                      The files as they are now, to be found again
  innkeeper runs checkpoint last --note \"Before the storm\"

If another process drives the run, it makes the checkpoint; where nobody does, it is made here, and the run stays as it is. \
A run that is over takes none: its end is kept anyway. With --json: id, seq, eventSeq, runId, createdAt, reason, note and \
files.";

const DIFF: &str = "\
Examples:
  innkeeper runs diff last                            All that a run has changed
  innkeeper runs diff last cp_000003                  Since that checkpoint
  innkeeper runs diff last cp_000003 cp_000007        Between two checkpoints
  innkeeper runs diff last --path output --stat       Which files of a folder, and how many lines
  innkeeper runs diff last > run.patch                For patch -p1 and git apply

FROM and TO are checkpoints (cp_000003, or 3), `start` for what the run began with, or `now`. What is not compared line \
by line (no text, too large, too much) is named in a line that begins with #. With --json: runId, fromCheckpointId, \
toCheckpointId, files and totals.";

const ROLLBACK: &str = "\
Examples:
  innkeeper runs rollback last cp_000003              Files and conversation as they were then
  innkeeper runs rollback last start --yes            To what it began with, without asking
  innkeeper runs rollback last 3 --scope committed-message
                                                      What was published since then is withdrawn too
  innkeeper runs rollback last --undo                 As it was before the last rollback

What will change is shown, and you are asked. The run is over or paused; one that waits for you or was interrupted is \
cancelled first, one at work is refused, and so is one that has gone on since what will change was shown. Afterwards it can be resumed, also one that was complete: its model is told what \
was taken back, and what was allowed for the run since then is asked again. What was spent stays spent, and what tools did outside the workspace is not undone. With --json: the event \
run_rolled_back with runId, status and afterCheckpointId.

Exit codes: 0 done, 1 failed or declined, 2 wrong usage or no such run, 6 another process drives the runs of this home.";

const FORK: &str = "\
Examples:
  innkeeper runs fork last                            Go on from where a run is, in a new one
  innkeeper runs fork last cp_000003 --tell \"Make it sad\"
  innkeeper runs fork last 3 --model local/qwen3      With another model
  innkeeper runs fork last start --no-start           Only make it; runs resume starts it

The new run has the files and the conversation of that moment, its own id and its own budgets; the run it comes from is not \
touched, may be at work, and can be deleted. Tasks that its agents were at work on do not come along, and the new run is told \
so. It is shown as innkeeper run shows it, with the same --json and exit codes: 6 while another process drives the runs of \
this home, unless it is only made (--no-start).";

const RESUME: &str = "\
Examples:
  innkeeper runs resume last                          A run that was interrupted, paused, cancelled or failed
  innkeeper runs resume last --rounds 20              With so many rounds more
  innkeeper runs resume --all                         All that have no end

With --all each line begins with the end of its run's id, if there are several; with --json each run has its handle, \
its events and its summary, told apart by runId.

Exit codes: those of innkeeper run; with --all 1 if one of them failed.";

const GUIDE: &str = "\
Examples:
  innkeeper runs guide last \"Make it shorter\"
  innkeeper runs guide 0197aa - < remarks.md          Read the words from standard input

The run is at work in another process, and is told this with the next request to its model. If it is over, or if nobody \
drives it, nothing is told, and the line says what to do instead.";

const APPROVE: &str = "\
Examples:
  innkeeper runs approve --list                       All that waits for an answer
  innkeeper runs approve last --list                  What waits in one run, in full
  innkeeper runs approve last                         Let it be called, this once
  innkeeper runs approve last --remember run          And whenever this run asks the same again
  innkeeper runs approve last call_2_1 --deny --reason \"Not that file\"
  innkeeper runs approve last --arguments '{\"file_path\": \"notes/old.md\"}'

What is answered is shown, with characters that cannot be seen as \\u200b. If several calls of the run wait, name one. A process that drives the run goes on at once; where nobody does, the answer is \
kept, and innkeeper runs resume goes on with it. The arguments are given whole; a value that is left as it was shown \
(`[redacted]`) stays as it is. What a rule denies stays denied.";

const CANCEL: &str = "\
Examples:
  innkeeper runs cancel last
  innkeeper runs cancel last --task task_0197aa       One task, and nothing else of the run

If another process drives the run, it is told, and its end is waited for.";

const EXPORT: &str = "\
Examples:
  innkeeper runs export last > run.json
  innkeeper runs export last --output run.json

One JSON object: format, version, record, created (what it began with), spent, failure, commits, events, turns (each with \
what was added to the request, and the reply) and files (of the workspace). The same run gives the same bytes. A file is \
there whole or stays as it was; a device or a pipe is written into.";

const DELETE: &str = "\
Examples:
  innkeeper runs delete last
  innkeeper runs delete 0197aa --yes

Its events and its files are gone for good. A run that is not over is cancelled first.";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The profile, if a message follows; else the message itself; `-` reads it from standard input
    #[arg(value_name = "PROFILE")]
    pub(crate) first: Option<String>,
    /// What is to be done
    #[arg(value_name = "MESSAGE")]
    pub(crate) second: Option<String>,
    /// The agent, by its profile [default: innkeeper, who answers you and has all tools]
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// The model, in the place of the profile's
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Project whose profiles, workflows and files are meant
    #[arg(long, value_name = "PROJECT", default_value = "default")]
    pub(crate) project: String,
    /// A chat of this name: the run knows what earlier ones of it have left, and shares its world
    #[arg(long, value_name = "CHAT")]
    pub(crate) chat: Option<String>,
    /// How the model writes calls, in the place of what the profile says
    #[arg(long, value_enum, ignore_case = true, value_name = "PROTOCOL")]
    pub(crate) protocol: Option<RunProtocol>,
    /// Need nothing published: a plain answer ends it, whatever the profile says
    #[arg(long)]
    pub(crate) background: bool,
    /// So many requests to the model at most, in the place of what the profile says. Whoever the run is handed to has what is
    /// left of them; agents that work on tasks count their own
    #[arg(long, value_name = "NUMBER", value_parser = rounds())]
    pub(crate) max_rounds: Option<u32>,
    /// Answer yes to whatever the rules say to ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Go on with this run; a message is told to it
    #[arg(long, value_name = "RUN", conflicts_with_all = ["profile", "model", "chat", "protocol", "background", "max_rounds", "second"])]
    pub(crate) resume: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunProtocol {
    /// `<|[REQUEST_TOOL]|>` blocks in the text
    Tam,
    /// `<ACTION>` blocks in the text
    Action,
    /// The provider's own tool calls
    Native,
}

impl From<RunProtocol> for Dialect {
    fn from(choice: RunProtocol) -> Self {
        match choice {
            RunProtocol::Tam => Self::Tam,
            RunProtocol::Action => Self::Action,
            RunProtocol::Native => Self::Native,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum RunsCommand {
    /// List runs, the newest first
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List(RunsListArgs),
    /// Show a run: how it went, its turns, calls, files and what it published
    #[command(after_help = SHOW, args_override_self = true, max_term_width = 100)]
    Show(RunsShowArgs),
    /// Print the events of a run
    #[command(after_help = EVENTS, args_override_self = true, max_term_width = 100)]
    Events(RunsEventsArgs),
    /// Make a checkpoint of a run, whoever drives it
    #[command(after_help = CHECKPOINT, args_override_self = true, max_term_width = 100)]
    Checkpoint(RunsCheckpointArgs),
    /// List the checkpoints of a run, or show the files of one
    #[command(after_help = CHECKPOINTS, args_override_self = true, max_term_width = 100)]
    Checkpoints(RunsCheckpointsArgs),
    /// Show what a run has changed, between any two of its checkpoints
    #[command(after_help = DIFF, args_override_self = true, max_term_width = 100)]
    Diff(RunsDiffArgs),
    /// Take a run back to one of its checkpoints: files and conversation
    #[command(after_help = ROLLBACK, args_override_self = true, max_term_width = 100)]
    Rollback(RunsRollbackArgs),
    /// Start a new run from a checkpoint of another
    #[command(after_help = FORK, args_override_self = true, max_term_width = 100)]
    Fork(RunsForkArgs),
    /// Go on with a run that was interrupted, paused, cancelled or failed
    #[command(after_help = RESUME, args_override_self = true, max_term_width = 100)]
    Resume(RunsResumeArgs),
    /// Say something to a run that is at work in another process
    #[command(after_help = GUIDE, args_override_self = true, max_term_width = 100)]
    Guide(RunsGuideArgs),
    /// Answer a run that asks whether it may call a tool
    #[command(after_help = APPROVE, args_override_self = true, max_term_width = 100)]
    Approve(RunsApproveArgs),
    /// Cancel a run, whoever drives it
    #[command(after_help = CANCEL, args_override_self = true, max_term_width = 100)]
    Cancel(RunsCancelArgs),
    /// Write all of a run as one JSON document
    #[command(after_help = EXPORT, args_override_self = true, max_term_width = 100)]
    Export(RunsExportArgs),
    /// Remove a run with its events and files
    #[command(after_help = DELETE, args_override_self = true, max_term_width = 100)]
    Delete(RunsDeleteArgs),
    /// Let go of old runs: first of what they were made of, then of all
    #[command(after_help = runs_keep::PRUNE, args_override_self = true, max_term_width = 100)]
    Prune(RunsPruneArgs),
    /// See, compare, copy and prune what runs of a chat remember
    #[command(subcommand, after_help = runs_keep::MEMORY, max_term_width = 100, arg_required_else_help = false)]
    Memory(RunsMemoryCommand),
}

/// As many as a run takes at once.
fn rounds() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(MAX_ADDITIONAL_ROUNDS))
}

/// What `--status` takes: the names of the journal, and `unfinished` for all that have no end.
pub(crate) const STATUSES: [&str; 16] = [
    "unfinished",
    "created",
    "initializing_workspace",
    "assembling_context",
    "calling_model",
    "dispatching_tool",
    "awaiting_approval",
    "applying_workspace_patch",
    "creating_checkpoint",
    "awaiting_host_commit",
    "finishing",
    "completed",
    "partial_success",
    "cancelling",
    "cancelled",
    "failed",
];

#[derive(Debug, Args)]
pub(crate) struct RunsListArgs {
    /// Only runs of this status, or `unfinished`; may be repeated
    #[arg(long, value_name = "STATUS", ignore_case = true,
          value_parser = clap::builder::PossibleValuesParser::new(STATUSES), hide_possible_values = true)]
    pub(crate) status: Vec<String>,
    /// So many at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Args)]
pub(crate) struct RunsShowArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// What was sent to the model in this round, and what came back
    #[arg(long, value_name = "ROUND", conflicts_with = "file")]
    pub(crate) turn: Option<u32>,
    /// With --turn: of this agent of the run, by its invocation id
    #[arg(long, value_name = "ID", requires = "turn")]
    pub(crate) invocation: Option<String>,
    /// A task that its agent gave to another, with what came of it
    #[arg(long, value_name = "TASK", conflicts_with_all = ["turn", "file"])]
    pub(crate) task: Option<String>,
    /// The text of a file of its workspace
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsEventsArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Only those after the event of this number
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// So many at most
    #[arg(long, value_name = "NUMBER", default_value_t = 100)]
    pub(crate) limit: usize,
    /// Go on with those that come, until the run is over
    #[arg(long)]
    pub(crate) follow: bool,
    /// Only those of this agent of the run, by its invocation id; `runs show` lists them
    #[arg(long, value_name = "ID")]
    pub(crate) invocation: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsCheckpointArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Why; kept with it
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsCheckpointsArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Only this one, with all its files
    #[arg(value_name = "CHECKPOINT")]
    pub(crate) checkpoint: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsDiffArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// A checkpoint, `start` or `now`
    #[arg(value_name = "FROM", default_value = "start")]
    pub(crate) from: String,
    /// A checkpoint, `start` or `now`
    #[arg(value_name = "TO", default_value = "now")]
    pub(crate) to: String,
    /// Only this file, or the files of this folder; may be repeated
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Vec<String>,
    /// Only which files, and how many lines of each
    #[arg(long)]
    pub(crate) stat: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsRollbackArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// A checkpoint, or `start`
    #[arg(value_name = "CHECKPOINT", required_unless_present = "undo")]
    pub(crate) checkpoint: Option<String>,
    /// What is taken back beside files and conversation
    #[arg(long, value_enum, ignore_case = true, value_name = "SCOPE", default_value_t = RunsRollbackScope::Workspace)]
    pub(crate) scope: RunsRollbackScope,
    /// As it was before the last rollback
    #[arg(long, conflicts_with = "checkpoint")]
    pub(crate) undo: bool,
    /// Why, for whoever reads its events
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsRollbackScope {
    /// Nothing: what was published stays
    Workspace,
    /// What was published since then is withdrawn
    CommittedMessage,
}

impl From<RunsRollbackScope> for RollbackScope {
    fn from(choice: RunsRollbackScope) -> Self {
        match choice {
            RunsRollbackScope::Workspace => Self::Workspace,
            RunsRollbackScope::CommittedMessage => Self::CommittedMessage,
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunsForkArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// A checkpoint, `start` or `now`
    #[arg(value_name = "CHECKPOINT", default_value = "now")]
    pub(crate) checkpoint: String,
    /// What the agent is told with its first request; `-` reads it from standard input
    #[arg(long, value_name = "TEXT")]
    pub(crate) tell: Option<String>,
    /// Another agent, by its profile
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// Another model
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Make it, but do not start it
    #[arg(long)]
    pub(crate) no_start: bool,
    /// Answer yes to whatever the rules say to ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsResumeArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN", required_unless_present = "all")]
    pub(crate) run: Option<String>,
    /// All runs that have no end
    #[arg(long, conflicts_with_all = ["run", "rounds"])]
    pub(crate) all: bool,
    /// So many requests to the model more than it had
    #[arg(long, value_name = "NUMBER", value_parser = rounds())]
    pub(crate) rounds: Option<u32>,
    /// Answer yes to whatever the rules say to ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RunsGuideArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// What the agent is to know; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
}

#[derive(Debug, Args)]
pub(crate) struct RunsApproveArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN", required_unless_present = "list")]
    pub(crate) run: Option<String>,
    /// The call, its question (approvalId) or its agent, if several wait
    #[arg(value_name = "CALL")]
    pub(crate) call: Option<String>,
    /// Do not let it be called
    #[arg(long, conflicts_with_all = ["remember", "arguments"])]
    pub(crate) deny: bool,
    /// Why; the model is told
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// How long that is good
    #[arg(long, value_enum, ignore_case = true, value_name = "HOW_LONG")]
    pub(crate) remember: Option<RunsRemember>,
    /// Call it with these arguments instead: JSON, `@FILE`, or `-` for standard input
    #[arg(long, value_name = "JSON", conflicts_with = "remember")]
    pub(crate) arguments: Option<String>,
    /// Show what waits for an answer, of this run or of all
    #[arg(long, conflicts_with_all = ["call", "deny", "reason", "remember", "arguments"])]
    pub(crate) list: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunsRemember {
    /// This call
    Once,
    /// This tool, as long as this run lasts
    Run,
    /// This tool for this agent, from now on
    Always,
}

#[derive(Debug, Args)]
pub(crate) struct RunsCancelArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Only this task that its agent gave to another, by its id; `runs show` lists them
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsExportArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// File to write, instead of standard output
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunsDeleteArgs {
    /// Its id, the beginning of it, or `last`
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}
