//! The contents that a live run used last, within bounds.

use std::collections::VecDeque;
use std::sync::Arc;

use innkeeper_store::BlobId;

use crate::limits::{MAX_CACHED_BYTES, MAX_CACHED_CONTENTS};

#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The newest last.
    held: VecDeque<(BlobId, Arc<[u8]>)>,
    bytes: usize,
}

impl Cache {
    pub(super) fn get(&mut self, id: &BlobId) -> Option<Arc<[u8]>> {
        let at = self.held.iter().position(|(held, _)| held == id)?;
        let found = self.held.remove(at)?;
        let content = found.1.clone();
        self.held.push_back(found);
        Some(content)
    }

    /// A content that is larger than all there is room for is not held.
    pub(super) fn put(&mut self, id: BlobId, content: Arc<[u8]>) {
        if content.len() > MAX_CACHED_BYTES || self.get(&id).is_some() {
            return;
        }
        self.bytes += content.len();
        self.held.push_back((id, content));
        while self.bytes > MAX_CACHED_BYTES || self.held.len() > MAX_CACHED_CONTENTS {
            let Some((_, oldest)) = self.held.pop_front() else {
                break;
            };
            self.bytes -= oldest.len();
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(byte: u8, len: usize) -> (BlobId, Arc<[u8]>) {
        let content: Arc<[u8]> = vec![byte; len].into();
        (BlobId::of(&content), content)
    }

    #[test]
    fn the_oldest_go_first_and_the_bounds_hold() {
        let mut cache = Cache::default();
        let (first, text) = content(0, 10);
        cache.put(first.clone(), text);
        for byte in 1..MAX_CACHED_CONTENTS as u8 {
            let (id, text) = content(byte, 10);
            cache.put(id, text);
        }
        assert!(cache.get(&first).is_some());
        let (last, text) = content(200, 10);
        cache.put(last.clone(), text);
        assert!(cache.get(&first).is_some(), "it was used in between");
        assert!(cache.get(&content(1, 10).0).is_none());
        assert_eq!(cache.held.len(), MAX_CACHED_CONTENTS);

        let (huge, text) = content(7, MAX_CACHED_BYTES + 1);
        cache.put(huge.clone(), text);
        assert!(cache.get(&huge).is_none());
        let (large, text) = content(8, MAX_CACHED_BYTES);
        cache.put(large.clone(), text);
        assert!(cache.get(&large).is_some());
        assert_eq!((cache.held.len(), cache.bytes), (1, MAX_CACHED_BYTES));
        cache.clear();
        assert!(cache.get(&large).is_none());
    }
}
