//! `chat.read_messages`

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::message::ChatView;
use super::numbered::{self, Numbered};
use super::pieces::Words;
use crate::declare::examples;
use crate::limits::MAX_SHOWN_READ_CHARS;
use crate::workspace::{Workspaces, fault};

pub(super) fn definition() -> ToolDefinition {
    ToolDefinition {
        examples: examples(&[(
            "Read two messages, the second one in part.",
            json!({"messages": [{"index": 3}, {"index": 12, "start_char": 0, "max_chars": 2000}]}),
        )]),
        ..numbered::definition(
            "chat.read_messages",
            "Read messages",
            "Reads messages of the current chat by their numbers, which chat.search gives.",
        )
    }
}

const MESSAGES: Numbered = Numbered {
    words: Words {
        thing: "Message",
        range: (
            ErrorCode::ChatInvalidMessageRange,
            "chat.invalid_message_range",
        ),
        size: (ErrorCode::ChatReadTooLarge, "chat.read_too_large"),
    },
    not_found: "chat.message_not_found",
    nothing: "the chat is empty",
    place: "chat:current#",
};

pub(super) struct ReadMessages(pub(super) Workspaces);

#[async_trait]
impl Executor for ReadMessages {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let chat = chat_of(&self.0, &call).await?;
        let messages = chat.messages();
        MESSAGES.read(&call, messages.len(), |index| {
            let message = messages.get(index)?;
            let beside = Map::from_iter([
                ("role".to_owned(), json!(message.role)),
                ("name".to_owned(), json!(message.name)),
                ("sendDate".to_owned(), json!(message.send_date)),
            ]);
            Some((message.text.clone(), beside))
        })
    }
}

pub(super) async fn chat_of(
    workspaces: &Workspaces,
    call: &Invocation,
) -> Result<Arc<ChatView>, ToolError> {
    let door = workspaces.of_call(call)?.door()?;
    door.chat().await?.ok_or_else(|| {
        fault(
            ErrorCode::ChatNotFound,
            "chat.not_found",
            "This run belongs to no chat, so there is nothing to read",
        )
    })
}
