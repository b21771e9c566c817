//! Chats that the house keeps itself: messages in order, metadata, and small values beside them. What a message says is
//! known above.
//!
//! A chat changes only as a whole: an edit is made on the version that whoever makes it has seen, or not at all.

use std::sync::Arc;

use jiff::Timestamp;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::StoreError;
use crate::chat_changes::{Create, Edit, RemoveChat, RenameValue, SetValue};
use crate::database::Database;
use crate::journal::at_most;
use crate::limits::{
    MAX_CHAT_EDITS, MAX_CHAT_KEYS_READ, MAX_CHAT_MESSAGES_READ, MAX_CHAT_METADATA_BYTES,
    MAX_CHAT_VALUE_BYTES, MAX_CHATS_READ, MAX_MESSAGE_BYTES, MAX_RECORD_ID_CHARS,
};
use crate::writer::Writer;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChatKind {
    /// With one character, under the name of a file.
    Character,
    /// Of several, under an id.
    Group,
    /// With an agent alone.
    Session,
}

impl ChatKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Character => "character",
            Self::Group => "group",
            Self::Session => "session",
        }
    }

    fn of(text: &str) -> Result<Self, sqlx::Error> {
        let all = [Self::Character, Self::Group, Self::Session];
        let found = all.into_iter().find(|kind| kind.as_str() == text);
        found.ok_or_else(|| sqlx::Error::Decode(format!("'{text}' is no kind of chat").into()))
    }
}

/// Where a chat is found besides by its id; there is one at most.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ChatPlace {
    pub kind: ChatKind,
    /// The character; empty where there is none.
    pub owner: String,
    pub name: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatRecord {
    /// Stays, whatever the chat is called.
    pub id: String,
    pub place: ChatPlace,
    /// JSON.
    pub metadata: Arc<str>,
    /// How many there are.
    pub messages: u64,
    pub version: u64,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

#[derive(Debug, Clone)]
pub struct NewChat {
    pub id: String,
    pub place: ChatPlace,
    /// JSON.
    pub metadata: Arc<str>,
    /// JSON, each.
    pub messages: Vec<Arc<str>>,
    pub created_at: Timestamp,
}

/// Newest change first.
#[derive(Debug, Clone, Default)]
pub struct ChatFilter {
    pub kind: Option<ChatKind>,
    pub owner: Option<String>,
    /// Only those behind this one.
    pub before: Option<ChatCursor>,
    pub limit: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatCursor {
    pub updated_at: Timestamp,
    pub id: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageChange {
    Append(Arc<str>),
    Replace {
        at: u64,
        message: Arc<str>,
    },
    /// Those behind it move up.
    Remove {
        at: u64,
    },
    /// All from there on go.
    Truncate {
        from: u64,
    },
}

/// Done in this order, all of it or nothing.
#[derive(Debug, Clone)]
pub struct ChatEdit {
    pub chat: String,
    /// Only if it is still at this version.
    pub base: Option<u64>,
    pub messages: Vec<MessageChange>,
    pub metadata: Option<Arc<str>>,
    pub place: Option<ChatPlace>,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatEdited {
    Made(ChatRecord),
    /// Nothing was changed: it is at this version.
    Moved(u64),
    /// Nothing was changed: there is no message there.
    NoMessage(u64),
    /// Nothing was changed: another chat is there.
    Taken,
    NoChat,
}

#[derive(Clone)]
pub struct Chats {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
}

impl Chats {
    /// None if there is one under that id or at that place already.
    pub async fn create(&self, chat: NewChat) -> Result<Option<ChatRecord>, StoreError> {
        check_id(&chat.id)?;
        check_place(&chat.place)?;
        check_metadata(&chat.metadata)?;
        for message in &chat.messages {
            check_message(message)?;
        }
        self.writer.change(Create(chat)).await
    }

    pub async fn get(&self, id: &str) -> Result<Option<ChatRecord>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query("SELECT * FROM chats WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        row.map(|row| record(&row)).transpose().map_err(failed)
    }

    pub async fn find(&self, place: &ChatPlace) -> Result<Option<ChatRecord>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query("SELECT * FROM chats WHERE kind = ? AND owner = ? AND name = ?")
            .bind(place.kind.as_str())
            .bind(&place.owner)
            .bind(&place.name)
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        row.map(|row| record(&row)).transpose().map_err(failed)
    }

    pub async fn list(&self, filter: &ChatFilter) -> Result<Vec<ChatRecord>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let (before_us, before_id) = match &filter.before {
            Some(cursor) => (cursor.updated_at.as_microsecond(), cursor.id.as_str()),
            None => (i64::MAX, ""),
        };
        let rows = sqlx::query(
            "SELECT * FROM chats
             WHERE (?1 IS NULL OR kind = ?1) AND (?2 IS NULL OR owner = ?2)
               AND (updated_us < ?3 OR (updated_us = ?3 AND id < ?4))
             ORDER BY updated_us DESC, id DESC LIMIT ?5",
        )
        .bind(filter.kind.map(ChatKind::as_str))
        .bind(&filter.owner)
        .bind(before_us)
        .bind(before_id)
        .bind(filter.limit.min(MAX_CHATS_READ) as i64)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?;
        rows.iter().map(|row| record(row).map_err(failed)).collect()
    }

    /// Those from a place on, with their places, in order. None where there is no such chat any more.
    pub async fn messages(
        &self,
        chat: &str,
        from: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Arc<str>)>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let rows = sqlx::query(
            "SELECT m.place, m.message FROM chat_messages m JOIN chats c ON c.no = m.chat
             WHERE c.id = ? AND m.place >= ? ORDER BY m.place LIMIT ?",
        )
        .bind(chat)
        .bind(i64::try_from(from).unwrap_or(i64::MAX))
        .bind(limit.min(MAX_CHAT_MESSAGES_READ) as i64)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?;
        let read = |row: &SqliteRow| {
            let message: &str = row.try_get("message")?;
            Ok((number(row, "place")?, message.into()))
        };
        rows.iter().map(|row| read(row).map_err(failed)).collect()
    }

    /// On disk when it returns.
    pub async fn edit(&self, edit: ChatEdit) -> Result<ChatEdited, StoreError> {
        at_most("the number of changes", edit.messages.len(), MAX_CHAT_EDITS)?;
        for change in &edit.messages {
            match change {
                MessageChange::Append(message) | MessageChange::Replace { message, .. } => {
                    check_message(message)?;
                }
                MessageChange::Remove { .. } | MessageChange::Truncate { .. } => {}
            }
        }
        if let Some(metadata) = &edit.metadata {
            check_metadata(metadata)?;
        }
        if let Some(place) = &edit.place {
            check_place(place)?;
        }
        self.writer.change(Edit(edit)).await
    }

    /// With everything beside it. Says whether there was one.
    pub async fn remove(&self, id: &str) -> Result<bool, StoreError> {
        self.writer.change(RemoveChat(id.to_owned())).await
    }

    pub async fn value(
        &self,
        chat: &str,
        namespace: &str,
        key: &str,
    ) -> Result<Option<Arc<str>>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query(
            "SELECT v.value FROM chat_values v JOIN chats c ON c.no = v.chat
             WHERE c.id = ? AND v.namespace = ? AND v.key = ?",
        )
        .bind(chat)
        .bind(namespace)
        .bind(key)
        .fetch_optional(&self.database.readers)
        .await
        .map_err(failed)?;
        let read = |row: SqliteRow| row.try_get::<&str, _>("value").map(Arc::from);
        row.map(read).transpose().map_err(failed)
    }

    /// `None` removes it. Only if it is still `seen`, where that is said. Says whether it was done.
    pub async fn set_value(&self, value: ChatValue) -> Result<bool, StoreError> {
        for name in [&value.namespace, &value.key] {
            check_id(name)?;
        }
        if let Some(text) = &value.value {
            at_most("a value beside a chat", text.len(), MAX_CHAT_VALUE_BYTES)?;
        }
        self.writer.change(SetValue(value)).await
    }

    /// What was there under the new key is gone. Says whether there was one under the old.
    pub async fn rename_value(
        &self,
        chat: &str,
        namespace: &str,
        key: &str,
        new_key: &str,
    ) -> Result<bool, StoreError> {
        check_id(new_key)?;
        let [chat, namespace, key, new_key] = [chat, namespace, key, new_key].map(str::to_owned);
        self.writer
            .change(RenameValue {
                chat,
                namespace,
                key,
                new_key,
            })
            .await
    }

    /// In order, those that begin with `prefix`.
    pub async fn keys(
        &self,
        chat: &str,
        namespace: &str,
        prefix: &str,
    ) -> Result<Vec<String>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let rows = sqlx::query(
            "SELECT v.key FROM chat_values v JOIN chats c ON c.no = v.chat
             WHERE c.id = ?1 AND v.namespace = ?2 AND substr(v.key, 1, length(?3)) = ?3
             ORDER BY v.key LIMIT ?4",
        )
        .bind(chat)
        .bind(namespace)
        .bind(prefix)
        .bind(MAX_CHAT_KEYS_READ)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?;
        rows.iter()
            .map(|row| row.try_get("key").map_err(failed))
            .collect()
    }
}

#[derive(Debug, Clone)]
pub struct ChatValue {
    pub chat: String,
    pub namespace: String,
    pub key: String,
    /// JSON; none takes it away.
    pub value: Option<Arc<str>>,
    /// What whoever writes has seen there: nothing at all, or this text.
    pub seen: Option<Option<Arc<str>>>,
}

fn check_id(id: &str) -> Result<(), StoreError> {
    at_most("an id", id.chars().count(), MAX_RECORD_ID_CHARS)
}

fn check_place(place: &ChatPlace) -> Result<(), StoreError> {
    check_id(&place.owner)?;
    check_id(&place.name)
}

fn check_metadata(metadata: &str) -> Result<(), StoreError> {
    at_most(
        "the metadata of a chat",
        metadata.len(),
        MAX_CHAT_METADATA_BYTES,
    )
}

fn check_message(message: &str) -> Result<(), StoreError> {
    at_most("a message", message.len(), MAX_MESSAGE_BYTES)
}

pub(crate) fn number(row: &SqliteRow, column: &str) -> Result<u64, sqlx::Error> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|error| sqlx::Error::Decode(error.into()))
}

pub(crate) fn record(row: &SqliteRow) -> Result<ChatRecord, sqlx::Error> {
    let time = |column: &str| {
        Timestamp::from_microsecond(row.try_get(column)?)
            .map_err(|error| sqlx::Error::Decode(error.into()))
    };
    Ok(ChatRecord {
        id: row.try_get("id")?,
        place: ChatPlace {
            kind: ChatKind::of(row.try_get("kind")?)?,
            owner: row.try_get("owner")?,
            name: row.try_get("name")?,
        },
        metadata: row.try_get::<&str, _>("metadata")?.into(),
        messages: number(row, "messages")?,
        version: number(row, "version")?,
        created_at: time("created_us")?,
        updated_at: time("updated_us")?,
    })
}

#[cfg(test)]
#[path = "chats_tests.rs"]
mod tests;
