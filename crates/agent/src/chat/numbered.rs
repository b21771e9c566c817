//! Messages that are read by their numbers, each whole or in part: those of the chat, and those that gave way to a summary.

use innkeeper_protocol::{ErrorCode, ToolDefinition};
use innkeeper_tools::{Invocation, ToolError};
use serde_json::{Map, Value as Json, json};

use super::pieces::{Words, list_schema, piece};
use crate::declare::{Nature, answer, declare, number, object};
use crate::limits::MAX_ITEMS_CHARS;
use crate::workspace::fault;

/// What a tool that reads them is called, and says.
pub(crate) struct Numbered {
    pub(crate) words: Words,
    /// The reason where there is no message of that number.
    pub(crate) not_found: &'static str,
    /// In the place of numbers, where there is none at all.
    pub(crate) nothing: &'static str,
    /// What stands before the number in a reference.
    pub(crate) place: &'static str,
}

pub(crate) fn definition(name: &str, title: &str, description: &str) -> ToolDefinition {
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
    declare(
        name,
        title,
        description,
        Nature::ReadOnly,
        parameters,
        answer(&[("totalMessages", "integer"), ("messages", "array")]),
    )
}

impl Numbered {
    /// `message`: the text of one, and what is told beside it.
    pub(crate) fn read(
        &self,
        call: &Invocation,
        total: usize,
        message: impl Fn(usize) -> Option<(String, Map<String, Json>)>,
    ) -> Result<Json, ToolError> {
        let asked = call.arguments.get("messages").and_then(Json::as_array);
        let mut left = MAX_ITEMS_CHARS;
        let mut read = Vec::new();
        for asked in asked.into_iter().flatten() {
            let index = number(asked.get("index")).unwrap_or(-1);
            let found = usize::try_from(index).ok().and_then(&message);
            let (text, beside) = found.ok_or_else(|| self.missing(index, total))?;
            let piece = piece(&self.words, &index.to_string(), &text, asked, &mut left)?;
            let (from, to) = piece.range();
            let mut told = Map::from_iter([("index".to_owned(), json!(index))]);
            told.extend(beside);
            let place = format!("{}{index}:chars={from}..{to}", self.place);
            told.insert("ref".to_owned(), json!(place));
            piece.tell(&mut told, "text");
            read.push(Json::Object(told));
        }
        Ok(json!({"totalMessages": total, "messages": read}))
    }

    fn missing(&self, index: i64, total: usize) -> ToolError {
        let last = match total {
            0 => self.nothing.to_owned(),
            all => format!("they are counted from 0 to {}", all - 1),
        };
        fault(
            ErrorCode::ChatMessageNotFound,
            self.not_found,
            format!("There is no message {index}: {last}"),
        )
    }
}
