//! How chats are written.

use async_trait::async_trait;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use crate::StoreError;
use crate::chats::{ChatEdit, ChatEdited, ChatRecord, ChatValue, MessageChange, NewChat, record};
use crate::limits::{MAX_CHAT_MESSAGES, MAX_CHAT_VALUES, MAX_CHATS};
use crate::writer::Change;

pub(crate) struct Create(pub(crate) NewChat);

#[async_trait]
impl Change for Create {
    type Output = Option<ChatRecord>;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<Option<ChatRecord>, StoreError>, sqlx::Error> {
        let chat = &self.0;
        if chat.messages.len() as u64 > MAX_CHAT_MESSAGES {
            return full("messages in this chat", MAX_CHAT_MESSAGES);
        }
        let there = sqlx::query("SELECT count(*) FROM chats")
            .fetch_one(&mut *connection)
            .await?;
        if there.try_get::<i64, _>(0)?.unsigned_abs() >= MAX_CHATS {
            return full("chats", MAX_CHATS);
        }
        let row = sqlx::query(
            "INSERT INTO chats (id, kind, owner, name, metadata, messages, version, created_us, updated_us)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?7) ON CONFLICT DO NOTHING RETURNING *",
        )
        .bind(&chat.id)
        .bind(chat.place.kind.as_str())
        .bind(&chat.place.owner)
        .bind(&chat.place.name)
        .bind(&*chat.metadata)
        .bind(chat.messages.len() as i64)
        .bind(chat.created_at.as_microsecond())
        .fetch_optional(&mut *connection)
        .await?;
        let Some(row) = row else {
            return Ok(Ok(None));
        };
        let no: i64 = row.try_get("no")?;
        for (place, message) in chat.messages.iter().enumerate() {
            insert(connection, no, place as u64, message).await?;
        }
        record(&row).map(|record| Ok(Some(record)))
    }
}

fn full<T>(what: &'static str, limit: u64) -> Result<Result<T, StoreError>, sqlx::Error> {
    Ok(Err(StoreError::Full { what, limit }))
}

async fn insert(
    connection: &mut SqliteConnection,
    chat: i64,
    place: u64,
    message: &str,
) -> Result<(), sqlx::Error> {
    sqlx::query("INSERT INTO chat_messages (chat, place, message) VALUES (?, ?, ?)")
        .bind(chat)
        .bind(place as i64)
        .bind(message)
        .execute(connection)
        .await
        .map(drop)
}

pub(crate) struct Edit(pub(crate) ChatEdit);

#[async_trait]
impl Change for Edit {
    type Output = ChatEdited;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<ChatEdited, StoreError>, sqlx::Error> {
        let edit = &self.0;
        let row = sqlx::query("SELECT * FROM chats WHERE id = ?")
            .bind(&edit.chat)
            .fetch_optional(&mut *connection)
            .await?;
        let Some(row) = row else {
            return Ok(Ok(ChatEdited::NoChat));
        };
        let no: i64 = row.try_get("no")?;
        let before = record(&row)?;
        if edit.base.is_some_and(|base| base != before.version) {
            return Ok(Ok(ChatEdited::Moved(before.version)));
        }
        let count = match count_after(before.messages, &edit.messages) {
            Ok(count) if count > MAX_CHAT_MESSAGES => {
                return full("messages in this chat", MAX_CHAT_MESSAGES);
            }
            Ok(count) => count,
            Err(at) => return Ok(Ok(ChatEdited::NoMessage(at))),
        };
        let place = edit.place.as_ref().unwrap_or(&before.place);
        if *place != before.place {
            let taken =
                sqlx::query("SELECT 1 FROM chats WHERE kind = ? AND owner = ? AND name = ?")
                    .bind(place.kind.as_str())
                    .bind(&place.owner)
                    .bind(&place.name)
                    .fetch_optional(&mut *connection)
                    .await?;
            if taken.is_some() {
                return Ok(Ok(ChatEdited::Taken));
            }
        }
        let mut there = before.messages;
        for change in &edit.messages {
            there = apply(connection, no, there, change).await?;
        }
        let row = sqlx::query(
            "UPDATE chats SET kind = ?, owner = ?, name = ?, metadata = ?, messages = ?,
                 version = version + 1, updated_us = max(updated_us, ?) WHERE no = ? RETURNING *",
        )
        .bind(place.kind.as_str())
        .bind(&place.owner)
        .bind(&place.name)
        .bind(&**edit.metadata.as_ref().unwrap_or(&before.metadata))
        .bind(count as i64)
        .bind(edit.at.as_microsecond())
        .bind(no)
        .fetch_one(connection)
        .await?;
        record(&row).map(|record| Ok(ChatEdited::Made(record)))
    }
}

/// How many there are when all of it is done, or the first place where nothing is.
fn count_after(mut count: u64, changes: &[MessageChange]) -> Result<u64, u64> {
    for change in changes {
        count = match *change {
            MessageChange::Append(_) => count + 1,
            MessageChange::Replace { at, .. } | MessageChange::Remove { at } if at >= count => {
                return Err(at);
            }
            MessageChange::Replace { .. } => count,
            MessageChange::Remove { .. } => count - 1,
            MessageChange::Truncate { from } => count.min(from),
        };
    }
    Ok(count)
}

async fn apply(
    connection: &mut SqliteConnection,
    chat: i64,
    count: u64,
    change: &MessageChange,
) -> Result<u64, sqlx::Error> {
    match change {
        MessageChange::Append(message) => {
            insert(connection, chat, count, message).await?;
            Ok(count + 1)
        }
        MessageChange::Replace { at, message } => {
            sqlx::query("UPDATE chat_messages SET message = ? WHERE chat = ? AND place = ?")
                .bind(&**message)
                .bind(chat)
                .bind(*at as i64)
                .execute(connection)
                .await?;
            Ok(count)
        }
        MessageChange::Remove { at } => {
            sqlx::query("DELETE FROM chat_messages WHERE chat = ? AND place = ?")
                .bind(chat)
                .bind(*at as i64)
                .execute(&mut *connection)
                .await?;
            // No two are ever in one place, not even between two rows: out of the way first, then back.
            sqlx::query("UPDATE chat_messages SET place = -place WHERE chat = ? AND place > ?")
                .bind(chat)
                .bind(*at as i64)
                .execute(&mut *connection)
                .await?;
            sqlx::query("UPDATE chat_messages SET place = -place - 1 WHERE chat = ? AND place < 0")
                .bind(chat)
                .execute(connection)
                .await?;
            Ok(count - 1)
        }
        MessageChange::Truncate { from } => {
            let from = count.min(*from);
            sqlx::query("DELETE FROM chat_messages WHERE chat = ? AND place >= ?")
                .bind(chat)
                .bind(from as i64)
                .execute(connection)
                .await?;
            Ok(from)
        }
    }
}

pub(crate) struct RemoveChat(pub(crate) String);

#[async_trait]
impl Change for RemoveChat {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        let gone = sqlx::query("DELETE FROM chats WHERE id = ? RETURNING no")
            .bind(&self.0)
            .fetch_optional(&mut *connection)
            .await?;
        let Some(gone) = gone else {
            return Ok(Ok(false));
        };
        let no: i64 = gone.try_get("no")?;
        for sql in [
            "DELETE FROM chat_messages WHERE chat = ?",
            "DELETE FROM chat_values WHERE chat = ?",
        ] {
            sqlx::query(sql).bind(no).execute(&mut *connection).await?;
        }
        Ok(Ok(true))
    }
}

pub(crate) struct SetValue(pub(crate) ChatValue);

#[async_trait]
impl Change for SetValue {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        let wanted = &self.0;
        let Some(chat) = chat_no(connection, &wanted.chat).await? else {
            return Ok(Ok(false));
        };
        let there = sqlx::query(
            "SELECT value FROM chat_values WHERE chat = ? AND namespace = ? AND key = ?",
        )
        .bind(chat)
        .bind(&wanted.namespace)
        .bind(&wanted.key)
        .fetch_optional(&mut *connection)
        .await?;
        let there: Option<String> = there.map(|row| row.try_get("value")).transpose()?;
        if let Some(seen) = &wanted.seen
            && seen.as_deref() != there.as_deref()
        {
            return Ok(Ok(false));
        }
        let Some(value) = &wanted.value else {
            sqlx::query("DELETE FROM chat_values WHERE chat = ? AND namespace = ? AND key = ?")
                .bind(chat)
                .bind(&wanted.namespace)
                .bind(&wanted.key)
                .execute(connection)
                .await?;
            return Ok(Ok(there.is_some()));
        };
        if there.is_none() {
            let row = sqlx::query("SELECT count(*) FROM chat_values WHERE chat = ?")
                .bind(chat)
                .fetch_one(&mut *connection)
                .await?;
            if row.try_get::<i64, _>(0)?.unsigned_abs() >= MAX_CHAT_VALUES {
                return full("values beside this chat", MAX_CHAT_VALUES);
            }
        }
        sqlx::query(
            "INSERT INTO chat_values (chat, namespace, key, value) VALUES (?, ?, ?, ?)
             ON CONFLICT (chat, namespace, key) DO UPDATE SET value = excluded.value",
        )
        .bind(chat)
        .bind(&wanted.namespace)
        .bind(&wanted.key)
        .bind(&**value)
        .execute(connection)
        .await?;
        Ok(Ok(true))
    }
}

async fn chat_no(connection: &mut SqliteConnection, id: &str) -> Result<Option<i64>, sqlx::Error> {
    let row = sqlx::query("SELECT no FROM chats WHERE id = ?")
        .bind(id)
        .fetch_optional(connection)
        .await?;
    row.map(|row| row.try_get("no")).transpose()
}

pub(crate) struct RenameValue {
    pub(crate) chat: String,
    pub(crate) namespace: String,
    pub(crate) key: String,
    pub(crate) new_key: String,
}

#[async_trait]
impl Change for RenameValue {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        let Some(chat) = chat_no(connection, &self.chat).await? else {
            return Ok(Ok(false));
        };
        let renamed = sqlx::query(
            "UPDATE OR REPLACE chat_values SET key = ? WHERE chat = ? AND namespace = ? AND key = ?",
        )
        .bind(&self.new_key)
        .bind(chat)
        .bind(&self.namespace)
        .bind(&self.key)
        .execute(connection)
        .await?;
        Ok(Ok(renamed.rows_affected() > 0))
    }
}
