//! Feeding a text in pieces and writing down what is heard.

use innkeeper_protocol::{Block, Dialect, Reply, Stream, StreamEvent};
use innkeeper_testkit::replies::pieces;

use super::marks::{self, Mark};

/// An event that outlives its stream.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Heard {
    Text(String),
    Started {
        block: usize,
        step: u32,
        tool: String,
    },
    Delta {
        block: usize,
        key: String,
        text: String,
    },
    Finished {
        block: usize,
        parsed: Box<Block<'static>>,
    },
    End,
}

impl Heard {
    fn of(event: StreamEvent<'_>) -> Self {
        match event {
            StreamEvent::Text(text) => Self::Text(text.to_string()),
            StreamEvent::CallStarted { block, step, tool } => Self::Started {
                block,
                step,
                tool: tool.to_string(),
            },
            StreamEvent::ArgumentDelta { block, key, text } => Self::Delta {
                block,
                key: key.to_string(),
                text: text.to_string(),
            },
            StreamEvent::CallFinished { block, parsed } => Self::Finished {
                block,
                parsed: Box::new(parsed.clone().into_owned()),
            },
            StreamEvent::Finished { .. } => Self::End,
        }
    }
}

pub(crate) struct Streamed {
    pub(crate) reply: Reply<'static>,
    pub(crate) events: Vec<Heard>,
    /// The beginning of a mark that was shown while it could still have become one.
    pub(crate) leaked: Option<String>,
}

pub(crate) fn stream<'p>(dialect: Dialect, pieces: impl IntoIterator<Item = &'p str>) -> Streamed {
    let mut stream = Stream::new(dialect);
    let mut events = Vec::new();
    let mut watch = Watch::default();
    for piece in pieces {
        let heard = events.len();
        stream.feed(piece, &mut |event: StreamEvent<'_>| {
            events.push(Heard::of(event))
        });
        if matches!(dialect, Dialect::Auto | Dialect::Tam) {
            watch.fed(piece, events.get(heard..).unwrap_or_default());
        }
    }
    let reply = stream
        .finish(&mut |event: StreamEvent<'_>| events.push(Heard::of(event)))
        .into_owned();
    Streamed {
        reply,
        events,
        leaked: watch.leaked,
    }
}

/// Watches the text before the first call, where what was shown is known to be a head of what was fed: the
/// end of what was fed must not have been shown if it may become a mark.
#[derive(Default)]
struct Watch {
    fed: String,
    shown: usize,
    over: bool,
    leaked: Option<String>,
}

impl Watch {
    /// Longer beginnings (of blanks) may be given up.
    const LONGEST: usize = 64;

    fn fed(&mut self, piece: &str, events: &[Heard]) {
        self.fed.push_str(piece);
        for event in events {
            match event {
                Heard::Text(text) => {
                    self.over |= !self
                        .fed
                        .get(self.shown..)
                        .is_some_and(|rest| rest.starts_with(text));
                    self.shown += text.len();
                }
                _ => self.over = true,
            }
        }
        if self.over || self.leaked.is_some() {
            return;
        }
        let from = self.fed.len().saturating_sub(Self::LONGEST);
        let shown = self.fed.bytes().enumerate().take(self.shown).skip(from);
        self.leaked = shown
            .filter(|(_, byte)| *byte == b'<')
            .filter_map(|(at, _)| self.fed.get(at..))
            .find(|tail| matches!(marks::read(tail), Mark::Begun))
            .map(str::to_owned);
    }
}

impl Streamed {
    /// All text in one.
    pub(crate) fn text(&self) -> String {
        self.events
            .iter()
            .filter_map(|event| match event {
                Heard::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect()
    }

    /// What is heard of calls, without the pieces of their arguments.
    pub(crate) fn calls(&self) -> Vec<&Heard> {
        self.events
            .iter()
            .filter(|event| !matches!(event, Heard::Text(_) | Heard::Delta { .. }))
            .collect()
    }

    /// The pieces of each argument put together.
    pub(crate) fn arguments(&self) -> Vec<(usize, String, String)> {
        let mut arguments: Vec<(usize, String, String)> = Vec::new();
        for event in &self.events {
            let Heard::Delta { block, key, text } = event else {
                continue;
            };
            match arguments
                .iter_mut()
                .find(|(b, k, _)| b == block && k == key)
            {
                Some((_, _, all)) => all.push_str(text),
                None if text.is_empty() => {}
                None => arguments.push((*block, key.clone(), text.clone())),
            }
        }
        arguments
    }

    /// Text that was told without a call in between, put together.
    pub(crate) fn stretches(&self) -> Vec<String> {
        let mut stretches = vec![String::new()];
        for event in &self.events {
            match (event, stretches.last_mut()) {
                (Heard::Text(text), Some(last)) => last.push_str(text),
                _ => stretches.push(String::new()),
            }
        }
        stretches
    }
}

/// Two pieces, cut at the character nearest to that byte.
pub(crate) fn cut_at(text: &str, byte: usize) -> [&str; 2] {
    let mut at = byte.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let (head, tail) = text.split_at(at);
    [head, tail]
}

#[test]
fn pieces_put_together_are_the_text() {
    for text in ["", "a", "中文🦉 and words", "\r\n"] {
        for size in 1..6 {
            assert_eq!(pieces(text, size).concat(), text);
        }
        assert_eq!(cut_at(text, text.len() / 2).concat(), text);
    }
}

#[test]
fn a_finished_stream_begins_anew() {
    let mut stream = innkeeper_protocol::Stream::new(innkeeper_protocol::Dialect::Auto);
    stream.feed("Hi <ACTION><A/></ACTION>", &mut |_| {});
    assert_eq!(stream.finish(&mut |_| {}).calls().count(), 1);
    let mut shown = String::new();
    stream.feed("Second", &mut |event| {
        if let innkeeper_protocol::StreamEvent::Text(text) = event {
            shown.push_str(text);
        }
    });
    let reply = stream.finish(&mut |_| {});
    assert_eq!(
        (reply.raw_text.as_ref(), reply.calls().count()),
        ("Second", 0)
    );
    assert_eq!(shown, "Second");
    assert_eq!(stream.finish(&mut |_| {}).raw_text, "");
}
