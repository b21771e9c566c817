//! `innkeeper state …`: what can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper state show --run last                     What agents of the chat of the newest run know
  innkeeper state show --chat evening --world         What agents of a chat share
  innkeeper state history --run last --private keeper Who changed the private state of an agent, and how
  innkeeper state set --chat evening door.open true   Correct the world
  innkeeper state delete --chat evening --all         Let a chat forget everything

A private state belongs to one agent in one chat; the world belongs to all agents of the chat. docs/state.md tells how they \
are kept. A chat is named by its stable id (--chat, with --kind where an application keeps it), or by one of its runs (--run).

Exit codes: 0 done, 1 refused, 2 wrong usage or no such run, 6 another process drives the runs of this home.";

const SHOW: &str = "\
Examples:
  innkeeper state show --run last
  innkeeper state show --chat evening --world --path environment.weather
  innkeeper state show --chat abc --kind character --private keeper --json | jq '.private[0].value'

With --run, private states are shown as they are in that run; with --chat, as the next run of the chat begins with them: as \
the run begun last that is complete, and was not rolled back since, has left them.";

const HISTORY: &str = "\
Examples:
  innkeeper state history --run last
  innkeeper state history --chat evening --private keeper --limit 5
  innkeeper state history --run last --json | jq '.versions[] | [.version, .by.runId, .by.callId]'

The world, unless --private names an agent. The newest 200 versions of a world are kept, and the newest 50 of a private state.";

const SET: &str = "\
Examples:
  innkeeper state set --chat evening door.open true
  innkeeper state set --chat evening --op increment guests
  innkeeper state set --chat evening --op remove /environment/weather
  innkeeper state set --chat evening --private keeper mood '\"calm\"' --expected-version 7

VALUE is read as JSON; what is none is taken as text. Everything is held to the schema there is: that of the agent's profile, \
or that of the world. A private state is corrected in what a run has left: the one that the next run of the chat begins with, or \
that of --run. Later runs that go on from there begin with it. Integers are kept with all their digits, up to 18446744073709551615; \
larger ones are refused: give them as text.";

const DELETE: &str = "\
Examples:
  innkeeper state delete --chat evening --world
  innkeeper state delete --chat evening --private keeper --yes
  innkeeper state delete --chat evening --all

What is deleted is gone for later runs of the chat. --private takes the state of that agent out of all that runs of the chat have \
left, or with --run out of what that run has left; --all also removes the files that runs keep in persist/. Runs keep what they \
have: innkeeper runs delete removes them. What a run without an end began with stays, and is named.";

const SCHEMA: &str = "\
Examples:
  innkeeper state schema --chat evening               Show it
  innkeeper state schema --chat evening world.schema.json
  innkeeper state schema --chat evening --remove

Without a file: the JSON Schema that the world has to fit. With one: the schema that it has to fit from now on; what does not fit \
it is refused. The world has to fit it already.";

#[derive(Debug, Subcommand)]
pub(crate) enum StateCommand {
    /// Show the world of a chat and the private states of its agents
    #[command(after_help = SHOW, args_override_self = true, max_term_width = 100)]
    Show(StateShowArgs),
    /// Show who changed a state, when and how
    #[command(after_help = HISTORY, args_override_self = true, max_term_width = 100)]
    History(StateHistoryArgs),
    /// Change the world of a chat, or the private state of an agent
    #[command(after_help = SET, args_override_self = true, max_term_width = 100)]
    Set(StateSetArgs),
    /// Delete the world of a chat, the private state of an agent, or all that the chat remembers
    #[command(after_help = DELETE, args_override_self = true, max_term_width = 100)]
    Delete(StateDeleteArgs),
    /// Show or say what the world of a chat has to fit
    #[command(after_help = SCHEMA, args_override_self = true, max_term_width = 100)]
    Schema(StateSchemaArgs),
}

/// Which chat is meant.
#[derive(Debug, Args)]
pub(crate) struct ChatArgs {
    #[command(flatten)]
    pub(crate) named: ChatNameArgs,
    /// What kind of chat --chat is
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        value_name = "KIND",
        default_value = "session"
    )]
    pub(crate) kind: ChatKind,
}

#[derive(Debug, Args)]
#[group(id = "which", required = true, multiple = true)]
pub(crate) struct ChatNameArgs {
    /// The chat, by its stable id
    #[arg(long, value_name = "CHAT", conflicts_with = "run")]
    pub(crate) chat: Option<String>,
    /// The chat of this run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChatKind {
    /// Of innkeeper run --chat
    Session,
    /// Of an application: with a character
    Character,
    /// Of an application: with a group
    Group,
}

impl ChatKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::Character => "character",
            Self::Group => "group",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct StateShowArgs {
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
    /// Only the private state of this agent, by its profile
    #[arg(long, value_name = "PROFILE", conflicts_with = "world")]
    pub(crate) private: Option<String>,
    /// Only the world
    #[arg(long)]
    pub(crate) world: bool,
    /// Only what stands there: names with dots, or a JSON Pointer
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct StateHistoryArgs {
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
    /// The private state of this agent, by its profile; else the world
    #[arg(long, value_name = "PROFILE")]
    pub(crate) private: Option<String>,
    /// So many versions at most
    #[arg(long, value_name = "NUMBER", default_value_t = 20)]
    pub(crate) limit: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StateOp {
    /// Put the value there
    Set,
    /// Put the fields of an object into the one that is there
    Merge,
    /// Add the value to a list
    Append,
    /// Add the value to a number, or 1
    Increment,
    /// Take away what is there
    Remove,
}

impl StateOp {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Merge => "merge",
            Self::Append => "append",
            Self::Increment => "increment",
            Self::Remove => "remove",
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct StateSetArgs {
    /// Where: names with dots, or a JSON Pointer
    #[arg(value_name = "PATH")]
    pub(crate) path: String,
    /// What is to stand there: JSON, or text
    #[arg(value_name = "VALUE", allow_hyphen_values = true)]
    pub(crate) value: Option<String>,
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
    /// What to do there
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        value_name = "OP",
        default_value = "set"
    )]
    pub(crate) op: StateOp,
    /// The private state of this agent, by its profile; else the world
    #[arg(long, value_name = "PROFILE")]
    pub(crate) private: Option<String>,
    /// Only if the state is still at this version
    #[arg(long, value_name = "VERSION")]
    pub(crate) expected_version: Option<u64>,
    /// Project whose profile is meant
    #[arg(long, value_name = "PROJECT", default_value = "default")]
    pub(crate) project: String,
}

#[derive(Debug, Args)]
pub(crate) struct StateSchemaArgs {
    /// A file with a JSON Schema; the schema there is, if left out
    #[arg(value_name = "FILE", conflicts_with = "remove")]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
    /// Take the schema away
    #[arg(long)]
    pub(crate) remove: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StateDeleteArgs {
    #[command(flatten)]
    pub(crate) chat: ChatArgs,
    #[command(flatten)]
    pub(crate) what: StateDeleteWhat,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[group(id = "what", required = true, multiple = false)]
pub(crate) struct StateDeleteWhat {
    /// The world, with its history and its schema
    #[arg(long)]
    pub(crate) world: bool,
    /// The private state of this agent, by its profile
    #[arg(long, value_name = "PROFILE")]
    pub(crate) private: Option<String>,
    /// Everything: the world, and all that runs of the chat have left for later ones
    #[arg(long)]
    pub(crate) all: bool,
}
