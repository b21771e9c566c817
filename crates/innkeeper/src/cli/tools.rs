//! `innkeeper tools …`: what can be typed.

use std::num::NonZeroUsize;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand, ValueEnum};
use innkeeper_protocol::{Locale, Protocol, Provider};
use innkeeper_store::AuditOutcome;

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper tools list                           All tools
  innkeeper tools search \"roll some dice\"        Which tool does that?
  innkeeper tools show File.Read                 What a tool takes
  innkeeper tools call dice.roll formula=2d6      Call it yourself
  innkeeper tools manifest --protocol tam        What a model is told about the tools
  innkeeper tools audit --limit 20               What was called lately

Exit codes: 0 done, 1 the call failed or was refused, or the audit log is broken, 2 wrong usage.";

const LIST: &str = "\
Examples:
  innkeeper tools list
  innkeeper tools list 'File.*'
  innkeeper tools list --source 'plugin:*' --tag file
  innkeeper tools list --json | jq -r '.[].id'";

const SEARCH: &str = "\
Examples:
  innkeeper tools search \"roll some dice\"
  innkeeper tools search 天气预报 --limit 3
  innkeeper tools search read a file --json | jq -r '.[].id'

Words may be English or Chinese, in any order and form; the best comes first. Names, descriptions, tags and parameters are \
searched, and what has served you before comes a little further up. Agents that may use many tools are told of those that \
fit their task, and find the others the same way.";

const SHOW: &str = "\
Examples:
  innkeeper tools show File.Read
  innkeeper tools show File.Read --json | jq .parameters";

const CALL: &str = "\
Examples:
  innkeeper tools call dice.roll formula=2d6
  innkeeper tools call File.Write --args '{\"file_path\": \"notes.md\", \"content\": \"Tea at eight\"}'
  innkeeper tools call File.Write --args - < arguments.json

You are the one who calls: what the rules say to ask counts as answered by you, what they forbid stays \
forbidden. Every wrong parameter is named at once. A tool that works in the background is waited for; \
--no-wait prints its handle instead.

Exit codes: 0 done, 1 the call failed or was refused, 2 wrong usage, 130 stopped by Ctrl-C.";

const MANIFEST: &str = "\
Examples:
  innkeeper tools manifest                       For a prompt, in the TAM dialect
  innkeeper tools manifest --protocol action --locale zh
  innkeeper tools manifest --protocol openai --tools 'File.*' > tools.json";

const AUDIT: &str = "\
Examples:
  innkeeper tools audit                          The latest calls, newest first
  innkeeper tools audit --tool 'File.*' --outcome denied --since 7d
  innkeeper tools audit --verify                 Has anybody changed the log?
  innkeeper tools audit --json | jq '.[] | [.at, .tool, .outcome]'

Exit codes: 0 done, 1 the log was tampered with, 2 wrong usage.";

const GRANTS: &str = "\
Examples:
  innkeeper tools grants                         What was answered with \"always\"
  innkeeper tools grants --revoke 3              Ask again from now on";

#[derive(Debug, Subcommand)]
pub(crate) enum ToolsCommand {
    /// List the tools that can be called
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List(ListArgs),
    /// Find the tools that fit what is to be done
    #[command(after_help = SEARCH, args_override_self = true, max_term_width = 100)]
    Search(SearchArgs),
    /// Show one tool with its parameters
    #[command(after_help = SHOW, args_override_self = true, max_term_width = 100)]
    Show(ShowArgs),
    /// Call one tool and print its result
    #[command(after_help = CALL, args_override_self = true, max_term_width = 100)]
    Call(ToolCallArgs),
    /// Print what a model is told about the tools
    #[command(after_help = MANIFEST, args_override_self = true, max_term_width = 100)]
    Manifest(ManifestArgs),
    /// Look at what was called, by whom, and what came of it
    #[command(after_help = AUDIT, args_override_self = true, max_term_width = 100)]
    Audit(AuditArgs),
    /// List or revoke what was allowed for always
    #[command(after_help = GRANTS, args_override_self = true, max_term_width = 100)]
    Grants(GrantsArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only tools of this name, with * for any text
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: Option<String>,
    /// Only tools of this source, such as builtin or plugin:*
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    /// Only tools with this tag
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What is to be done, in a few words
    #[arg(value_name = "WORDS", required = true)]
    pub(crate) words: Vec<String>,
    /// At most so many tools
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) limit: NonZeroUsize,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// The tool's id or an alias
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct ToolCallArgs {
    /// The tool's id or an alias
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Parameters; a value is read as the type that the tool declares
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) assignments: Vec<String>,
    /// All parameters as a JSON object; `-` reads it from standard input
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Project whose files plain paths mean
    #[arg(long, value_name = "PROJECT", default_value = "default")]
    pub(crate) project: String,
    /// Do not wait for a tool that works in the background; print its handle
    #[arg(long)]
    pub(crate) no_wait: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    /// Way of calling to explain
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        default_value = "tam",
        value_name = "PROTOCOL"
    )]
    pub(crate) protocol: ManifestProtocol,
    /// Language of the explanation [default: the language of messages]
    #[arg(long, value_enum, ignore_case = true, value_name = "LOCALE")]
    pub(crate) locale: Option<LocaleChoice>,
    /// Only tools of this name, with * for any text; may be repeated [default: all]
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tools: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Only calls of this tool, with * for any text
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tool: Option<String>,
    /// Only calls that ended so
    #[arg(
        long,
        value_name = "OUTCOME",
        ignore_case = true,
        value_parser = PossibleValuesParser::new(AuditOutcome::ALL.iter().map(|outcome| outcome.as_str()))
    )]
    pub(crate) outcome: Option<String>,
    /// Only calls of this run
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Only calls since a date, a time, or so long ago (2h, 7d)
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<String>,
    /// At most so many
    #[arg(long, value_name = "N", default_value = "50")]
    pub(crate) limit: usize,
    /// Check that nobody changed or removed a record
    #[arg(long, conflicts_with_all = ["tool", "outcome", "run", "since"])]
    pub(crate) verify: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GrantsArgs {
    /// Take back the grant of this number
    #[arg(long, value_name = "ID")]
    pub(crate) revoke: Option<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManifestProtocol {
    /// `<|[REQUEST_TOOL]|>` blocks
    Tam,
    /// `<ACTION>` blocks
    Action,
    /// `<tool_call>` elements
    #[value(alias = "tool_call")]
    ToolCall,
    /// Declarations for OpenAI and what is compatible with it
    #[value(name = "openai")]
    OpenAi,
    /// Declarations for Anthropic
    Anthropic,
    /// Declarations for Gemini
    Gemini,
}

impl From<ManifestProtocol> for Protocol {
    fn from(choice: ManifestProtocol) -> Self {
        match choice {
            ManifestProtocol::Tam => Self::Tam,
            ManifestProtocol::Action => Self::Action,
            ManifestProtocol::ToolCall => Self::ToolCall,
            ManifestProtocol::OpenAi => Self::Native(Provider::OpenAi),
            ManifestProtocol::Anthropic => Self::Native(Provider::Anthropic),
            ManifestProtocol::Gemini => Self::Native(Provider::Gemini),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LocaleChoice {
    En,
    Zh,
}

impl From<LocaleChoice> for Locale {
    fn from(choice: LocaleChoice) -> Self {
        match choice {
            LocaleChoice::En => Self::En,
            LocaleChoice::Zh => Self::Zh,
        }
    }
}
