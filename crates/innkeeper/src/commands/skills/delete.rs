//! `innkeeper skills delete`: gone for good, after a person has said so.

use innkeeper_agent::skills::Skills;
use serde_json::json;

use super::{failed, scope};
use crate::cli::SkillsDeleteArgs;
use crate::commands::Ended;
use crate::commands::runs::agreed;
use crate::failure::{Failure, shown};
use crate::output::Screen;

pub(super) fn run(
    args: &SkillsDeleteArgs,
    skills: &Skills,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let scope = scope("--scope", &args.scope)?;
    let (name, place) = (shown(&args.name), shown(&scope.to_string()));
    if !args.yes {
        let asked = screen.pick(
            format!("Delete the skill {name} of {place}? [y/N] "),
            format!("删除 {place} 的技能 {name}？[y/N] "),
        );
        agreed(&asked)?;
    }
    skills.delete(&scope, &args.name).map_err(failed)?;
    match screen.json {
        true => screen.document(&json!({"name": args.name, "scope": scope, "deleted": true}))?,
        false => screen.note(
            &format!("{name} is gone from {place}"),
            &format!("已从 {place} 删除 {name}"),
        ),
    }
    Ok(Ended::Done)
}
