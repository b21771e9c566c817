//! What was parsed of late, so that a node which runs again does not parse its text again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::limits::{RECENT_BYTES, RECENT_ENTRIES};

pub(in crate::nodes) struct Recent<T> {
    known: Mutex<Known<T>>,
}

struct Known<T> {
    entries: HashMap<String, Arc<T>>,
    bytes: usize,
}

impl<T> Recent<T> {
    pub(in crate::nodes) fn new() -> Self {
        Self {
            known: Mutex::new(Known {
                entries: HashMap::new(),
                bytes: 0,
            }),
        }
    }

    /// What the text was parsed into, or is now. Errors are not kept.
    pub(in crate::nodes) fn get<E>(
        &self,
        text: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().entries.get(text) {
            return Ok(known.clone());
        }
        // Parsed without the lock: nobody waits for another's long text.
        let parsed = Arc::new(parse(text)?);
        if text.len() <= RECENT_BYTES / 4 {
            let mut known = lock();
            if known.entries.len() >= RECENT_ENTRIES || known.bytes + text.len() > RECENT_BYTES {
                // A workflow uses few texts again and again; starting afresh keeps those a moment later.
                known.entries.clear();
                known.bytes = 0;
            }
            if known
                .entries
                .insert(text.to_owned(), parsed.clone())
                .is_none()
            {
                known.bytes += text.len();
            }
        }
        Ok(parsed)
    }

    #[cfg(test)]
    fn size(&self) -> (usize, usize) {
        let known = self.known.lock().unwrap();
        (known.entries.len(), known.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_parses_once_and_stays_small() {
        let recent = Recent::new();
        let get = |text: &str| recent.get(text, |text| Ok::<_, ()>(text.len()));
        let first = get("one").unwrap();
        assert!(Arc::ptr_eq(&first, &get("one").unwrap()));
        assert_eq!(recent.get("bad", |_| Err("no")), Err("no"));
        for number in 0..RECENT_ENTRIES * 3 {
            get(&format!("text {number}")).unwrap();
        }
        for number in 0..9 {
            let long = number.to_string().repeat(RECENT_BYTES / 4);
            get(&long).unwrap();
        }
        get(&"x".repeat(RECENT_BYTES)).unwrap();
        let (entries, bytes) = recent.size();
        assert!(entries > 0 && entries <= RECENT_ENTRIES, "{entries}");
        assert!(bytes > 0 && bytes <= RECENT_BYTES, "{bytes}");
    }
}
