//! Cutting off what cannot be read of a run, and making what is known of it anew.

use sqlx::sqlite::SqliteConnection;

use super::examine::Found;
use crate::StoreError;
use crate::database::Database;
use crate::journal::{nanoseconds, signed, status_text};

/// All of it, or nothing.
pub(super) async fn mend(
    connection: &mut SqliteConnection,
    database: &Database,
    found: &[Found],
    checkpoints: &[i64],
) -> Result<(), StoreError> {
    if found.is_empty() && checkpoints.is_empty() {
        return Ok(());
    }
    let failed = |error: sqlx::Error| database.write_error(&error);
    let mut transaction = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE")
        .await
        .map_err(failed)?;
    for one in found {
        match &one.record {
            Some(_) => cut(&mut transaction, one).await,
            None => remove(&mut transaction, one.number).await,
        }
        .map_err(failed)?;
    }
    for checkpoint in checkpoints {
        sqlx::query("DELETE FROM checkpoints WHERE no = ?")
            .bind(checkpoint)
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}

async fn cut(connection: &mut SqliteConnection, found: &Found) -> Result<(), sqlx::Error> {
    let Some(record) = &found.record else {
        return Ok(());
    };
    sqlx::query("DELETE FROM journal WHERE run = ? AND (after_seq, id) > (?, ?)")
        .bind(found.number)
        .bind(found.last_step.0)
        .bind(found.last_step.1)
        .execute(&mut *connection)
        .await?;
    sqlx::query("DELETE FROM checkpoints WHERE run = ? AND seq > ?")
        .bind(found.number)
        .bind(signed(record.last_seq))
        .execute(&mut *connection)
        .await?;
    if !found.keeps_snapshot {
        sqlx::query("DELETE FROM snapshots WHERE run = ?")
            .bind(found.number)
            .execute(&mut *connection)
            .await?;
    }
    let text = serde_json::to_string(record).map_err(|error| sqlx::Error::Encode(error.into()))?;
    sqlx::query(
        "INSERT OR REPLACE INTO runs (no, id, chat, workspace, created_ns, record)
         VALUES (?, ?, ?, ?, ?, ?)",
    )
    .bind(found.number)
    .bind(record.run_id.as_str())
    .bind(&record.stable_chat_id)
    .bind(record.workspace_id.as_str())
    .bind(nanoseconds(record.created_at))
    .bind(text)
    .execute(&mut *connection)
    .await?;
    let committed = record.committed_message.as_ref();
    let committed = committed.map(serde_json::to_string).transpose();
    sqlx::query(
        "INSERT OR REPLACE INTO run_states
            (run, last_seq, status, updated_ns, terminal_ns, commit_count, committed, is_slim)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(found.number)
    .bind(signed(record.last_seq))
    .bind(status_text(record.status))
    .bind(nanoseconds(record.updated_at))
    .bind(record.terminal_at.map(nanoseconds))
    .bind(signed(record.commit_count))
    .bind(committed.map_err(|error| sqlx::Error::Encode(error.into()))?)
    .bind(record.is_slim)
    .execute(&mut *connection)
    .await?;
    if !found.is_cut {
        return Ok(());
    }
    sqlx::query("INSERT OR REPLACE INTO cut_runs (run, last_seq) VALUES (?, ?)")
        .bind(found.number)
        .bind(signed(record.last_seq))
        .execute(connection)
        .await
        .map(drop)
}

async fn remove(connection: &mut SqliteConnection, number: i64) -> Result<(), sqlx::Error> {
    for sql in [
        "DELETE FROM journal WHERE run = ?",
        "DELETE FROM snapshots WHERE run = ?",
        "DELETE FROM run_states WHERE run = ?",
        "DELETE FROM cut_runs WHERE run = ?",
        "DELETE FROM held WHERE run = ?",
        "DELETE FROM checkpoints WHERE run = ?",
        "DELETE FROM runs WHERE no = ?",
    ] {
        sqlx::query(sql)
            .bind(number)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}
