//! Replies for benchmarks of agents: which one is sent depends on the request alone, so that any number of runs can ask.

use std::io;
use std::sync::OnceLock;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::answer::Answer;
use super::plan::{Step, plan};
use super::request::Request;
use super::say::Say;

/// Stands once in every message with the result of a tool, in chat completions as every client writes them.
const RESULT: &[u8] = br#""role":"tool""#;

/// Nothing is recorded. The bytes are made when a reply is first asked for.
pub(super) struct Turns {
    replies: Vec<(Say, OnceLock<Vec<u8>>)>,
}

impl Turns {
    pub(super) fn new(replies: Vec<Say>) -> Self {
        let replies = replies.into_iter().map(|say| (say, OnceLock::new()));
        Self {
            replies: replies.collect(),
        }
    }

    pub(super) async fn answer(&self, stream: &mut TcpStream, request: &Request) -> io::Result<()> {
        let results = request
            .body
            .windows(RESULT.len())
            .filter(|window| *window == RESULT)
            .count();
        let last = self.replies.len().saturating_sub(1);
        let Some((say, bytes)) = self.replies.get(results.min(last)) else {
            return Err(io::Error::other("there is no reply to be sent"));
        };
        let bytes = bytes.get_or_init(|| written(say, request));
        stream.write_all(bytes).await
    }
}

/// Head and body in one write.
fn written(say: &Say, request: &Request) -> Vec<u8> {
    // The first request's own wishes must not decide what all later ones get.
    let asked = Request {
        headers: Vec::new(),
        ..request.clone()
    };
    let steps = plan(&Answer::say(say.clone()), &asked);
    let writes = steps.into_iter().filter_map(|step| match step {
        Step::Write(bytes) => Some(bytes),
        Step::Stall | Step::Close | Step::Reset => None,
    });
    writes.flatten().collect()
}
