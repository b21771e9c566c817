//! Finds where an `<ACTION>` or `<tool_call>` block ends, without reading what is in it.

use memchr::memchr;

use super::cursor::Input;
use super::marks::{FINDERS, OpenTag, Seen, TamMark, close_tag, exactly, open_tag, tam_mark};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum XmlKind {
    Action,
    ToolCall,
}

impl XmlKind {
    pub(super) const fn name(self) -> &'static [u8] {
        match self {
            Self::Action => b"ACTION",
            Self::ToolCall => b"tool_call",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Markup,
    Cdata,
    Comment,
}

/// A block whose closing tag is being looked for.
#[derive(Debug)]
pub(super) struct XmlScan {
    pub(super) kind: XmlKind,
    pub(super) tag: OpenTag,
    pub(super) start: usize,
    pub(super) probe: usize,
    inside: Inside,
    /// Where the unfinished CDATA section or comment begins.
    opened: usize,
    /// An element begins somewhere in the block.
    has_element: bool,
    /// Another block begins here; the end of this one if it is never closed.
    other_block: Option<usize>,
    /// Some `<` cannot begin a tag.
    literal_less: bool,
}

/// A block that has been framed.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawXml {
    pub(super) kind: XmlKind,
    pub(super) tag: OpenTag,
    pub(super) body_end: usize,
    pub(super) closed: bool,
    pub(super) literal_less: bool,
}

pub(super) enum XmlStep {
    Wait,
    Done {
        raw: RawXml,
        next: usize,
    },
    /// Only words: no call was meant.
    Prose {
        next: usize,
        unclosed: bool,
    },
}

impl XmlScan {
    pub(super) fn new(kind: XmlKind, start: usize, tag: OpenTag) -> Self {
        Self {
            kind,
            tag,
            start,
            probe: tag.end,
            inside: Inside::Markup,
            opened: tag.end,
            has_element: false,
            other_block: None,
            literal_less: false,
        }
    }

    pub(super) fn step(&mut self, input: Input<'_>) -> XmlStep {
        if self.tag.empty {
            return self.done(self.tag.end, self.tag.end, true);
        }
        loop {
            let found = match self.inside {
                Inside::Markup => self.markup(input),
                Inside::Cdata => self.skip(input, &FINDERS.cdata_end),
                Inside::Comment => self.skip(input, &FINDERS.comment_end),
            };
            match found {
                Found::On => {}
                Found::End(close, next) => return self.closed(input, close, next),
                Found::Another => return self.unclosed(input),
                Found::Exhausted if input.complete => return self.unclosed(input),
                Found::Exhausted => return XmlStep::Wait,
            }
        }
    }

    /// One `<` in markup.
    fn markup(&mut self, input: Input<'_>) -> Found {
        let bytes = input.bytes();
        let Some(at) = bytes
            .get(self.probe..)
            .and_then(|rest| memchr(b'<', rest))
            .map(|offset| self.probe + offset)
        else {
            self.probe = self.probe.max(input.len());
            return Found::Exhausted;
        };
        macro_rules! look {
            ($seen:expr, $yes:pat => $then:expr) => {
                match input.settle($seen) {
                    Seen::Yes($yes) => return $then,
                    Seen::Unclear => {
                        self.probe = at;
                        return Found::Exhausted;
                    }
                    Seen::No => {}
                }
            };
        }
        match bytes.get(at + 1) {
            None if !input.complete => {
                self.probe = at;
                return Found::Exhausted;
            }
            Some(b'!') => {
                look!(exactly(bytes, at, b"<![CDATA["), next => self.enter(Inside::Cdata, at, next));
                look!(exactly(bytes, at, b"<!--"), next => self.enter(Inside::Comment, at, next));
            }
            Some(b'/' | b' ' | b'\t') => {
                look!(close_tag(bytes, at, self.kind.name()), next => Found::End(at, next));
            }
            _ => {}
        }
        if matches!(bytes.get(at + 1), Some(b'|' | b' ' | b'\t')) {
            look!(tam_mark(bytes, at), (mark, next) => {
                if mark == TamMark::Request {
                    self.other_block.get_or_insert(at);
                }
                self.probe = next;
                Found::On
            });
        }
        if self.kind == XmlKind::ToolCall {
            look!(open_tag(bytes, at, XmlKind::ToolCall.name()), _tag => {
                self.other_block.get_or_insert(at);
                Found::Another
            });
        }
        if begins_tag(bytes, at) {
            self.has_element = true;
        } else {
            self.literal_less = true;
        }
        self.probe = at + 1;
        Found::On
    }

    fn enter(&mut self, inside: Inside, at: usize, next: usize) -> Found {
        self.inside = inside;
        self.opened = at;
        self.probe = next;
        Found::On
    }

    /// To the end of a CDATA section or comment.
    fn skip(&mut self, input: Input<'_>, finder: &memchr::memmem::Finder<'_>) -> Found {
        let rest = input.bytes().get(self.probe..).unwrap_or_default();
        match finder.find(rest) {
            Some(offset) => {
                self.probe += offset + finder.needle().len();
                self.inside = Inside::Markup;
                Found::On
            }
            None => {
                self.probe = self
                    .probe
                    .max((input.len() + 1).saturating_sub(finder.needle().len()));
                Found::Exhausted
            }
        }
    }

    fn closed(&self, input: Input<'_>, close: usize, next: usize) -> XmlStep {
        let body = input.slice(self.tag.end, close);
        let only_words =
            !self.has_element && !self.tag.canonical && !body.trim_start().starts_with('{');
        if self.kind == XmlKind::Action && only_words && !body.trim().is_empty() {
            return XmlStep::Prose {
                next,
                unclosed: false,
            };
        }
        self.done(close, next, true)
    }

    /// No closing tag. An unfinished CDATA section or comment may have hidden it.
    fn unclosed(&mut self, input: Input<'_>) -> XmlStep {
        if self.inside != Inside::Markup {
            let mut from = self.opened;
            while let Some(at) = input
                .bytes()
                .get(from..)
                .and_then(|rest| memchr(b'<', rest))
                .map(|offset| from + offset)
            {
                if let Seen::Yes(next) = close_tag(input.bytes(), at, self.kind.name()) {
                    return self.done(at, next, true);
                }
                from = at + 1;
            }
        }
        let body = input.slice(self.tag.end, self.other_block.unwrap_or(input.len()));
        let first = body.trim_start().chars().next();
        let words = first.is_some_and(|first| first != '<' && first != '{');
        let has_name = self.kind == XmlKind::ToolCall && self.tag.attributes + 1 < self.tag.end;
        if words && !has_name {
            return XmlStep::Prose {
                next: self.tag.end,
                unclosed: true,
            };
        }
        let end = self.tag.end + json_length(body).unwrap_or(body.len());
        self.done(end, end, false)
    }

    fn done(&self, body_end: usize, next: usize, closed: bool) -> XmlStep {
        XmlStep::Done {
            raw: RawXml {
                kind: self.kind,
                tag: self.tag,
                body_end,
                closed,
                literal_less: self.literal_less,
            },
            next,
        }
    }
}

/// How far a JSON object at the beginning of the body reaches, if it is whole.
fn json_length(body: &str) -> Option<usize> {
    if !body.trim_start().starts_with('{') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(body).into_iter::<serde::de::IgnoredAny>();
    values.next()?.ok()?;
    Some(values.byte_offset())
}

enum Found {
    /// Go on from the new place.
    On,
    End(usize, usize),
    Another,
    Exhausted,
}

/// Whether the `<` at `at` can begin a tag; otherwise it is a less-than sign that was not escaped.
pub(super) fn begins_tag(bytes: &[u8], at: usize) -> bool {
    match bytes.get(at + 1) {
        Some(b'/' | b'?' | b'_' | b':') => true,
        Some(b'!') => bytes
            .get(at + 2)
            .is_some_and(|&byte| matches!(byte, b'-' | b'[' | b'D' | b'd')),
        Some(byte) if byte.is_ascii_digit() => {
            // `<3d_render>` is a tag, `a <5 b` is not.
            let rest = bytes.get(at + 1..).unwrap_or_default();
            let name = rest
                .iter()
                .take(128)
                .take_while(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')
                })
                .count();
            matches!(rest.get(name), Some(b'>' | b'/'))
        }
        Some(byte) => byte.is_ascii_alphabetic() || !byte.is_ascii(),
        None => true,
    }
}
