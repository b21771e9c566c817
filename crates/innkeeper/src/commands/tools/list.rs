//! `innkeeper tools list`: what can be called.

use innkeeper_protocol::ToolDefinition;
use innkeeper_tools::{Pattern, Reach, Snapshot};
use serde_json::{Value as Json, json};

use super::Ended;
use crate::cli::ListArgs;
use crate::failure::Failure;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(args: &ListArgs, tools: &Snapshot, screen: &Screen) -> Result<Ended, Failure> {
    let everything = Reach::everything();
    let found: Vec<&ToolDefinition> = tools
        .definitions(&everything)
        .filter(|tool| is_wanted(args, tool))
        .collect();
    if screen.json {
        let all: Vec<Json> = found.iter().map(|tool| brief(tool)).collect();
        screen.document(&all)?;
        return Ok(Ended::Done);
    }
    if found.is_empty() {
        screen.note(
            "No tool fits; innkeeper tools list shows all",
            "没有符合条件的工具；innkeeper tools list 会列出全部",
        );
        return Ok(Ended::Done);
    }
    let headings = screen.pick(["TOOL", "SOURCE", "DESCRIPTION"], ["工具", "来源", "说明"]);
    let mut table = Table::new(&headings);
    for tool in found {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.row([tool.id.as_str(), &tool.source, first_line]);
    }
    screen.table(&table)?;
    Ok(Ended::Done)
}

fn is_wanted(args: &ListArgs, tool: &ToolDefinition) -> bool {
    let name = args.pattern.as_deref().is_none_or(|pattern| {
        let pattern = Pattern::new(pattern);
        let mut names = std::iter::once(&tool.id).chain(&tool.aliases);
        names.any(|id| pattern.matches_loosely(id.as_str()))
    });
    let source = args
        .source
        .as_deref()
        .is_none_or(|source| Pattern::new(source).matches(&tool.source));
    let tag = args
        .tag
        .as_deref()
        .is_none_or(|tag| tool.tags.iter().any(|own| own == tag));
    name && source && tag
}

fn brief(tool: &ToolDefinition) -> Json {
    json!({
        "id": tool.id,
        "aliases": tool.aliases,
        "displayName": tool.display_name,
        "description": tool.description,
        "kind": tool.kind,
        "source": tool.source,
        "tags": tool.tags,
        "mode": tool.execution.mode,
    })
}
