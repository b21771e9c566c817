//! `context.search`: which of the messages that were left out speak of something, the best first.

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::builtin::text::count;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::{SEARCH, dropped, role};
use crate::context;
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::limits::{MAX_QUERY_CHARS, MAX_SEARCH_HITS, SEARCH_HITS};
use crate::workspace::find::{Query, folded, snippet};
use crate::workspace::{Workspaces, aside, fault};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[(
            "What did the map show?",
            json!({"query": "old map harbour"}),
        )]),
        ..declare(
            SEARCH,
            "Search what was left out",
            "Finds messages of this conversation that were left out to make room and hold the words of a query, in any letter case. Read them with context.read.",
            Nature::ReadOnly,
            object(
                json!({
                    "query": {"type": "string", "description": "The words to look for."},
                    "limit": {
                        "type": "integer",
                        "description": format!("How many hits, 1 to {MAX_SEARCH_HITS}; {SEARCH_HITS} if left out.")
                    },
                }),
                &["query"],
            ),
            answer(&[("query", "string"), ("hits", "array")]),
        )
    }
}

pub(super) struct Search(pub(super) Workspaces);

#[async_trait]
impl Executor for Search {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let invalid = |reason: &str, message: String| {
            Err(fault(ErrorCode::ToolInvalidArguments, reason, message))
        };
        let words = text(&call, "query").unwrap_or_default();
        if words.chars().nth(MAX_QUERY_CHARS).is_some() {
            let message = format!("query is at most {MAX_QUERY_CHARS} characters long");
            return invalid("context.search_query_too_long", message);
        }
        let Some(query) = Query::new(words) else {
            let message = "query is empty: give the words to look for".to_owned();
            return invalid("context.search_query_empty", message);
        };
        let limit = number(call.arguments.get("limit")).unwrap_or(SEARCH_HITS);
        if !(1..=MAX_SEARCH_HITS).contains(&limit) {
            let message = format!("limit is 1 to {MAX_SEARCH_HITS}");
            return invalid("context.search_limit_invalid", message);
        }
        let limit = usize::try_from(limit).unwrap_or(1);
        let messages = dropped(&self.0, &call).await?;
        let texts: Vec<String> = messages.iter().map(context::said).collect();
        let bytes = texts.iter().map(String::len).sum();
        let hits = aside(bytes, move || look(&query, &messages, &texts, limit)).await?;
        Ok(json!({"query": words_of(&call), "hits": hits}))
    }
}

fn words_of(call: &Invocation) -> &str {
    text(call, "query").unwrap_or_default()
}

fn look(query: &Query, messages: &[Json], texts: &[String], limit: usize) -> Vec<Json> {
    let mut hits: Vec<_> = messages
        .iter()
        .zip(texts)
        .enumerate()
        .map(|(index, (message, text))| (query.score(&folded(text)), index, message, text))
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    // The newer of two that are alike.
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    hits.truncate(limit);
    hits.into_iter()
        .map(|(score, index, message, text)| {
            let shown = snippet(text, query.place(text));
            let counted = count(&shown);
            json!({
                "index": index,
                "role": role(message),
                "score": score,
                "snippet": shown,
                "chars": counted.chars,
                "totalChars": text.chars().count(),
                "ref": format!("context:{index}"),
            })
        })
        .collect()
}
