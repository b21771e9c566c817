//! `innkeeper skills move`.

use innkeeper_agent::skills::Skills;

use super::{failed, scope, strategy, tell};
use crate::cli::SkillsMoveArgs;
use crate::commands::Ended;
use crate::failure::Failure;
use crate::output::Screen;

pub(super) fn run(
    args: &SkillsMoveArgs,
    skills: &Skills,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let (from, to) = (scope("--scope", &args.scope)?, scope("--to", &args.to)?);
    let moved = skills.move_to(&args.name, &from, &to, strategy(&args.conflict));
    tell(&moved.map_err(failed)?, Some(&from), screen)
}
