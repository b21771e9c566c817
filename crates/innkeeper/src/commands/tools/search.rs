//! `innkeeper tools search`: the tools that fit a question, as an agent's `tools.search` finds them.

use std::sync::Arc;

use innkeeper_tools::policy::Nobody;
use innkeeper_tools::search::{Found, Query};
use innkeeper_tools::{Caller, RunOptions};
use serde_json::{Value as Json, json};

use super::Ended;
use crate::cli::SearchArgs;
use crate::failure::{Expected, Failure, ToolFault};
use crate::home::Home;
use crate::output::Screen;
use crate::platform::{Platform, new_run};
use crate::runtime::block_on;
use crate::table::Table;

pub(super) fn run(args: &SearchArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let words = args.words.join(" ");
    let query = Query::new(&words);
    if query.is_empty() {
        return Err(ToolFault::Value {
            of: "WORDS",
            given: words,
            expected: Expected::Words,
        }
        .into());
    }
    let found = block_on(async {
        let platform = Platform::open(home, Arc::new(Nobody)).await?;
        let caller = Caller::person(new_run());
        let run = platform.tools.begin(caller, RunOptions::default());
        let found = run.search(&query, args.limit.get()).await;
        drop(run);
        platform.close().await?;
        Ok(found)
    })?;
    if screen.json {
        let all: Vec<Json> = found.iter().map(brief).collect();
        screen.document(&all)?;
        return Ok(Ended::Done);
    }
    if found.is_empty() {
        screen.note(
            "No tool fits; try other words, or innkeeper tools list for all",
            "没有符合的工具；换几个词试试，或用 innkeeper tools list 列出全部",
        );
        return Ok(Ended::Done);
    }
    let headings = screen.pick(["TOOL", "SOURCE", "DESCRIPTION"], ["工具", "来源", "说明"]);
    let mut table = Table::new(&headings);
    for Found { tool, .. } in &found {
        let first_line = tool.description.lines().next().unwrap_or_default();
        table.row([tool.id.as_str(), &tool.source, first_line]);
    }
    screen.table(&table)?;
    Ok(Ended::Done)
}

fn brief(found: &Found) -> Json {
    let tool = &found.tool;
    json!({
        "id": tool.id,
        "displayName": tool.display_name,
        "description": tool.description,
        "source": tool.source,
        "parameters": tool.parameters,
        // Floats of 32 bits have long tails as JSON.
        "score": (f64::from(found.score) * 1_000.0).round() / 1_000.0,
    })
}
