//! Where a TAM value ends.
//!
//! Values are never escaped and may hold their own closing mark, so the end is found from what follows: the
//! last closing mark before the next line shaped like `key:OPEN`, or before END. The rules, and why they are
//! so, are in `docs/protocol.md`.

use super::cursor::{Cursors, Input, Next};
use super::marks::{Family, Seen, TamMark, tam_mark};
use super::tam_line::{
    Shape, begins_line, is_layout, is_separator, key_before, last_line, line_start,
};
use crate::Span;
use crate::limits::MAX_LINE_SEARCH;

/// A field as it stands in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawField {
    pub(super) key: Span,
    pub(super) value: Span,
    pub(super) family: Family,
    pub(super) close: Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Close {
    Plain,
    /// There were several candidates.
    Ambiguous,
    Missing,
}

/// A value that has been opened and whose end is being looked for.
#[derive(Debug, Clone)]
pub(super) struct ValueScan {
    pub(super) key: Span,
    pub(super) start: usize,
    family: Family,
    probe: usize,
    /// Opening marks of the own family that are not balanced yet.
    depth: u32,
    first_close: Option<usize>,
    last_close: Span,
    candidates: u32,
    /// How far the present run of closing characters reaches.
    run: usize,
    run_start: usize,
    /// An END seen while no closing mark had come: real only if none comes.
    first_end: Option<usize>,
    /// The last REQUEST at the beginning of a line.
    request: Option<Span>,
    /// Behind the closing mark there is only layout up to here.
    layout_to: usize,
    detour: Option<Box<Detour>>,
}

/// A place where the value may end, passed over in the hope that it is closed further on. What was known
/// there is kept for the case that it is not.
#[derive(Debug, Clone)]
struct Detour {
    at: usize,
    over: Over,
    before: ValueScan,
    cursors: Cursors,
}

#[derive(Debug, Clone, Copy)]
enum Over {
    /// Text that looks like a whole block; whether its END has been seen.
    Block { ended: bool },
    /// A key with an opening mark of another family.
    Foreign(Boundary),
}

/// What has been found out about a value.
pub(super) struct Found {
    pub(super) field: RawField,
    /// Where to read on.
    pub(super) next: usize,
    /// The field that follows directly, if that was seen on the way: its key, family and opening mark.
    pub(super) follows: Option<(Span, Family, usize)>,
}

/// What ends the search.
#[derive(Debug, Clone, Copy)]
enum Boundary {
    /// A field begins; its line at `at`.
    Key {
        at: usize,
        key: Span,
    },
    Request(usize),
    /// A line that holds an opening mark without a key.
    Line(usize),
    End,
    Text(usize),
}

impl ValueScan {
    pub(super) fn new(key: Span, family: Family, open: usize) -> Self {
        let start = open + family.open().len();
        Self {
            key,
            start,
            family,
            probe: start,
            depth: 1,
            first_close: None,
            last_close: Span::new(start, start),
            candidates: 0,
            run: 0,
            run_start: 0,
            first_end: None,
            request: None,
            layout_to: 0,
            detour: None,
        }
    }

    /// Up to where the text surely belongs to the value, as far as it has been looked at.
    pub(super) fn certain_end(&self) -> usize {
        [
            self.first_close,
            self.first_end,
            self.detour.as_ref().map(|detour| detour.at),
            self.request.map(|request| request.start),
        ]
        .into_iter()
        .flatten()
        .fold(usize::MAX, usize::min)
    }

    /// The finished field; `None` while more text is needed.
    pub(super) fn step(
        &mut self,
        input: Input<'_>,
        cursors: &mut Cursors,
        no_nested_before: &mut usize,
        budget: &mut usize,
    ) -> Option<Found> {
        loop {
            let next = cursors.next(input, self.probe, Some(self.family));
            if next != Next::Wait && *budget == 0 {
                return Some(self.finish(Boundary::Text(self.probe)));
            }
            *budget -= usize::from(next != Next::Wait);
            let boundary = match next {
                Next::Wait => return None,
                Next::Nothing => Boundary::Text(input.len()),
                Next::Open(family, at) => match self.boundary_at(input, at) {
                    Some(boundary) if !self.passes(family, boundary, cursors) => boundary,
                    found => {
                        self.depth += u32::from(found.is_none() && family == self.family);
                        self.probe = family.open_run_end(input.text, at);
                        continue;
                    }
                },
                Next::Close(at) => {
                    self.run_start = at;
                    let known = self.run.max(at + self.family.close().len());
                    self.run = self.family.close_run_end(input.text, known);
                    if self.run >= input.len() && !input.complete {
                        return None;
                    }
                    let end = match input.settle(self.shared_less(input)) {
                        Seen::Unclear => return None,
                        Seen::Yes(end) => end,
                        Seen::No => self.run,
                    };
                    self.close(input, at, end);
                    continue;
                }
                Next::Mark(TamMark::End, start, end) => match self.detour.as_deref_mut() {
                    Some(Detour {
                        over: Over::Foreign(_),
                        ..
                    }) => Boundary::End,
                    Some(Detour {
                        over: Over::Block { ended },
                        ..
                    }) => {
                        *ended = true;
                        self.probe = end;
                        continue;
                    }
                    None if self.first_close.is_some() => Boundary::End,
                    None => {
                        self.first_end.get_or_insert(start);
                        self.probe = end;
                        continue;
                    }
                },
                Next::Mark(TamMark::Request, start, end) => match self.detour.as_deref_mut() {
                    Some(Detour {
                        over: Over::Foreign(_),
                        ..
                    }) => Boundary::Request(start),
                    Some(Detour {
                        over: Over::Block { ended },
                        ..
                    }) => {
                        *ended = false;
                        self.probe = end;
                        continue;
                    }
                    None => {
                        self.request(input, Span::new(start, end), cursors, *no_nested_before);
                        continue;
                    }
                },
            };
            let Some(detour) = self.detour.take() else {
                let follows = match (next, boundary) {
                    (Next::Open(family, open), Boundary::Key { key, .. }) => {
                        Some((key, family, open))
                    }
                    _ => None,
                };
                return Some(Found {
                    follows: follows.filter(|_| self.first_close.is_some()),
                    ..self.finish(boundary)
                });
            };
            // The hope was in vain: back to where the detour began.
            let reached = self.probe;
            *cursors = detour.cursors;
            *self = detour.before;
            match detour.over {
                Over::Block { .. } => *no_nested_before = reached,
                Over::Foreign(boundary) => return Some(self.finish(boundary)),
            }
        }
    }

    /// Whether the search goes on behind a key: within a detour, or on a new one because only the value's own
    /// family can close it.
    fn passes(&mut self, family: Family, boundary: Boundary, cursors: &Cursors) -> bool {
        let foreign = family.kin() != self.family.kin();
        match self.detour.as_deref() {
            Some(Detour {
                over: Over::Block { ended },
                ..
            }) => !ended,
            Some(Detour {
                over: Over::Foreign(_),
                ..
            }) => foreign,
            None => {
                let open = self.first_close.is_none() && self.first_end.is_none();
                let Boundary::Key { at, .. } = boundary else {
                    return false;
                };
                if foreign && open {
                    self.leave(at, Over::Foreign(boundary), cursors);
                }
                foreign && open
            }
        }
    }

    fn leave(&mut self, at: usize, over: Over, cursors: &Cursors) {
        self.detour = Some(Box::new(Detour {
            at,
            over,
            before: self.clone(),
            cursors: *cursors,
        }));
    }

    /// In `<<<<|[END_TOOL]|>` the last `<` belongs to the boundary mark.
    fn shared_less(&self, input: Input<'_>) -> Seen<usize> {
        let whole = self.family.close().len();
        match self.run.checked_sub(1) {
            Some(less) if self.family == Family::Angles && less >= self.run_start + whole => {
                tam_mark(input.bytes(), less).map(|_| less)
            }
            _ => Seen::No,
        }
    }

    fn close(&mut self, input: Input<'_>, at: usize, end: usize) {
        self.probe = end;
        let in_block = matches!(
            self.detour.as_deref(),
            Some(Detour {
                over: Over::Block { ended: false },
                ..
            })
        );
        if in_block || self.in_comment(input, at) {
            return;
        }
        self.detour = None;
        self.depth = self.depth.saturating_sub(1);
        let start = end - self.family.close().len();
        self.first_close.get_or_insert(start);
        self.last_close = Span::new(start, end);
        self.candidates += 1;
    }

    /// Behind a closing mark, a comment line may hold another one; that closes nothing.
    fn in_comment(&mut self, input: Input<'_>, at: usize) -> bool {
        if self.first_close.is_none() {
            return false;
        }
        let gap = input.slice(self.layout_to.max(self.last_close.end), at);
        let comment = match gap.rsplit_once('\n') {
            None => self.layout_to > self.last_close.end,
            Some((before, line)) => {
                line.trim_start().starts_with('#')
                    && before
                        .split_once('\n')
                        .is_none_or(|(_, lines)| is_layout(lines))
            }
        };
        if comment {
            self.layout_to = at;
        }
        comment
    }

    fn request(
        &mut self,
        input: Input<'_>,
        mark: Span,
        cursors: &Cursors,
        no_nested_before: usize,
    ) {
        self.probe = mark.end;
        if begins_line(input.text, mark.start) {
            self.request = Some(mark);
        }
        let open = self.first_close.is_none() && self.first_end.is_none();
        if open && mark.start >= no_nested_before {
            self.leave(mark.start, Over::Block { ended: false }, cursors);
        }
    }

    /// Whether the opening mark at `at` begins a field, or a line, that ends this value.
    fn boundary_at(&self, input: Input<'_>, at: usize) -> Option<Boundary> {
        // Behind a closing mark the next field is expected, so more is taken for a key than within a text.
        let closed = self.first_close.is_some();
        let shape = if closed { Shape::Loose } else { Shape::Strict };
        let floor = self.last_close.end;
        let Some((key, left)) = key_before(input.text, at, floor, shape) else {
            return self.bare_line(input, at);
        };
        if key.of(input.text).starts_with('#') {
            return None;
        }
        let open_request = self.request.filter(|request| request.start >= floor);
        if begins_line(input.text, left) {
            return Some(match open_request {
                Some(request) if is_layout(input.slice(request.end, left)) => {
                    Boundary::Request(request.start)
                }
                _ => Boundary::Key {
                    at: line_start(input.text, left),
                    key,
                },
            });
        }
        if let Some(request) = open_request
            && request.end <= left
            && is_layout(input.slice(request.end, left))
        {
            return Some(Boundary::Request(request.start));
        }
        if !closed {
            return None;
        }
        let gap = input.slice(floor, left);
        if let Some((_, line)) = last_line(gap) {
            // Words before a key on its line do not spoil the field, unless they are a comment.
            let comment = line.trim_start().starts_with('#');
            return (!comment).then_some(Boundary::Key {
                at: left - line.len(),
                key,
            });
        }
        let behind_close = self.depth == 0 && gap.chars().all(is_separator);
        behind_close.then_some(Boundary::Key { at: key.start, key })
    }

    /// A line below the closing mark that begins with an opening mark, but without a key.
    fn bare_line(&self, input: Input<'_>, at: usize) -> Option<Boundary> {
        let gap = input.slice(self.last_close.end, at);
        let (before, line) = last_line(gap).filter(|(before, _)| before.len() < MAX_LINE_SEARCH)?;
        let bare = self.first_close.is_some()
            && line.chars().all(|c| !c.is_alphanumeric() && c != '#')
            && before.chars().all(|c| c.is_whitespace() || is_separator(c));
        bare.then_some(Boundary::Line(at - line.len()))
    }

    fn finish(&self, boundary: Boundary) -> Found {
        let field = |end, close| RawField {
            key: self.key,
            value: Span::new(self.start, end),
            family: self.family,
            close,
        };
        if self.first_close.is_some() {
            let close = if self.candidates > 1 {
                Close::Ambiguous
            } else {
                Close::Plain
            };
            return Found {
                field: field(self.last_close.start, close),
                next: self.last_close.end,
                follows: None,
            };
        }
        let end = match (self.first_end, boundary) {
            (Some(end), _) => end,
            (
                None,
                Boundary::Key { at, .. }
                | Boundary::Request(at)
                | Boundary::Line(at)
                | Boundary::Text(at),
            ) => at,
            (None, Boundary::End) => self.probe,
        };
        Found {
            field: field(end, Close::Missing),
            next: end,
            follows: None,
        }
    }
}
