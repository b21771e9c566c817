//! Reads the fields of one TAM block, in order, without deciding what they mean.

use super::cursor::{Cursors, Input, Next};
use super::marks::{Seen, TamMark, tam_mark};
use super::notes::{Notes, quote};
use super::tam_value::{Close, RawField, Shape, ValueScan, is_fence, is_separator, key_before};
use crate::limits::MAX_FIELDS;
use crate::{Code, Span};

/// What is remembered from block to block, so that no part of the text is searched again.
#[derive(Debug, Default)]
pub(super) struct Lookahead {
    pub(super) cursors: Cursors,
    /// Before this place, no text that looks like a block is content of a value.
    pub(super) no_nested_before: usize,
}

/// A block that is being read.
#[derive(Debug)]
pub(super) struct TamScan {
    body: usize,
    at: usize,
    pub(super) value: Option<ValueScan>,
    pub(super) block: RawTam,
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
    pub(super) fn new(body: usize) -> Self {
        Self {
            body,
            at: body,
            value: None,
            block: RawTam::default(),
        }
    }

    pub(super) fn step(&mut self, input: Input<'_>, ahead: &mut Lookahead) -> TamStep {
        loop {
            if let Some(value) = &mut self.value {
                let Some((field, next)) =
                    value.step(input, &mut ahead.cursors, &mut ahead.no_nested_before)
                else {
                    return TamStep::Wait;
                };
                self.value = None;
                self.at = next;
                self.push(field);
            }
            if let Some(step) = self.between_fields(input, &mut ahead.cursors) {
                return step;
            }
        }
    }

    /// One thing between two fields; `None` to go on.
    fn between_fields(&mut self, input: Input<'_>, cursors: &mut Cursors) -> Option<TamStep> {
        self.at = skip_separators(input, self.at);
        let at = self.at;
        match input.bytes().get(at) {
            None if input.complete => return Some(self.finish(input.len(), None)),
            None => return Some(TamStep::Wait),
            Some(b'<') => match input.settle(tam_mark(input.bytes(), at)) {
                Seen::Yes((TamMark::End, end)) => return Some(self.finish(at, Some(end))),
                Seen::Yes((TamMark::Request, _)) => {
                    self.finish(at, None);
                    return Some(TamStep::Cut { next: at });
                }
                Seen::Unclear => return Some(TamStep::Wait),
                Seen::No => {}
            },
            Some(_) => {}
        }

        let line_end = cursors.line_end(input, at);
        let before_line_end = |place: usize| line_end.map_or(true, |end| place < end);
        if input.bytes().get(at) == Some(&b'#') {
            let mark = cursors.mark(input, at).map(|(_, start, _)| start);
            let end = match (mark.filter(|&start| before_line_end(start)), line_end) {
                (Some(start), _) => start,
                (None, Ok(end)) => end,
                (None, Err(())) => return Some(TamStep::Wait),
            };
            self.block.comments.push(Span::new(at, end));
            self.at = end;
            return None;
        }

        let (next, certain) = cursors.peek(input, at, None);
        match next {
            // A mark does not reach over a line break, so within a whole line nothing is uncertain.
            Next::Open(family, open) if before_line_end(open) && (certain || line_end.is_ok()) => {
                if let Some((key, _)) = key_before(input.text, open, at, Shape::Loose) {
                    self.skip_text(input, Span::new(at, key.start));
                    self.value = Some(ValueScan::new(key, family, open));
                } else {
                    let end = family.open_run_end(input.text, open);
                    if end >= input.len() && !input.complete {
                        return Some(TamStep::Wait);
                    }
                    self.skip_text(input, Span::new(at, end));
                    self.at = end;
                }
            }
            Next::Mark(_, start, _) if before_line_end(start) && (certain || line_end.is_ok()) => {
                self.skip_text(input, Span::new(at, start));
                self.at = start;
            }
            _ => match line_end {
                Ok(end) => {
                    self.skip_text(input, Span::new(at, end));
                    self.at = end;
                }
                Err(()) => return Some(TamStep::Wait),
            },
        }
        None
    }

    fn push(&mut self, field: RawField) {
        if self.block.fields.len() == MAX_FIELDS {
            if !self.block.notes.has(Code::TooManyParameters) {
                self.block.notes.add_with(Code::TooManyParameters, field.key, || {
                    format!("The block has more than {MAX_FIELDS} fields; split it into several calls.")
                });
            }
            return;
        }
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

    /// Text that is neither field nor comment: silent where it is layout, reported otherwise.
    fn skip_text(&mut self, input: Input<'_>, span: Span) {
        let text = span.of(input.text);
        let solid = text.trim_matches(|c: char| is_separator(c) || c.is_whitespace());
        if solid.is_empty() || is_fence(solid) {
            return;
        }
        self.block.notes.add_with(Code::UnparsedLine, span, || {
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

fn skip_separators(input: Input<'_>, from: usize) -> usize {
    let rest = input.text.get(from..).unwrap_or_default();
    let solid =
        rest.trim_start_matches(|c: char| c.is_whitespace() || is_separator(c) || c == '\u{feff}');
    from + (rest.len() - solid.len())
}
