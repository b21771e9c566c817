//! `tools.search`: finds tools that a caller can call and perhaps was not told of.
//!
//! Gives names and descriptions; parameters too, unless whoever runs the agent declares what was found by itself, in the
//! words of its dialect (`RunOptions::found`): no executor knows how calls are written.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use super::Tool;
use super::declare::{arguments, declare, example, words};
use crate::limits::{
    FOUND_TOOLS, MAX_FOUND_CHARS, MAX_FOUND_DESCRIPTION_CHARS, MAX_FOUND_TOOLS,
    MAX_SEARCH_QUERY_CHARS,
};
use crate::search::{Found, Query};
use crate::{Executor, FoundTools, Invocation, ToolError};

/// Its id.
pub const SEARCH: &str = "tools.search";

pub fn tools() -> Vec<Tool> {
    vec![(definition(), Arc::new(Search))]
}

pub fn definition() -> ToolDefinition {
    ToolDefinition {
        tags: words(&["tools", "read-only"]),
        examples: example(
            "A forecast is needed, and no tool for it was listed",
            json!({"query": "weather forecast for a city"}),
        ),
        ..declare(
            SEARCH,
            "Find tools",
            "Finds further tools. There are more than those that were listed: say in a few words what has to be done, and \
             call what was found in your next reply. Try other words if nothing fits.",
            json!({
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MAX_SEARCH_QUERY_CHARS,
                        "description": "What the tool should do, in a few words of English or Chinese; or a part of its name"
                    },
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_FOUND_TOOLS,
                        "default": FOUND_TOOLS,
                        "description": "How many tools at most"
                    }
                },
                "required": ["query"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "tools": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {
                                "id": {"type": "string"},
                                "name": {"type": "string"},
                                "description": {"type": "string"},
                                "parameters": {"type": "object"}
                            },
                            "required": ["id", "description"]
                        }
                    },
                    "note": {"type": "string"}
                },
                "required": ["tools"],
                "additionalProperties": false
            }),
        )
    }
}

struct Search;

#[derive(Deserialize)]
struct Arguments {
    query: String,
    limit: Option<usize>,
}

#[async_trait]
impl Executor for Search {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let Arguments { query, limit } = arguments(call.arguments)?;
        let query = Query::new(&query);
        if query.is_empty() {
            let message = "the query has no words to look for; say what the tool should do";
            return Err(ToolError::invalid(message)
                .because("tools.query_empty")
                .permanent());
        }
        let Some(run) = call.context.run else {
            let message = "tools are found for a run only, and this call belongs to none";
            return Err(ToolError::unavailable(message).permanent());
        };
        let most = limit.unwrap_or(FOUND_TOOLS).clamp(1, MAX_FOUND_TOOLS);
        let found = run.search(&query, most).await;
        Ok(told(&found, run.found()))
    }

    /// Bounded by itself, and cut it would be of no use.
    fn most_shown(&self) -> usize {
        2 * MAX_FOUND_CHARS + MAX_FOUND_TOOLS * 1_000
    }
}

fn told(found: &[Found], how: FoundTools) -> Json {
    let mut room = MAX_FOUND_CHARS;
    let mut by_name = false;
    let tools: Vec<Json> = found
        .iter()
        .map(|found| {
            let tool = &found.tool;
            let mut told = Map::new();
            told.insert("id".to_owned(), json!(tool.id));
            if !tool.display_name.is_empty() {
                told.insert("name".to_owned(), json!(tool.display_name));
            }
            let description = short(&tool.description);
            room = room.saturating_sub(description.len());
            told.insert("description".to_owned(), description.into());
            if how == FoundTools::Whole {
                let parameters = tool.parameters.to_string().len();
                match room.checked_sub(parameters) {
                    Some(left) => {
                        room = left;
                        told.insert("parameters".to_owned(), tool.parameters.clone());
                    }
                    None => by_name = true,
                }
            }
            Json::Object(told)
        })
        .collect();
    let note = match (tools.is_empty(), how) {
        (true, _) => Some("No tool fits. Try other words, or do without one."),
        (false, FoundTools::Named) => Some("You can call these from your next reply on."),
        (false, FoundTools::Whole) if by_name => {
            Some("Parameters of some are too long to be shown together: ask for fewer.")
        }
        (false, FoundTools::Whole) => None,
    };
    let mut told = json!({"tools": tools});
    if let Some(note) = note {
        told["note"] = note.into();
    }
    told
}

fn short(text: &str) -> String {
    match text.char_indices().nth(MAX_FOUND_DESCRIPTION_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
