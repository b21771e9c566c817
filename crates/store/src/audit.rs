//! The audit log: what was called, by whom, who allowed it, what came of it. Only ever added to.
//!
//! Owns the shape of an entry and how the log is asked. How records hang together is `audit_chain.rs`, how they
//! are checked `audit_verify.rs`, calls that have not ended `open_calls.rs`; what to write, and the removal of secrets, is up to the caller.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use sqlx::sqlite::SqliteRow;
use sqlx::{QueryBuilder, Row, Sqlite};

use crate::StoreError;
use crate::audit_chain::Sealed;
use crate::database::Database;
use crate::depth::is_too_deep;
use crate::limits::{
    DEFAULT_AUDIT_RECORDS, MAX_AUDIT_ARGUMENT_BYTES, MAX_AUDIT_MESSAGE_CHARS, MAX_AUDIT_NAME_CHARS,
    MAX_AUDIT_RECORDS, MAX_JSON_DEPTH,
};
use crate::owner::Owner;
use crate::writer::Writer;

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $wire:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$variant_doc])* #[serde(rename = $wire)] $variant,)* }

        impl $name {
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $wire,)* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )*};
}

words! {
    /// What came of a call.
    AuditOutcome {
        Success = "success",
        Error = "error",
        /// It was not run: a rule, a hook or a person said no.
        Denied = "denied",
        Cancelled = "cancelled",
        /// It goes on; another entry tells how it ended.
        Started = "started",
        /// It began, and nobody knows how it ended.
        OutcomeUnknown = "outcome_unknown",
        /// It was not run because an earlier step failed.
        Skipped = "skipped",
    }
    /// What the policy said.
    AuditDecision {
        Allow = "allow",
        Ask = "ask",
        Deny = "deny",
        /// It was not asked.
        None = "none",
    }
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    pub at: Timestamp,
    pub user: String,
    /// `person`, `agent:storyteller`.
    pub actor: String,
    pub project: String,
    pub run: String,
    pub call_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    pub tool: String,
    /// `builtin`, `plugin:x`.
    pub source: String,
    /// Without secrets: that is up to the caller.
    pub arguments: Json,
    pub outcome: AuditOutcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    pub duration_us: u64,
    pub decision: AuditDecision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// `once`, `run`, `always`, `person`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    pub attempts: u32,
    pub result_chars: u64,
}

/// An entry in its place in the log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditRecord {
    /// From 1, without gaps.
    pub id: u64,
    #[serde(flatten)]
    pub entry: AuditEntry,
    /// SHA-256 over the hash before, the id and the entry, in hexadecimal.
    pub hash: String,
}

/// Which records. All that is given must hold; nothing given means all.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct AuditFilter {
    /// With `*` for any text, like `actor` and `source`.
    pub tool: Option<String>,
    pub actor: Option<String>,
    pub source: Option<String>,
    pub user: Option<String>,
    pub project: Option<String>,
    pub run: Option<String>,
    pub outcome: Option<AuditOutcome>,
    pub decision: Option<AuditDecision>,
    /// At or after.
    pub since: Option<Timestamp>,
    /// Before.
    pub until: Option<Timestamp>,
    /// Somewhere in the arguments, as they are written in JSON.
    pub text: Option<String>,
    /// Only records with a smaller id: the next page.
    pub before: Option<u64>,
    pub limit: Option<usize>,
}

/// The log's handle.
#[derive(Clone)]
pub struct AuditLog {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
    pub(crate) owner: Arc<Owner>,
}

impl AuditLog {
    /// Returns once the entry is on its way, and waits for room. An error means that the log cannot be written, now or
    /// from before: nothing more should be done that is to be logged. The entry is still tried again, as far as there
    /// is room for it.
    pub async fn append(&self, entry: AuditEntry) -> Result<(), StoreError> {
        self.writer.audit(seal(entry)?).await
    }

    /// The same without waiting, for guards that run while something is dropped.
    pub fn try_append(&self, entry: AuditEntry) -> Result<(), StoreError> {
        self.writer.try_audit(seal(entry)?)
    }

    /// Newest first. What this process appended before is in it.
    pub async fn query(&self, filter: AuditFilter) -> Result<Vec<AuditRecord>, StoreError> {
        // A log that cannot be written can still be read.
        drop(self.writer.flush().await);
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let mut query = select(&filter);
        let rows = query.build().fetch_all(&self.database.readers).await;
        rows.map_err(failed)?
            .iter()
            .map(|row| record(row).map_err(failed))
            .collect()
    }
}

fn select(filter: &AuditFilter) -> QueryBuilder<Sqlite> {
    let mut query = QueryBuilder::new("SELECT id, entry, hash FROM audit WHERE 1");
    for (sql, pattern) in [
        (" AND tool GLOB ", &filter.tool),
        (" AND actor GLOB ", &filter.actor),
        (" AND source GLOB ", &filter.source),
    ] {
        if let Some(pattern) = pattern {
            query.push(sql).push_bind(glob(pattern));
        }
    }
    for (sql, text) in [
        (" AND user = ", filter.user.as_deref()),
        (" AND project = ", filter.project.as_deref()),
        (" AND run = ", filter.run.as_deref()),
        (" AND outcome = ", filter.outcome.map(AuditOutcome::as_str)),
        (
            " AND decision = ",
            filter.decision.map(AuditDecision::as_str),
        ),
    ] {
        if let Some(text) = text {
            query.push(sql).push_bind(text.to_owned());
        }
    }
    if let Some(since) = filter.since {
        query
            .push(" AND at_us >= ")
            .push_bind(since.as_microsecond());
    }
    if let Some(until) = filter.until {
        query
            .push(" AND at_us < ")
            .push_bind(until.as_microsecond());
    }
    if let Some(text) = &filter.text {
        query
            .push(" AND instr(json_extract(entry, '$.arguments'), ")
            .push_bind(text.clone())
            .push(") > 0");
    }
    if let Some(before) = filter.before {
        query.push(" AND id < ").push_bind(signed(before));
    }
    let limit = filter.limit.unwrap_or(DEFAULT_AUDIT_RECORDS);
    query
        .push(" ORDER BY id DESC LIMIT ")
        .push_bind(signed(limit.min(MAX_AUDIT_RECORDS) as u64));
    query
}

fn record(row: &SqliteRow) -> Result<AuditRecord, sqlx::Error> {
    let id: i64 = row.try_get(0)?;
    let entry: &str = row.try_get(1)?;
    Ok(AuditRecord {
        id: id.unsigned_abs(),
        entry: serde_json::from_str(entry).map_err(|error| sqlx::Error::Decode(error.into()))?,
        hash: row.try_get(2)?,
    })
}

/// In SQLite's GLOB more than the star is special.
fn glob(pattern: &str) -> String {
    let mut glob = String::with_capacity(pattern.len());
    for c in pattern.chars() {
        match c {
            '?' => glob.push_str("[?]"),
            '[' => glob.push_str("[[]"),
            c => glob.push(c),
        }
    }
    glob
}

pub(crate) fn written(entry: &AuditEntry) -> Result<String, StoreError> {
    serde_json::to_string(entry).map_err(|error| StoreError::Write {
        cause: error.to_string(),
    })
}

fn cut_arguments(entry: &mut AuditEntry) {
    let arguments = entry.arguments.to_string();
    if arguments.len() > MAX_AUDIT_ARGUMENT_BYTES {
        // Half, because quoting may double it.
        let end = arguments.floor_char_boundary(MAX_AUDIT_ARGUMENT_BYTES / 2);
        let beginning = arguments.get(..end).unwrap_or_default();
        entry.arguments = json!({ "cut": true, "bytes": arguments.len(), "beginning": beginning });
    }
}

/// Bounded, and in the form in which it is stored.
pub(crate) fn seal(mut entry: AuditEntry) -> Result<Sealed, StoreError> {
    for name in [
        &mut entry.user,
        &mut entry.actor,
        &mut entry.project,
        &mut entry.run,
        &mut entry.call_id,
        &mut entry.tool,
        &mut entry.source,
    ] {
        cut(name, MAX_AUDIT_NAME_CHARS);
    }
    for name in [
        &mut entry.request_id,
        &mut entry.error_code,
        &mut entry.rule,
        &mut entry.approved_by,
    ]
    .into_iter()
    .flatten()
    {
        cut(name, MAX_AUDIT_NAME_CHARS);
    }
    if let Some(message) = &mut entry.message {
        cut(message, MAX_AUDIT_MESSAGE_CHARS);
    }
    if is_too_deep(&entry.arguments) {
        entry.arguments = json!({ "cut": true, "deeperThan": MAX_JSON_DEPTH });
    }
    let text = written(&entry)?;
    // Where the whole is short enough, so are the arguments: that is nearly always so, and saves a second writing.
    let text = match text.len() > MAX_AUDIT_ARGUMENT_BYTES {
        true => {
            cut_arguments(&mut entry);
            written(&entry)?
        }
        false => text,
    };
    Ok(Sealed {
        at_us: entry.at.as_microsecond(),
        entry: text,
        closes: None,
    })
}

fn cut(text: &mut String, chars: usize) {
    if let Some((end, _)) = text.char_indices().nth(chars) {
        text.truncate(end);
        text.push('…');
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
#[path = "audit_tests.rs"]
mod tests;
