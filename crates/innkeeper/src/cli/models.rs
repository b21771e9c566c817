//! `innkeeper models …`: what can be typed.

use clap::{Args, Subcommand, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper models discover --add                Connect the Ollama, LM Studio, … of this machine
  innkeeper models add openrouter                Connect a provider; asks for its key
  innkeeper models list                          What is connected, and what each lacks
  innkeeper models test                          One real reply, and how fast it came
  innkeeper models score --dialect all           In which dialect does it call tools best?

Exit codes: 0 done, 1 a model did not answer or you said no, 2 wrong usage, 130 stopped by Ctrl-C.";

const LIST: &str = "\
Examples:
  innkeeper models list
  innkeeper models list --remote                 Ask the servers which models they have
  innkeeper models list --channel openai --remote
  innkeeper models list --json | jq -r '.channels[] | [.name, .state] | @tsv'

A server that does not answer --remote within 10 seconds is told of and keeps nobody from being shown.";

const ADD: &str = "\
Examples:
  innkeeper models add ollama                    A server of this machine: no key
  innkeeper models add openrouter                Asks for the key, which is not shown
  innkeeper models add openai --key-env OPENAI_API_KEY --model gpt-5 --default gpt-5
  innkeeper models add anthropic --name work --key-stdin < key.txt
  innkeeper models add openai --replace-key      Another key in the place of one that was kept
  innkeeper models add custom --name lab --base-url http://192.168.1.5:8080/v1 --model qwen3
  innkeeper models add --list-providers

A key is never an argument, since it would stay in the shell's history and be seen by others of this machine. It is kept in \
secrets.toml, which only you can read; innkeeper.toml names it. One that is kept already is used for the provider of \
that name, for any other server only with --use-kept-key, and never overwritten without --replace-key.";

const REMOVE: &str = "\
Examples:
  innkeeper models remove openrouter             Asks first; its key goes too
  innkeeper models remove openrouter --yes --keep-key

Exit codes: 0 it is gone, 1 you said no or it is still needed, 2 wrong usage or nobody to ask.";

const TEST: &str = "\
Examples:
  innkeeper models test                          The default model
  innkeeper models test ollama/qwen3 --prompt 'Name three rivers.'
  innkeeper models test --json | jq .tokensPerSecond

The reply goes to standard output while it comes. Then it is told who answered, how long the first token took, tokens per \
second (estimated where the server does not count) and the cost where it is known. With --json a reply that breaks is told \
with what had come, and `error`.

Exit codes: 0 it answered, 1 it did not, 2 wrong usage, 130 stopped by Ctrl-C.";

const DISCOVER: &str = "\
Examples:
  innkeeper models discover
  innkeeper models discover --add                Make a channel for each that is found
  innkeeper models discover --port 9000 --port 9001

Looks at the usual ports of Ollama, LM Studio, llama.cpp and vLLM on this machine, and nowhere else.";

const SCORE: &str = "\
Examples:
  innkeeper models score                         The default model, in TAM
  innkeeper models score --model ollama/qwen3 --dialect all --repeats 3
  innkeeper models score --grammar               Held to a grammar, where the server can do that
  innkeeper models score --json | jq '.[].score'

A small exam in calling tools. It tells how many replies could be read (parsed), fitted the tool (bound), kept to its whole \
schema (valid), chose the right tool and the right arguments. Nothing is run. With --grammar a model that has to call \
something can write nothing but calls of the task's tools.

Exit codes: 0 the exam was taken, 1 the model could not be asked, 2 wrong usage, 130 stopped by Ctrl-C.";

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// List channels, their models, prices and what they lack
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List(ModelsListArgs),
    /// Connect a provider or a server
    #[command(after_help = ADD, args_override_self = true, max_term_width = 100)]
    Add(ModelsAddArgs),
    /// Disconnect a channel
    #[command(after_help = REMOVE, max_term_width = 100)]
    Remove(ModelsRemoveArgs),
    /// Ask a model one thing and measure the reply
    #[command(after_help = TEST, args_override_self = true, max_term_width = 100)]
    Test(ModelsTestArgs),
    /// Find model servers on this machine
    #[command(after_help = DISCOVER, max_term_width = 100)]
    Discover(ModelsDiscoverArgs),
    /// Let a model take an exam in calling tools
    #[command(after_help = SCORE, args_override_self = true, max_term_width = 100)]
    Score(ModelsScoreArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ModelsListArgs {
    /// Only this channel
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// Ask the servers which models they have
    #[arg(long)]
    pub(crate) remote: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsAddArgs {
    /// The provider: openai, anthropic, gemini, openrouter, ollama, custom, …
    #[arg(value_name = "PROVIDER", required_unless_present = "list_providers")]
    pub(crate) provider: Option<String>,
    /// Name of the channel [default: the provider]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Address with the version, like https://api.example.com/v1 [default: the provider's]
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Environment variable that holds the key
    #[arg(long, value_name = "VAR", conflicts_with = "key_stdin")]
    pub(crate) key_env: Option<String>,
    /// Read the key from standard input
    #[arg(long)]
    pub(crate) key_stdin: bool,
    /// Overwrite a key that is kept under the channel's name
    #[arg(long, conflicts_with = "key_env")]
    pub(crate) replace_key: bool,
    /// Show a key that is kept under the channel's name to this server too
    #[arg(long, conflicts_with_all = ["key_env", "key_stdin", "replace_key"])]
    pub(crate) use_kept_key: bool,
    /// A model that it serves, with * for any text; may be repeated [default: all]
    #[arg(long = "model", value_name = "MODEL")]
    pub(crate) models: Vec<String>,
    /// The model that answers where none is named
    #[arg(long, value_name = "MODEL")]
    pub(crate) default: Option<String>,
    /// Show all providers and do nothing else
    #[arg(long)]
    pub(crate) list_providers: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsRemoveArgs {
    /// The channel's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
    /// Leave its key in secrets.toml
    #[arg(long)]
    pub(crate) keep_key: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsTestArgs {
    /// The model [default: the default model]
    #[arg(value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// What it is asked
    #[arg(long, value_name = "TEXT")]
    pub(crate) prompt: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsDiscoverArgs {
    /// Make a channel for each server that has none
    #[arg(long)]
    pub(crate) add: bool,
    /// Look at this port; may be repeated [default: the usual ones]
    #[arg(long = "port", value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) ports: Vec<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct ModelsScoreArgs {
    /// The model [default: the default model]
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Way of calling that it is taught
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        default_value = "tam",
        value_name = "DIALECT"
    )]
    pub(crate) dialect: ExamDialect,
    /// Hold the replies to a grammar, where the server can
    #[arg(long)]
    pub(crate) grammar: bool,
    /// How often each task is asked, up to 20
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        value_parser = clap::value_parser!(u8).range(1..=20)
    )]
    pub(crate) repeats: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExamDialect {
    /// `<|[REQUEST_TOOL]|>` blocks
    Tam,
    /// `<ACTION>` blocks
    Action,
    /// The provider's own calls
    Native,
    /// One after the other
    All,
}
