//! From the chat-completions shape.

use serde_json::{Map, Value as Json};

use super::parts::restored;
use super::{CALL, CONTENT, ChatError, KEPT_OF_CALL, KEPT_OF_MESSAGE, MESSAGE};
use crate::limits::{MAX_MESSAGES, MAX_PARTS, MAX_TOOL_CALLS};
use crate::names::quoted;
use crate::{Image, Message, Part, Role, ToolCall, ToolResult};

/// Reads a list of messages, a single one, or a text that a user says.
pub fn messages_from_chat(json: &Json) -> Result<Vec<Message>, ChatError> {
    messages_from_chat_after(json, 0)
}

/// Those behind the first `known` ones of a list, for whoever has read these before.
pub fn messages_from_chat_after(json: &Json, known: usize) -> Result<Vec<Message>, ChatError> {
    let whole = |message: String| ChatError {
        index: None,
        field: String::new(),
        message,
    };
    match json {
        Json::Array(list) if list.len() > MAX_MESSAGES => Err(whole(format!(
            "{} messages are more than the {MAX_MESSAGES} that a conversation may have; leave out the oldest",
            list.len()
        ))),
        Json::Array(list) => (0..)
            .zip(list)
            .skip(known)
            .map(|(index, json)| Place { index }.message(json))
            .collect(),
        Json::Object(_) => Ok(vec![Place { index: 0 }.message(json)?]),
        Json::String(text) => Ok(vec![Message::user(text)]),
        other => Err(whole(format!(
            "{} is no conversation; give a list of messages like {{\"role\": \"user\", \"content\": \"…\"}}",
            kind(other)
        ))),
    }
}

/// The message that is being read.
#[derive(Clone, Copy)]
struct Place {
    index: usize,
}

impl Place {
    fn wrong<T>(
        self,
        field: impl Into<String>,
        message: impl Into<String>,
    ) -> Result<T, ChatError> {
        Err(ChatError {
            index: Some(self.index),
            field: field.into(),
            message: message.into(),
        })
    }

    fn message(self, json: &Json) -> Result<Message, ChatError> {
        let fields = match json {
            Json::Object(fields) => fields,
            Json::String(text) => return Ok(Message::user(text)),
            other => {
                let said = "is no message; write {\"role\": …, \"content\": …}";
                return self.wrong("", format!("{} {said}", kind(other)));
            }
        };
        let role = self.role(fields)?;
        let name = self.text(fields, "name")?;
        let content = match (self.content(fields.get("content")), fields.get("content")) {
            // A result is whatever the tool gave.
            (Err(_), Some(result)) if role == Role::Tool => vec![Part::text(result.to_string())],
            (content, _) => content?,
        };
        if role == Role::Tool {
            return Ok(Message {
                role,
                name: None,
                parts: self.tool_result(fields, name, content)?,
            });
        }
        let mut parts = Vec::new();
        for field in ["reasoning_content", "reasoning"] {
            if let (true, Some(text)) = (parts.is_empty(), self.text(fields, field)?) {
                parts.push(Part::reasoning(text));
            }
        }
        parts.extend(content);
        let calls = self.tool_calls(fields)?;
        if !calls.is_empty() && role != Role::Assistant {
            let said = "only the assistant calls tools; change the role to assistant or take the calls out";
            return self.wrong(".tool_calls", said);
        }
        parts.extend(calls);
        if let Some(value) = kept(fields, &KEPT_OF_MESSAGE) {
            parts.push(Part::Opaque {
                provider: MESSAGE.to_owned(),
                value,
            });
        }
        if role == Role::Assistant
            && let Some(as_they_came) = restored(fields, &parts)
        {
            parts = as_they_came;
        }
        Ok(Message { role, name, parts })
    }

    fn role(self, fields: &Map<String, Json>) -> Result<Role, ChatError> {
        let known = "write system, developer, user, assistant or tool";
        match fields.get("role") {
            Some(Json::String(role)) => match role.trim().to_ascii_lowercase().as_str() {
                "system" => Ok(Role::System),
                "developer" => Ok(Role::Developer),
                "user" | "human" => Ok(Role::User),
                "assistant" | "model" | "ai" => Ok(Role::Assistant),
                "tool" | "function" => Ok(Role::Tool),
                _ => self.wrong(".role", format!("'{}' is no role; {known}", quoted(role))),
            },
            None | Some(Json::Null) => self.wrong(".role", format!("is missing; {known}")),
            Some(other) => self.wrong(".role", format!("{} is no role; {known}", kind(other))),
        }
    }

    /// A field that may be left out.
    fn text(self, fields: &Map<String, Json>, field: &str) -> Result<Option<String>, ChatError> {
        match fields.get(field) {
            None | Some(Json::Null) => Ok(None),
            Some(Json::String(text)) if text.is_empty() => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone())),
            Some(other) => self.wrong(
                format!(".{field}"),
                format!(
                    "{} stands where a text belongs; put it in quotes or take it out",
                    kind(other)
                ),
            ),
        }
    }

    fn content(self, content: Option<&Json>) -> Result<Vec<Part>, ChatError> {
        match content {
            None | Some(Json::Null) => Ok(Vec::new()),
            Some(Json::String(text)) if text.is_empty() => Ok(Vec::new()),
            Some(Json::String(text)) => Ok(vec![Part::text(text)]),
            // What a node has counted or compared.
            Some(value @ (Json::Number(_) | Json::Bool(_))) => {
                Ok(vec![Part::text(value.to_string())])
            }
            Some(Json::Array(list)) if list.len() > MAX_PARTS => self.wrong(
                ".content",
                format!(
                    "{} parts are more than the {MAX_PARTS} that a message may have",
                    list.len()
                ),
            ),
            Some(Json::Array(list)) => (0..)
                .zip(list)
                .map(|(at, part)| self.part(part, &format!(".content[{at}]")))
                .collect(),
            Some(part @ Json::Object(_)) => Ok(vec![self.part(part, ".content")?]),
        }
    }

    fn part(self, json: &Json, at: &str) -> Result<Part, ChatError> {
        if let Json::String(text) = json {
            return Ok(Part::text(text));
        }
        let Some(kind_of_part) = json
            .get("type")
            .or_else(|| json.get("text").map(|_| &Json::Null))
        else {
            let said = "is no part of a message; write {\"type\": \"text\", \"text\": \"…\"}";
            return self.wrong(at, format!("{} {said}", kind(json)));
        };
        match kind_of_part.as_str().unwrap_or("text") {
            "text" | "input_text" | "output_text" => match json.get("text") {
                Some(Json::String(text)) => Ok(Part::text(text)),
                Some(other) => self.wrong(
                    format!("{at}.text"),
                    format!("{} stands where a text belongs", kind(other)),
                ),
                None => self.wrong(format!("{at}.text"), "is missing; write what is said"),
            },
            "image_url" | "input_image" => {
                let image = json.get("image_url").unwrap_or(&Json::Null);
                let (url, source) = match image {
                    Json::String(_) => (image, json),
                    image => (image.get("url").unwrap_or(&Json::Null), image),
                };
                let Json::String(url) = url else {
                    let said = "is missing; write an address or a data: URL";
                    return self.wrong(format!("{at}.image_url.url"), said);
                };
                let detail = source.get("detail").and_then(Json::as_str);
                Ok(Part::Image(Image {
                    url: url.clone(),
                    detail: detail.map(str::to_owned),
                }))
            }
            // Sound, files, what is yet to come: whoever knows it gets it as it is.
            _ => Ok(Part::Opaque {
                provider: CONTENT.to_owned(),
                value: json.clone(),
            }),
        }
    }

    fn tool_calls(self, fields: &Map<String, Json>) -> Result<Vec<Part>, ChatError> {
        let list = match fields.get("tool_calls") {
            Some(Json::Array(list)) => list.as_slice(),
            None | Some(Json::Null) => match fields.get("function_call") {
                // The older form has no ids: a result is known by the function's name.
                Some(Json::Object(call)) => {
                    let (name, arguments) = self.function(call, ".function_call")?;
                    return Ok(vec![Part::ToolCall(ToolCall {
                        id: name.clone(),
                        name,
                        arguments,
                    })]);
                }
                _ => &[],
            },
            Some(other) => {
                let said = "stands where a list of calls belongs";
                return self.wrong(".tool_calls", format!("{} {said}", kind(other)));
            }
        };
        if list.len() > MAX_TOOL_CALLS {
            let said = format!(
                "{} calls are more than the {MAX_TOOL_CALLS} that a message may have",
                list.len()
            );
            return self.wrong(".tool_calls", said);
        }
        let mut parts = Vec::new();
        for (at, call) in list.iter().enumerate() {
            let at_call = format!(".tool_calls[{at}]");
            let Json::Object(fields) = call else {
                return self.wrong(at_call, format!("{} is no call", kind(call)));
            };
            let (name, arguments) = match fields.get("function") {
                Some(Json::Object(function)) => {
                    self.function(function, &format!("{at_call}.function"))?
                }
                _ => self.function(fields, &at_call)?,
            };
            let id = match fields.get("id") {
                Some(Json::String(id)) if !id.is_empty() => id.clone(),
                _ => format!("call_{}", at + 1),
            };
            parts.push(Part::ToolCall(ToolCall {
                id,
                name,
                arguments,
            }));
            if let Some(value) = kept(fields, &KEPT_OF_CALL) {
                parts.push(Part::Opaque {
                    provider: CALL.to_owned(),
                    value,
                });
            }
        }
        Ok(parts)
    }

    fn function(self, fields: &Map<String, Json>, at: &str) -> Result<(String, String), ChatError> {
        let name = match fields.get("name") {
            Some(Json::String(name)) if !name.trim().is_empty() => name.clone(),
            _ => {
                return self.wrong(
                    format!("{at}.name"),
                    "is missing; name the tool that is called",
                );
            }
        };
        let arguments = match fields.get("arguments") {
            None | Some(Json::Null) => String::new(),
            Some(Json::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        };
        Ok((name, arguments))
    }

    fn tool_result(
        self,
        fields: &Map<String, Json>,
        name: Option<String>,
        content: Vec<Part>,
    ) -> Result<Vec<Part>, ChatError> {
        let call_id = match self.text(fields, "tool_call_id")? {
            Some(id) => id,
            None => match (&name, fields.get("role").and_then(Json::as_str)) {
                (Some(name), Some("function")) => name.clone(),
                _ => {
                    let said = "is missing; write the id of the call that this is the result of";
                    return self.wrong(".tool_call_id", said);
                }
            },
        };
        let (texts, others): (Vec<Part>, Vec<Part>) = content
            .into_iter()
            .partition(|part| matches!(part, Part::Text { .. }));
        let texts = Message {
            role: Role::Tool,
            name: None,
            parts: texts,
        };
        let mut parts = vec![Part::ToolResult(ToolResult {
            call_id,
            name,
            content: texts.text(),
            is_error: false,
        })];
        parts.extend(others);
        Ok(parts)
    }
}

/// Those of the named fields that say something.
fn kept(fields: &Map<String, Json>, names: &[&str]) -> Option<Json> {
    let kept: Map<String, Json> = names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fields.get(*name)?.clone())))
        .filter(|(_, value)| !value.is_null())
        .collect();
    (!kept.is_empty()).then_some(Json::Object(kept))
}

fn kind(json: &Json) -> &'static str {
    match json {
        Json::Null => "nothing",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "this object",
    }
}
