//! Finds where an `<ACTION>` or `<tool_call>` block ends, without reading what is in it.

use memchr::memchr;
use memchr::memmem::Finder;

use super::cursor::{Cursor, Input, unquoted};
use super::marks::{
    FINDERS, OpenTag, Seen, TamMark, close_tag, exactly, next_less, open_tag, skip_blanks,
};

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

/// Ends of CDATA sections and comments, looked for once in the whole text.
#[derive(Debug, Default)]
pub(super) struct Sections {
    cdata: Cursor,
    comment: Cursor,
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
    probe: usize,
    inside: Inside,
    /// Where the unfinished CDATA section or comment begins.
    opened: usize,
    /// An element begins somewhere in the block.
    has_element: bool,
    /// Another block begins here; the end of this one if it is never closed.
    other_block: Option<usize>,
    /// An earlier search has shown that nothing closes it.
    hopeless: bool,
    /// The opening tag says more than its name.
    has_attributes: bool,
    again: bool,
}

/// A block that has been framed.
#[derive(Debug, Clone, Copy)]
pub(super) struct RawXml {
    pub(super) kind: XmlKind,
    pub(super) tag: OpenTag,
    pub(super) body_end: usize,
    pub(super) closed: bool,
    /// Unclosed, but the JSON in it is whole.
    pub(super) whole_json: bool,
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
    pub(super) fn new(
        input: Input<'_>,
        kind: XmlKind,
        start: usize,
        tag: OpenTag,
        hopeless: bool,
    ) -> Self {
        let attributes = input.slice(tag.attributes, tag.end);
        Self {
            kind,
            tag,
            start,
            probe: tag.end,
            inside: Inside::Markup,
            opened: tag.end,
            has_element: false,
            other_block: None,
            hopeless,
            again: false,
            has_attributes: attributes.contains(|c: char| c.is_alphanumeric()),
        }
    }

    pub(super) fn step(&mut self, input: Input<'_>, sections: &mut Sections) -> XmlStep {
        if self.tag.empty {
            return self.done(self.tag.end, self.tag.end, true);
        }
        if self.hopeless && self.begins_with_words(input.slice(self.tag.end, input.len())) {
            return XmlStep::Prose {
                next: self.tag.end,
                unclosed: true,
            };
        }
        loop {
            let found = match self.inside {
                Inside::Markup => self.markup(input),
                Inside::Cdata => self.skip(input, &mut sections.cdata, &FINDERS.cdata_end),
                Inside::Comment => self.skip(input, &mut sections.comment, &FINDERS.comment_end),
            };
            match found {
                Found::On => {}
                Found::End(close, next) => return self.closed(input, close, next),
                Found::Another => return self.unclosed(input),
                Found::Again => {
                    return XmlStep::Prose {
                        next: self.tag.end,
                        unclosed: true,
                    };
                }
                Found::Exhausted if input.complete => return self.unclosed(input),
                Found::Exhausted => return XmlStep::Wait,
                Found::Request(_) => {}
            }
        }
    }

    /// Through markup, to the first thing that matters.
    fn markup(&mut self, input: Input<'_>) -> Found {
        let bytes = input.bytes();
        let mut from = self.probe;
        while let Some(at) = next_less(bytes, from) {
            self.probe = at;
            from = at + 1;
            let seen = match bytes.get(at + 1) {
                None => Seen::Unclear,
                Some(b' ' | b'\t') if !may_follow_blank(bytes.get(at + 2)) => Seen::No,
                Some(b'/') if !self.may_close(bytes.get(at + 2)) => Seen::No,
                Some(b'!' | b'/' | b'|' | b' ' | b'\t') => self.special(input, at),
                Some(b't' | b'T') if self.kind == XmlKind::ToolCall => {
                    open_tag(bytes, at, XmlKind::ToolCall.name()).map(|_| Found::Another)
                }
                Some(b'a' | b'A') if self.kind == XmlKind::Action && !self.has_element => {
                    open_tag(bytes, at, XmlKind::Action.name()).map(|_| Found::Again)
                }
                Some(_) => Seen::No,
            };
            match input.settle(seen) {
                Seen::Yes(Found::Again) => {
                    // The first tag was only mentioned if words follow it.
                    if self.begins_with_words(input.slice(self.tag.end, at)) {
                        self.again = true;
                        return Found::Again;
                    }
                    self.has_element = true;
                }
                Seen::Yes(Found::Another) => {
                    self.other_block.get_or_insert(at);
                    return Found::Another;
                }
                Seen::Yes(Found::On) => return Found::On,
                Seen::Yes(Found::Request(next)) => {
                    self.other_block.get_or_insert(at);
                    if self.hopeless {
                        return Found::Another;
                    }
                    from = next;
                }
                Seen::Yes(found) => return found,
                Seen::Unclear => return Found::Exhausted,
                Seen::No => {
                    self.has_element =
                        self.has_element || bytes.get(at + 1).is_some_and(may_begin_name);
                }
            }
        }
        self.probe = from.max(input.len());
        Found::Exhausted
    }

    /// Whether `</` and this byte may be the closing tag.
    fn may_close(&self, byte: Option<&u8>) -> bool {
        let first = self.kind.name().first();
        byte.is_none_or(|byte| {
            matches!(byte, b' ' | b'\t')
                || first.is_some_and(|first| first.eq_ignore_ascii_case(byte))
        })
    }

    /// A `<` with something behind it that no tag's name begins with.
    fn special(&mut self, input: Input<'_>, at: usize) -> Seen<Found> {
        let bytes = input.bytes();
        let section = match bytes.get(skip_blanks(bytes, at + 1)) {
            None => return Seen::Unclear,
            Some(b'/') => {
                return close_tag(bytes, at, self.kind.name()).map(|next| Found::End(at, next));
            }
            Some(b'|') => {
                return match unquoted(input, at) {
                    Seen::Yes((TamMark::Request, next)) => Seen::Yes(Found::Request(next)),
                    Seen::Yes((TamMark::End, _)) | Seen::No => Seen::No,
                    Seen::Unclear => Seen::Unclear,
                };
            }
            Some(b'!') => match exactly(bytes, at, b"<![CDATA[") {
                Seen::No => exactly(bytes, at, b"<!--").map(|next| (Inside::Comment, next)),
                seen => seen.map(|next| (Inside::Cdata, next)),
            },
            Some(_) => return Seen::No,
        };
        section.map(|(inside, next)| {
            self.inside = inside;
            self.opened = at;
            self.probe = next;
            Found::On
        })
    }

    /// To the end of a CDATA section or comment.
    fn skip(&mut self, input: Input<'_>, cursor: &mut Cursor, finder: &Finder<'_>) -> Found {
        match cursor.next(input, self.probe, finder) {
            Some(at) => {
                self.probe = at + finder.needle().len();
                self.inside = Inside::Markup;
                Found::On
            }
            None => {
                self.probe = self.probe.max(cursor.frontier());
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
                next: self.tag.end,
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
        if self.begins_with_words(body) {
            return XmlStep::Prose {
                next: self.tag.end,
                unclosed: true,
            };
        }
        let json = json_length(body);
        let end = self.tag.end + json.unwrap_or(body.len());
        let mut step = self.done(end, end, false);
        if let XmlStep::Done { raw, .. } = &mut step {
            raw.whole_json = json.is_some();
        }
        step
    }

    /// Up to where the text surely belongs to the block.
    pub(super) fn certain_end(&self) -> usize {
        self.other_block.unwrap_or(self.probe).min(self.probe)
    }

    /// The same tag came again before anything closed this one, which says nothing about later ones.
    pub(super) fn met_again(&self) -> bool {
        self.again
    }

    /// No call is meant where words follow the tag instead of a tag or JSON.
    fn begins_with_words(&self, body: &str) -> bool {
        let has_name = self.kind == XmlKind::ToolCall && self.has_attributes;
        let first = body.trim_start().chars().next();
        !has_name && first.is_some_and(|first| first != '<' && first != '{')
    }

    fn done(&self, body_end: usize, next: usize, closed: bool) -> XmlStep {
        XmlStep::Done {
            raw: RawXml {
                kind: self.kind,
                tag: self.tag,
                body_end,
                closed,
                whole_json: false,
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
    /// The beginning of a TAM block, up to here.
    Request(usize),
    /// A block begins that ends this one.
    Another,
    /// The same tag once more, after nothing but words.
    Again,
    Exhausted,
}

/// Whether a `<` and a blank may still become a mark.
fn may_follow_blank(byte: Option<&u8>) -> bool {
    matches!(byte, None | Some(b'/' | b'|' | b' ' | b'\t'))
}

fn may_begin_name(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii()
}

/// Whether the `<` at `at` can begin a tag; otherwise it is a less-than sign that was not escaped.
pub(super) fn begins_tag(bytes: &[u8], at: usize) -> bool {
    match tag_begins(bytes, at) {
        Seen::Yes(()) => true,
        Seen::No => false,
        // A `<` at the very end is a tag that was cut off.
        Seen::Unclear => bytes.len() == at + 1,
    }
}

/// The same while the text may go on.
pub(super) fn tag_begins(bytes: &[u8], at: usize) -> Seen<()> {
    const LONGEST: usize = 128;
    let begins = match bytes.get(at + 1) {
        None => return Seen::Unclear,
        Some(b'/' | b'?' | b'_' | b':') => true,
        Some(b'!') => match bytes.get(at + 2) {
            None => return Seen::Unclear,
            Some(byte) => matches!(byte, b'-' | b'[' | b'D' | b'd'),
        },
        Some(byte) if byte.is_ascii_digit() => {
            // `<3d_render>` is a tag, `a <5 b` is not.
            let rest = bytes.get(at + 1..).unwrap_or_default();
            let name = rest
                .iter()
                .take(LONGEST)
                .take_while(|byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')
                })
                .count();
            if name == rest.len() && name < LONGEST {
                return Seen::Unclear;
            }
            matches!(rest.get(name), Some(b'>' | b'/'))
        }
        Some(byte) => byte.is_ascii_alphabetic() || !byte.is_ascii(),
    };
    if begins { Seen::Yes(()) } else { Seen::No }
}
