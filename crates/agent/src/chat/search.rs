//! `chat.search`: which messages speak of something, the best first.

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::builtin::text::count;
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Value as Json, json};

use super::message::{ChatView, Role};
use super::read_messages::chat_of;
use crate::declare::{Nature, answer, declare, examples, number, object, text};
use crate::limits::{MAX_QUERY_CHARS, MAX_SCANNED_MESSAGES, MAX_SEARCH_HITS, SEARCH_HITS};
use crate::workspace::find::{Query, folded, snippet};
use crate::workspace::{Workspaces, aside, fault};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[
            ("Who gave her the key?", json!({"query": "silver key"})),
            (
                "Only what the user wrote lately.",
                json!({"query": "银钥匙", "role": "user", "start_message": 120}),
            ),
        ]),
        ..declare(
            "chat.search",
            "Search the chat",
            "Finds messages of the current chat that hold the words of a query, in any letter case. Read them with chat.read_messages.",
            Nature::ReadOnly,
            object(
                json!({
                    "query": {"type": "string", "description": "The words to look for."},
                    "limit": {
                        "type": "integer",
                        "description": format!("How many hits, 1 to {MAX_SEARCH_HITS}; {SEARCH_HITS} if left out.")
                    },
                    "role": {
                        "type": "string", "enum": ["user", "assistant", "system"],
                        "description": "Only messages of this role."
                    },
                    "start_message": {"type": "integer", "minimum": 0, "description": "The first message to look at, counted from 0."},
                    "end_message": {"type": "integer", "minimum": 0, "description": "The last message to look at."},
                    "scan_limit": {
                        "type": "integer", "minimum": 1, "maximum": MAX_SCANNED_MESSAGES,
                        "description": "How many messages to look at, from the newest on."
                    }
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
        let asked = Asked::of(&call)?;
        let chat = chat_of(&self.0, &call).await?;
        let bytes = chat.messages().iter().map(|message| message.text.len());
        let hits = aside(bytes.sum(), move || look(&asked, &chat)).await?;
        Ok(json!({"query": text(&call, "query"), "hits": hits}))
    }
}

struct Asked {
    query: Query,
    limit: usize,
    role: Option<Role>,
    first: usize,
    last: usize,
    scanned: usize,
}

/// What to look for, as it was asked.
#[derive(Debug, Clone, Default)]
pub struct SearchQuery<'a> {
    pub query: &'a str,
    pub limit: Option<i64>,
    pub role: Option<Role>,
    /// The first message to look at, and the last.
    pub first: Option<u64>,
    pub last: Option<u64>,
    /// How many, from the newest on.
    pub scanned: Option<i64>,
}

/// `chat.search` in a chat as a host keeps it.
pub fn search_messages(lines: &[Json], query: &SearchQuery<'_>) -> Result<Vec<Json>, ToolError> {
    let asked = Asked::new(query)?;
    let view = ChatView::of_snapshot(lines)
        .map_err(|fault| ToolError::invalid(fault.to_string()).because(fault.reason()))?;
    Ok(look(&asked, &view))
}

impl Asked {
    fn of(call: &Invocation) -> Result<Self, ToolError> {
        let given = |name: &str| number(call.arguments.get(name));
        let index = |name: &str| given(name).map(|index| u64::try_from(index).unwrap_or_default());
        Self::new(&SearchQuery {
            query: text(call, "query").unwrap_or_default(),
            limit: given("limit"),
            role: text(call, "role").and_then(Role::parse),
            first: index("start_message"),
            last: index("end_message"),
            scanned: given("scan_limit"),
        })
    }

    fn new(asked: &SearchQuery<'_>) -> Result<Self, ToolError> {
        let invalid = |reason: &str, message: String| {
            Err(fault(ErrorCode::ToolInvalidArguments, reason, message))
        };
        if asked.query.chars().nth(MAX_QUERY_CHARS).is_some() {
            let message = format!("query is at most {MAX_QUERY_CHARS} characters long");
            return invalid("chat.search_query_too_long", message);
        }
        let Some(query) = Query::new(asked.query) else {
            let message = "query is empty: give the words to look for".to_owned();
            return invalid("chat.search_query_empty", message);
        };
        let limit = asked.limit.unwrap_or(SEARCH_HITS);
        if !(1..=MAX_SEARCH_HITS).contains(&limit) {
            let message = format!("limit is 1 to {MAX_SEARCH_HITS}");
            return invalid("chat.search_limit_invalid", message);
        }
        let place = |place: u64| usize::try_from(place).unwrap_or(usize::MAX);
        let scanned = asked.scanned.unwrap_or(MAX_SCANNED_MESSAGES);
        Ok(Self {
            query,
            limit: usize::try_from(limit).unwrap_or(1),
            role: asked.role,
            first: asked.first.map_or(0, place),
            last: asked.last.map_or(usize::MAX, place),
            scanned: usize::try_from(scanned.clamp(1, MAX_SCANNED_MESSAGES)).unwrap_or(1),
        })
    }
}

fn look(asked: &Asked, chat: &ChatView) -> Vec<Json> {
    let messages = chat.messages().iter().enumerate().rev();
    let mut hits: Vec<_> = messages
        .filter(|(index, _)| (asked.first..=asked.last).contains(index))
        .take(asked.scanned)
        .filter(|(_, message)| asked.role.is_none_or(|role| role == message.role))
        .map(|(index, message)| (asked.query.score(&folded(&message.text)), index, message))
        .filter(|(score, ..)| *score > 0.0)
        .collect();
    // The newer of two that are alike.
    hits.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    hits.truncate(asked.limit);
    hits.into_iter()
        .map(|(score, index, message)| {
            let shown = snippet(&message.text, asked.query.place(&message.text));
            let counted = count(&shown);
            json!({
                "index": index,
                "role": message.role,
                "score": score,
                "snippet": shown,
                "bytes": counted.bytes,
                "chars": counted.chars,
                "words": counted.words,
                "totalChars": message.text.chars().count(),
                "ref": format!("chat:current#{index}"),
            })
        })
        .collect()
}
