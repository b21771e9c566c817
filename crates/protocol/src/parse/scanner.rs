//! Goes through a text once, from block to block. The same scanner reads a whole text and a growing one.

use memchr::memchr;

use super::Dialect;
use super::cursor::Input;
use super::marks::{OpenTag, Seen, TamMark, is_quoted, open_tag, tam_mark};
use super::notes::Notes;
use super::tam_block::{Lookahead, RawTam, TamScan, TamStep};
use super::tam_value::is_fence;
use super::xml_block::{RawXml, XmlKind, XmlScan, XmlStep};
use crate::limits::{MAX_BLOCKS, MAX_FENCE_INFO_BYTES, MAX_KEY_BYTES};
use crate::{Code, Span};

/// How much of a line is held back while it may become a key or a fence, in bytes.
pub(super) const MAX_HELD_LINE: usize = MAX_KEY_BYTES + 64;

#[derive(Debug)]
pub(super) struct Scanner {
    dialect: Dialect,
    pub(super) state: State,
    /// Text outside the blocks, in order.
    pub(super) pieces: Vec<Span>,
    pub(super) blocks: Vec<RawBlock>,
    pub(super) notes: Notes,
    ahead: Lookahead,
    /// Where the piece that is being read begins.
    pub(super) piece: usize,
    /// No mark begins before this place.
    pub(super) probe: usize,
    /// End of the last character before `probe` that is no white space.
    solid: usize,
    seen_solid_to: usize,
    has_action: bool,
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
            pieces: Vec::new(),
            blocks: Vec::new(),
            notes: Notes::default(),
            ahead: Lookahead::default(),
            piece: 0,
            probe: 0,
            solid: 0,
            seen_solid_to: 0,
            has_action: false,
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
                    let step = scan.step(input);
                    self.xml(input, step)
                }
                State::Fence { at } => {
                    let at = *at;
                    self.closing_fence(input, at)
                }
                State::Done => Some(Step::Done),
            };
            if let Some(step) = step {
                return step;
            }
        }
    }

    fn outside(&mut self, input: Input<'_>) -> Option<Step> {
        let bytes = input.bytes();
        while let Some(at) = bytes
            .get(self.probe..)
            .and_then(|rest| memchr(b'<', rest))
            .map(|offset| self.probe + offset)
        {
            match self.start_at(input, at) {
                Seen::Yes(start) => {
                    self.note_solid(input, at);
                    return self.begin(input, at, start);
                }
                Seen::No => self.probe = at + 1,
                Seen::Unclear => {
                    self.probe = at;
                    self.note_solid(input, at);
                    return Some(Step::Wait);
                }
            }
        }
        self.probe = self.probe.max(input.len());
        self.note_solid(input, self.probe);
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
        let mut unclear = false;
        if self.dialect.reads_tam() {
            match tam_mark(bytes, at) {
                Seen::Yes((TamMark::Request, end)) => return Seen::Yes((Start::Tam { end }, end)),
                Seen::Yes((TamMark::End, end)) => return Seen::Yes((Start::StrayEnd { end }, end)),
                Seen::Unclear => unclear = true,
                Seen::No => {}
            }
        }
        for kind in [XmlKind::Action, XmlKind::ToolCall] {
            if !self.dialect.reads(kind) {
                continue;
            }
            match open_tag(bytes, at, kind.name()) {
                Seen::Yes(tag) => return Seen::Yes((Start::Xml { kind, tag }, tag.end)),
                Seen::Unclear => unclear = true,
                Seen::No => {}
            }
        }
        if unclear { Seen::Unclear } else { Seen::No }
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
            return None;
        }
        if self.blocks.len() >= MAX_BLOCKS {
            self.notes
                .add_with(Code::TooManyBlocks, Span::new(at, at), || {
                    format!(
                        "The reply has more than {MAX_BLOCKS} blocks; what follows was not read."
                    )
                });
            self.end_piece(at);
            self.state = State::Done;
            return None;
        }
        let fence = self.fence_before(input);
        self.end_piece(fence.unwrap_or(at));
        let fenced = fence.is_some();
        self.state = match start {
            Start::Tam { end } => State::Tam {
                start: at,
                fenced,
                scan: Box::new(TamScan::new(end)),
            },
            Start::Xml { kind, tag } => State::Xml {
                fenced,
                scan: XmlScan::new(kind, at, tag),
            },
            Start::StrayEnd { .. } => State::Outside,
        };
        Some(Step::Began)
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
                let span = Span::new(scan.start, next);
                if raw.kind == XmlKind::Action && std::mem::replace(&mut self.has_action, true) {
                    self.notes.add(
                        Code::ExtraActionBlock,
                        span,
                        "Only the first <ACTION> block of a reply counts; this one was not run.",
                    );
                    self.after_block(next, fenced);
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
                    self.notes.add(
                        Code::MissingEndMarker,
                        Span::new(scan.start, scan.tag.end),
                        "The tag is never closed and no call follows it; it was taken as text.",
                    );
                }
                // The piece goes on as if nothing had begun.
                let piece = self.pieces.pop().unwrap_or_default();
                self.piece = piece.start;
                self.probe = next;
                self.note_solid(input, next);
                None
            }
        }
    }

    fn after_block(&mut self, next: usize, fenced: bool) {
        self.resume(next);
        if fenced {
            self.state = State::Fence { at: next };
        }
    }

    fn resume(&mut self, next: usize) {
        self.piece = next;
        self.probe = next;
        self.solid = next;
        self.seen_solid_to = next;
        self.state = State::Outside;
    }

    fn end_piece(&mut self, end: usize) {
        self.pieces.push(Span::new(self.piece, end.max(self.piece)));
    }

    /// Keeps track of where the text before `to` really ends, without reading anything twice.
    fn note_solid(&mut self, input: Input<'_>, to: usize) {
        let fresh = input.slice(self.seen_solid_to, to);
        let trimmed = fresh.trim_end();
        if !trimmed.is_empty() {
            self.solid = self.seen_solid_to + trimmed.len();
        }
        if input.text.is_char_boundary(to) {
            self.seen_solid_to = to;
        }
    }

    /// Where the line begins that opens a code fence directly before the present place, if there is one.
    pub(super) fn fence_before(&self, input: Input<'_>) -> Option<usize> {
        let text = input.slice(self.piece, self.solid);
        let bytes = text.as_bytes();
        let window = bytes.len().saturating_sub(MAX_FENCE_INFO_BYTES + 16);
        let line = memchr::memrchr(b'\n', bytes.get(window..).unwrap_or_default())
            .map(|newline| window + newline + 1)
            .or((window == 0).then_some(0))?;
        let fence = text.get(line..)?.trim_start_matches([' ', '\t']);
        let ticks = fence.trim_start_matches(['`', '~']);
        (is_fence(fence) && !ticks.contains('`')).then_some(self.piece + line)
    }

    /// Outside a block: up to where the text can be shown. The rest may become a mark, or a fence around a call.
    pub(super) fn settled_text(&self, input: Input<'_>) -> usize {
        let fence = self.fence_before(input).or_else(|| {
            let text = input.slice(self.piece, self.probe);
            let bare = text.trim_end_matches('`');
            let line_start = bare.is_empty() || bare.ends_with('\n');
            (line_start && bare.len() < text.len()).then_some(self.piece + bare.len())
        });
        fence.unwrap_or(self.probe).min(self.probe)
    }

    fn closing_fence(&mut self, input: Input<'_>, at: usize) -> Option<Step> {
        let rest = input.text.get(at..).unwrap_or_default();
        let solid = rest.trim_start();
        let start = at + (rest.len() - solid.len());
        let ticks = solid.len() - solid.trim_start_matches(['`', '~']).len();
        let line = solid.get(ticks..).unwrap_or_default();
        let line_end = memchr(b'\n', line.as_bytes());
        let undecided = solid.is_empty() || line.is_empty() || line_end.is_none();
        if undecided
            && !input.complete
            && (ticks < 3 && line.is_empty() || ticks >= 3 && line.trim().is_empty())
        {
            self.state = State::Fence {
                at: if solid.is_empty() { start } else { at },
            };
            return Some(Step::Wait);
        }
        let is_closing = ticks >= 3
            && line
                .get(..line_end.unwrap_or(line.len()))
                .is_some_and(|rest| rest.trim().is_empty());
        let next = match (is_closing, line_end) {
            (true, Some(end)) => start + ticks + end,
            (true, None) => input.len(),
            (false, _) => self.piece,
        };
        self.resume(next);
        None
    }
}
