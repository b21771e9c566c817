//! Looking ahead without looking twice.
//!
//! A cursor remembers the next place of one mark and how far it has searched, so that asking again costs
//! nothing and a stream that grows is searched on from where it ended. All cursors together read each byte a
//! constant number of times: that is what makes the parser linear.

use memchr::memchr;
use memchr::memmem::Finder;

use super::marks::{FAMILIES, FINDERS, Family, Seen, TamMark, is_quoted, tam_mark};
use crate::limits::MAX_BLANKS;

/// The text so far, and whether more may come.
#[derive(Clone, Copy)]
pub(super) struct Input<'t> {
    pub(super) text: &'t str,
    pub(super) complete: bool,
}

impl<'t> Input<'t> {
    pub(super) fn bytes(self) -> &'t [u8] {
        self.text.as_bytes()
    }

    pub(super) fn len(self) -> usize {
        self.text.len()
    }

    pub(super) fn slice(self, start: usize, end: usize) -> &'t str {
        self.text.get(start..end).unwrap_or_default()
    }

    /// An undecided look is a *no* once nothing more can come.
    pub(super) fn settle<T>(self, seen: Seen<T>) -> Seen<T> {
        match seen {
            Seen::Unclear if self.complete => Seen::No,
            seen => seen,
        }
    }
}

/// Below this length preparing a search costs more than searching.
const SHORT: usize = 48;

/// A plain search, for the few bytes by which a stream grows at a time.
fn find_short(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    let first = *needle.first()?;
    let mut from = 0;
    while let Some(offset) = bytes.get(from..).and_then(|rest| memchr(first, rest)) {
        let at = from + offset;
        if bytes.get(at..).is_some_and(|rest| rest.starts_with(needle)) {
            return Some(at);
        }
        from = at + 1;
    }
    None
}

/// Places of one fixed mark.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursor {
    at: Option<usize>,
    searched: usize,
}

impl Cursor {
    /// The first place at or after `from`, as far as the text goes.
    pub(super) fn next(
        &mut self,
        input: Input<'_>,
        from: usize,
        finder: &Finder<'_>,
    ) -> Option<usize> {
        let needle = finder.needle();
        self.next_by(input, from, needle.len(), |bytes| {
            if bytes.len() < SHORT {
                find_short(bytes, needle)
            } else {
                finder.find(bytes)
            }
        })
    }

    pub(super) fn next_byte(&mut self, input: Input<'_>, from: usize, byte: u8) -> Option<usize> {
        self.next_by(input, from, 1, |bytes| memchr(byte, bytes))
    }

    fn next_by(
        &mut self,
        input: Input<'_>,
        from: usize,
        width: usize,
        find: impl FnOnce(&[u8]) -> Option<usize>,
    ) -> Option<usize> {
        if let Some(at) = self.at {
            if at >= from {
                return Some(at);
            }
            self.at = None;
        }
        let start = self.searched.max(from);
        if start + width > input.len() {
            self.searched = start;
            return None;
        }
        let found = input.bytes().get(start..).and_then(find);
        match found {
            Some(offset) => {
                self.at = Some(start + offset);
                self.searched = start + offset + 1;
            }
            None => self.searched = start.max((input.len() + 1).saturating_sub(width)),
        }
        self.at
    }

    /// Nothing that begins before this place is still unknown.
    pub(super) fn frontier(&self) -> usize {
        self.at.unwrap_or(self.searched)
    }
}

/// Places of the boundary marks `<|[…]|>`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TamCursor {
    at: Option<(TamMark, usize, usize)>,
    searched: usize,
}

impl TamCursor {
    /// Mark, start and end of the first one at or after `from`.
    pub(super) fn next(
        &mut self,
        input: Input<'_>,
        from: usize,
    ) -> Option<(TamMark, usize, usize)> {
        if let Some(found) = self.at {
            if found.1 >= from {
                return Some(found);
            }
            self.at = None;
        }
        // `|` is far rarer than `<` in code and markup, so it is looked for and the `<` before it checked.
        let bytes = input.bytes();
        let mut start = self.searched.max(from);
        while let Some(offset) = bytes.get(start..).and_then(|rest| memchr(b'|', rest)) {
            let bar = start + offset;
            if let Some(at) = less_before(bytes, bar).filter(|&at| at >= from) {
                match unquoted(input, at) {
                    Seen::Yes((mark, end)) => {
                        self.at = Some((mark, at, end));
                        self.searched = bar + 1;
                        return self.at;
                    }
                    Seen::Unclear => {
                        self.searched = at;
                        return None;
                    }
                    Seen::No => {}
                }
            }
            start = bar + 1;
        }
        let half = less_before(bytes, bytes.len()).filter(|&at| at >= start && !input.complete);
        self.searched = half.unwrap_or(start.max(input.len()));
        None
    }

    pub(super) fn frontier(&self) -> usize {
        self.at.map_or(self.searched, |found| found.1)
    }
}

/// A boundary mark that is not only mentioned in inline code.
pub(super) fn unquoted(input: Input<'_>, at: usize) -> Seen<(TamMark, usize)> {
    let seen = input.settle(tam_mark(input.bytes(), at));
    let Seen::Yes((_, end)) = seen else {
        return seen;
    };
    match input.settle(is_quoted(input.bytes(), at, end)) {
        Seen::Yes(()) => Seen::No,
        Seen::No => seen,
        Seen::Unclear => Seen::Unclear,
    }
}

/// The `<` before a place, with nothing but blanks between.
fn less_before(bytes: &[u8], place: usize) -> Option<usize> {
    let before = bytes.get(..place)?;
    let blanks = before
        .iter()
        .rev()
        .take(MAX_BLANKS)
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let at = place.checked_sub(blanks + 1)?;
    (before.get(at) == Some(&b'<')).then_some(at)
}

/// All that is looked for inside a TAM block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cursors {
    open: [Cursor; FAMILIES],
    close: [Cursor; FAMILIES],
    line: Cursor,
    tam: TamCursor,
}

/// What stands next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Open(Family, usize),
    Close(usize),
    Mark(TamMark, usize, usize),
    /// Nothing more in the text so far.
    Nothing,
    /// More text is needed to tell.
    Wait,
}

impl Cursors {
    /// The next line break at or after `from`; `Err` where more text may bring one.
    pub(super) fn line_end(&mut self, input: Input<'_>, from: usize) -> Result<usize, ()> {
        match self.line.next_byte(input, from, b'\n') {
            Some(at) => Ok(at),
            None if input.complete => Ok(input.len()),
            None => Err(()),
        }
    }

    pub(super) fn mark(
        &mut self,
        input: Input<'_>,
        from: usize,
    ) -> Option<(TamMark, usize, usize)> {
        self.tam.next(input, from)
    }

    /// No mark is unknown that begins before this place.
    pub(super) fn frontier(&self) -> usize {
        let open = self.open.iter().map(Cursor::frontier);
        let close = self.close.iter().map(Cursor::frontier).filter(|&at| at > 0);
        open.chain(close)
            .chain([self.tam.frontier()])
            .min()
            .unwrap_or_default()
    }

    /// The nearest opening mark of any family, boundary mark, and (if a family is given) closing mark.
    pub(super) fn next(&mut self, input: Input<'_>, from: usize, closing: Option<Family>) -> Next {
        match self.peek(input, from, closing) {
            (next, true) => next,
            (_, false) => Next::Wait,
        }
    }

    /// As `next`, with whether it is certain that nothing else stands before it.
    pub(super) fn peek(
        &mut self,
        input: Input<'_>,
        from: usize,
        closing: Option<Family>,
    ) -> (Next, bool) {
        let finders = &*FINDERS;
        let mut next = Next::Nothing;
        let mut at = usize::MAX;
        let mut frontier = usize::MAX;

        for (family, (cursor, finder)) in Family::ALL
            .into_iter()
            .zip(self.open.iter_mut().zip(&finders.open))
        {
            if let Some(place) = cursor.next(input, from, finder)
                && place < at
            {
                (at, next) = (place, Next::Open(family, place));
            }
            frontier = frontier.min(cursor.frontier());
        }
        if let Some(family) = closing {
            let which = family as usize;
            if let (Some(cursor), Some(finder)) =
                (self.close.get_mut(which), finders.close.get(which))
            {
                if let Some(place) = cursor.next(input, from, finder)
                    && place < at
                {
                    (at, next) = (place, Next::Close(place));
                }
                frontier = frontier.min(cursor.frontier());
            }
        }
        if let Some((mark, start, end)) = self.tam.next(input, from)
            && start < at
        {
            (at, next) = (start, Next::Mark(mark, start, end));
        }
        frontier = frontier.min(self.tam.frontier());

        let certain = input.complete || (next != Next::Nothing && at <= frontier);
        (next, certain)
    }
}
