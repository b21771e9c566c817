//! `context.read`

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Executor, Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::{READ, dropped, role};
use crate::chat::pieces::{Words, list_schema, piece};
use crate::context;
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
            "Read what a tool gave long ago.",
            json!({"messages": [{"index": 4}, {"index": 5, "start_char": 0, "max_chars": 2000}]}),
        )]),
        ..declare(
            READ,
            "Read what was left out",
            "Reads messages of this conversation that were left out to make room, word for word, by their numbers, which context.search gives.",
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
        "context.invalid_message_range",
    ),
    size: (ErrorCode::ChatReadTooLarge, "context.read_too_large"),
};

pub(super) struct Read(pub(super) Workspaces);

#[async_trait]
impl Executor for Read {
    fn most_shown(&self) -> usize {
        MAX_SHOWN_READ_CHARS
    }

    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let messages = dropped(&self.0, &call).await?;
        let asked = call.arguments.get("messages").and_then(Json::as_array);
        let mut left = MAX_ITEMS_CHARS;
        let asked = asked.into_iter().flatten();
        let read = asked.map(|asked| read(&messages, asked, &mut left));
        let read = read.collect::<Result<Vec<Json>, _>>()?;
        Ok(json!({"totalMessages": messages.len(), "messages": read}))
    }
}

fn read(messages: &[Json], asked: &Json, left: &mut usize) -> Result<Json, ToolError> {
    let index = number(asked.get("index")).unwrap_or(-1);
    let found = usize::try_from(index).ok();
    let Some(message) = found.and_then(|index| messages.get(index)) else {
        let last = match messages.len() {
            0 => "nothing was left out of this conversation".to_owned(),
            all => format!("they are counted from 0 to {}", all - 1),
        };
        return Err(fault(
            ErrorCode::ChatMessageNotFound,
            "context.message_not_found",
            format!("There is no message {index}: {last}"),
        ));
    };
    let text = context::said(message);
    let piece = piece(&WORDS, &index.to_string(), &text, asked, left)?;
    let (from, to) = piece.range();
    let mut told = Map::from_iter([
        ("index".to_owned(), json!(index)),
        ("role".to_owned(), json!(role(message))),
    ]);
    let place = format!("context:{index}:chars={from}..{to}");
    told.insert("ref".to_owned(), json!(place));
    piece.tell(&mut told, "text");
    Ok(Json::Object(told))
}
