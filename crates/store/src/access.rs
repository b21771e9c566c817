//! Who may come in over the network: tokens, the codes that become tokens, people with passwords.
//!
//! What is kept of a secret is its hash; making and comparing secrets is done above.

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use crate::StoreError;
use crate::database::Database;
use crate::limits::{
    ACCESS_USED_STEP, MAX_ACCESS_NAME_CHARS, MAX_ACCESS_TOKENS, MAX_PAIRING_CODES, MAX_PEOPLE,
};
use crate::writer::{Change, Writer};

/// How far somebody may go. Each includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// See everything but secrets, change nothing.
    Read,
    /// Also start, steer and answer runs, call tools, write files, workflows and profiles.
    Run,
    /// Also plugins and their permissions, keys, tokens, people.
    Admin,
}

impl Scope {
    pub const ALL: [Self; 3] = [Self::Read, Self::Run, Self::Admin];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is no scope; there are read, run and admin")]
pub struct NoScope(String);

impl FromStr for Scope {
    type Err = NoScope;

    fn from_str(text: &str) -> Result<Self, NoScope> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| NoScope(text.to_owned()))
    }
}

/// A token as it is kept; without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessToken {
    pub id: String,
    pub name: String,
    pub user: String,
    pub scope: Scope,
    pub created_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// To the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_at: Option<Timestamp>,
}

impl AccessToken {
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

#[derive(Debug, Clone)]
pub struct NewToken {
    pub id: String,
    /// SHA-256 of its secret.
    pub hash: [u8; 32],
    pub name: String,
    pub user: String,
    pub scope: Scope,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub struct NewCode {
    pub hash: [u8; 32],
    pub name: String,
    pub user: String,
    pub scope: Scope,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    /// Argon2, in the PHC form.
    pub password: String,
    pub scope: Scope,
    pub created_at: Timestamp,
}

#[derive(Clone)]
pub struct Access {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
}

impl Access {
    /// On the disk when it returns.
    pub async fn add_token(&self, token: NewToken) -> Result<AccessToken, StoreError> {
        fits(&token.name)?;
        fits(&token.user)?;
        self.writer.change(AddToken(token)).await
    }

    /// With the hash of its secret, whether it has expired or not.
    pub async fn token(&self, id: &str) -> Result<Option<(AccessToken, [u8; 32])>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query("SELECT * FROM access_tokens WHERE id = ?")
            .bind(id)
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        row.map(|row| Ok((token(&row)?, hash(&row)?)))
            .transpose()
            .map_err(failed)
    }

    /// Oldest first.
    pub async fn tokens(&self) -> Result<Vec<AccessToken>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let rows = sqlx::query("SELECT * FROM access_tokens ORDER BY no")
            .fetch_all(&self.database.readers)
            .await
            .map_err(failed)?;
        rows.iter().map(|row| token(row).map_err(failed)).collect()
    }

    /// Says whether there was one.
    pub async fn revoke_token(&self, id: &str) -> Result<bool, StoreError> {
        self.writer.change(RevokeToken(id.to_owned())).await
    }

    /// Written down at most once a minute.
    pub async fn token_was_used(
        &self,
        token: &AccessToken,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_known = token.used_at.is_some_and(|used| {
            now.as_second().saturating_sub(used.as_second()) < ACCESS_USED_STEP.as_secs() as i64
        });
        match is_known {
            true => Ok(()),
            false => self.writer.change(UsedToken(token.id.clone(), now)).await,
        }
    }

    pub async fn add_code(&self, code: NewCode) -> Result<(), StoreError> {
        fits(&code.name)?;
        fits(&code.user)?;
        self.writer.change(AddCode(code)).await
    }

    /// The code is gone and the token is there, or neither. The token gets the code's name, user and scope. `None` if
    /// there is no such code, or it has expired.
    pub async fn redeem_code(
        &self,
        code: [u8; 32],
        token: NewToken,
    ) -> Result<Option<AccessToken>, StoreError> {
        self.writer.change(Redeem { code, token }).await
    }

    /// Says whether it is new; a name that is there already is left as it is.
    pub async fn add_person(&self, person: Person) -> Result<bool, StoreError> {
        fits(&person.name)?;
        self.writer.change(AddPerson(person)).await
    }

    pub async fn person(&self, name: &str) -> Result<Option<Person>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query("SELECT * FROM people WHERE name = ?")
            .bind(name)
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        row.map(|row| person(&row)).transpose().map_err(failed)
    }

    /// In the order in which they came.
    pub async fn people(&self) -> Result<Vec<Person>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let rows = sqlx::query("SELECT * FROM people ORDER BY no")
            .fetch_all(&self.database.readers)
            .await
            .map_err(failed)?;
        rows.iter().map(|row| person(row).map_err(failed)).collect()
    }

    /// Whoever knew the old password is out: their tokens go with it. Says whether there is such a person.
    pub async fn set_password(&self, name: &str, password: String) -> Result<bool, StoreError> {
        let (name, password) = (name.to_owned(), password);
        self.writer.change(SetPassword { name, password }).await
    }

    /// With their tokens and codes. Says whether there was such a person.
    pub async fn remove_person(&self, name: &str) -> Result<bool, StoreError> {
        self.writer.change(RemovePerson(name.to_owned())).await
    }
}

fn fits(name: &str) -> Result<(), StoreError> {
    match name.chars().count() {
        size if size > MAX_ACCESS_NAME_CHARS => Err(StoreError::TooLarge {
            what: "a name",
            size,
            limit: MAX_ACCESS_NAME_CHARS,
        }),
        _ => Ok(()),
    }
}

fn time(row: &SqliteRow, column: &str) -> Result<Timestamp, sqlx::Error> {
    moment(row.try_get(column)?)
}

fn moment(us: i64) -> Result<Timestamp, sqlx::Error> {
    Timestamp::from_microsecond(us).map_err(|error| sqlx::Error::Decode(error.into()))
}

fn time_if_any(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, sqlx::Error> {
    let us: Option<i64> = row.try_get(column)?;
    us.map(moment).transpose()
}

fn scope(row: &SqliteRow) -> Result<Scope, sqlx::Error> {
    let text: &str = row.try_get("scope")?;
    text.parse()
        .map_err(|error: NoScope| sqlx::Error::Decode(error.into()))
}

fn hash(row: &SqliteRow) -> Result<[u8; 32], sqlx::Error> {
    let bytes: &[u8] = row.try_get("hash")?;
    bytes
        .try_into()
        .map_err(|_| sqlx::Error::Decode("a hash that is not 32 bytes long".into()))
}

fn token(row: &SqliteRow) -> Result<AccessToken, sqlx::Error> {
    Ok(AccessToken {
        id: row.try_get("id")?,
        name: row.try_get("name")?,
        user: row.try_get("user")?,
        scope: scope(row)?,
        created_at: time(row, "created_us")?,
        expires_at: time_if_any(row, "expires_us")?,
        used_at: time_if_any(row, "used_us")?,
    })
}

fn person(row: &SqliteRow) -> Result<Person, sqlx::Error> {
    Ok(Person {
        name: row.try_get("name")?,
        password: row.try_get("password")?,
        scope: scope(row)?,
        created_at: time(row, "created_us")?,
    })
}

async fn count(connection: &mut SqliteConnection, sql: &'static str) -> Result<u64, sqlx::Error> {
    let row = sqlx::query(sql).fetch_one(connection).await?;
    Ok(row.try_get::<i64, _>(0)?.unsigned_abs())
}

fn full<T>(what: &'static str, limit: u64) -> Result<Result<T, StoreError>, sqlx::Error> {
    Ok(Err(StoreError::Full { what, limit }))
}

struct AddToken(NewToken);

#[async_trait]
impl Change for AddToken {
    type Output = AccessToken;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<AccessToken, StoreError>, sqlx::Error> {
        insert_token(&self.0, connection).await
    }
}

async fn insert_token(
    token: &NewToken,
    connection: &mut SqliteConnection,
) -> Result<Result<AccessToken, StoreError>, sqlx::Error> {
    // What has expired opens nothing any more.
    sqlx::query("DELETE FROM access_tokens WHERE expires_us <= ?")
        .bind(token.created_at.as_microsecond())
        .execute(&mut *connection)
        .await?;
    if count(connection, "SELECT count(*) FROM access_tokens").await? >= MAX_ACCESS_TOKENS {
        return full("tokens", MAX_ACCESS_TOKENS);
    }
    let row = sqlx::query(
        "INSERT INTO access_tokens (id, hash, name, user, scope, created_us, expires_us)
         VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *",
    )
    .bind(&token.id)
    .bind(&token.hash[..])
    .bind(&token.name)
    .bind(&token.user)
    .bind(token.scope.as_str())
    .bind(token.created_at.as_microsecond())
    .bind(token.expires_at.map(Timestamp::as_microsecond))
    .fetch_one(connection)
    .await?;
    self::token(&row).map(Ok)
}

struct RevokeToken(String);

#[async_trait]
impl Change for RevokeToken {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        let done = sqlx::query("DELETE FROM access_tokens WHERE id = ?")
            .bind(&self.0)
            .execute(connection)
            .await?;
        Ok(Ok(done.rows_affected() > 0))
    }
}

struct UsedToken(String, Timestamp);

#[async_trait]
impl Change for UsedToken {
    type Output = ();

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<(), StoreError>, sqlx::Error> {
        sqlx::query("UPDATE access_tokens SET used_us = ? WHERE id = ?")
            .bind(self.1.as_microsecond())
            .bind(&self.0)
            .execute(connection)
            .await?;
        Ok(Ok(()))
    }
}

struct AddCode(NewCode);

#[async_trait]
impl Change for AddCode {
    type Output = ();

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<(), StoreError>, sqlx::Error> {
        let code = &self.0;
        sqlx::query("DELETE FROM pairing_codes WHERE expires_us <= ?")
            .bind(code.created_at.as_microsecond())
            .execute(&mut *connection)
            .await?;
        if count(connection, "SELECT count(*) FROM pairing_codes").await? >= MAX_PAIRING_CODES {
            return full("pairing codes", MAX_PAIRING_CODES);
        }
        sqlx::query(
            "INSERT INTO pairing_codes (hash, name, user, scope, expires_us) VALUES (?, ?, ?, ?, ?)",
        )
        .bind(&code.hash[..])
        .bind(&code.name)
        .bind(&code.user)
        .bind(code.scope.as_str())
        .bind(code.expires_at.as_microsecond())
        .execute(connection)
        .await?;
        Ok(Ok(()))
    }
}

struct Redeem {
    code: [u8; 32],
    token: NewToken,
}

#[async_trait]
impl Change for Redeem {
    type Output = Option<AccessToken>;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<Option<AccessToken>, StoreError>, sqlx::Error> {
        let taken = sqlx::query(
            "DELETE FROM pairing_codes WHERE hash = ? AND expires_us > ? RETURNING name, user, scope",
        )
        .bind(&self.code[..])
        .bind(self.token.created_at.as_microsecond())
        .fetch_optional(&mut *connection)
        .await?;
        let Some(code) = taken else {
            return Ok(Ok(None));
        };
        self.token.name = code.try_get("name")?;
        self.token.user = code.try_get("user")?;
        self.token.scope = scope(&code)?;
        let added = insert_token(&self.token, connection).await?;
        Ok(added.map(Some))
    }
}

struct AddPerson(Person);

#[async_trait]
impl Change for AddPerson {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        if count(connection, "SELECT count(*) FROM people").await? >= MAX_PEOPLE {
            return full("people", MAX_PEOPLE);
        }
        let person = &self.0;
        let done = sqlx::query(
            "INSERT INTO people (name, password, scope, created_us) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
        )
        .bind(&person.name)
        .bind(&person.password)
        .bind(person.scope.as_str())
        .bind(person.created_at.as_microsecond())
        .execute(connection)
        .await?;
        Ok(Ok(done.rows_affected() > 0))
    }
}

struct SetPassword {
    name: String,
    password: String,
}

#[async_trait]
impl Change for SetPassword {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        let done = sqlx::query("UPDATE people SET password = ? WHERE name = ?")
            .bind(&self.password)
            .bind(&self.name)
            .execute(&mut *connection)
            .await?;
        if done.rows_affected() == 0 {
            return Ok(Ok(false));
        }
        shut_out(&self.name, connection).await?;
        Ok(Ok(true))
    }
}

struct RemovePerson(String);

#[async_trait]
impl Change for RemovePerson {
    type Output = bool;

    async fn apply(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<bool, StoreError>, sqlx::Error> {
        let done = sqlx::query("DELETE FROM people WHERE name = ?")
            .bind(&self.0)
            .execute(&mut *connection)
            .await?;
        if done.rows_affected() == 0 {
            return Ok(Ok(false));
        }
        shut_out(&self.0, connection).await?;
        Ok(Ok(true))
    }
}

async fn shut_out(user: &str, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    for sql in [
        "DELETE FROM access_tokens WHERE user = ?",
        "DELETE FROM pairing_codes WHERE user = ?",
    ] {
        sqlx::query(sql)
            .bind(user)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "access_tests.rs"]
mod tests;
