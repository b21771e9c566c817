//! `innkeeper skills …`: one file each. What a skill is, and what becomes of it, is the agents' crate; here is what a person
//! types and sees.

mod delete;
mod export;
mod import;
mod list;
mod moved;
mod retarget;
mod show;

use innkeeper_agent::instance::AgentError;
use innkeeper_agent::skills::{
    ConflictStrategy, InstallAction, Installed, SkillError, SkillFilter, SkillScope, Skills,
};

use super::Ended;
use crate::cli::{ConflictArgs, SkillsCommand};
use crate::failure::{Expected, Failure, ToolFault, shown};
use crate::home::Home;
use crate::output::Screen;

pub(crate) fn run(command: &SkillsCommand, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let skills = Skills::new(home.path());
    match command {
        SkillsCommand::List(args) => list::run(args, &skills, screen),
        SkillsCommand::Show(args) => show::run(args, &skills, screen),
        SkillsCommand::Import(args) => import::run(args, home, &skills, screen),
        SkillsCommand::Export(args) => export::run(args, &skills, screen),
        SkillsCommand::Delete(args) => delete::run(args, &skills, screen),
        SkillsCommand::Move(args) => moved::run(args, &skills, screen),
        SkillsCommand::Retarget(args) => retarget::run(args, &skills, screen),
    }
}

fn failed(error: SkillError) -> Failure {
    AgentError::from(error).into()
}

fn no_scope(of: &'static str, given: &str) -> Failure {
    Failure::Tool(ToolFault::Value {
        of,
        given: given.to_owned(),
        expected: Expected::Scope,
    })
}

fn scope(of: &'static str, given: &str) -> Result<SkillScope, Failure> {
    given.parse().map_err(|_| no_scope(of, given))
}

fn filter(given: &str) -> Result<SkillFilter, Failure> {
    given.parse().map_err(|_| no_scope("--scope", given))
}

fn strategy(args: &ConflictArgs) -> Option<ConflictStrategy> {
    match (args.replace, args.skip) {
        (true, _) => Some(ConflictStrategy::Replace),
        (false, true) => Some(ConflictStrategy::Skip),
        (false, false) => None,
    }
}

/// What came of an import, or of a move from another scope.
fn tell(
    installed: &Installed,
    from: Option<&SkillScope>,
    screen: &Screen,
) -> Result<Ended, Failure> {
    if screen.json {
        screen.document(installed)?;
        return Ok(Ended::Done);
    }
    let (name, scope) = (
        &installed.skill.about.name,
        shown(&installed.skill.scope.to_string()),
    );
    let from = from.filter(|from| **from != installed.skill.scope);
    let from = from.map(|from| shown(&from.to_string()));
    let (english, chinese) = match installed.action {
        InstallAction::Installed => (
            format!("{name} is now in {scope}"),
            format!("{name} 已在 {scope}"),
        ),
        InstallAction::Replaced => (
            format!("{name} has replaced the one in {scope}"),
            format!("{name} 已替换 {scope} 中原有的"),
        ),
        InstallAction::AlreadyInstalled => match from {
            Some(from) => (
                format!("{name} was in {scope} already, and is gone from {from}"),
                format!("{scope} 中已有相同的 {name}，已从 {from} 移除"),
            ),
            None => (
                format!("{name} was in {scope} already"),
                format!("{scope} 中已有相同的 {name}"),
            ),
        },
        InstallAction::Skipped => (
            format!("{name} was left as it is, in {scope}"),
            format!("{scope} 中的 {name} 保持不变"),
        ),
    };
    screen.note(&english, &chinese);
    Ok(Ended::Done)
}

/// 12 bytes, 3.4 KiB, 5.6 MiB.
fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        _ => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
    }
}
