//! One connection at a door: what is asked, whether it may be, and the answer or the way through.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::body::Body;
use super::connect::reach;
use super::grant::Grants;
use super::head::{self, Request, Way};
use super::host::Host;
use super::pump::pump;
use super::refusal::{Refusal, Status};
use super::resolve::Resolver;
use crate::limits::{HEAD_TIMEOUT, LINGER, LINGER_BYTES, MAX_HEAD_BYTES};

const READ_BYTES: usize = 4 << 10;

/// A program that knows of the proxy.
pub(super) async fn proxied(
    mut program: TcpStream,
    grants: &Grants,
    resolver: &dyn Resolver,
) -> io::Result<()> {
    let mut rest = Vec::new();
    let asked = match timeout(HEAD_TIMEOUT, ask(&mut program, &mut rest)).await {
        Ok(asked) => asked?,
        Err(_) => Some(Err(Refusal::new(
            Status::HeadTimeout,
            "the head of the request did not come in time: send it at once",
        ))),
    };
    let Some(asked) = asked else {
        return Ok(());
    };
    let reached = match asked {
        Ok(Request { host, port, way }) => {
            let reached = reach(&host, port, grants, resolver).await;
            reached.map(|stream| (stream, way))
        }
        Err(refusal) => Err(refusal),
    };
    let (mut host, way) = match reached {
        Ok(reached) => reached,
        Err(refusal) => return refuse(program, &refusal).await,
    };
    let body = match way {
        Way::Tunnel => {
            program
                .write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")
                .await?;
            Body::Tunnel
        }
        Way::Forward { head, body } => {
            host.write_all(&head).await?;
            body
        }
    };
    pump(program, host, &rest, body).await
}

/// A program that believes it speaks to the host itself. There is no way to tell it why, should it be refused.
pub(super) async fn direct(
    program: TcpStream,
    host: &str,
    port: u16,
    grants: &Grants,
    resolver: &dyn Resolver,
) -> io::Result<()> {
    let host = Host::parse(host).map_err(io::Error::other)?;
    let reached = reach(&host, port, grants, resolver).await;
    let stream = reached.map_err(|refusal| io::Error::other(refusal.why))?;
    pump(program, stream, &[], Body::Tunnel).await
}

/// Reads a head; what was read beyond it is in `rest` then. `None`: the program has nothing to ask.
async fn ask(
    program: &mut TcpStream,
    rest: &mut Vec<u8>,
) -> io::Result<Option<Result<Request, Refusal>>> {
    let mut seen = 0;
    loop {
        let room = READ_BYTES.min(MAX_HEAD_BYTES - seen);
        if room == 0 {
            return Ok(Some(Err(head::too_large())));
        }
        rest.resize(seen + room, 0);
        let read = program
            .read(rest.get_mut(seen..).unwrap_or_default())
            .await?;
        rest.truncate(seen + read);
        if read == 0 {
            return Ok(match seen {
                0 => None,
                _ => Some(Err(Refusal::malformed("it is not whole"))),
            });
        }
        if let Some(end) = head::end(rest, seen) {
            let behind = rest.split_off(end);
            let head = std::mem::replace(rest, behind);
            return Ok(Some(head::parse(&head)));
        }
        seen += read;
    }
}

/// Says why, and lets the program say a little more: a connection that is closed with something unread loses the
/// answer, too.
async fn refuse(mut program: TcpStream, refusal: &Refusal) -> io::Result<()> {
    let farewell = async {
        program.write_all(&refusal.answer()).await?;
        program.shutdown().await?;
        let mut left = LINGER_BYTES;
        let mut buffer = vec![0; READ_BYTES];
        while left > 0 {
            match program.read(&mut buffer).await? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        Ok(())
    };
    timeout(LINGER, farewell).await.unwrap_or(Ok(()))
}
