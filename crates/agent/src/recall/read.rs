//! `context.read`

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::{READ, dropped, role};
use crate::chat::numbered::{self, Numbered};
use crate::chat::pieces::Words;
use crate::context;
use crate::declare::examples;
use crate::limits::MAX_SHOWN_READ_CHARS;
use crate::workspace::Workspaces;

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[(
            "Read what a tool gave long ago.",
            json!({"messages": [{"index": 4}, {"index": 5, "start_char": 0, "max_chars": 2000}]}),
        )]),
        ..numbered::definition(
            READ,
            "Read what was left out",
            "Reads messages of this conversation that were left out to make room, word for word, by their numbers, which context.search gives.",
        )
    }
}

const MESSAGES: Numbered = Numbered {
    words: Words {
        thing: "Message",
        range: (
            ErrorCode::ChatInvalidMessageRange,
            "context.invalid_message_range",
        ),
        size: (ErrorCode::ChatReadTooLarge, "context.read_too_large"),
    },
    not_found: "context.message_not_found",
    nothing: "nothing was left out of this conversation",
    place: "context:",
};

pub(super) struct Read(pub(super) Workspaces);

#[async_trait]
impl Executor for Read {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let messages = dropped(&self.0, &call).await?;
        MESSAGES.read(&call, messages.len(), |index| {
            let message = messages.get(index)?;
            let beside = Map::from_iter([("role".to_owned(), json!(role(message)))]);
            Some((context::said(message), beside))
        })
    }
}
