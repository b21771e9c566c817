//! One connection: requests in, planned answers out.

use std::sync::Arc;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::plan::{Step, plan};
use super::read::{Inbox, NoRequest};
use super::shared::Shared;

enum Outcome {
    /// The next request may come.
    Done,
    ClosedByUs,
    ClientGone,
}

pub(super) async fn serve(stream: TcpStream, number: usize, shared: Arc<Shared>) {
    // Pieces must leave as they are cut; a socket that cannot do that is broken, and the next read says so.
    let _ = stream.set_nodelay(true);
    let mut inbox = Inbox::new(stream, number);
    let client_left = loop {
        let request = match inbox.request().await {
            Ok(request) => request,
            Err(NoRequest::Gone) => break true,
            Err(NoRequest::Malformed(why)) => {
                let text = format!("HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n{why}\n");
                let _ = inbox.stream.write_all(text.as_bytes()).await;
                break false;
            }
        };
        let outcome = match shared.constant() {
            Some(constant) => match constant.answer(&mut inbox.stream, &request).await {
                Ok(()) => Outcome::Done,
                Err(_) => Outcome::ClientGone,
            },
            None => {
                let answer = shared.answer(&request);
                send(&mut inbox, &plan(&answer, &request), &shared).await
            }
        };
        match outcome {
            Outcome::Done => {}
            Outcome::ClosedByUs => break false,
            Outcome::ClientGone => break true,
        }
    };
    shared.closed(client_left);
}

async fn send(inbox: &mut Inbox, steps: &[Step], shared: &Shared) -> Outcome {
    for step in steps {
        match step {
            Step::Write(bytes) => {
                if inbox.stream.write_all(bytes).await.is_err() {
                    return Outcome::ClientGone;
                }
                // The reader gets a chance to see this piece alone.
                tokio::task::yield_now().await;
            }
            Step::Stall => {
                tokio::select! {
                    () = shared.released() => {}
                    () = inbox.gone() => return Outcome::ClientGone,
                }
            }
            Step::Close => {
                let _ = inbox.stream.shutdown().await;
                return Outcome::ClosedByUs;
            }
            Step::Reset => {
                let _ = inbox.stream.set_zero_linger();
                return Outcome::ClosedByUs;
            }
        }
    }
    Outcome::Done
}
