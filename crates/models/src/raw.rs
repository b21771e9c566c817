//! A chat-completions body that somebody else has made: sent as it is, byte for byte.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::limits::MAX_RAW_BYTES;
use crate::{
    ChatError, Constraint, ModelRequest, Sampling, ToolChoice, ToolSpec, messages_from_chat,
};

/// The text of a JSON object with `messages`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RawPayload {
    text: String,
    model: Option<String>,
    streams: bool,
}

impl RawPayload {
    /// Fails where it is no JSON object with a list of messages.
    pub fn new(text: impl Into<String>) -> Result<Self, ChatError> {
        let text = text.into();
        let fields = read(&text)?;
        match fields.get("messages") {
            Some(Json::Array(_)) => {}
            Some(_) => return wrong("stand in the payload, but are no list"),
            None => return wrong("are missing in the payload; write a list of them"),
        }
        let model = fields.get("model").and_then(Json::as_str);
        Ok(Self {
            model: model.map(str::to_owned),
            streams: fields.get("stream").and_then(Json::as_bool) == Some(true),
            text,
        })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The model that it names itself.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Whether it asks for pieces.
    pub fn streams(&self) -> bool {
        self.streams
    }

    /// The same request in our words, for providers of another format. What we have no word for becomes an extra.
    pub fn to_request(&self) -> Result<ModelRequest, ChatError> {
        let mut fields = Fields(read(&self.text)?);
        let messages = messages_from_chat(&fields.take("messages").unwrap_or_default())?;
        // How tokens are counted is settled by whoever sends it on.
        for settled in ["model", "stream", "stream_options"] {
            fields.take(settled);
        }
        Ok(ModelRequest {
            tools: fields.tools()?,
            tool_choice: fields.tool_choice()?,
            sampling: fields.sampling()?,
            constraint: fields.constraint()?,
            stream: self.streams,
            extras: fields.0,
            ..ModelRequest::new(self.model.clone().unwrap_or_default(), messages)
        })
    }
}

fn read(text: &str) -> Result<Map<String, Json>, ChatError> {
    if text.len() > MAX_RAW_BYTES {
        return wrong(format!(
            "cannot be read: the payload has {} bytes, more than the {MAX_RAW_BYTES} that one may have",
            text.len()
        ));
    }
    match serde_json::from_str(text) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => wrong("cannot be read: the payload is no JSON object"),
        // It says line and column, and nothing of what stands there.
        Err(error) => wrong(format!("cannot be read: the payload is no JSON ({error})")),
    }
}

/// What is still to be read of a payload.
struct Fields(Map<String, Json>);

impl Fields {
    /// A field that says something; it is nothing for extras then.
    fn take(&mut self, name: &str) -> Option<Json> {
        let value = self.0.shift_remove(name)?;
        (!value.is_null()).then_some(value)
    }

    fn number<T: serde::de::DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, ChatError> {
        let Some(value) = self.take(name) else {
            return Ok(None);
        };
        match serde_json::from_value(value) {
            Ok(number) => Ok(Some(number)),
            Err(_) => beside(name, "is no number that fits there"),
        }
    }

    fn sampling(&mut self) -> Result<Sampling, ChatError> {
        let newer = self.number("max_completion_tokens")?;
        let older = self.number("max_tokens")?;
        let stop = match self.take("stop") {
            None => Vec::new(),
            Some(Json::String(word)) => vec![word],
            Some(list) => match serde_json::from_value(list) {
                Ok(words) => words,
                Err(_) => return beside("stop", "is neither a text nor a list of texts"),
            },
        };
        Ok(Sampling {
            temperature: self.number("temperature")?,
            max_tokens: newer.or(older),
            top_p: self.number("top_p")?,
            top_k: self.number("top_k")?,
            frequency_penalty: self.number("frequency_penalty")?,
            presence_penalty: self.number("presence_penalty")?,
            seed: self.number("seed")?,
            stop,
        })
    }

    fn tools(&mut self) -> Result<Vec<ToolSpec>, ChatError> {
        let (name, list) = match (self.take("tools"), self.take("functions")) {
            (Some(list), _) => ("tools", list),
            (None, Some(list)) => ("functions", list),
            (None, None) => return Ok(Vec::new()),
        };
        let Json::Array(list) = list else {
            return beside(name, "is no list");
        };
        let read = |(at, tool): (usize, &Json)| {
            let function = match tool.get("function") {
                Some(function) => function,
                None if name == "functions" => tool,
                None => &Json::Null,
            };
            let Some(tool) = function.get("name").and_then(Json::as_str) else {
                let said = "is no function with a name, and others cannot be translated";
                return beside(&format!("{name}[{at}]"), said);
            };
            let description = function.get("description").and_then(Json::as_str);
            Ok(ToolSpec {
                name: tool.to_owned(),
                description: description.unwrap_or_default().to_owned(),
                parameters: function
                    .get("parameters")
                    .cloned()
                    .unwrap_or_default()
                    .into(),
            })
        };
        list.iter().enumerate().map(read).collect()
    }

    fn tool_choice(&mut self) -> Result<ToolChoice, ChatError> {
        let choice = match (self.take("tool_choice"), self.take("function_call")) {
            (Some(choice), _) | (None, Some(choice)) => choice,
            (None, None) => return Ok(ToolChoice::Auto),
        };
        let named = choice.pointer("/function/name").or(choice.get("name"));
        match (choice.as_str(), named.and_then(Json::as_str)) {
            (Some("auto"), _) => Ok(ToolChoice::Auto),
            (Some("none"), _) => Ok(ToolChoice::None),
            (Some("required" | "any"), _) => Ok(ToolChoice::Required),
            (None, Some(name)) => Ok(ToolChoice::Tool(name.to_owned())),
            _ => beside(
                "tool_choice",
                "is none of `auto`, `none`, `required` and a function by its name",
            ),
        }
    }

    fn constraint(&mut self) -> Result<Option<Constraint>, ChatError> {
        if let Some(grammar) = self.take("grammar") {
            return match grammar {
                Json::String(grammar) => Ok(Some(Constraint::Grammar(grammar))),
                _ => beside("grammar", "is no text"),
            };
        }
        let Some(format) = self.take("response_format") else {
            return Ok(None);
        };
        let schema = format.pointer("/json_schema/schema");
        match (format.get("type").and_then(Json::as_str), schema) {
            (Some("text"), _) => Ok(None),
            (Some("json_object"), _) => Ok(Some(Constraint::JsonObject)),
            (Some("json_schema"), Some(schema)) => Ok(Some(Constraint::Json(schema.clone()))),
            _ => beside(
                "response_format",
                "is none of `text`, `json_object` and `json_schema` with a schema",
            ),
        }
    }
}

fn wrong<T>(message: impl Into<String>) -> Result<T, ChatError> {
    Err(ChatError {
        index: None,
        field: String::new(),
        message: message.into(),
    })
}

/// A field that stands beside the messages.
fn beside<T>(name: &str, what: &str) -> Result<T, ChatError> {
    wrong(format!(
        "cannot be sent in another format: `{name}` of the payload {what}"
    ))
}

impl fmt::Debug for RawPayload {
    /// Without the text: conversations do not belong into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RawPayload")
            .field("model", &self.model)
            .field("streams", &self.streams)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

impl TryFrom<String> for RawPayload {
    type Error = ChatError;

    fn try_from(text: String) -> Result<Self, ChatError> {
        Self::new(text)
    }
}

impl From<RawPayload> for String {
    fn from(raw: RawPayload) -> Self {
        raw.text
    }
}

#[cfg(test)]
#[path = "raw_tests.rs"]
mod tests;
