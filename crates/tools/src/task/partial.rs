//! The last pieces of a result that is still coming, so that nobody has to wait for the whole to see anything.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::limits::{MAX_PARTIAL_BYTES, MAX_PARTIAL_PIECES};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", from = "Written")]
pub struct TaskPartial {
    /// Oldest first.
    pub pieces: VecDeque<Json>,
    /// How many came that are no longer here, or were too large to be kept.
    pub left_out: u64,
    /// Of all pieces, as JSON text.
    #[serde(skip)]
    bytes: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    pieces: VecDeque<Json>,
    left_out: u64,
}

impl From<Written> for TaskPartial {
    fn from(written: Written) -> Self {
        Self {
            bytes: written.pieces.iter().map(size).sum(),
            pieces: written.pieces,
            left_out: written.left_out,
        }
    }
}

fn size(piece: &Json) -> usize {
    piece.to_string().len()
}

impl TaskPartial {
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.left_out == 0
    }

    /// Makes room by forgetting the oldest.
    pub(super) fn add(&mut self, piece: &Json) {
        let bytes = size(piece);
        if bytes > MAX_PARTIAL_BYTES {
            self.left_out += 1;
            return;
        }
        self.pieces.push_back(piece.clone());
        self.bytes += bytes;
        while self.pieces.len() > MAX_PARTIAL_PIECES || self.bytes > MAX_PARTIAL_BYTES {
            let Some(oldest) = self.pieces.pop_front() else {
                return;
            };
            self.bytes = self.bytes.saturating_sub(size(&oldest));
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_pieces_are_kept() {
        let mut partial = TaskPartial::default();
        assert!(partial.is_empty());
        for number in 0..MAX_PARTIAL_PIECES + 3 {
            partial.add(&json!(number));
        }
        assert_eq!(partial.pieces.len(), MAX_PARTIAL_PIECES);
        assert_eq!(partial.pieces.front(), Some(&json!(3)));
        assert_eq!(partial.left_out, 3);
    }

    #[test]
    fn large_pieces_push_out_others_and_are_left_out_themselves() {
        let mut partial = TaskPartial::default();
        let half = json!("x".repeat(MAX_PARTIAL_BYTES / 2));
        for _ in 0..3 {
            partial.add(&half);
        }
        assert_eq!((partial.pieces.len(), partial.left_out), (1, 2));
        partial.add(&json!("x".repeat(MAX_PARTIAL_BYTES)));
        assert_eq!((partial.pieces.len(), partial.left_out), (1, 3));
        partial.add(&json!(1));
        assert_eq!((partial.pieces.len(), partial.left_out), (2, 3));
    }
}
