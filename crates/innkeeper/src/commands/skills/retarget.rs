//! `innkeeper skills retarget`.

use innkeeper_agent::skills::Skills;
use serde_json::json;

use super::{failed, scope, strategy};
use crate::cli::SkillsRetargetArgs;
use crate::commands::Ended;
use crate::failure::{Failure, shown};
use crate::output::Screen;

pub(super) fn run(
    args: &SkillsRetargetArgs,
    skills: &Skills,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let (from, to) = (scope("FROM", &args.from)?, scope("TO", &args.to)?);
    let moved = skills
        .retarget_scope(&from, &to, strategy(&args.conflict))
        .map_err(failed)?;
    if screen.json {
        screen.document(&json!({ "from": from, "to": to, "moved": moved }))?;
        return Ok(Ended::Done);
    }
    let names: Vec<&str> = moved
        .iter()
        .map(|moved| moved.skill.about.name.as_str())
        .collect();
    let (from, to) = (shown(&from.to_string()), shown(&to.to_string()));
    match names.as_slice() {
        [] => screen.note(
            &format!("There is no skill in {from}; nothing was moved"),
            &format!("{from} 中没有技能，没有移动任何东西"),
        ),
        names => screen.note(
            &format!("Now in {to}: {}", names.join(", ")),
            &format!("已移到 {to}：{}", names.join("、")),
        ),
    }
    Ok(Ended::Done)
}
