//! `innkeeper profiles show`: one agent, as a run would find it.

use innkeeper_agent::profile::{AgentProfile, Dialect, system_prompt};
use innkeeper_protocol::Locale;
use innkeeper_protocol::event::Presentation;
use serde_json::json;

use super::files::Files;
use super::{failed, profiles};
use crate::cli::ProfilesShowArgs;
use crate::commands::Ended;
use crate::failure::{Failure, message};
use crate::home::Home;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(args: &ProfilesShowArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let loaded = profiles(home, &args.project)?
        .load(&args.id, None)
        .map_err(|error| failed(&error))?;
    let files = Files::of(home, &args.project);
    let profile = &loaded.profile;
    let id = profile.id.as_str();
    if screen.json {
        screen.document(&json!({
            "source": loaded.source.to_string(),
            "path": files.path(id),
            "hidden": files.hidden(id),
            "warnings": loaded.warnings,
            "profile": profile.to_json(),
        }))?;
        return Ok(Ended::Done);
    }
    let from = match files.path(id) {
        None => screen.pick("built in", "内置").to_owned(),
        Some(path) => path.display().to_string(),
    };
    screen.table(&about(profile, &from, screen))?;
    let head = screen.pick("What it is told", "它得到的提示");
    let prompt = system_prompt(profile, screen.pick(Locale::En, Locale::Zh));
    screen.text(&format!("\n{head}\n{}", prompt.trim_end()))?;
    for path in files.hidden(id) {
        let path = message(&path.to_string_lossy());
        screen.note(
            &format!("{path} has the same id and is not used"),
            &format!("{path} 的 ID 相同，不会使用"),
        );
    }
    for warning in &loaded.warnings {
        let said = message(&warning.to_string());
        screen.note(&said, &said);
    }
    Ok(Ended::Done)
}

fn about(profile: &AgentProfile, from: &str, screen: &Screen) -> Table {
    let mut table = Table::plain().wrapped();
    let mut row = |english: &str, chinese: &str, value: &str| {
        if !value.is_empty() {
            table.told([screen.pick(english, chinese), value]);
        }
    };
    row("profile", "配置", profile.id.as_str());
    row("name", "名称", &profile.display_name);
    row(
        "description",
        "说明",
        profile.description.as_deref().unwrap_or_default(),
    );
    row("from", "来源", from);
    let model = profile.agent.model.as_deref();
    let model = model.or(profile.model.model_id.as_deref());
    let default = screen.pick("the default model", "默认模型");
    row("model", "模型", model.unwrap_or(default));
    let dialect = match profile.agent.protocol {
        Dialect::Tam => "tam",
        Dialect::Action => "action",
        Dialect::Native => "native",
    };
    row("calls", "调用写法", dialect);
    let ends = match (profile.run.presentation, profile.answers_in_text()) {
        (_, true) => screen.pick("it answers in words", "用文字回答"),
        (Presentation::Foreground, _) => screen.pick("it publishes, then finishes", "发布之后结束"),
        (Presentation::Background, _) => screen.pick("it finishes", "自行结束"),
    };
    row("ends when", "何时结束", ends);
    row("tools", "工具", &profile.tools.allow.join(", "));
    row("without", "除去", &profile.tools.deny.join(", "));
    let bounds = screen.pick(
        format!(
            "{} rounds, {} calls",
            profile.tools.max_rounds, profile.tools.max_calls_per_run
        ),
        format!(
            "{} 轮，{} 次调用",
            profile.tools.max_rounds, profile.tools.max_calls_per_run
        ),
    );
    row("at most", "最多", &bounds);
    row(
        "writes to",
        "可写",
        &profile.workspace.writable_roots.join(", "),
    );
    table
}
