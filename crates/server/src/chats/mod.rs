//! Chats that the house keeps itself: for the web app, for sessions with an agent, for whoever has no tavern. Chats of a
//! tavern stay with the tavern.
//!
//! `message.rs` is the form of a message and what it says of the run that wrote it, `publish.rs` what a publication makes of a
//! chat; both are pure. `start.rs` begins runs that answer in one. This file finds, reads and edits chats.

mod message;
mod publish;
mod start;

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_store::{
    ChatEdit, ChatEdited, ChatKind, ChatPlace, ChatRecord, Chats, MessageChange,
};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

pub(crate) use message::{Said, agent_extra, plain, role, text};
pub(crate) use publish::{Change, Publication, Tail, note_state, published, withdrawn};
pub(crate) use start::{chat_of, start};

use crate::limits::{CHAT_PAGE, MAX_CHAT_PROMPT_MESSAGES};
use crate::problem::Problem;

/// `{kind: character, characterId, fileName}` or `{kind: group, chatId}`. None where it is neither.
pub(crate) fn place_of(chat_ref: &Json) -> Option<ChatPlace> {
    let text = |name: &str| {
        let text = chat_ref.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    match chat_ref.get("kind")?.as_str()? {
        "character" => {
            let name = text("fileName")?;
            Some(ChatPlace {
                kind: ChatKind::Character,
                owner: text("characterId")?,
                name: name.strip_suffix(".jsonl").unwrap_or(&name).to_owned(),
            })
        }
        "group" => Some(ChatPlace {
            kind: ChatKind::Group,
            owner: String::new(),
            name: text("chatId")?,
        }),
        _ => None,
    }
}

/// As hosts name it; null for a session.
pub(crate) fn ref_of(place: &ChatPlace) -> Json {
    match place.kind {
        ChatKind::Character => {
            json!({ "kind": "character", "characterId": place.owner, "fileName": place.name })
        }
        ChatKind::Group => json!({ "kind": "group", "chatId": place.name }),
        ChatKind::Session => Json::Null,
    }
}

pub(crate) fn no_chat(name: &str) -> Problem {
    let name: String = name.chars().take(120).collect();
    Problem::new(
        ErrorCode::ChatNotFound,
        format!("there is no chat '{name}' in this house; GET /api/v1/chats lists them"),
    )
}

pub(crate) async fn get(chats: &Chats, id: &str) -> Result<ChatRecord, Problem> {
    chats.get(id).await?.ok_or_else(|| no_chat(id))
}

/// All of it, oldest first, as far as a prompt may hold.
pub(crate) async fn conversation(chats: &Chats, chat: &ChatRecord) -> Result<Vec<Json>, Problem> {
    let from = chat.messages.saturating_sub(MAX_CHAT_PROMPT_MESSAGES);
    read(chats, &chat.id, from, usize::MAX)
        .await
        .map(|tail| tail.messages)
}

/// The newest, as many as are looked at to find what a run has written.
pub(crate) async fn tail(chats: &Chats, chat: &ChatRecord) -> Result<Tail, Problem> {
    let from = chat.messages.saturating_sub(CHAT_PAGE as u64);
    read(chats, &chat.id, from, CHAT_PAGE).await
}

pub(crate) async fn read(
    chats: &Chats,
    id: &str,
    from: u64,
    limit: usize,
) -> Result<Tail, Problem> {
    let mut messages = Vec::new();
    while messages.len() < limit {
        let next = from + messages.len() as u64;
        let wanted = (limit - messages.len()).min(CHAT_PAGE);
        let page = chats.messages(id, next, wanted).await?;
        let is_last = page.len() < wanted;
        for (_, message) in page {
            messages.push(parsed(&message)?);
        }
        if is_last {
            break;
        }
    }
    Ok(Tail {
        first: from,
        messages,
    })
}

pub(crate) fn parsed(text: &str) -> Result<Json, Problem> {
    serde_json::from_str(text).map_err(|error| {
        Problem::new(
            ErrorCode::HttpInternal,
            format!(
                "what is kept of a chat cannot be read: {error}; `innkeeper doctor` tells more"
            ),
        )
    })
}

/// What is to be done to a chat.
#[derive(Default)]
pub(crate) struct Wanted {
    /// Only if it is still at this version.
    pub(crate) base: Option<u64>,
    pub(crate) messages: Vec<MessageChange>,
    pub(crate) metadata: Option<Arc<str>>,
    pub(crate) place: Option<ChatPlace>,
}

pub(crate) async fn edit(chats: &Chats, id: &str, wanted: Wanted) -> Result<ChatRecord, Problem> {
    let edit = ChatEdit {
        chat: id.to_owned(),
        base: wanted.base,
        messages: wanted.messages,
        metadata: wanted.metadata,
        place: wanted.place,
        at: Timestamp::now(),
    };
    match chats.edit(edit).await? {
        ChatEdited::Made(record) => Ok(record),
        ChatEdited::NoChat => Err(no_chat(id)),
        ChatEdited::NoMessage(at) => Err(Problem::new(
            ErrorCode::ChatMessageNotFound,
            format!("the chat '{id}' has no message {at}; they are counted from 0"),
        )),
        ChatEdited::Moved(version) => Err(moved(version)),
        ChatEdited::Taken => Err(taken()),
    }
}

pub(crate) fn moved(version: u64) -> Problem {
    Problem::new(
        ErrorCode::HttpConflict,
        format!(
            "somebody has changed the chat meanwhile, it is at version {version}; read it again and decide anew"
        ),
    )
    .with("version", version)
}

pub(crate) fn taken() -> Problem {
    Problem::new(
        ErrorCode::HttpConflict,
        "there is a chat under that name already; choose another",
    )
}
