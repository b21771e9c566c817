//! What can be typed: commands, options and their help texts. Decides nothing.

mod models;
mod plugin;
mod profiles;
mod runs;
mod runs_keep;
mod serve;
mod skills;
mod state;
mod tools;
mod workflow;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use innkeeper_protocol::Dialect;

use crate::lang::Lang;

pub(crate) use models::{
    ExamDialect, ModelsAddArgs, ModelsCommand, ModelsDiscoverArgs, ModelsListArgs,
    ModelsRemoveArgs, ModelsScoreArgs, ModelsTestArgs,
};
pub(crate) use plugin::{
    CheckArgs, ConfigAction, ConfigArgs, ConfigScopeArgs, EnableArgs, NewArgs, PluginCommand,
    TemplateChoice,
};
pub(crate) use profiles::{ProfilesCommand, ProfilesListArgs, ProfilesShowArgs};
#[cfg(test)]
pub(crate) use runs::STATUSES;
pub(crate) use runs::{
    RunArgs, RunsApproveArgs, RunsCancelArgs, RunsCheckpointArgs, RunsCheckpointsArgs, RunsCommand,
    RunsDeleteArgs, RunsDiffArgs, RunsEventsArgs, RunsExportArgs, RunsForkArgs, RunsGuideArgs,
    RunsListArgs, RunsRemember, RunsResumeArgs, RunsRollbackArgs, RunsShowArgs,
};
pub(crate) use runs_keep::{
    MemoryCopyArgs, MemoryDiffArgs, MemoryListArgs, MemoryPruneArgs, MemoryShowArgs,
    RunsMemoryCommand, RunsPruneArgs,
};
pub(crate) use serve::{AccessCommand, AccessPairArgs, AccessTokenArgs, ServeArgs};
pub(crate) use skills::{
    ConflictArgs, SkillsCommand, SkillsDeleteArgs, SkillsExportArgs, SkillsImportArgs,
    SkillsListArgs, SkillsMoveArgs, SkillsRetargetArgs, SkillsShowArgs,
};
pub(crate) use state::{
    ChatArgs, ChatKind, StateCommand, StateDeleteArgs, StateHistoryArgs, StateSchemaArgs,
    StateSetArgs, StateShowArgs,
};
pub(crate) use tools::{
    AuditArgs, GrantsArgs, ListArgs, ManifestArgs, SearchArgs, ShowArgs, ToolCallArgs, ToolsCommand,
};
pub(crate) use workflow::{
    GraphArgs, GraphFormat, NodesArgs, WorkflowCheckArgs, WorkflowCommand, WorkflowListArgs,
    WorkflowRunArgs,
};

const EXAMPLES: &str = "\
Examples:
  innkeeper run \"Roll 2d6+3 for me\"         Let an agent do something, and watch it
  innkeeper runs list                       What agents did, and what is unfinished
  innkeeper profiles list                   Which agents there are
  innkeeper skills import ./haiku           Give agents instructions to read when they need them
  innkeeper state show --run last           What agents keep for themselves, and share
  innkeeper parse reply.txt                 Show the tool calls in a model's reply
  innkeeper call reply.txt                  Run them, and print what the model is told
  innkeeper tools list                      What can be called
  innkeeper tools call dice.roll formula=2d6 Call one tool yourself
  innkeeper workflow run greet.json         Run a workflow
  innkeeper models add openrouter           Connect a language model
  innkeeper plugin list                     Plugins and whether they are switched on
  innkeeper serve                           Open the doors to browsers and programs
  innkeeper doctor                          What works on this machine, and what does not
  innkeeper --lang zh tools list            Give messages in Chinese

Exit codes: 0 done, 1 failed or refused, 2 wrong usage or unreadable input, 3 nothing to call, 4 a run failed after \
something was published, 5 a run was cancelled by somebody else or waits for a person, 6 another process drives the runs \
of this home, 130 stopped by Ctrl-C.";

const CALL_EXAMPLES: &str = "\
Examples:
  innkeeper call reply.txt                  Run the calls in a file
  my-model | innkeeper call                 Run the calls in what a model writes
  innkeeper call --deny 'File.*' reply.txt  Run them, but nothing that touches files
  innkeeper call --yes reply.txt            Answer yes to whatever would be asked
  innkeeper call --json reply.txt | jq '.[].outcome'

The text may hold TAM blocks, <ACTION> blocks, <tool_call> elements or a provider's native response. \
Calls run as an agent's, under the rules of innkeeper.toml. What comes of each is printed as the model \
would read it; with --json, as an array of records with that text in each. Where a rule says to ask, you \
are asked; without a terminal that means no, unless --yes is given. Ctrl-C stops what runs and prints what \
there is so far.

Exit codes: 0 every call succeeded, 1 one failed or was refused, 2 wrong usage or unreadable input, \
3 the text calls nothing, 130 stopped by Ctrl-C.";

const PARSE_EXAMPLES: &str = "\
Examples:
  innkeeper parse reply.txt                 Read a file
  my-model | innkeeper parse                Read standard input
  innkeeper parse --protocol tam reply.txt  Look for TAM calls only
  innkeeper parse --jsonl replies.jsonl     One JSON string per line in, one result per line out
  innkeeper parse reply.txt | jq '.blocks[].commands[].toolId'

The result has responseText (what stands before the first call), outsideText, trailingText, blocks \
(the calls), and warnings, errors and diagnostics with byte positions. A text that holds no call is a \
result too: its blocks are empty. So is a text with mistakes in it: the exit code is 0, the errors are \
in the result, and a block with errors is never run.

Exit codes: 0 the text was read, 1 the result could not be written, 2 wrong usage or unreadable input.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  innkeeper doctor                          One line for each thing that was looked at
  innkeeper doctor --json | jq '.sandbox.layers[] | select(.active | not)'
  innkeeper doctor --repair                 Save what can be read of a damaged database

Looks at the folder for settings and data, the settings, the secrets, the models, the database, the runs, the plugins, \
the interpreters for scripts and the layers of the sandbox. Changes nothing, unless --repair says so: then the \
database is gone through, what is damaged is cut off, and the file as it was is kept beside it. A line begins with ok, warn (it \
works, though not all there could be) or fail (something that is needed does not work).

Exit codes: 0 everything that is needed works, 1 something does not, 2 wrong usage.";

/// An agent platform in one binary.
///
/// It reads what a language model wrote, runs the tool calls in it under its owner's rules, and tells what
/// came of them.
#[derive(Debug, Parser)]
#[command(
    name = "innkeeper",
    version,
    after_help = EXAMPLES,
    disable_help_subcommand = true,
    max_term_width = 100,
    args_override_self = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options that may stand before or after the command.
#[derive(Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub(crate) struct Global {
    /// Folder for settings and data [default: INNKEEPER_HOME, or the platform's data folder]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) home: Option<PathBuf>,
    /// Print results as compact JSON, one document, even on a terminal
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print results and errors only, no progress
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    /// Language of messages [default: by LC_ALL, LC_MESSAGES or LANG]
    #[arg(long, global = true, value_enum, value_name = "LANG")]
    pub(crate) lang: Option<Lang>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Let an agent do something, and watch it
    #[command(after_help = runs::RUN, args_override_self = true, max_term_width = 100)]
    Run(RunArgs),
    /// See, resume, cancel and export runs of agents
    #[command(
        subcommand,
        after_help = runs::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Runs(RunsCommand),
    /// See which agents can be run, and what is wrong with those that cannot
    #[command(
        subcommand,
        after_help = profiles::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Profiles(ProfilesCommand),
    /// See, import and export skills: instructions that agents read when they need them
    #[command(
        subcommand,
        after_help = skills::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Skills(SkillsCommand),
    /// See and correct what agents keep for themselves, and what those of a chat share
    #[command(
        subcommand,
        after_help = state::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    State(StateCommand),
    /// Read a model's reply and print the tool calls in it as JSON
    #[command(after_help = PARSE_EXAMPLES, args_override_self = true, max_term_width = 100)]
    Parse(ParseArgs),
    /// Run the tool calls in a model's reply and print what came of them
    #[command(after_help = CALL_EXAMPLES, args_override_self = true, max_term_width = 100)]
    Call(CallArgs),
    /// See and call tools, and look at what was called
    #[command(
        subcommand,
        after_help = tools::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Tools(ToolsCommand),
    /// Run, check, list and draw workflows
    #[command(
        subcommand,
        after_help = workflow::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Workflow(WorkflowCommand),
    /// Connect language models, list, test and score them
    #[command(
        subcommand,
        after_help = models::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Models(ModelsCommand),
    /// See, check, begin, configure and switch plugins
    #[command(
        subcommand,
        after_help = plugin::EXAMPLES,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Plugin(PluginCommand),
    /// Open the doors to the network: HTTP and live events
    #[command(after_help = serve::SERVE, args_override_self = true, max_term_width = 100)]
    Serve(ServeArgs),
    /// Say who may come in over the network
    #[command(
        subcommand,
        after_help = serve::ACCESS,
        max_term_width = 100,
        arg_required_else_help = false
    )]
    Access(AccessCommand),
    /// Look at this machine and say what works, what does not, and what to do about it
    #[command(after_help = DOCTOR_EXAMPLES, args_override_self = true, max_term_width = 100)]
    Doctor(DoctorArgs),
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair the database: cut off what is damaged, save what can be read
    #[arg(long)]
    pub(crate) repair: bool,
    /// Do not ask before it is repaired
    #[arg(long, requires = "repair")]
    pub(crate) yes: bool,
}

/// Which reply is to be read, and how.
#[derive(Debug, Args)]
pub(crate) struct ReplyArgs {
    /// File with the reply; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Way of calling to look for
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        default_value = "auto",
        value_name = "PROTOCOL"
    )]
    pub(crate) protocol: ProtocolChoice,
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) reply: ReplyArgs,
    /// Project whose files plain paths mean
    #[arg(long, value_name = "PROJECT", default_value = "default")]
    pub(crate) project: String,
    /// Answer yes to whatever the rules say to ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Offer only tools of this name, with * for any text; may be repeated [default: all]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) allow: Vec<String>,
    /// Do not offer tools of this name; may be repeated, and beats --allow
    #[arg(long, value_name = "PATTERN")]
    pub(crate) deny: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ParseArgs {
    #[command(flatten)]
    pub(crate) reply: ReplyArgs,
    /// Read one JSON string per line, print one result per line
    #[arg(long)]
    pub(crate) jsonl: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProtocolChoice {
    /// Whatever the reply holds, native responses of providers included
    Auto,
    /// `<|[REQUEST_TOOL]|>` blocks
    Tam,
    /// `<ACTION>` blocks
    Action,
    /// `<tool_call>` elements
    #[value(alias = "tool_call")]
    ToolCall,
}

impl From<ProtocolChoice> for Dialect {
    fn from(choice: ProtocolChoice) -> Self {
        match choice {
            ProtocolChoice::Auto => Self::Auto,
            ProtocolChoice::Tam => Self::Tam,
            ProtocolChoice::Action => Self::Action,
            ProtocolChoice::ToolCall => Self::ToolCall,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_option_and_command_has_a_help_text() {
        fn check(command: &clap::Command) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            let after = command.get_after_help().map(ToString::to_string);
            assert!(
                after.is_some_and(|text| text.contains("Examples:")),
                "{}",
                command.get_name()
            );
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{}", argument.get_id());
            }
            command.get_subcommands().for_each(check);
        }
        check(&Cli::command());
    }
}
