//! `chat.read_messages`

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::message::ChatView;
use super::pieces::{Words, list_schema, piece};
use crate::declare::{Nature, answer, declare, examples, number, object};
use crate::limits::{MAX_ITEMS_CHARS, MAX_SHOWN_READ_CHARS};
use crate::workspace::{Workspaces, fault};

pub(super) fn definition() -> ToolDefinition {
    let mut parameters = object(
        list_schema(
            "messages",
            (
                "index",
                json!({"type": "integer", "description": "The number of the message, counted from 0."}),
            ),
            "Which messages, and which part of each if not all.",
        ),
        &["messages"],
    );
    if let Some(list) = parameters.pointer_mut("/properties/messages") {
        list["minItems"] = json!(1);
    }
    ToolDefinition {
        examples: examples(&[(
            "Read two messages, the second one in part.",
            json!({"messages": [{"index": 3}, {"index": 12, "start_char": 0, "max_chars": 2000}]}),
        )]),
        ..declare(
            "chat.read_messages",
            "Read messages",
            "Reads messages of the current chat by their numbers, which chat.search gives.",
            Nature::ReadOnly,
            parameters,
            answer(&[("totalMessages", "integer"), ("messages", "array")]),
        )
    }
}

const WORDS: Words = Words {
    thing: "Message",
    range: (
        ErrorCode::ChatInvalidMessageRange,
        "chat.invalid_message_range",
    ),
    size: (ErrorCode::ChatReadTooLarge, "chat.read_too_large"),
};

pub(super) struct ReadMessages(pub(super) Workspaces);

#[async_trait]
impl Executor for ReadMessages {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let chat = chat_of(&self.0, &call).await?;
        let asked = call.arguments.get("messages").and_then(Json::as_array);
        let mut left = MAX_ITEMS_CHARS;
        let read = asked
            .into_iter()
            .flatten()
            .map(|asked| read(&chat, asked, &mut left));
        let messages = read.collect::<Result<Vec<Json>, _>>()?;
        Ok(json!({"totalMessages": chat.messages().len(), "messages": messages}))
    }
}

fn read(chat: &ChatView, asked: &Json, left: &mut usize) -> Result<Json, ToolError> {
    let index = number(asked.get("index")).unwrap_or(-1);
    let found = usize::try_from(index).ok();
    let Some(message) = found.and_then(|index| chat.messages().get(index)) else {
        let last = match chat.messages().len() {
            0 => "the chat is empty".to_owned(),
            all => format!("they are counted from 0 to {}", all - 1),
        };
        return Err(fault(
            ErrorCode::ChatMessageNotFound,
            "chat.message_not_found",
            format!("There is no message {index}: {last}"),
        ));
    };
    let piece = piece(&WORDS, &index.to_string(), &message.text, asked, left)?;
    let (from, to) = piece.range();
    let mut told = Map::from_iter([
        ("index".to_owned(), json!(index)),
        ("role".to_owned(), json!(message.role)),
        ("name".to_owned(), json!(message.name)),
        ("sendDate".to_owned(), json!(message.send_date)),
    ]);
    let place = format!("chat:current#{index}:chars={from}..{to}");
    told.insert("ref".to_owned(), json!(place));
    piece.tell(&mut told, "text");
    Ok(Json::Object(told))
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
