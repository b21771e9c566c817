//! Reads the fields of one TAM block, in order, without deciding what they mean.

use super::cursor::{Cursors, Input, Next, unquoted};
use super::marks::{Seen, TamMark, open_tag};
use super::notes::{Notes, quote};
use super::tam_line::{Shape, is_fence, is_separator, key_before};
use super::tam_value::{Close, RawField, ValueScan};
use super::xml_block::XmlKind;
use crate::limits::{MAX_COMMENTS, MAX_FIELDS, MAX_MARKS};
use crate::{Code, Span};

/// What is remembered from block to block, so that no part of the text is searched again.
#[derive(Debug)]
pub(super) struct Lookahead {
    pub(super) cursors: Cursors,
    /// Before this place, no text that looks like a block is content of a value.
    no_nested_before: usize,
    /// How many more marks and stray lines are looked at.
    budget: usize,
}

impl Default for Lookahead {
    fn default() -> Self {
        Self {
            cursors: Cursors::default(),
            no_nested_before: 0,
            budget: MAX_MARKS,
        }
    }
}

/// A block that is being read.
#[derive(Debug)]
pub(super) struct TamScan {
    body: usize,
    at: usize,
    pub(super) value: Option<ValueScan>,
    pub(super) block: RawTam,
    /// There are too many fields; only the end is still looked for.
    overflowing: bool,
    /// Calls in other dialects may stand beside the block.
    among_others: bool,
}

/// A block that has been read.
#[derive(Debug, Clone, Default)]
pub(super) struct RawTam {
    pub(super) fields: Vec<RawField>,
    /// `# …` lines, without the line break.
    pub(super) comments: Vec<Span>,
    pub(super) notes: Notes,
    /// From behind the REQUEST mark to the END mark.
    pub(super) body: Span,
}

pub(super) enum TamStep {
    Wait,
    /// Finished; the text goes on at `next`.
    Done {
        next: usize,
    },
    /// Finished without END, because another block begins at `next`.
    Cut {
        next: usize,
    },
}

impl TamScan {
    pub(super) fn new(body: usize, among_others: bool) -> Self {
        Self {
            among_others,
            body,
            at: body,
            value: None,
            block: RawTam {
                fields: Vec::with_capacity(8),
                ..RawTam::default()
            },
            overflowing: false,
        }
    }

    pub(super) fn step(&mut self, input: Input<'_>, ahead: &mut Lookahead) -> TamStep {
        loop {
            if let Some(value) = &mut self.value {
                let Some(found) = value.step(
                    input,
                    &mut ahead.cursors,
                    &mut ahead.no_nested_before,
                    &mut ahead.budget,
                ) else {
                    return TamStep::Wait;
                };
                self.value = None;
                self.at = found.next;
                self.push(found.field);
                if let Some((key, family, open)) = found.follows
                    && self.block.fields.len() < MAX_FIELDS
                    && skip_separators(input, found.next) == key.start
                {
                    self.value = Some(ValueScan::new(key, family, open));
                    continue;
                }
            }
            if self.overflowing || ahead.budget == 0 {
                return self.overflow(input, &mut ahead.cursors);
            }
            if let Some(step) = self.between_fields(input, ahead) {
                return step;
            }
        }
    }

    /// One thing between two fields; `None` to go on.
    fn between_fields(&mut self, input: Input<'_>, ahead: &mut Lookahead) -> Option<TamStep> {
        let Lookahead {
            cursors, budget, ..
        } = ahead;
        self.at = skip_separators(input, self.at);
        let at = self.at;
        match input.bytes().get(at) {
            None if input.complete => return Some(self.finish(input.len(), None)),
            None => return Some(TamStep::Wait),
            Some(b'<') => match unquoted(input, at) {
                Seen::Yes((TamMark::End, end)) => return Some(self.finish(at, Some(end))),
                Seen::Yes((TamMark::Request, _)) => {
                    self.finish(at, None);
                    return Some(TamStep::Cut { next: at });
                }
                Seen::Unclear => return Some(TamStep::Wait),
                Seen::No => match input.settle(self.other_call(input)) {
                    Seen::Yes(()) => {
                        self.finish(at, None);
                        return Some(TamStep::Cut { next: at });
                    }
                    Seen::Unclear => return Some(TamStep::Wait),
                    Seen::No => {}
                },
            },
            Some(_) => {}
        }

        let (next, certain) = cursors.peek(input, at, None);
        let place = match next {
            Next::Open(_, place) | Next::Mark(_, place, _) => place,
            _ => usize::MAX,
        };
        // A mark does not reach over a line break, so whole lines before the next one hold nothing but text.
        let mut line = at;
        let line_end = loop {
            let end = cursors.line_end(input, line);
            match end {
                Ok(end) if end < place && end < input.len() && *budget > 0 => {
                    // Another call may begin here, which is seen from the beginning of its line.
                    if line > at && begins_with_less(input, line) {
                        break Err(());
                    }
                    *budget -= 1;
                    self.line(input, Span::new(line, end));
                    line = end + 1;
                    self.at = line;
                }
                end => break end,
            }
        };
        if line > at {
            return None;
        }
        if input.bytes().get(at) == Some(&b'#') {
            let mark = cursors.mark(input, at).map(|(_, start, _)| start);
            let end = match (
                mark.filter(|&start| line_end.is_ok_and(|end| start < end) || line_end.is_err()),
                line_end,
            ) {
                (Some(start), _) => start,
                (None, Ok(end)) => end,
                (None, Err(())) => return Some(TamStep::Wait),
            };
            self.comment(Span::new(at, end));
            self.at = end;
            return None;
        }
        if *budget == 0 {
            return None;
        }
        match next {
            Next::Open(family, open) if certain || line_end.is_ok() => {
                if let Some((key, _)) = key_before(input.text, open, at, Shape::Loose) {
                    self.skip_text(input, Span::new(at, key.start));
                    if self.block.fields.len() == MAX_FIELDS {
                        self.overflowing = true;
                        return None;
                    }
                    self.value = Some(ValueScan::new(key, family, open));
                } else {
                    let end = family.open_run_end(input.text, open);
                    if end >= input.len() && !input.complete {
                        return Some(TamStep::Wait);
                    }
                    *budget -= 1;
                    self.skip_text(input, Span::new(at, end));
                    self.at = end;
                }
            }
            Next::Mark(_, start, _) if certain || line_end.is_ok() => {
                self.skip_text(input, Span::new(at, start));
                self.at = start;
            }
            Next::Nothing if input.complete => {
                self.skip_text(input, Span::new(at, input.len()));
                self.at = input.len();
            }
            _ => return Some(TamStep::Wait),
        }
        None
    }

    /// Between fields a call in another dialect can only mean that END was forgotten.
    fn other_call(&self, input: Input<'_>) -> Seen<()> {
        if !self.among_others {
            return Seen::No;
        }
        match open_tag(input.bytes(), self.at, XmlKind::Action.name()) {
            Seen::No => open_tag(input.bytes(), self.at, XmlKind::ToolCall.name()),
            seen => seen,
        }
        .map(|_| ())
    }

    /// A whole line without any mark.
    fn line(&mut self, input: Input<'_>, line: Span) {
        let solid = line.of(input.text).trim_start_matches(is_separator);
        if solid.starts_with('#') {
            self.comment(Span::new(line.end - solid.len(), line.end));
        } else {
            self.skip_text(input, line);
        }
    }

    fn comment(&mut self, comment: Span) {
        if self.block.comments.len() < MAX_COMMENTS {
            self.block.comments.push(comment);
        }
    }

    fn push(&mut self, field: RawField) {
        match field.close {
            Close::Plain => {}
            Close::Ambiguous => self.block.notes.add(
                Code::AmbiguousCloseDelimiter,
                field.value,
                "The value holds its own closing mark; the last one before the next field was taken as its end.",
            ),
            Close::Missing => self.block.notes.add(
                Code::MissingCloseDelimiter,
                field.value,
                "The value has no closing mark of the kind that opened it; it was read up to the next field.",
            ),
        }
        self.block.fields.push(field);
    }

    /// The block is refused, so only its end is of interest.
    fn overflow(&mut self, input: Input<'_>, cursors: &mut Cursors) -> TamStep {
        while let Some((mark, start, end)) = cursors.mark(input, self.at) {
            if mark == TamMark::End {
                self.note_overflow();
                return self.finish(start, Some(end));
            }
            self.at = end;
        }
        if !input.complete {
            return TamStep::Wait;
        }
        self.note_overflow();
        self.finish(input.len(), None)
    }

    fn note_overflow(&mut self) {
        let span = Span::new(self.at, self.at);
        self.block
            .notes
            .add_with(Code::TooManyParameters, span, || {
                format!(
                "The block has more than {MAX_FIELDS} fields, or the reply more than {MAX_MARKS} marks; split it \
                 into several calls, or pass large values by reference (uri_…)."
            )
            });
    }

    /// Text that is neither field nor comment: silent where it is layout, reported otherwise.
    fn skip_text(&mut self, input: Input<'_>, span: Span) {
        let text = span.of(input.text);
        if self.block.notes.is_full() {
            let solid = text
                .bytes()
                .any(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b','));
            if solid {
                self.block.notes.add(Code::UnparsedLine, span, "");
            }
            return;
        }
        let layout = |c: char| is_separator(c) || c.is_whitespace();
        let rest = text.trim_start_matches(layout);
        let solid = rest.trim_end_matches(layout);
        if solid.is_empty() || is_fence(solid) {
            return;
        }
        let start = span.end - rest.len();
        let place = Span::new(start, start + solid.len());
        self.block.notes.add_with(Code::UnparsedLine, place, || {
            format!(
                "'{}' is neither a field (key:»»»value«««) nor a comment (# …) and was left out.",
                quote(solid)
            )
        });
    }

    fn finish(&mut self, body_end: usize, end_mark: Option<usize>) -> TamStep {
        self.block.body = Span::new(self.body, body_end);
        let next = end_mark.unwrap_or_else(|| {
            self.block.notes.add(
                Code::MissingEndMarker,
                Span::new(self.body, body_end),
                "The block has no <|[END_TOOL]|>; it was read to its end.",
            );
            body_end
        });
        TamStep::Done { next }
    }
}

fn begins_with_less(input: Input<'_>, line: usize) -> bool {
    input.bytes().get(skip_separators(input, line)) == Some(&b'<')
}

fn skip_separators(input: Input<'_>, from: usize) -> usize {
    let rest = input.text.get(from..).unwrap_or_default();
    let plain = rest
        .bytes()
        .take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t' | b','))
        .count();
    let rest = rest.get(plain..).unwrap_or_default();
    let solid = rest.trim_start_matches(|c: char| c.is_whitespace() || is_separator(c));
    from + plain + (rest.len() - solid.len())
}
