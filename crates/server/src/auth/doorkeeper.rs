//! Which secrets open the door.

use std::time::Duration;

use innkeeper_protocol::{ErrorCode, Secret};
use innkeeper_store::{Access, AccessToken, NewCode, NewToken, Scope};
use jiff::Timestamp;

use super::identity::Identity;
use super::password;
use super::token::{NoChance, PairingCode, Token};
use crate::Problem;
use crate::limits::SESSION_LIFE;

#[derive(Clone)]
pub struct Doorkeeper {
    access: Access,
}

/// Somebody has come in: their token, told this once.
pub struct Paired {
    pub token: Secret,
    pub kept: AccessToken,
}

impl Doorkeeper {
    pub fn new(access: Access) -> Self {
        Self { access }
    }

    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Whoever shows this token, if it opens the door now.
    pub(crate) async fn admit(
        &self,
        text: &str,
        now: Timestamp,
    ) -> Result<Option<Identity>, Problem> {
        let Some(shown) = Token::read(text) else {
            return Ok(None);
        };
        let Some((kept, hash)) = self.access.token(shown.id()).await? else {
            return Ok(None);
        };
        if !shown.fits(&hash) || kept.has_expired(now) {
            return Ok(None);
        }
        // That it cannot be written down is no reason to keep somebody out.
        if let Err(error) = self.access.token_was_used(&kept, now).await {
            tracing::warn!(token = kept.id, %error, "it could not be written down that a token was used");
        }
        Ok(Some(Identity {
            token: kept.id,
            user: kept.user,
            scope: kept.scope,
        }))
    }

    /// Whether a token that opened the door still would. Where it cannot be looked up, nobody is thrown out.
    pub(crate) async fn holds(&self, id: &str, now: Timestamp) -> bool {
        match self.access.token(id).await {
            Ok(Some((kept, _))) => !kept.has_expired(now),
            Ok(None) => false,
            Err(_) => true,
        }
    }

    pub async fn issue(
        &self,
        name: &str,
        user: &str,
        scope: Scope,
        life: Option<Duration>,
        now: Timestamp,
    ) -> Result<Paired, Problem> {
        let token = Token::random().map_err(no_chance)?;
        let kept = self.access.add_token(NewToken {
            id: token.id().to_owned(),
            hash: token.hash(),
            name: name.to_owned(),
            user: user.to_owned(),
            scope,
            created_at: now,
            expires_at: life.map(|life| later(now, life)),
        });
        Ok(Paired {
            kept: kept.await?,
            token: token.text(),
        })
    }

    /// A code that becomes a token of this scope, once.
    pub async fn code(
        &self,
        name: &str,
        user: &str,
        scope: Scope,
        life: Duration,
        now: Timestamp,
    ) -> Result<PairingCode, Problem> {
        let code = PairingCode::random().map_err(no_chance)?;
        let kept = self.access.add_code(NewCode {
            hash: code.hash(),
            name: name.to_owned(),
            user: user.to_owned(),
            scope,
            created_at: now,
            expires_at: later(now, life),
        });
        kept.await?;
        Ok(code)
    }

    pub async fn redeem(&self, code: &str, now: Timestamp) -> Result<Option<Paired>, Problem> {
        let Some(code) = PairingCode::read(code) else {
            return Ok(None);
        };
        let token = Token::random().map_err(no_chance)?;
        let redeemed = self.access.redeem_code(
            code.hash(),
            NewToken {
                id: token.id().to_owned(),
                hash: token.hash(),
                // What the code says takes their place.
                name: String::new(),
                user: String::new(),
                scope: Scope::Read,
                created_at: now,
                expires_at: Some(later(now, SESSION_LIFE)),
            },
        );
        let kept = redeemed.await?;
        Ok(kept.map(|kept| Paired {
            kept,
            token: token.text(),
        }))
    }

    pub async fn sign_in(
        &self,
        name: &str,
        password: String,
        now: Timestamp,
    ) -> Result<Option<Paired>, Problem> {
        let person = self.access.person(name).await?;
        let hash = person.as_ref().map(|person| person.password.clone());
        let fits = password::fits(password, hash).await;
        match person.filter(|_| fits) {
            Some(person) => {
                let life = Some(SESSION_LIFE);
                let issued = self.issue("signed in", &person.name, person.scope, life, now);
                issued.await.map(Some)
            }
            None => Ok(None),
        }
    }
}

fn later(now: Timestamp, life: Duration) -> Timestamp {
    let life = jiff::SignedDuration::try_from(life).unwrap_or(jiff::SignedDuration::MAX);
    now.saturating_add(life).unwrap_or(Timestamp::MAX)
}

fn no_chance(error: NoChance) -> Problem {
    Problem::new(ErrorCode::HttpInternal, error.to_string())
}
