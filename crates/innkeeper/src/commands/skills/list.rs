//! `innkeeper skills list`.

use innkeeper_agent::skills::Skills;

use super::{failed, filter};
use crate::cli::SkillsListArgs;
use crate::commands::Ended;
use crate::failure::{Failure, in_words};
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(
    args: &SkillsListArgs,
    skills: &Skills,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let list = skills.list(&filter(&args.scope)?).map_err(failed)?;
    if screen.json {
        screen.document(&list)?;
        return Ok(Ended::Done);
    }
    if list.skills.is_empty() {
        screen.note(
            "No skills to show; innkeeper skills import brings one in",
            "没有可显示的技能；innkeeper skills import 可以导入",
        );
    } else {
        let headings = screen.pick(
            ["SKILL", "SCOPE", "FILES", "DESCRIPTION"],
            ["技能", "范围", "文件", "说明"],
        );
        let mut table = Table::new(&headings);
        for skill in &list.skills {
            table.row([
                skill.about.name.as_str(),
                &skill.scope.to_string(),
                &skill.file_count.to_string(),
                &skill.about.description,
            ]);
        }
        screen.table(&table)?;
    }
    if !list.issues.is_empty() {
        let head = screen.pick("Folders that cannot be used", "无法使用的文件夹");
        screen.text(&format!("\n{head}"))?;
        let mut table = Table::plain().wrapped();
        for issue in &list.issues {
            let scope = issue.scope.as_ref().map(ToString::to_string);
            table.told([
                issue.name.as_str(),
                scope.as_deref().unwrap_or_default(),
                &in_words(&issue.message, screen.lang),
            ]);
        }
        screen.table(&table)?;
    }
    Ok(Ended::Done)
}
