//! Connections: how many, for how long, and how they end.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use innkeeper_protocol::ErrorCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::figures::Gauge;
use crate::limits::{
    ACCEPT_AGAIN_AFTER, MAX_HEAD_BYTES, MAX_HEADERS, MAX_TURNED_AWAY, TURNED_AWAY_TIMEOUT,
    WRITE_TIMEOUT,
};
use crate::options::Bounds;
use crate::patient::Patient;
use crate::problem::Problem;

/// The other end of a connection.
#[derive(Debug, Clone)]
pub(crate) struct Connected {
    pub(crate) peer: SocketAddr,
    /// Held by whatever the connection becomes.
    _place: Arc<OwnedSemaphorePermit>,
}

/// Until `closing`; then whoever is inside has a while to leave.
pub(crate) async fn listen(
    listener: TcpListener,
    router: Router,
    bounds: &Bounds,
    closing: CancellationToken,
    open: Gauge,
) {
    let room = Arc::new(Semaphore::new(bounds.connections));
    let outside = Arc::new(Semaphore::new(MAX_TURNED_AWAY));
    let inside = TaskTracker::new();
    let cut_off = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = closing.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of file handles, mostly: it passes when somebody leaves.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_AGAIN_AFTER).await;
                continue;
            }
        };
        let Ok(place) = room.clone().try_acquire_owned() else {
            if let Ok(place) = outside.clone().try_acquire_owned() {
                inside.spawn(turn_away(stream, place));
            }
            continue;
        };
        let connection = Connection {
            router: router.clone(),
            peer,
            place: Arc::new(place),
            head_timeout: bounds.head_timeout,
            closing: closing.clone(),
        };
        let (cut_off, held) = (cut_off.clone(), open.hold());
        inside.spawn(async move {
            let _open = held;
            tokio::select! {
                () = connection.serve(stream) => {}
                () = cut_off.cancelled() => {}
            }
        });
    }
    drop(listener);
    inside.close();
    let left = tokio::time::timeout(bounds.closing_timeout, inside.wait()).await;
    if left.is_err() {
        tracing::warn!(
            connections = inside.len(),
            "still inside after the closing time; cut off"
        );
        cut_off.cancel();
        inside.wait().await;
    }
}

struct Connection {
    router: Router,
    peer: SocketAddr,
    place: Arc<OwnedSemaphorePermit>,
    head_timeout: std::time::Duration,
    closing: CancellationToken,
}

impl Connection {
    async fn serve(self, stream: TcpStream) {
        // Events are small and wanted at once.
        let _ = stream.set_nodelay(true);
        let connected = ConnectInfo(Connected {
            peer: self.peer,
            _place: self.place,
        });
        let router = self
            .router
            .map_request(move |request: Request<hyper::body::Incoming>| {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(connected.clone());
                request
            });
        let service = TowerToHyperService::new(router);
        let serving = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_timeout)
            .max_headers(MAX_HEADERS)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(Patient::new(stream, WRITE_TIMEOUT)), service)
            .with_upgrades();
        let mut serving = std::pin::pin!(serving);
        let served = tokio::select! {
            served = serving.as_mut() => served,
            () = self.closing.cancelled() => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(peer = %self.peer, %error, "a connection ended early");
        }
    }
}

/// Whoever finds no room is told so, whatever they wanted.
async fn turn_away(mut stream: TcpStream, _place: OwnedSemaphorePermit) {
    let telling = async {
        stream.write_all(no_room().as_bytes()).await?;
        stream.shutdown().await?;
        // A connection that is closed with something unread in it takes the answer back.
        let mut unread = [0; 1_024];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<(), std::io::Error>(())
    };
    // Whoever does not listen is not waited for.
    let _ = tokio::time::timeout(TURNED_AWAY_TIMEOUT, telling).await;
}

fn no_room() -> String {
    let problem = Problem::new(
        ErrorCode::HttpClosing,
        "this server has as many connections as it may have; ask again a little later",
    );
    let body = serde_json::to_string(&problem).unwrap_or_default();
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\nretry-after: 5\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}
