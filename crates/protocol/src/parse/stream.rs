//! The parser fed piece by piece.
//!
//! It keeps the text and one scanner, and tells what became certain. A call is finished only when nothing that
//! may still come can change it; the final reply is the same as for the whole text, however it was cut.

use super::cursor::Input;
use super::live::{TamLive, XmlLive};
use super::scanner::{RawBlock, RawKind, Scanner, State, Step};
use super::{Dialect, read_block, texts};
use crate::{Block, Reply};

/// What became certain while a reply was arriving.
#[derive(Debug)]
pub enum StreamEvent<'e> {
    /// Text for the person. Never holds a mark or a part of one.
    Text(&'e str),
    /// A call has begun and its tool is known. `block` counts the blocks of the reply from 0.
    CallStarted {
        block: usize,
        step: u32,
        tool: &'e str,
    },
    /// More of a parameter's value, as written. For display: the value that counts is in `CallFinished`.
    ArgumentDelta {
        block: usize,
        key: &'e str,
        text: &'e str,
    },
    /// A block has been read to its end and may be run, if it has no errors.
    CallFinished { block: usize, parsed: &'e Block<'e> },
    /// The stream has ended; always last.
    Finished(&'e Reply<'e>),
}

/// Reads a reply while it arrives.
///
/// ```
/// use innkeeper_protocol::{Dialect, Stream, StreamEvent};
///
/// let mut shown = String::new();
/// let mut stream = Stream::new(Dialect::Auto);
/// for piece in ["Let me look. <|[REQ", "UEST_TOOL]|>\ncommand:»»»system:get", "_current_time«««\n<|[END_TOOL]|>"] {
///     stream.feed(piece, &mut |event| {
///         if let StreamEvent::Text(text) = event {
///             shown.push_str(text);
///         }
///     });
/// }
/// let reply = stream.finish(&mut |_| {});
/// assert_eq!(shown.trim(), "Let me look.");
/// assert_eq!(reply.calls().next().unwrap().tool, "system:get_current_time");
/// ```
#[derive(Debug)]
pub struct Stream {
    text: String,
    dialect: Dialect,
    scanner: Scanner,
    /// Everything outside the blocks before this place has been told.
    shown: usize,
    /// How many of the scanner's pieces have been told.
    pieces: usize,
    /// How many blocks have been told.
    blocks: usize,
    live: Live,
    finished: bool,
}

#[derive(Debug)]
enum Live {
    None,
    Tam(TamLive),
    Xml(XmlLive),
}

impl Stream {
    pub fn new(dialect: Dialect) -> Self {
        Self {
            text: String::new(),
            dialect,
            scanner: Scanner::new(dialect),
            shown: 0,
            pieces: 0,
            blocks: 0,
            live: Live::None,
            finished: false,
        }
    }

    /// Everything that has been fed.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn feed(&mut self, piece: &str, on: &mut dyn FnMut(StreamEvent<'_>)) {
        if self.finished {
            *self = Self::new(self.dialect);
        }
        self.text.push_str(piece);
        self.advance(false, on);
    }

    /// The end of the stream: what was held back is decided now. Feeding on starts a new reply.
    pub fn finish(&mut self, on: &mut dyn FnMut(StreamEvent<'_>)) -> Reply<'_> {
        if self.finished {
            *self = Self::new(self.dialect);
        }
        self.finished = true;
        self.advance(true, on);
        let scanner = std::mem::replace(&mut self.scanner, Scanner::new(self.dialect));
        let reply = texts::reply(&self.text, scanner);
        on(StreamEvent::Finished(&reply));
        reply
    }

    fn advance(&mut self, complete: bool, on: &mut dyn FnMut(StreamEvent<'_>)) {
        loop {
            let input = Input {
                text: &self.text,
                complete,
            };
            let step = self.scanner.step(input);
            self.tell_pieces(on);
            match step {
                Step::Began => self.live = self.begin(),
                Step::Block => {
                    self.tell_live(complete, on);
                    self.tell_block(on);
                }
                Step::Wait => {
                    self.tell_live(complete, on);
                    self.tell_text(on);
                    return;
                }
                Step::Done => return,
            }
        }
    }

    fn begin(&self) -> Live {
        match &self.scanner.state {
            State::Tam { .. } => Live::Tam(TamLive::new(self.scanner.blocks.len())),
            State::Xml { scan, .. } if self.scanner.is_extra(scan) => Live::None,
            State::Xml { scan, .. } => {
                Live::Xml(XmlLive::new(self.scanner.blocks.len(), scan, &self.text))
            }
            _ => Live::None,
        }
    }

    fn tell_pieces(&mut self, on: &mut dyn FnMut(StreamEvent<'_>)) {
        // A block that turned out to be prose takes its piece back, and the piece goes on.
        let known = self.scanner.pieces.len();
        self.pieces = self.pieces.saturating_sub(1).min(known);
        while let Some(piece) = self.scanner.pieces.get(self.pieces) {
            let start = piece.start.max(self.shown);
            if let Some(text) = self.text.get(start..piece.end)
                && !text.is_empty()
            {
                on(StreamEvent::Text(text));
            }
            self.shown = self.shown.max(piece.end);
            self.pieces += 1;
        }
    }

    /// Outside a block: what cannot become part of a mark or of a fence around a call.
    fn tell_text(&mut self, on: &mut dyn FnMut(StreamEvent<'_>)) {
        if !matches!(self.scanner.state, State::Outside) {
            return;
        }
        let start = self.shown.max(self.scanner.margin.piece);
        let input = Input {
            text: &self.text,
            complete: false,
        };
        let end = self.scanner.settled_text(input);
        if let Some(text) = self.text.get(start..end)
            && !text.is_empty()
        {
            on(StreamEvent::Text(text));
            self.shown = end;
        }
    }

    fn tell_live(&mut self, complete: bool, on: &mut dyn FnMut(StreamEvent<'_>)) {
        let finished = self.scanner.blocks.get(self.blocks);
        match (&mut self.live, &self.scanner.state, finished) {
            (
                Live::Tam(live),
                _,
                Some(RawBlock {
                    kind: RawKind::Tam(block),
                    ..
                }),
            ) => {
                live.fields(&self.text, &block.fields, on);
            }
            (Live::Tam(live), State::Tam { scan, .. }, None) => {
                live.fields(&self.text, &scan.block.fields, on);
                if let Some(value) = &scan.value {
                    live.value(&self.text, value, self.scanner.frontier(), on);
                }
            }
            (
                Live::Xml(live),
                _,
                Some(RawBlock {
                    kind: RawKind::Xml(frame),
                    ..
                }),
            ) => {
                live.advance(&self.text, frame.body_end, on);
            }
            (Live::Xml(live), State::Xml { scan, .. }, None) if !complete => {
                live.advance(&self.text, scan.certain_end(), on);
            }
            _ => {}
        }
    }

    fn tell_block(&mut self, on: &mut dyn FnMut(StreamEvent<'_>)) {
        let Some(raw) = self.scanner.blocks.get(self.blocks) else {
            return;
        };
        let parsed = read_block(&self.text, raw.clone());
        let started: &[u32] = match &self.live {
            Live::Tam(live) => &live.started,
            Live::Xml(live) => &live.started,
            Live::None => &[],
        };
        for call in parsed
            .calls
            .iter()
            .filter(|call| !started.contains(&call.index))
        {
            on(StreamEvent::CallStarted {
                block: self.blocks,
                step: call.index,
                tool: &call.tool,
            });
        }
        on(StreamEvent::CallFinished {
            block: self.blocks,
            parsed: &parsed,
        });
        self.blocks += 1;
        self.live = Live::None;
    }
}
