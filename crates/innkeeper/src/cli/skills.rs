//! `innkeeper skills …`: what can be typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(super) const EXAMPLES: &str = "\
Examples:
  innkeeper skills list                               Skills of all scopes, and what cannot be used
  innkeeper skills import ./haiku                     Bring one in: a folder, or a .zip or .ttskill file
  innkeeper skills show haiku                         What it is for, and its files
  innkeeper skills move haiku --to profile:poet       For one agent only

A skill is a folder of instructions that agents read when they need them; docs/skills.md tells how to write one. A scope says \
for whom it is there: global, preset:<api>/<name>, profile:<id> or character:<id>. Of two with one name, the later of \
these wins.

Exit codes: 0 done, 1 no such skill, or one that cannot be taken, 2 wrong usage.";

const LIST: &str = "\
Examples:
  innkeeper skills list
  innkeeper skills list --scope character:Seraphina
  innkeeper skills list --json | jq -r '.skills[] | [.name, .installedHash] | @tsv'";

const SHOW: &str = "\
Examples:
  innkeeper skills show haiku
  innkeeper skills show haiku --file references/seasons.md
  innkeeper skills show haiku --scope profile:poet --json | jq '.files'";

const IMPORT: &str = "\
Examples:
  innkeeper skills import ./haiku
  innkeeper skills import haiku.ttskill --scope preset:openai/Storyteller
  innkeeper skills import haiku.zip --preview         What it would bring; nothing is changed
  innkeeper skills import haiku.zip --replace         In the place of the one that is there

A package is looked at before anything is written, and is there wholly or not at all. Where another skill of its name is \
there, nothing is changed unless --replace or --skip says so.

Exit codes: 0 done, or the same was there already, 1 it cannot be taken or another is in its place, 2 wrong usage.";

const EXPORT: &str = "\
Examples:
  innkeeper skills export haiku --output haiku.zip
  innkeeper skills export haiku --scope profile:poet --output haiku.ttskill

The same skill gives the same bytes; innkeeper skills import takes them.";

const DELETE: &str = "\
Examples:
  innkeeper skills delete haiku
  innkeeper skills delete haiku --scope profile:poet --yes

Runs at work that have it are told that it is not there when they next read it.";

const MOVE: &str = "\
Examples:
  innkeeper skills move haiku --to profile:poet
  innkeeper skills move haiku --scope profile:poet --to global --replace";

const RETARGET: &str = "\
Examples:
  innkeeper skills retarget profile:poet profile:haiku-poet
  innkeeper skills retarget preset:openai/One preset:openai/Two --skip
  innkeeper skills retarget character:Seraphina character:Sera --json | jq -r '.moved[].skill.name'";

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List skills, and what lies among them and cannot be used
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List(SkillsListArgs),
    /// Show what a skill is for and its files, or one of them
    #[command(after_help = SHOW, args_override_self = true, max_term_width = 100)]
    Show(SkillsShowArgs),
    /// Bring in a skill from a folder or an archive
    #[command(after_help = IMPORT, args_override_self = true, max_term_width = 100)]
    Import(SkillsImportArgs),
    /// Write a skill into an archive
    #[command(after_help = EXPORT, args_override_self = true, max_term_width = 100)]
    Export(SkillsExportArgs),
    /// Delete a skill
    #[command(after_help = DELETE, args_override_self = true, max_term_width = 100)]
    Delete(SkillsDeleteArgs),
    /// Move a skill into another scope
    #[command(after_help = MOVE, args_override_self = true, max_term_width = 100)]
    Move(SkillsMoveArgs),
    /// Let all skills of a preset, profile or character follow its new name
    #[command(after_help = RETARGET, args_override_self = true, max_term_width = 100)]
    Retarget(SkillsRetargetArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SkillsListArgs {
    /// Only those of this scope, or `all`
    #[arg(long, value_name = "SCOPE", default_value = "all")]
    pub(crate) scope: String,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsShowArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Where it is
    #[arg(long, value_name = "SCOPE", default_value = "global")]
    pub(crate) scope: String,
    /// Show this file of it
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Option<String>,
}

/// What to do about another skill of the same name.
#[derive(Debug, Args)]
pub(crate) struct ConflictArgs {
    /// Replace another skill of that name
    #[arg(long, conflicts_with = "skip")]
    pub(crate) replace: bool,
    /// Leave another skill of that name as it is
    #[arg(long)]
    pub(crate) skip: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsImportArgs {
    /// A folder with SKILL.md in it, or a .zip or .ttskill file
    #[arg(value_name = "SOURCE")]
    pub(crate) source: PathBuf,
    /// For whom it is to be there
    #[arg(long, value_name = "SCOPE", default_value = "global")]
    pub(crate) scope: String,
    #[command(flatten)]
    pub(crate) conflict: ConflictArgs,
    /// Show what it would bring, and change nothing
    #[arg(long)]
    pub(crate) preview: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsExportArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Where it is
    #[arg(long, value_name = "SCOPE", default_value = "global")]
    pub(crate) scope: String,
    /// The archive to write
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsDeleteArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Where it is
    #[arg(long, value_name = "SCOPE", default_value = "global")]
    pub(crate) scope: String,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsMoveArgs {
    /// The skill
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Where it is
    #[arg(long, value_name = "SCOPE", default_value = "global")]
    pub(crate) scope: String,
    /// Where it is to be
    #[arg(long, value_name = "SCOPE")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) conflict: ConflictArgs,
}

#[derive(Debug, Args)]
pub(crate) struct SkillsRetargetArgs {
    /// What the scope was called
    #[arg(value_name = "FROM")]
    pub(crate) from: String,
    /// What it is called now
    #[arg(value_name = "TO")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) conflict: ConflictArgs,
}
