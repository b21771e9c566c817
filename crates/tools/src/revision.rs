//! What decides a result beside the arguments of the call, in a few bytes.

use sha2::{Digest, Sha256};

/// Two of the same parts are the same. Secrets go in and do not come out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revision([u8; 32]);

impl Revision {
    /// Every part counts with its length, so that no two lists look alike.
    pub fn of<'p>(parts: impl IntoIterator<Item = &'p [u8]>) -> Self {
        let mut digest = Sha256::new();
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        Self(digest.finalize().into())
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let of = |parts: &[&str]| Revision::of(parts.iter().map(|part| part.as_bytes()));
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        for other in [&["a", "bc"][..], &["abc"], &["ab", "c", ""], &["c", "ab"]] {
            assert_ne!(of(&["ab", "c"]), of(other), "{other:?}");
        }
    }
}
