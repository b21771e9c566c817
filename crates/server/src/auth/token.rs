//! The secrets that open the door: 32 random bytes under a public id, and short codes that become such.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use innkeeper_protocol::Secret;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const PREFIX: &str = "ink_";
const ID_BYTES: usize = 9;
const SECRET_BYTES: usize = 32;
/// Without letters that look alike: 32 of them, so that each is five bits.
const LETTERS: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
const CODE_LETTERS: usize = 12;

/// `ink_<id>_<secret>`: shown once, when it is made. It cannot be printed by accident.
pub struct Token {
    id: String,
    secret: [u8; SECRET_BYTES],
}

#[derive(Debug, thiserror::Error)]
#[error("the system gives no random numbers: {0}")]
pub struct NoChance(#[from] getrandom::Error);

impl Token {
    pub fn random() -> Result<Self, NoChance> {
        let mut id = [0; ID_BYTES];
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut id)?;
        getrandom::fill(&mut secret)?;
        Ok(Self {
            id: URL_SAFE_NO_PAD.encode(id),
            secret,
        })
    }

    pub fn read(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        // Both parts may contain the character between them, but the first is always as long.
        let (id, secret) = rest.split_at_checked(URL_SAFE_NO_PAD.encode([0; ID_BYTES]).len())?;
        let secret = URL_SAFE_NO_PAD.decode(secret.strip_prefix('_')?).ok()?;
        Some(Self {
            id: id.to_owned(),
            secret: secret.try_into().ok()?,
        })
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn text(&self) -> Secret {
        let secret = URL_SAFE_NO_PAD.encode(self.secret);
        Secret::new(format!("{PREFIX}{}_{secret}", self.id))
    }

    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.secret).into()
    }

    /// Takes as long for a near miss as for any other.
    pub fn fits(&self, hash: &[u8; 32]) -> bool {
        self.hash().ct_eq(hash).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({}, …)", self.id)
    }
}

/// What a person types or follows once: `QK7M-2TRX-9ZPA`, 60 bits.
pub struct PairingCode([u8; CODE_LETTERS]);

impl PairingCode {
    pub fn random() -> Result<Self, NoChance> {
        let mut bytes = [0; CODE_LETTERS];
        getrandom::fill(&mut bytes)?;
        Ok(Self(bytes.map(|byte| LETTERS[usize::from(byte % 32)])))
    }

    /// In any case, with whatever stands between the letters.
    pub fn read(text: &str) -> Option<Self> {
        let letters: Vec<u8> = text
            .bytes()
            .filter(|byte| !matches!(byte, b'-' | b' '))
            .map(|byte| byte.to_ascii_uppercase())
            .take(CODE_LETTERS + 1)
            .collect();
        let letters: [u8; CODE_LETTERS] = letters.try_into().ok()?;
        letters
            .iter()
            .all(|letter| LETTERS.contains(letter))
            .then_some(Self(letters))
    }

    pub fn text(&self) -> Secret {
        let groups: Vec<_> = self.0.chunks(4).map(String::from_utf8_lossy).collect();
        Secret::new(groups.join("-"))
    }

    pub fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.0).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_as_it_was_written() {
        for _ in 0..200 {
            let token = Token::random().unwrap();
            let read = Token::read(token.text().expose()).unwrap();
            assert_eq!(read.id(), token.id());
            assert!(read.fits(&token.hash()));
            assert!(!Token::random().unwrap().fits(&token.hash()));
        }
    }

    #[test]
    fn what_is_no_token_is_none() {
        let token = Token::random().unwrap();
        let text = token.text().expose().to_owned();
        let mut cases = vec![
            String::new(),
            "ink_".into(),
            text[4..].into(),
            format!("{text}A"),
        ];
        cases.push(text.replace("ink_", "INK_"));
        cases.push("ink_ааааааа".into());
        cases.extend((1..text.len()).map(|end| text[..end].to_owned()));
        for case in cases {
            assert!(Token::read(&case).is_none(), "{case}");
        }
    }

    #[test]
    fn a_code_is_read_in_any_case_with_any_dashes() {
        let code = PairingCode::random().unwrap();
        let text = code.text().expose().to_owned();
        assert_eq!(text.len(), 14);
        for typed in [
            text.clone(),
            text.to_lowercase(),
            text.replace('-', ""),
            text.replace('-', " "),
        ] {
            assert_eq!(
                PairingCode::read(&typed).unwrap().hash(),
                code.hash(),
                "{typed}"
            );
        }
        for wrong in [
            "",
            "QK7M-2TRX-9ZP",
            "QK7M-2TRX-9ZPAA",
            "QK7M-2TRX-9ZP0",
            "QK7M-2TRX-9ZPé",
        ] {
            assert!(PairingCode::read(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn neither_shows_its_secret() {
        let token = Token::random().unwrap();
        let secret = token.text().expose()[17..].to_owned();
        assert!(!format!("{token:?}").contains(&secret));
    }
}
