//! Requests with an id: the same id with the same content is done once, and answered twice.
//!
//! Owns who runs a request and what came of it. What the content is, and what an outcome looks like, is up to the
//! caller. A request whose runner is gone without a word, because its process died or because the call was dropped,
//! is *interrupted*: it may have had effects, and it is for the caller to decide what to tell.

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use serde_json::Value as Json;
use sqlx::Row;
use tokio::sync::watch;
use uuid::Uuid;

use crate::StoreError;
use crate::database::Database;
use crate::depth::is_too_deep;
use crate::limits::{
    CLAIMS_BETWEEN_PURGES, MAX_OBSERVATIONS_BYTES, MAX_REQUEST_KEY_CHARS, REQUEST_LIFE, WAIT_POLL,
};
use crate::owner::Owner;
use crate::request_changes::{Abandon, Claimed, Finish, Key, Purge, Release, TakeOver, TryClaim};
use crate::writer::{Writer, lock};

/// What may be done about a request.
#[derive(Debug)]
pub enum Claim {
    /// Nobody did it yet: do it, then [`Requests::finish`].
    New(ClaimToken),
    /// It was done; this is what came of it.
    Done { observations: Json },
    /// Somebody is at it: [`Requests::wait`], then claim again.
    Running,
    /// It was begun, and whoever began it is gone. It is yours now: finish it with what is known, or release it.
    Interrupted(ClaimToken),
    /// The id was used for something else.
    Conflict,
}

/// The right, and the duty, to say what became of a request. Dropped without a word, the request is interrupted.
pub struct ClaimToken {
    token: String,
    owned: Arc<Owned>,
    writer: Writer,
}

impl fmt::Debug for ClaimToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ClaimToken").field(&self.token).finish()
    }
}

impl ClaimToken {
    /// Nothing is left to be said.
    fn settle(self) {
        self.owned.remove(&self.token);
    }
}

impl Drop for ClaimToken {
    fn drop(&mut self) {
        if self.owned.remove(&self.token) {
            let token = std::mem::take(&mut self.token);
            // Should this fail, we ourselves still know; others know when we are gone.
            drop(self.writer.try_change(Abandon { token }));
        }
    }
}

/// The claims that this store holds.
struct Owned {
    tokens: Mutex<HashSet<String>>,
    changes: watch::Sender<u64>,
}

impl Owned {
    fn holds(&self, token: &str) -> bool {
        lock(&self.tokens).contains(token)
    }

    fn remove(&self, token: &str) -> bool {
        let was_there = lock(&self.tokens).remove(token);
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
        was_there
    }
}

#[derive(Clone)]
pub struct Requests {
    database: Database,
    writer: Writer,
    owner: Arc<Owner>,
    owned: Arc<Owned>,
    claims: Arc<AtomicU64>,
}

impl Requests {
    pub(crate) fn new(database: Database, writer: Writer, owner: Arc<Owner>) -> Self {
        let owned = Owned {
            tokens: Mutex::default(),
            changes: watch::Sender::new(0),
        };
        Self {
            owner,
            owned: Arc::new(owned),
            claims: Arc::default(),
            database,
            writer,
        }
    }

    /// `scope` keeps the ids of different users or projects apart; `content_hash` stands for all that the request
    /// asks for.
    pub async fn claim(
        &self,
        scope: &str,
        request_id: &str,
        content_hash: &str,
    ) -> Result<Claim, StoreError> {
        for text in [scope, request_id, content_hash] {
            let size = text.chars().count();
            if size > MAX_REQUEST_KEY_CHARS {
                return Err(StoreError::TooLarge {
                    what: "the request's id",
                    size,
                    limit: MAX_REQUEST_KEY_CHARS,
                });
            }
        }
        let claims = self.claims.fetch_add(1, Ordering::Relaxed);
        if claims.is_multiple_of(CLAIMS_BETWEEN_PURGES) {
            self.purge(Timestamp::now()).await?;
        }
        let owner = self.owner.id().await?;
        loop {
            let token = self.token();
            let key = Key {
                scope: scope.to_owned(),
                request_id: request_id.to_owned(),
            };
            let claim = TryClaim {
                key: key.clone(),
                content_hash: content_hash.to_owned(),
                token: token.token.clone(),
                owner: owner.to_owned(),
                now_us: Timestamp::now().as_microsecond(),
            };
            let holder = match self.writer.change(claim).await? {
                Claimed::New => return Ok(Claim::New(token)),
                Claimed::Done(observations) => {
                    token.settle();
                    return Ok(Claim::Done { observations });
                }
                Claimed::Conflict => {
                    token.settle();
                    return Ok(Claim::Conflict);
                }
                Claimed::Held(holder) => holder,
            };
            if self.is_held(&holder.owner, &holder.token).await {
                token.settle();
                return Ok(Claim::Running);
            }
            let take_over = TakeOver {
                from: holder.token,
                token: token.token.clone(),
                owner: owner.to_owned(),
            };
            if self.writer.change(take_over).await? {
                return Ok(Claim::Interrupted(token));
            }
            // Somebody was quicker: look again.
            token.settle();
        }
    }

    /// Records the outcome; it is on the disk when this returns. An outcome that cannot be recorded leaves the
    /// request interrupted.
    pub async fn finish(&self, token: ClaimToken, observations: &Json) -> Result<(), StoreError> {
        if is_too_deep(observations) {
            return Err(StoreError::TooDeep {
                what: "the outcome of the request",
            });
        }
        let text = observations.to_string();
        if text.len() > MAX_OBSERVATIONS_BYTES {
            return Err(StoreError::TooLarge {
                what: "the outcome of the request",
                size: text.len(),
                limit: MAX_OBSERVATIONS_BYTES,
            });
        }
        let finish = Finish {
            token: token.token.clone(),
            observations: text,
        };
        self.writer.change(finish).await?;
        token.settle();
        Ok(())
    }

    /// Nothing ran: the id is free again.
    pub async fn release(&self, token: ClaimToken) -> Result<(), StoreError> {
        let release = Release {
            token: token.token.clone(),
        };
        self.writer.change(release).await?;
        token.settle();
        Ok(())
    }

    /// Returns when nobody is at this request any more. In this process at once, elsewhere by looking now and then.
    pub async fn wait(&self, scope: &str, request_id: &str) -> Result<(), StoreError> {
        let mut changes = self.owned.changes.subscribe();
        loop {
            let row = sqlx::query(
                "SELECT owner, token FROM requests
                 WHERE scope = ? AND request_id = ? AND observations IS NULL",
            )
            .bind(scope)
            .bind(request_id)
            .fetch_optional(&self.database.readers)
            .await;
            let failed = |error: sqlx::Error| self.database.read_error(&error);
            let Some(row) = row.map_err(failed)? else {
                return Ok(());
            };
            let owner: String = row.try_get(0).map_err(failed)?;
            let token: String = row.try_get(1).map_err(failed)?;
            if !self.is_held(&owner, &token).await {
                return Ok(());
            }
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(WAIT_POLL) => {}
            }
        }
    }

    async fn is_held(&self, owner: &str, token: &str) -> bool {
        match self.owner.id().await {
            Ok(own) if own == owner => self.owned.holds(token),
            _ => !owner.is_empty() && self.owner.is_alive(owner).await,
        }
    }

    fn token(&self) -> ClaimToken {
        let token = Uuid::now_v7().to_string();
        lock(&self.owned.tokens).insert(token.clone());
        ClaimToken {
            token,
            owned: self.owned.clone(),
            writer: self.writer.clone(),
        }
    }

    /// Forgets what is too old or too much. What somebody still runs stays.
    pub(crate) async fn purge(&self, now: Timestamp) -> Result<(), StoreError> {
        let life = i64::try_from(REQUEST_LIFE.as_micros()).unwrap_or(i64::MAX);
        let before_us = now.as_microsecond().saturating_sub(life);
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let old = sqlx::query(
            "SELECT DISTINCT owner FROM requests WHERE observations IS NULL AND claimed_us < ?",
        )
        .bind(before_us)
        .fetch_all(&self.database.readers)
        .await
        .map_err(failed)?;
        let mut gone = Vec::new();
        for row in old {
            let owner: String = row.try_get(0).map_err(failed)?;
            if owner.is_empty() || !self.owner.is_alive(&owner).await {
                gone.push(owner);
            }
        }
        self.writer.change(Purge { before_us, gone }).await
    }
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;
