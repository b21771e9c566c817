//! Feeding a text in pieces and writing down what is heard.

use innkeeper_protocol::{Block, Dialect, Reply, Stream, StreamEvent};

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
            StreamEvent::Finished => Self::End,
        }
    }
}

pub(crate) struct Streamed {
    pub(crate) reply: Reply<'static>,
    pub(crate) events: Vec<Heard>,
    /// How many of them were heard before the stream had ended.
    pub(crate) early: usize,
}

pub(crate) fn stream<'p>(dialect: Dialect, pieces: impl IntoIterator<Item = &'p str>) -> Streamed {
    let mut stream = Stream::new(dialect);
    let mut events = Vec::new();
    for piece in pieces {
        stream.feed(piece, &mut |event: StreamEvent<'_>| {
            events.push(Heard::of(event))
        });
    }
    let early = events.len();
    let reply = stream
        .finish(&mut |event: StreamEvent<'_>| events.push(Heard::of(event)))
        .into_owned();
    Streamed {
        reply,
        events,
        early,
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

    /// What is heard besides text, with the pieces of one argument put together. This, unlike the pieces,
    /// may not depend on the cutting.
    pub(crate) fn calls(&self) -> Vec<Heard> {
        let mut calls: Vec<Heard> = Vec::new();
        for event in &self.events {
            match (event, calls.last_mut()) {
                (Heard::Text(_), _) => {}
                (Heard::Delta { text, .. }, _) if text.is_empty() => {}
                (
                    Heard::Delta { block, key, text },
                    Some(Heard::Delta {
                        block: b,
                        key: k,
                        text: t,
                    }),
                ) if block == b && key == k => t.push_str(text),
                _ => calls.push(event.clone()),
            }
        }
        calls
    }
}

/// Pieces of `size` characters.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<&str> {
    let starts: Vec<usize> = text
        .char_indices()
        .map(|(at, _)| at)
        .step_by(size.max(1))
        .collect();
    let ends = starts.iter().copied().skip(1).chain([text.len()]);
    starts
        .iter()
        .zip(ends)
        .filter_map(|(&start, end)| text.get(start..end))
        .collect()
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
