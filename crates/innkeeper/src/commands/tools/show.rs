//! `innkeeper tools show`: one tool, and what it takes.

use std::sync::Arc;

use innkeeper_protocol::{ExecutionMode, ToolDefinition};
use innkeeper_tools::policy::Nobody;
use innkeeper_tools::registry::Scope;
use serde_json::Value as Json;

use super::{Ended, find};
use crate::cli::ShowArgs;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;
use crate::platform::Platform;
use crate::runtime::block_on;
use crate::table::Table;

pub(super) fn run(args: &ShowArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let tool = block_on(async {
        let platform = Platform::open(home, Arc::new(Nobody)).await?;
        let tool = find(&platform, &Scope::default(), &args.id)?;
        platform.close().await?;
        Ok(tool)
    })?;
    let tool = tool.definition();
    if screen.json {
        screen.document(tool.as_ref())?;
        return Ok(Ended::Done);
    }
    screen.table(&about(tool, screen))?;
    if !tool.description.is_empty() {
        screen.text(&format!("\n{}", tool.description))?;
    }
    let mut parameters = parameters(tool, screen).peekable();
    if parameters.peek().is_some() {
        let headings = screen.pick(
            ["PARAMETER", "TYPE", "NEEDED", "DEFAULT", "DESCRIPTION"],
            ["参数", "类型", "必需", "默认值", "说明"],
        );
        let mut table = Table::new(&headings).wrapped();
        for row in parameters {
            table.row(row.iter().map(String::as_str));
        }
        screen.text("")?;
        screen.table(&table)?;
    }
    Ok(Ended::Done)
}

fn about(tool: &ToolDefinition, screen: &Screen) -> Table {
    let mut table = Table::plain();
    table.row([screen.pick("Tool", "工具"), tool.id.as_str()]);
    let listed = |names: &[String]| names.join(", ");
    let aliases: Vec<String> = tool.aliases.iter().map(ToString::to_string).collect();
    let mode = match tool.execution.mode {
        ExecutionMode::Sync => screen.pick("answers at once", "立即返回"),
        ExecutionMode::Async => screen.pick("works in the background", "在后台运行"),
    };
    for (name, value) in [
        (screen.pick("Name", "名称"), tool.display_name.clone()),
        (screen.pick("Aliases", "别名"), listed(&aliases)),
        (screen.pick("Source", "来源"), tool.source.clone()),
        (screen.pick("Mode", "方式"), mode.to_owned()),
        (screen.pick("Tags", "标签"), listed(&tool.tags)),
        (screen.pick("Needs", "权限"), listed(&tool.permissions)),
    ] {
        if !value.is_empty() {
            table.row([name, &value]);
        }
    }
    table
}

fn parameters<'t>(
    tool: &'t ToolDefinition,
    screen: &'t Screen,
) -> impl Iterator<Item = [String; 5]> + 't {
    tool.properties().map(|(name, schema)| {
        let needed = match tool.is_required(name) {
            true => screen.pick("yes", "是"),
            false => "",
        };
        let default = schema.get("default").map(plainly).unwrap_or_default();
        let description = schema.get("description").and_then(Json::as_str);
        [
            name.to_owned(),
            kind(schema),
            needed.to_owned(),
            default,
            description.unwrap_or_default().to_owned(),
        ]
    })
}

/// `string`, `number|null`, `one of a, b`; nothing where the schema leaves it open.
fn kind(schema: &Json) -> String {
    if let Some(choices) = schema.get("enum").and_then(Json::as_array) {
        let choices: Vec<String> = choices.iter().map(plainly).collect();
        return choices.join("|");
    }
    match schema.get("type") {
        Some(Json::Array(kinds)) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Json::as_str).collect();
            kinds.join("|")
        }
        Some(Json::String(kind)) if kind == "array" => {
            let items = schema.get("items").map(kind_of_items).unwrap_or_default();
            format!("{kind}{items}")
        }
        Some(Json::String(kind)) => kind.clone(),
        _ => String::new(),
    }
}

fn kind_of_items(items: &Json) -> String {
    match items.get("type").and_then(Json::as_str) {
        Some(kind) => format!(" of {kind}"),
        None => String::new(),
    }
}

fn plainly(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}
