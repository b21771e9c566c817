//! A constant stream for benchmarks: written out once, sent as often as asked.

use std::io;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::answer::Answer;
use super::plan::{Step, plan};
use super::quirks::{Quirks, UsageAt};
use super::request::{Delivery, Format, Request};
use super::say::Say;

/// What every request is answered with. Nothing is recorded, so that long runs stay small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bench {
    pub tokens: usize,
    pub bytes_per_token: usize,
    /// How many tokens leave in one write.
    pub tokens_per_write: usize,
    /// How long the server waits between two writes.
    pub pause: Duration,
}

impl Bench {
    /// Each token in a write of its own, as fast as it goes.
    pub fn new(tokens: usize, bytes_per_token: usize) -> Self {
        Self {
            tokens,
            bytes_per_token,
            tokens_per_write: 1,
            pause: Duration::ZERO,
        }
    }
}

pub(super) struct Streams {
    bench: Bench,
    /// The writes of each format, made when they are first asked for.
    formats: [OnceLock<Vec<Vec<u8>>>; 3],
}

impl Streams {
    pub(super) fn new(bench: Bench) -> Self {
        Self {
            bench,
            formats: [const { OnceLock::new() }; 3],
        }
    }

    pub(super) async fn answer(&self, stream: &mut TcpStream, request: &Request) -> io::Result<()> {
        let made;
        let writes = match (request.format(), request.delivery()) {
            (Some(format), Delivery::Stream) => {
                let place = match format {
                    Format::OpenAi => 0,
                    Format::Anthropic => 1,
                    Format::Gemini => 2,
                };
                self.formats[place].get_or_init(|| self.writes(request))
            }
            _ => {
                made = self.writes(request);
                &made
            }
        };
        for (number, bytes) in writes.iter().enumerate() {
            if number > 0 && !self.bench.pause.is_zero() {
                tokio::time::sleep(self.bench.pause).await;
            }
            stream.write_all(bytes).await?;
        }
        Ok(())
    }

    /// The head leaves with the first of them.
    fn writes(&self, request: &Request) -> Vec<Vec<u8>> {
        let token = "x".repeat(self.bench.bytes_per_token);
        let tokens = u64::try_from(self.bench.tokens).unwrap_or(u64::MAX);
        let say = Say::deltas(vec![token; self.bench.tokens]).usage(1, tokens);
        let say = say.quirks(Quirks {
            usage: UsageAt::Last,
            ..Quirks::default()
        });
        // The first request's own wishes must not decide what all later ones get.
        let asked = Request {
            headers: Vec::new(),
            ..request.clone()
        };
        let mut steps = plan(&Answer::say(say), &asked)
            .into_iter()
            .filter_map(|step| match step {
                Step::Write(bytes) => Some(bytes),
                Step::Stall | Step::Close | Step::Reset => None,
            });
        let head = steps.next().unwrap_or_default();
        let events: Vec<Vec<u8>> = steps.collect();
        let groups = events.chunks(self.bench.tokens_per_write.max(1));
        let mut writes: Vec<Vec<u8>> = groups.map(<[Vec<u8>]>::concat).collect();
        match writes.first_mut() {
            Some(first) => _ = first.splice(..0, head),
            None => writes.push(head),
        }
        writes
    }
}
