//! Passwords: hashed with Argon2id, checked a few at a time.

use std::sync::LazyLock;

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use tokio::sync::Semaphore;

use crate::limits::{MAX_PASSWORD_BYTES, MAX_PASSWORD_CHECKS, MIN_PASSWORD_CHARS};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPassword {
    #[error("a password has at least {MIN_PASSWORD_CHARS} characters; take a longer one")]
    TooShort,
    #[error("a password has at most {MAX_PASSWORD_BYTES} bytes; take a shorter one")]
    TooLong,
    #[error("the password cannot be hashed: {0}")]
    Failed(String),
}

/// In the PHC form. Takes some tens of milliseconds.
pub fn hash_password(password: &str) -> Result<String, BadPassword> {
    if password.chars().count() < MIN_PASSWORD_CHARS {
        return Err(BadPassword::TooShort);
    }
    if password.len() > MAX_PASSWORD_BYTES {
        return Err(BadPassword::TooLong);
    }
    let hashed = Argon2::default().hash_password(password.as_bytes());
    hashed
        .map(|hash| hash.to_string())
        .map_err(|error| BadPassword::Failed(error.to_string()))
}

static CHECKS: Semaphore = Semaphore::const_new(MAX_PASSWORD_CHECKS);
/// Of nobody's password: whoever names a person that does not exist waits as long.
static NOBODY: LazyLock<String> =
    LazyLock::new(|| hash_password("the password of nobody").unwrap_or_default());

/// Takes as long where there is no such person.
pub(super) async fn fits(password: String, hash: Option<String>) -> bool {
    if password.len() > MAX_PASSWORD_BYTES {
        return false;
    }
    let Ok(_turn) = CHECKS.acquire().await else {
        return false;
    };
    let checked = tokio::task::spawn_blocking(move || {
        let exists = hash.is_some();
        let hash = hash.unwrap_or_else(|| NOBODY.clone());
        let Ok(hash) = PasswordHash::new(&hash) else {
            return false;
        };
        let verified = Argon2::default().verify_password(password.as_bytes(), &hash);
        verified.is_ok() && exists
    });
    checked.await.unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_the_password_itself_fits() {
        let hash = hash_password("correct horse").unwrap();
        assert!(hash.starts_with("$argon2id$"));
        assert_ne!(hash, hash_password("correct horse").unwrap());
        assert!(fits("correct horse".into(), Some(hash.clone())).await);
        assert!(!fits("correct horsf".into(), Some(hash.clone())).await);
        assert!(!fits("correct horse".into(), None).await);
        assert!(!fits("the password of nobody".into(), None).await);
        assert!(!fits("x".repeat(MAX_PASSWORD_BYTES + 1), Some(hash)).await);
    }

    #[test]
    fn short_and_endless_passwords_are_refused() {
        assert_eq!(hash_password("short"), Err(BadPassword::TooShort));
        let endless = "x".repeat(MAX_PASSWORD_BYTES + 1);
        assert_eq!(hash_password(&endless), Err(BadPassword::TooLong));
    }
}
