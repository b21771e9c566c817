//! `innkeeper profiles …`: what can be typed.

use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper profiles list                        Agents that can be run, and files that cannot be used
  innkeeper profiles show default-writer         Who an agent is
  innkeeper run default-writer \"Write about tea\"  Let one of them do something

Profiles are files in the folders agent_profiles of the home and of its projects; two are built in. The first of an id is \
meant: the project's, then the house's, then the built-in one.

Exit codes: 0 done, 1 no such profile, or one that cannot be used, 2 wrong usage.";

const LIST: &str = "\
Examples:
  innkeeper profiles list
  innkeeper profiles list --project novel
  innkeeper profiles list --json | jq -r '.profiles[].id'
  innkeeper profiles list --json | jq '.issues'";

const SHOW: &str = "\
Examples:
  innkeeper profiles show default-writer
  innkeeper profiles show innkeeper --json | jq .profile > agent_profiles/mine.json";

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// List profiles, and files that cannot be used with what is wrong with them
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List(ProfilesListArgs),
    /// Show who an agent is: what it is told, its tools and its bounds
    #[command(after_help = SHOW, args_override_self = true, max_term_width = 100)]
    Show(ProfilesShowArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ProfilesListArgs {
    /// Project whose profiles are meant
    #[arg(long, value_name = "PROJECT", default_value = "default")]
    pub(crate) project: String,
}

#[derive(Debug, Args)]
pub(crate) struct ProfilesShowArgs {
    /// The profile
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Project whose profiles are meant
    #[arg(long, value_name = "PROJECT", default_value = "default")]
    pub(crate) project: String,
}
