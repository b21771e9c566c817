//! Several judges of what fits, made one: by the places that they give, for their scores have nothing in common.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;

use super::index::{Hit, order};

/// A judge beside the words, such as embeddings of a model.
#[async_trait]
pub trait Scorer: Send + Sync {
    /// How well each of the tools fits, in their order, the higher the better; a tool that does not fit at all has nothing
    /// above 0. `None` where it cannot judge now: then the words decide alone. It is waited for only as long as
    /// [`SECOND_OPINION_WAIT`](crate::limits::SECOND_OPINION_WAIT).
    async fn score(&self, question: &str, tools: &[Arc<ToolDefinition>]) -> Option<Vec<f32>>;
}

/// How far down a list a place still counts (reciprocal rank fusion; 60 is what everybody uses, and little depends on it).
const DEPTH: f32 = 60.0;

/// One order from several, each the best first. What stands far up in one of them, or fairly far in all, comes first.
pub fn fuse(orders: &[Vec<Hit>]) -> Vec<Hit> {
    let most = orders.iter().flatten().map(|hit| hit.tool + 1).max();
    let mut scores = vec![0.0_f32; most.unwrap_or_default()];
    for order in orders {
        for (place, hit) in order.iter().enumerate() {
            if let Some(score) = scores.get_mut(hit.tool) {
                *score += 1.0 / (DEPTH + 1.0 + place as f32);
            }
        }
    }
    order(&scores)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tools(hits: &[Hit]) -> Vec<usize> {
        hits.iter().map(|hit| hit.tool).collect()
    }

    #[test]
    fn places_count_and_not_scores() {
        let of = |scores: &[f32]| order(scores);
        for (orders, expected) in [
            (vec![], &[][..]),
            (vec![of(&[0.1, 9.0, 5.0])], &[1, 2, 0]),
            // A score of a thousand is a first place like any other.
            (
                vec![of(&[1000.0, 1.0, 0.0]), of(&[0.0, 2.0, 1.0])],
                &[1, 0, 2],
            ),
            (vec![of(&[f32::NAN, -1.0, 0.5]), of(&[])], &[2]),
            // Equals keep their order.
            (vec![of(&[2.0, 1.0]), of(&[1.0, 2.0])], &[0, 1]),
        ] {
            assert_eq!(tools(&fuse(&orders)), expected, "{orders:?}");
        }
    }
}
