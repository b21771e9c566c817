//! Messages, from a chat file's lines or from a prompt's messages.

use serde::Serialize;
use serde_json::Value as Json;

use super::prefix::{PrefixFault, input_prefix};
use crate::run::Created;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    System,
}

impl Role {
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "user" => Some(Self::User),
            "assistant" => Some(Self::Assistant),
            "system" => Some(Self::System),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatMessage {
    pub role: Role,
    pub name: String,
    /// As the host wrote it.
    pub send_date: Option<String>,
    pub text: String,
}

/// All that a run may see of its chat. Messages are numbered from 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChatView {
    messages: Vec<ChatMessage>,
}

/// Why a chat cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatFault {
    #[error("message {0} of the chat has no text: 'mes' or 'content' has to be one")]
    NoText(usize),
    #[error(transparent)]
    Prefix(#[from] PrefixFault),
}

impl ChatFault {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::NoText(_) => "agent.chat_message_invalid_json",
            Self::Prefix(fault) => fault.reason(),
        }
    }
}

impl ChatView {
    /// What a run may see: of the chat that the host gave, or else of its prompt. None where it has neither.
    pub fn of(created: &Created) -> Result<Option<Self>, ChatFault> {
        if !created.chat.is_empty() {
            return Self::of_chat(&created.chat, &created.generation_type).map(Some);
        }
        match created.messages.is_empty() {
            true => Ok(None),
            false => Self::of_snapshot(&created.messages).map(Some),
        }
    }

    /// A chat as the host keeps it, newest last, in lines of a chat file or as chat completions write messages. What is
    /// about to be written again is left out.
    pub fn of_chat(messages: &[Json], generation_type: &str) -> Result<Self, ChatFault> {
        let mut view = Self::of_snapshot(messages)?;
        let roles: Vec<Role> = view.messages.iter().map(|message| message.role).collect();
        view.messages
            .truncate(input_prefix(&roles, generation_type)?);
        Ok(view)
    }

    /// The messages of a prompt, from which the host has left out what it had to.
    pub fn of_snapshot(messages: &[Json]) -> Result<Self, ChatFault> {
        let is_header =
            |line: &Json| line.get("chat_metadata").is_some() && line.get("mes").is_none();
        let skipped = usize::from(messages.first().is_some_and(is_header));
        let lines = messages.iter().skip(skipped).enumerate();
        let messages = lines.map(|(index, line)| {
            let read = ChatMessage::of_line(line).or_else(|| ChatMessage::of_prompt(line));
            read.ok_or(ChatFault::NoText(index))
        });
        Ok(Self {
            messages: messages.collect::<Result<_, _>>()?,
        })
    }

    pub fn messages(&self) -> &[ChatMessage] {
        &self.messages
    }
}

impl ChatMessage {
    /// A line of a chat file.
    fn of_line(line: &Json) -> Option<Self> {
        let is = |name: &str| line.get(name).and_then(Json::as_bool) == Some(true);
        Some(Self {
            role: match (is("is_user"), is("is_system")) {
                (true, _) => Role::User,
                (false, true) => Role::System,
                (false, false) => Role::Assistant,
            },
            text: line.get("mes")?.as_str()?.to_owned(),
            name: text_of(line, "name").unwrap_or_default(),
            send_date: match line.get("send_date") {
                Some(Json::Number(date)) => Some(date.to_string()),
                _ => text_of(line, "send_date"),
            },
        })
    }

    /// `{role, content}`, the content a text or a list of parts.
    fn of_prompt(message: &Json) -> Option<Self> {
        let text = match message.get("content")? {
            Json::String(text) => text.clone(),
            Json::Null => String::new(),
            Json::Array(parts) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => return None,
        };
        Some(Self {
            role: match message.get("role").and_then(Json::as_str)? {
                "user" => Role::User,
                "system" | "developer" => Role::System,
                _ => Role::Assistant,
            },
            name: text_of(message, "name").unwrap_or_default(),
            send_date: None,
            text,
        })
    }
}

fn text_of(message: &Json, name: &str) -> Option<String> {
    message.get(name).and_then(Json::as_str).map(str::to_owned)
}
