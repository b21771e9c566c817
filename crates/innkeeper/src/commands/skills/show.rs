//! `innkeeper skills show`: what a skill is for and its files, or one of them.

use innkeeper_agent::skills::{Part, SkillFile, SkillSummary, Skills};
use serde_json::json;

use super::{failed, scope, size};
use crate::cli::SkillsShowArgs;
use crate::commands::Ended;
use crate::failure::Failure;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(
    args: &SkillsShowArgs,
    skills: &Skills,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let scope = scope("--scope", &args.scope)?;
    if let Some(path) = &args.file {
        let read = skills.read_file(&scope, &args.name, path, &Part::default());
        let read = read.map_err(failed)?;
        match screen.json {
            true => screen.document(&read)?,
            false => screen.text(&read.piece.content)?,
        }
        if read.piece.truncated && !screen.json {
            let (shown, all) = (read.piece.chars, read.piece.total_chars);
            screen.note(
                &format!("{shown} of {all} characters are shown"),
                &format!("显示了 {all} 个字符中的 {shown} 个"),
            );
        }
        return Ok(Ended::Done);
    }
    let skill = skills.show(&scope, &args.name).map_err(failed)?;
    let files = skills.list_files(&scope, &args.name).map_err(failed)?;
    let place = skills.place(&scope, &args.name);
    match screen.json {
        true => screen.document(&json!({"skill": skill, "files": files, "path": place}))?,
        false => {
            about(&skill, Some(&place), screen)?;
            list(&files, screen)?;
        }
    }
    Ok(Ended::Done)
}

pub(super) fn about(
    skill: &SkillSummary,
    place: Option<&str>,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut table = Table::plain().wrapped();
    let mut row = |english: &str, chinese: &str, value: &str| {
        if !value.is_empty() {
            table.told([screen.pick(english, chinese), value]);
        }
    };
    let text = |word: &Option<String>| word.clone().unwrap_or_default();
    row("skill", "技能", &skill.about.name);
    row("name", "名称", &skill.display_name);
    row("scope", "范围", &skill.scope.to_string());
    row("description", "说明", &skill.about.description);
    row("author", "作者", &text(&skill.about.author));
    row("version", "版本", &text(&skill.about.version));
    row("license", "许可", &text(&skill.about.license));
    row("tags", "标签", &skill.about.tags.join(", "));
    row("hash", "哈希", &skill.installed_hash);
    row("in", "位置", place.unwrap_or_default());
    screen.table(&table)
}

pub(super) fn list(files: &[SkillFile], screen: &Screen) -> Result<(), Failure> {
    screen.text("")?;
    let headings = screen.pick(["FILE", "SIZE"], ["文件", "大小"]);
    let mut table = Table::new(&headings);
    for file in files {
        table.row([file.path.as_str(), &size(file.bytes)]);
    }
    screen.table(&table)
}
