//! Goes through a text once, from block to block. The same scanner reads a whole text and a growing one.

use super::Dialect;
use super::cursor::Input;
use super::fence::{self, Margin};
use super::marks::{OpenTag, Seen, TamMark, is_quoted, next_less, open_tag, skip_blanks, tam_mark};
use super::notes::Notes;
use super::tam_block::{Lookahead, RawTam, TamScan, TamStep};
use super::xml_block::{RawXml, Sections, XmlKind, XmlScan, XmlStep};
use crate::limits::{MAX_BLOCKS, MAX_FALSE_STARTS};
use crate::{Code, Span};

#[derive(Debug)]
pub(super) struct Scanner {
    dialect: Dialect,
    pub(super) state: State,
    /// Text outside the blocks, in order.
    pub(super) pieces: Vec<Span>,
    pub(super) blocks: Vec<RawBlock>,
    pub(super) notes: Notes,
    ahead: Lookahead,
    sections: Sections,
    /// The end of the piece that is being read.
    pub(super) margin: Margin,
    /// No mark begins before this place.
    pub(super) probe: usize,
    has_action: bool,
    /// An `<ACTION>` was never closed, so no later one is.
    action_unclosed: bool,
    false_starts: usize,
    /// The fence around the last block has not been closed yet.
    in_fence: bool,
}

#[derive(Debug)]
pub(super) enum State {
    Outside,
    Tam {
        start: usize,
        fenced: bool,
        scan: Box<TamScan>,
    },
    Xml {
        fenced: bool,
        scan: XmlScan,
    },
    /// There were too many marks; the rest is text.
    Unread,
    /// Behind a fenced block, where the closing fence is expected.
    Fence {
        at: usize,
    },
    Done,
}

#[derive(Debug, Clone)]
pub(super) struct RawBlock {
    pub(super) span: Span,
    pub(super) kind: RawKind,
}

#[derive(Debug, Clone)]
pub(super) enum RawKind {
    Tam(RawTam),
    Xml(RawXml),
}

/// What a step has brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// A block has been read to its end.
    Block,
    /// A block begins.
    Began,
    /// More text is needed.
    Wait,
    Done,
}

enum Start {
    Tam { end: usize },
    StrayEnd { end: usize },
    Xml { kind: XmlKind, tag: OpenTag },
}

impl Scanner {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            state: State::Outside,
            pieces: Vec::with_capacity(2),
            blocks: Vec::new(),
            notes: Notes::default(),
            ahead: Lookahead::default(),
            sections: Sections::default(),
            margin: Margin::default(),
            probe: 0,
            has_action: false,
            action_unclosed: false,
            false_starts: 0,
            in_fence: false,
        }
    }

    pub(super) fn step(&mut self, input: Input<'_>) -> Step {
        loop {
            let step = match &mut self.state {
                State::Outside => self.outside(input),
                State::Tam { scan, .. } => {
                    let step = scan.step(input, &mut self.ahead);
                    self.tam(step)
                }
                State::Xml { scan, .. } => {
                    let step = scan.step(input, &mut self.sections);
                    self.xml(input, step)
                }
                State::Fence { at } => {
                    let at = *at;
                    self.closing_fence(input, at)
                }
                State::Unread => Some(self.unread(input)),
                State::Done => Some(Step::Done),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn outside(&mut self, input: Input<'_>) -> Option<Step> {
        let bytes = input.bytes();
        while let Some(at) = next_less(bytes, self.probe) {
            match self.start_at(input, at) {
                Seen::Yes(start) => {
                    self.margin.note(input, at);
                    return self.begin(input, at, start);
                }
                Seen::No => self.probe = at + 1,
                Seen::Unclear => {
                    self.probe = at;
                    self.margin.note(input, at);
                    return Some(Step::Wait);
                }
            }
        }
        self.probe = self.probe.max(input.len());
        self.margin.note(input, self.probe);
        if input.complete {
            self.end_piece(input.len());
            self.state = State::Done;
            return None;
        }
        Some(Step::Wait)
    }

    fn start_at(&self, input: Input<'_>, at: usize) -> Seen<Start> {
        let bytes = input.bytes();
        let found = match bytes.get(at + 1) {
            None => Seen::Unclear,
            Some(b' ' | b'\t') if !may_go_on(bytes.get(at + 2)) => Seen::No,
            Some(b'|' | b' ' | b'\t' | b'a' | b'A' | b't' | b'T') => self.any_start(bytes, at),
            Some(_) => Seen::No,
        };
        let (start, end) = match input.settle(found) {
            Seen::Yes(found) => found,
            Seen::No => return Seen::No,
            Seen::Unclear => return Seen::Unclear,
        };
        match input.settle(is_quoted(bytes, at, end)) {
            Seen::Yes(()) => Seen::No,
            Seen::No => Seen::Yes(start),
            Seen::Unclear => Seen::Unclear,
        }
    }

    fn any_start(&self, bytes: &[u8], at: usize) -> Seen<(Start, usize)> {
        let first = skip_blanks(bytes, at + 1);
        let kind = match bytes.get(first) {
            None => return Seen::Unclear,
            Some(b'|') if self.dialect.reads_tam() => {
                return tam_mark(bytes, at).map(|(mark, end)| match mark {
                    TamMark::Request => (Start::Tam { end }, end),
                    TamMark::End => (Start::StrayEnd { end }, end),
                });
            }
            Some(b'a' | b'A') => XmlKind::Action,
            Some(b't' | b'T') => XmlKind::ToolCall,
            Some(_) => return Seen::No,
        };
        if !self.dialect.reads(kind) {
            return Seen::No;
        }
        open_tag(bytes, at, kind.name()).map(|tag| (Start::Xml { kind, tag }, tag.end))
    }

    fn begin(&mut self, input: Input<'_>, at: usize, start: Start) -> Option<Step> {
        if let Start::StrayEnd { end } = start {
            self.notes.add(
                Code::MissingStartMarker,
                Span::new(at, end),
                "<|[END_TOOL]|> stands without a <|[REQUEST_TOOL]|> before it; nothing was called.",
            );
            self.end_piece(at);
            self.resume(end);
            self.false_start();
            return None;
        }
        if self.blocks.len() >= MAX_BLOCKS {
            self.give_up(at);
            return None;
        }
        let fence = self.margin.opening_fence(input);
        let between = input.slice(self.margin.piece, at);
        let fenced = fence.is_some() || (self.in_fence && between.trim().is_empty());
        self.in_fence = false;
        self.end_piece(fence.unwrap_or(at));
        self.state = match start {
            Start::Tam { end } => State::Tam {
                start: at,
                fenced,
                scan: Box::new(TamScan::new(end, self.dialect == Dialect::Auto)),
            },
            Start::Xml { kind, tag } => State::Xml {
                fenced,
                scan: XmlScan::new(
                    input,
                    kind,
                    at,
                    tag,
                    kind == XmlKind::Action && self.action_unclosed,
                ),
            },
            Start::StrayEnd { .. } => State::Outside,
        };
        Some(Step::Began)
    }

    /// Counts marks that began or ended nothing.
    fn false_start(&mut self) {
        self.false_starts += 1;
        if self.false_starts >= MAX_FALSE_STARTS {
            self.give_up(self.probe);
        }
    }

    /// The rest is passed on as text.
    fn give_up(&mut self, at: usize) {
        self.notes.add(
            Code::TooManyBlocks,
            Span::new(at, at),
            "The reply has too many marks; no call was looked for in what follows.",
        );
        self.state = State::Unread;
    }

    fn unread(&mut self, input: Input<'_>) -> Step {
        self.probe = self.probe.max(input.len());
        if !input.complete {
            return Step::Wait;
        }
        self.end_piece(input.len());
        self.state = State::Done;
        Step::Done
    }

    fn tam(&mut self, step: TamStep) -> Option<Step> {
        let next = match step {
            TamStep::Wait => return Some(Step::Wait),
            TamStep::Done { next } | TamStep::Cut { next } => next,
        };
        let State::Tam {
            start,
            fenced,
            scan,
        } = std::mem::replace(&mut self.state, State::Outside)
        else {
            return None;
        };
        self.blocks.push(RawBlock {
            span: Span::new(start, next),
            kind: RawKind::Tam(scan.block),
        });
        self.after_block(next, fenced);
        Some(Step::Block)
    }

    fn xml(&mut self, input: Input<'_>, step: XmlStep) -> Option<Step> {
        if matches!(step, XmlStep::Wait) {
            return Some(Step::Wait);
        }
        let State::Xml { fenced, scan } = std::mem::replace(&mut self.state, State::Outside) else {
            return None;
        };
        match step {
            XmlStep::Wait => None,
            XmlStep::Done { raw, next } => {
                self.action_unclosed |= raw.kind == XmlKind::Action && !raw.closed;
                let span = Span::new(scan.start, next);
                if raw.kind == XmlKind::Action && std::mem::replace(&mut self.has_action, true) {
                    self.notes.add(
                        Code::ExtraActionBlock,
                        span,
                        "Only the first <ACTION> block of a reply counts; this one was not run.",
                    );
                    self.after_block(next, fenced);
                    self.false_start();
                    return None;
                }
                self.blocks.push(RawBlock {
                    span,
                    kind: RawKind::Xml(raw),
                });
                self.after_block(next, fenced);
                Some(Step::Block)
            }
            XmlStep::Prose { next, unclosed } => {
                if unclosed {
                    self.action_unclosed |=
                        scan.kind == XmlKind::Action && input.complete && !scan.met_again();
                    self.notes.add(
                        Code::MissingEndMarker,
                        Span::new(scan.start, scan.tag.end),
                        "The tag is never closed and no call follows it; it was taken as text.",
                    );
                }
                // The piece goes on as if nothing had begun.
                let piece = self.pieces.pop().unwrap_or_default();
                self.margin.piece = piece.start;
                self.probe = next;
                self.margin.note(input, next);
                self.false_start();
                None
            }
        }
    }

    /// A further `<ACTION>` block, which does not count.
    pub(super) fn is_extra(&self, scan: &XmlScan) -> bool {
        scan.kind == XmlKind::Action && self.has_action
    }

    /// Within a TAM block: no mark is unknown that begins before this place.
    pub(super) fn frontier(&self) -> usize {
        self.ahead.cursors.frontier()
    }

    fn after_block(&mut self, next: usize, fenced: bool) {
        self.resume(next);
        if fenced {
            self.state = State::Fence { at: next };
        }
    }

    fn resume(&mut self, next: usize) {
        self.margin = Margin::at(next);
        self.probe = next;
        self.state = State::Outside;
    }

    fn end_piece(&mut self, end: usize) {
        self.pieces
            .push(Span::new(self.margin.piece, end.max(self.margin.piece)));
    }

    /// Outside a block: up to where the text can be shown. The rest may become a mark, or a fence around a call.
    pub(super) fn settled_text(&self, input: Input<'_>) -> usize {
        self.margin.settled(input, self.probe)
    }

    fn closing_fence(&mut self, input: Input<'_>, at: usize) -> Option<Step> {
        let next = match fence::closing(input, at) {
            fence::Closing::Wait { at } => {
                self.state = State::Fence { at };
                return Some(Step::Wait);
            }
            fence::Closing::Yes { next } => next,
            fence::Closing::No => self.margin.piece,
        };
        self.in_fence = next == self.margin.piece;
        self.resume(next);
        None
    }
}

/// Whether a `<` and a blank may still become a mark.
fn may_go_on(byte: Option<&u8>) -> bool {
    matches!(
        byte,
        None | Some(b'|' | b' ' | b'\t' | b'a' | b'A' | b't' | b'T')
    )
}
