//! Questions to a person about a call of a run, and what they said: once, and for good.

use async_trait::async_trait;
use innkeeper_protocol::event::{CallId, RunId};
use jiff::Timestamp;
use serde_json::Value as Json;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{QueryBuilder, Row, Sqlite};

use crate::StoreError;
use crate::database::Database;
use crate::depth::is_too_deep;
use crate::journal::{at_most, nanoseconds, timestamp};
use crate::limits::{MAX_APPROVAL_BYTES, MAX_APPROVALS_READ, MAX_RECORD_ID_CHARS};
use crate::writer::{Change, Writer};

#[derive(Debug, Clone, PartialEq)]
pub struct Approval {
    pub id: String,
    pub run: RunId,
    pub call: CallId,
    pub question: Json,
    pub asked_at: Timestamp,
    pub answer: Option<Answer>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub said: Json,
    pub at: Timestamp,
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Answered {
    /// It counts.
    First(Approval),
    /// Another one was given before, and that one counts.
    Already(Approval),
    /// Nobody asked.
    Unknown,
}

#[async_trait]
pub trait ApprovalStore: Send + Sync {
    /// On disk when it returns. A question that is there already is given back as it is, with its answer if there is one.
    async fn ask(&self, question: Approval) -> Result<Approval, StoreError>;

    async fn answer(&self, id: &str, answer: Answer) -> Result<Answered, StoreError>;

    async fn get(&self, id: &str) -> Result<Option<Approval>, StoreError>;

    /// Those without an answer, oldest first. `None`: of all runs.
    async fn pending(&self, run: Option<&RunId>) -> Result<Vec<Approval>, StoreError>;
}

#[derive(Clone)]
pub(crate) struct SqliteApprovals {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
}

#[async_trait]
impl ApprovalStore for SqliteApprovals {
    async fn ask(&self, question: Approval) -> Result<Approval, StoreError> {
        for id in [&question.id, question.run.as_str(), question.call.as_str()] {
            let size = id.chars().count();
            at_most("the id of a question", size, MAX_RECORD_ID_CHARS)?;
        }
        let text = written("the question", &question.question)?;
        self.writer.change(Ask { question, text }).await
    }

    async fn answer(&self, id: &str, answer: Answer) -> Result<Answered, StoreError> {
        let text = written("the answer", &answer.said)?;
        let id = id.to_owned();
        let at_ns = nanoseconds(answer.at);
        self.writer.change(Say { id, text, at_ns }).await
    }

    async fn get(&self, id: &str) -> Result<Option<Approval>, StoreError> {
        let mut query = selection();
        query.push("id = ").push_bind(id.to_owned());
        Ok(self.select(query).await?.pop())
    }

    async fn pending(&self, run: Option<&RunId>) -> Result<Vec<Approval>, StoreError> {
        let mut query = selection();
        query.push("answered_ns IS NULL");
        if let Some(run) = run {
            query.push(" AND run = ").push_bind(run.as_str().to_owned());
        }
        query
            .push(" ORDER BY no LIMIT ")
            .push_bind(MAX_APPROVALS_READ);
        self.select(query).await
    }
}

impl SqliteApprovals {
    async fn select(&self, mut query: QueryBuilder<Sqlite>) -> Result<Vec<Approval>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let rows = query.build().fetch_all(&self.database.readers).await;
        rows.map_err(failed)?
            .iter()
            .map(|row| read(row).map_err(failed))
            .collect()
    }
}

fn written(what: &'static str, value: &Json) -> Result<String, StoreError> {
    if is_too_deep(value) {
        return Err(StoreError::TooDeep { what });
    }
    let text = value.to_string();
    at_most(what, text.len(), MAX_APPROVAL_BYTES)?;
    Ok(text)
}

const COLUMNS: &str =
    "SELECT id, run, call, question, asked_ns, answer, answered_ns FROM approvals WHERE ";

fn selection() -> QueryBuilder<Sqlite> {
    QueryBuilder::new(COLUMNS)
}

fn read(row: &SqliteRow) -> Result<Approval, sqlx::Error> {
    let json = |text: &str| {
        serde_json::from_str(text).map_err(|error| sqlx::Error::Decode(Box::new(error)))
    };
    let said = row.try_get::<Option<&str>, _>(5)?.map(json).transpose()?;
    let at = row.try_get::<Option<i64>, _>(6)?.map(timestamp);
    Ok(Approval {
        id: row.try_get(0)?,
        run: RunId::new(row.try_get::<&str, _>(1)?),
        call: CallId::new(row.try_get::<&str, _>(2)?),
        question: json(row.try_get(3)?)?,
        asked_at: timestamp(row.try_get(4)?),
        answer: said.zip(at).map(|(said, at)| Answer { said, at }),
    })
}

async fn by_id(
    connection: &mut SqliteConnection,
    id: &str,
) -> Result<Option<Approval>, sqlx::Error> {
    let mut query = selection();
    query.push("id = ").push_bind(id.to_owned());
    let row = query.build().fetch_optional(connection).await?;
    row.as_ref().map(read).transpose()
}

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

struct Ask {
    question: Approval,
    text: String,
}

#[async_trait]
impl Change for Ask {
    type Output = Approval;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<Approval> {
        let question = &self.question;
        if let Some(there) = by_id(connection, &question.id).await? {
            return Ok(Ok(there));
        }
        sqlx::query(
            "INSERT INTO approvals (id, run, call, question, asked_ns) VALUES (?, ?, ?, ?, ?)",
        )
        .bind(&question.id)
        .bind(question.run.as_str())
        .bind(question.call.as_str())
        .bind(&self.text)
        .bind(nanoseconds(question.asked_at))
        .execute(connection)
        .await?;
        let answer = None;
        let question = question.clone();
        Ok(Ok(Approval { answer, ..question }))
    }
}

struct Say {
    id: String,
    text: String,
    at_ns: i64,
}

#[async_trait]
impl Change for Say {
    type Output = Answered;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<Answered> {
        let done = sqlx::query(
            "UPDATE approvals SET answer = ?, answered_ns = ? WHERE id = ? AND answered_ns IS NULL",
        )
        .bind(&self.text)
        .bind(self.at_ns)
        .bind(&self.id)
        .execute(&mut *connection)
        .await?;
        let is_first = done.rows_affected() > 0;
        Ok(Ok(match by_id(connection, &self.id).await? {
            Some(approval) if is_first => Answered::First(approval),
            Some(approval) => Answered::Already(approval),
            None => Answered::Unknown,
        }))
    }
}

#[cfg(test)]
#[path = "approvals_tests.rs"]
mod tests;
