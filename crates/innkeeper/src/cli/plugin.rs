//! `innkeeper plugin …`: what can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper plugin new greetings                 Begin a plugin of your own; prints its folder
  innkeeper plugin check DIR                     Is everything in it right?
  innkeeper plugin list                          All plugins and where they stand
  innkeeper plugin permissions greetings         What it asks for
  innkeeper plugin enable greetings              Look at that, and switch it on
  innkeeper plugin config greetings              Its settings

Exit codes: 0 done, 1 the plugin is broken or was not switched on, 2 wrong usage.";

const LIST: &str = "\
Examples:
  innkeeper plugin list
  innkeeper plugin list --json | jq -r '.[] | [.name, .state] | @tsv'";

const SHOW: &str = "\
Examples:
  innkeeper plugin show greetings
  innkeeper plugin show greetings --json | jq '.tools[].id'";

const CHECK: &str = "\
Examples:
  innkeeper plugin check .
  innkeeper plugin check plugins/greetings --json | jq '.problems[]'

Reads the folder and runs nothing. Every problem is listed with file, line and code.

Exit codes: 0 the plugin can be used (there may be warnings), 1 it is broken, 2 wrong usage.";

const NEW: &str = "\
Examples:
  innkeeper plugin new greetings                 Into the folder for plugins
  innkeeper plugin new greetings --in . --template node";

const ENABLE: &str = "\
Examples:
  innkeeper plugin enable greetings              Shows what it asks for, and asks you
  innkeeper plugin enable greetings --accept     For scripts: you have looked already

Exit codes: 0 it is on, 1 it is broken or you said no, 2 wrong usage or nobody to ask.";

const DISABLE: &str = "\
Examples:
  innkeeper plugin disable greetings             What was accepted is remembered";

const PERMISSIONS: &str = "\
Examples:
  innkeeper plugin permissions greetings
  innkeeper plugin permissions greetings --json | jq '.asked'";

const CONFIG: &str = "\
Examples:
  innkeeper plugin config weather                Show all settings
  innkeeper plugin config weather set units metric
  innkeeper plugin config weather set api_key < key.txt
  innkeeper plugin config weather unset units --instance

Secrets are read from standard input, kept in secrets.toml for your eyes alone, and never shown again.";

const CONFIG_SHOW: &str = "\
Examples:
  innkeeper plugin config weather show
  innkeeper plugin config weather show --json";

const CONFIG_SET: &str = "\
Examples:
  innkeeper plugin config weather set units metric
  innkeeper plugin config weather set units metric --instance
  innkeeper plugin config weather set motd - < motd.txt
  innkeeper plugin config weather set api_key < key.txt";

const CONFIG_UNSET: &str = "\
Examples:
  innkeeper plugin config weather unset units
  innkeeper plugin config weather unset api_key --instance";

#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// List plugins and where they stand
    #[command(after_help = LIST, max_term_width = 100)]
    List,
    /// Show one plugin with its tools, hooks and settings
    #[command(after_help = SHOW, max_term_width = 100)]
    Show(PluginName),
    /// Check a plugin's folder without running anything
    #[command(after_help = CHECK, max_term_width = 100)]
    Check(CheckArgs),
    /// Begin a plugin of your own
    #[command(after_help = NEW, args_override_self = true, max_term_width = 100)]
    New(NewArgs),
    /// Accept what a plugin asks for and switch it on
    #[command(after_help = ENABLE, args_override_self = true, max_term_width = 100)]
    Enable(EnableArgs),
    /// Switch a plugin off
    #[command(after_help = DISABLE, max_term_width = 100)]
    Disable(PluginName),
    /// Show what a plugin asks for and what was granted
    #[command(after_help = PERMISSIONS, max_term_width = 100)]
    Permissions(PluginName),
    /// Show or change a plugin's settings
    #[command(after_help = CONFIG, max_term_width = 100)]
    Config(ConfigArgs),
}

#[derive(Debug, Args)]
pub(crate) struct PluginName {
    /// The plugin's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The plugin's folder
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct NewArgs {
    /// The plugin's name: letters, digits, - and _
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Folder in which to make it [default: the folder for plugins]
    #[arg(long = "in", value_name = "DIR")]
    pub(crate) parent: Option<PathBuf>,
    /// Language of its script; a worker stays up between calls
    #[arg(
        long,
        value_enum,
        ignore_case = true,
        default_value = "python",
        value_name = "LANGUAGE"
    )]
    pub(crate) template: TemplateChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TemplateChoice {
    Python,
    Node,
    PythonWorker,
    NodeWorker,
}

#[derive(Debug, Args)]
pub(crate) struct EnableArgs {
    /// The plugin's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Accept all that it asks for, without being asked
    #[arg(long)]
    pub(crate) accept: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = false)]
pub(crate) struct ConfigArgs {
    /// The plugin's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(subcommand)]
    pub(crate) action: Option<ConfigAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Show every setting, what it is set to and by whom
    #[command(after_help = CONFIG_SHOW, max_term_width = 100)]
    Show,
    /// Set a value
    #[command(after_help = CONFIG_SET, args_override_self = true, max_term_width = 100)]
    Set {
        /// The setting's key
        #[arg(value_name = "KEY")]
        key: String,
        /// Its value; `-` reads standard input, and a secret is always read from there
        #[arg(value_name = "VALUE", allow_hyphen_values = true)]
        value: Option<String>,
        #[command(flatten)]
        scope: ConfigScopeArgs,
    },
    /// Remove a value, so that the default counts again
    #[command(after_help = CONFIG_UNSET, args_override_self = true, max_term_width = 100)]
    Unset {
        /// The setting's key
        #[arg(value_name = "KEY")]
        key: String,
        #[command(flatten)]
        scope: ConfigScopeArgs,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ConfigScopeArgs {
    /// For you alone [default: as the setting says]
    #[arg(long, conflicts_with = "instance")]
    pub(crate) user: bool,
    /// For everybody
    #[arg(long)]
    pub(crate) instance: bool,
}
