//! `innkeeper profiles list`: agents that can be run, and what is wrong with the files that cannot be used.

use innkeeper_agent::limits::MAX_PROFILE_FILES;
use innkeeper_agent::profile::{Issue, ProfileSummary};
use serde_json::{Value as Json, json};

use super::files::Files;
use super::{failed, profiles};
use crate::cli::ProfilesListArgs;
use crate::commands::Ended;
use crate::failure::{Failure, in_words, shown};
use crate::home::Home;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(args: &ProfilesListArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let list = profiles(home, &args.project)?
        .list()
        .map_err(|error| failed(&error))?;
    let files = Files::of(home, &args.project);
    if screen.json {
        let profiles = list.profiles.iter().map(|profile| brief(profile, &files));

        screen.document(&json!({
            "profiles": profiles.collect::<Vec<_>>(),
            "issues": list.issues,
            "crowdedFolders": files.crowded,
        }))?;
        return Ok(Ended::Done);
    }
    let headings = screen.pick(
        ["PROFILE", "NAME", "FROM", "DESCRIPTION"],
        ["配置", "名称", "来源", "说明"],
    );
    let mut table = Table::new(&headings);
    for profile in &list.profiles {
        let id = profile.id.as_str();
        let from = match files.path(id) {
            None => screen.pick("built in", "内置").to_owned(),
            Some(path) => {
                let path = path.strip_prefix(home.path()).unwrap_or(path);
                path.display().to_string()
            }
        };
        let about = match profile.direct_runnable {
            true => profile.description.clone().unwrap_or_default(),
            false => screen
                .pick("only for other agents", "只供其他智能体调用")
                .to_owned(),
        };
        table.row([id, &profile.display_name, &from, &about]);
    }
    screen.table(&table)?;
    unusable(&list.issues, screen)?;
    remarks(&files, screen);
    Ok(Ended::Done)
}

fn brief(profile: &ProfileSummary, files: &Files) -> Json {
    let id = profile.id.as_str();
    json!({
        "id": id,
        "displayName": profile.display_name,
        "description": profile.description,
        "directRunnable": profile.direct_runnable,
        "path": files.path(id),
        "hidden": files.hidden(id),
    })
}

fn unusable(issues: &[Issue], screen: &Screen) -> Result<(), Failure> {
    if issues.is_empty() {
        return Ok(());
    }
    let head = screen.pick("Files that cannot be used", "无法使用的文件");
    screen.text(&format!("\n{head}"))?;
    let mut table = Table::plain().wrapped();
    for issue in issues {
        table.told([
            issue.file_name.as_str(),
            &in_words(&issue.message, screen.lang),
        ]);
    }
    screen.table(&table)
}

/// What may surprise: results for others are as they are.
fn remarks(files: &Files, screen: &Screen) {
    for (id, used, hidden) in files.all_hidden() {
        let name = |path: &std::path::Path| shown(&path.to_string_lossy());
        let (used, others) = (
            name(used),
            hidden.iter().map(|path| name(path)).collect::<Vec<_>>(),
        );
        let (id, others) = (shown(id), others.join(", "));
        screen.note(
            &format!("'{id}' is in several files: {used} is used, {others} not"),
            &format!("“{id}”在多个文件中：使用 {used}，不使用 {others}"),
        );
    }
    for folder in &files.crowded {
        let folder = shown(&folder.to_string_lossy());
        screen.note(
            &format!("{folder} has more than {MAX_PROFILE_FILES} files; the rest, by name, is not looked at"),
            &format!("{folder} 中的文件超过 {MAX_PROFILE_FILES} 个；按名称排在后面的不会查看"),
        );
    }
}
