//! What the machine could do at best: the nodes' work without an engine.

use std::hint::black_box;
use std::time::Duration;

use innkeeper_benches::Patience;

/// A call through a box for each node of a chain.
pub(super) fn call() -> Duration {
    const NODES: usize = 1_000;
    type Node = Box<dyn Fn(i64) -> i64>;
    let nodes: Vec<Node> = (0..NODES)
        .map(|_| -> Node {
            let add = black_box(1);
            Box::new(move |value| value + add)
        })
        .collect();
    let nanos =
        Patience::NORMAL.best(|| nodes.iter().fold(0, |value, node| node(black_box(value))));
    nanos / NODES as u32
}

/// A task for each node of a chain, each begun when the one before has ended.
pub(super) async fn spawn(rounds: usize) -> Duration {
    const NODES: u32 = 1_000;
    let mut best = Duration::MAX;
    for _ in 0..rounds.max(5) {
        let chain = tokio::spawn(async {
            let begin = std::time::Instant::now();
            let mut value = 0i64;
            for _ in 0..NODES {
                let next = black_box(value) + 1;
                value = tokio::spawn(async move { next }).await.unwrap_or_default();
            }
            black_box(value);
            begin.elapsed()
        });
        best = best.min(chain.await.unwrap_or(Duration::MAX) / NODES);
    }
    best
}
