//! Computing that may take long: in place where there is little of it, else on a thread that may be kept busy.

use tokio_util::sync::CancellationToken;

use crate::NodeError;
use crate::limits::HEAVY_BYTES;

/// `bytes` is about how much there is to do.
pub(super) async fn heavy<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> Result<T, NodeError> + Send + 'static,
) -> Result<T, NodeError> {
    if bytes <= HEAVY_BYTES {
        return work();
    }
    away(move |_| work()).await
}

/// On a thread that may be kept busy. The token is set when nobody waits any more, as when a run is stopped or a node's
/// time is up: work that asks it ends with its node.
pub(super) async fn away<T: Send + 'static>(
    work: impl FnOnce(&CancellationToken) -> Result<T, NodeError> + Send + 'static,
) -> Result<T, NodeError> {
    let stop = CancellationToken::new();
    let _guard = stop.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&stop)).await;
    done.unwrap_or_else(|error| {
        let message = format!("the node's computing ended before its time: {error}");
        Err(NodeError::failed("node.interrupted", message))
    })
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_ends_with_its_node() {
        let (begun, begins) = oneshot::channel();
        let (ended, ends) = oneshot::channel();
        let work = away(move |stop| {
            begun.send(()).unwrap();
            while !stop.is_cancelled() {
                std::thread::yield_now();
            }
            ended.send(()).unwrap();
            Ok(())
        });
        tokio::select! {
            biased;
            _ = work => panic!("nobody stopped it"),
            begun = begins => begun.unwrap(),
        }
        ends.await.unwrap();
    }
}
