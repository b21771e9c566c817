//! Bytes both ways between the program and a host, until both have said all or nothing moves any more.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

use super::body::Body;
use crate::limits::{COPY_BYTES, IDLE_TIMEOUT};

/// `first` has already been read from the program. Of what the program says, the body is passed on, no more; when it
/// has said all, the host is told so, and the other way round.
pub(super) async fn pump(
    mut program: TcpStream,
    mut host: TcpStream,
    first: &[u8],
    mut body: Body,
) -> io::Result<()> {
    // Only a matter of speed.
    let _ = program.set_nodelay(true);
    let _ = host.set_nodelay(true);
    let (mut from_program, mut to_program) = program.split();
    let (mut from_host, mut to_host) = host.split();
    let moved = Moved::now();
    let there = async {
        let belongs = body.take(first)?;
        to_host
            .write_all(first.get(..belongs).unwrap_or_default())
            .await?;
        copy(&mut from_program, &mut to_host, &mut body, &moved).await
    };
    let mut all = Body::Tunnel;
    let back = copy(&mut from_host, &mut to_program, &mut all, &moved);
    tokio::select! {
        ended = async { tokio::try_join!(there, back) } => ended.map(drop),
        () = moved.silence(IDLE_TIMEOUT) => Err(io::ErrorKind::TimedOut.into()),
    }
}

async fn copy(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    body: &mut Body,
    moved: &Moved,
) -> io::Result<()> {
    let mut buffer = vec![0; COPY_BYTES];
    loop {
        let read = from.read(&mut buffer).await?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            return to.shutdown().await;
        }
        let belongs = body.take(bytes)?;
        if belongs > 0 {
            to.write_all(bytes.get(..belongs).unwrap_or_default())
                .await?;
            moved.mark();
        }
    }
}

/// When something moved for the last time.
struct Moved {
    begun: Instant,
    /// Milliseconds since then.
    last: AtomicU64,
}

impl Moved {
    fn now() -> Self {
        Self {
            begun: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    fn mark(&self) {
        let since = self.begun.elapsed().as_millis();
        let since = u64::try_from(since).unwrap_or(u64::MAX);
        self.last.store(since, Ordering::Relaxed);
    }

    async fn silence(&self, limit: Duration) {
        loop {
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let due = self.begun + last + limit;
            if due <= Instant::now() {
                return;
            }
            sleep_until(due).await;
        }
    }
}
