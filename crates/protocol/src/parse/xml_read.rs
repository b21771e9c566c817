//! Reads XML into elements, through `quick-xml`, with messages a model can act on.

use std::borrow::Cow;

use memchr::memmem::Finder;
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::marks::{FINDERS, next_byte, next_less};
use super::notes::{Notes, quote};
use super::xml_block::begins_tag;
use super::xml_tree::{Element, unescaped};
use crate::limits::{MAX_ATTRIBUTES, MAX_COMMENTS, MAX_DEPTH, MAX_ELEMENTS};
use crate::{Code, Span};

const CDATA: &str = "<![CDATA[";
const CDATA_END: &str = "]]>";
const COMMENT: &str = "<!--";
const COMMENT_END: &str = "-->";

/// What is wrong, and where in the text.
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) at: usize,
    pub(super) what: Cow<'static, str>,
    /// Where the element was opened that is not closed.
    pub(super) opened: Option<usize>,
}

/// The elements of a body that begins at `offset` of the whole text, and its comments.
pub(super) struct Body<'t> {
    pub(super) elements: Vec<Element<'t>>,
    pub(super) comments: Vec<Cow<'t, str>>,
    /// Words directly in the block, outside any element.
    pub(super) stray: Option<Span>,
}

pub(super) fn read<'t>(body: &'t str, offset: usize, notes: &mut Notes) -> Result<Body<'t>, Fault> {
    Builder {
        body,
        offset,
        open: Vec::new(),
        out: Body {
            elements: Vec::new(),
            comments: Vec::new(),
            stray: None,
        },
        count: 0,
    }
    .run(notes)
}

struct Open<'t> {
    element: Element<'t>,
    /// Where the inner XML begins, in the body.
    inner: usize,
    /// How many pieces the text was put together from; one is borrowed as it is.
    pieces: usize,
    /// White space behind a CDATA section: kept only if something follows.
    layout: Cow<'t, str>,
}

struct Builder<'t> {
    body: &'t str,
    offset: usize,
    open: Vec<Open<'t>>,
    out: Body<'t>,
    count: usize,
}

impl<'t> Builder<'t> {
    /// Tags with what is in them go through `quick-xml`. Closing tags, text, comments and CDATA are taken here:
    /// `quick-xml` would check them for UTF-8 once more, cut text at every `&`, and refuse a `<` that is only a
    /// less-than sign.
    fn run(mut self, notes: &mut Notes) -> Result<Body<'t>, Fault> {
        let mut at = 0;
        while at < self.body.len() {
            at = if let Some(end) = self.cdata_end(at) {
                let text = self.slice(at + CDATA.len(), end - CDATA_END.len());
                self.cdata(text, at, end);
                end
            } else if let Some(end) = self.comment_end(at) {
                let text = self.slice(at + COMMENT.len(), end - COMMENT_END.len());
                if self.out.comments.len() < MAX_COMMENTS {
                    self.out.comments.push(Cow::Borrowed(text.trim()));
                }
                end
            } else if let Some(end) = self.end_tag(at) {
                self.end(at, end)?;
                end
            } else if self.is_markup(at) {
                self.markup(at, notes)?
            } else {
                let end = self.text_end(at, notes);
                let text = self.decoded(at, end, notes);
                self.text(text, at, end);
                end
            };
        }
        self.finish()
    }

    /// Where the closing tag at `at` ends, if one stands there.
    fn end_tag(&self, at: usize) -> Option<usize> {
        let rest = self.body.as_bytes().get(at..)?;
        if !rest.starts_with(b"</") {
            return None;
        }
        next_byte(rest, 2, b'>').map(|offset| at + offset + 1)
    }

    fn is_markup(&self, at: usize) -> bool {
        self.body.as_bytes().get(at) == Some(&b'<') && begins_tag(self.body.as_bytes(), at)
    }

    /// One tag, comment, instruction or declaration; where it ends.
    fn markup(&mut self, start: usize, notes: &mut Notes) -> Result<usize, Fault> {
        let mut reader = Reader::from_str(self.slice(start, self.body.len()));
        reader.config_mut().check_end_names = false;
        let event = reader.read_event();
        let end = start + usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        match event {
            Ok(Event::Start(tag)) => self.start(&tag, start, end, notes)?,
            Ok(Event::Empty(tag)) => {
                self.start(&tag, start, end, notes)?;
                self.close(end, end);
            }
            // At the top these are a document's preamble; within a value they are somebody's PHP or HTML.
            Ok(Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {
                if !self.open.is_empty() {
                    self.text(Cow::Borrowed(self.slice(start, end)), start, end);
                }
            }
            Ok(_) => {
                return Err(self.fault(Code::MalformedXml, start, "expected a tag"));
            }
            Err(error) => return Err(self.syntax(&error, start)),
        }
        Ok(end)
    }

    /// Where the text that begins at `from` ends: at the next `<` that begins a tag.
    fn text_end(&self, from: usize, notes: &mut Notes) -> usize {
        let bytes = self.body.as_bytes();
        let mut at = from;
        while let Some(less) = next_less(bytes, at) {
            at = less;
            if begins_tag(bytes, at) {
                return at;
            }
            self.note_unescaped(at, notes);
            at += 1;
        }
        bytes.len()
    }

    /// Text with its entities resolved.
    fn decoded(&self, start: usize, end: usize, notes: &mut Notes) -> Cow<'t, str> {
        let text = self.slice(start, end);
        let mut out = String::new();
        let mut copied = 0;
        let mut at = 0;
        while let Some(amp) = next_byte(text.as_bytes(), at, b'&') {
            at = amp + 1;
            match text.get(amp..).and_then(entity) {
                Some((c, length)) => {
                    out.push_str(text.get(copied..amp).unwrap_or_default());
                    out.push(c);
                    at = amp + length;
                    copied = at;
                }
                None => self.note_unescaped(start + amp, notes),
            }
        }
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(copied..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Where the CDATA section that begins at `start` ends, if it is whole.
    fn cdata_end(&self, start: usize) -> Option<usize> {
        self.section_end(start, CDATA, &FINDERS.cdata_end)
    }

    fn comment_end(&self, start: usize) -> Option<usize> {
        self.section_end(start, COMMENT, &FINDERS.comment_end)
    }

    fn section_end(&self, start: usize, open: &str, close: &Finder<'_>) -> Option<usize> {
        let rest = self.body.get(start..)?.strip_prefix(open)?;
        let end = close.find(rest.as_bytes())?;
        Some(start + open.len() + end + close.needle().len())
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.body.get(start..end).unwrap_or_default()
    }

    fn fault(&self, code: Code, at: usize, what: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            code,
            at: self.offset + at,
            what: what.into(),
            opened: None,
        }
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.offset + start, self.offset + end)
    }

    fn start(
        &mut self,
        tag: &BytesStart<'_>,
        start: usize,
        end: usize,
        notes: &mut Notes,
    ) -> Result<(), Fault> {
        if self.open.len() > MAX_DEPTH {
            return Err(self.fault(
                Code::NestingTooDeep,
                start,
                format!("elements are nested more than {MAX_DEPTH} deep"),
            ));
        }
        self.count += 1;
        if self.count > MAX_ELEMENTS {
            return Err(self.fault(
                Code::TooManyParameters,
                start,
                format!("there are more than {MAX_ELEMENTS} elements"),
            ));
        }
        // The name is taken from the body, which lives longer than the event.
        let inside = self.slice(start + 1, end.saturating_sub(1)).trim_start();
        let inside = inside.strip_suffix('/').unwrap_or(inside);
        let name = inside
            .split(|c: char| c.is_ascii_whitespace())
            .next()
            .unwrap_or_default();
        if name.is_empty() {
            return Err(self.fault(Code::MalformedXml, start, "expected a tag name after <"));
        }
        let name = name.trim_matches('`');
        let mut attributes = Vec::new();
        for attribute in tag.attributes().with_checks(false).take(MAX_ATTRIBUTES + 1) {
            if attributes.len() == MAX_ATTRIBUTES {
                return Err(self.fault(
                    Code::TooManyParameters,
                    start,
                    format!("a tag has more than {MAX_ATTRIBUTES} attributes"),
                ));
            }
            let Ok(attribute) = attribute else {
                notes.add_with(Code::IgnoredAttribute, self.span(start, end), || {
                    format!(
                        "An attribute of <{}> cannot be read and was left out.",
                        quote(name)
                    )
                });
                continue;
            };
            let key = attribute.key.as_ref().to_owned();
            attributes.push((Cow::Owned(key), Cow::Owned(unescaped(&attribute.value))));
        }
        self.open.push(Open {
            element: Element {
                name: Cow::Borrowed(name),
                attributes,
                children: Vec::new(),
                text: Cow::Borrowed(""),
                has_cdata: false,
                has_words: false,
                inner: Cow::Borrowed(""),
                span: self.span(start, end),
            },
            inner: end,
            pieces: 0,
            layout: Cow::Borrowed(""),
        });
        Ok(())
    }

    fn end(&mut self, start: usize, end: usize) -> Result<(), Fault> {
        let name = self
            .slice(start + 2, end.saturating_sub(1))
            .trim()
            .trim_matches('`');
        match self.open.last() {
            // `<parameter=city>` is closed by `</parameter>`.
            Some(open)
                if open.element.name == name
                    || open
                        .element
                        .name
                        .split_once('=')
                        .is_some_and(|(kind, _)| kind == name) => {}
            Some(open) => {
                let what = format!(
                    "expected </{}>, found </{}>",
                    quote(&open.element.name),
                    quote(name)
                );
                return Err(Fault {
                    opened: Some(open.element.span.start),
                    ..self.fault(Code::MalformedXml, start, what)
                });
            }
            None => {
                return Err(self.fault(
                    Code::MalformedXml,
                    start,
                    format!("</{}> closes nothing that is open", quote(name)),
                ));
            }
        }
        self.close(start, end);
        Ok(())
    }

    fn close(&mut self, inner_end: usize, end: usize) {
        let Some(open) = self.open.pop() else { return };
        let mut element = open.element;
        element.inner = Cow::Borrowed(self.slice(open.inner, inner_end));
        element.span.end = self.offset + end;
        match self.open.last_mut() {
            Some(parent) => parent.element.children.push(element),
            None => self.out.elements.push(element),
        }
    }

    fn text(&mut self, text: Cow<'t, str>, start: usize, end: usize) {
        let words = !text.trim().is_empty();
        let span = self.span(start, end);
        match self.open.last_mut() {
            Some(open) if open.element.has_cdata && !words => open.layout.to_mut().push_str(&text),
            Some(open) => {
                open.element.has_words |= words;
                open.append(text);
            }
            None if words => {
                self.out.stray.get_or_insert(span);
            }
            None => {}
        }
    }

    fn cdata(&mut self, text: &'t str, start: usize, end: usize) {
        let span = self.span(start, end);
        let Some(open) = self.open.last_mut() else {
            if !text.trim().is_empty() {
                self.out.stray.get_or_insert(span);
            }
            return;
        };
        // White space before the first section is layout.
        if !open.element.has_cdata && !open.element.has_words {
            open.element.text = Cow::Borrowed("");
            open.pieces = 0;
        }
        open.element.has_cdata = true;
        open.append(Cow::Borrowed(text));
    }

    fn note_unescaped(&self, at: usize, notes: &mut Notes) {
        notes.add(
            Code::UnescapedCharacter,
            self.span(at, at + 1),
            "A < or & that begins no tag and no entity was taken literally; write &lt; or &amp;, or put the \
             value into <![CDATA[…]]>.",
        );
    }

    fn finish(self) -> Result<Body<'t>, Fault> {
        match self.open.last() {
            Some(open) => {
                let what = format!(
                    "expected </{}>, found the end of the block",
                    quote(&open.element.name)
                );
                Err(Fault {
                    opened: Some(open.element.span.start),
                    ..self.fault(Code::MalformedXml, self.body.len(), what)
                })
            }
            None => Ok(self.out),
        }
    }

    fn syntax(&self, error: &quick_xml::Error, start: usize) -> Fault {
        use quick_xml::errors::SyntaxError::{
            InvalidBangMarkup, UnclosedCData, UnclosedComment, UnclosedDoctype,
            UnclosedDoubleQuotedAttributeValue, UnclosedPI, UnclosedSingleQuotedAttributeValue,
            UnclosedTag, UnclosedXmlDecl,
        };
        let what = match error {
            quick_xml::Error::Syntax(syntax) => match syntax {
                UnclosedCData => {
                    "expected ]]> to end the CDATA section, found the end of the block"
                }
                UnclosedComment => "expected --> to end the comment, found the end of the block",
                UnclosedTag => "expected > to end the tag, found the end of the block",
                UnclosedPI | UnclosedXmlDecl => "expected ?>, found the end of the block",
                UnclosedDoctype => {
                    "expected > to end the document type, found the end of the block"
                }
                UnclosedSingleQuotedAttributeValue | UnclosedDoubleQuotedAttributeValue => {
                    "expected the closing quote of an attribute, found the end of the block"
                }
                InvalidBangMarkup => "expected <![CDATA[ or <!-- after <!",
            },
            _ => return self.fault(Code::MalformedXml, start, error.to_string()),
        };
        self.fault(Code::MalformedXml, start, what)
    }
}

impl<'t> Open<'t> {
    fn append(&mut self, text: Cow<'t, str>) {
        if text.is_empty() {
            return;
        }
        let layout = std::mem::take(&mut self.layout);
        if !layout.is_empty() {
            self.element.text.to_mut().push_str(&layout);
        }
        self.pieces += 1;
        if self.pieces == 1 {
            self.element.text = text;
        } else {
            self.element.text.to_mut().push_str(&text);
        }
    }
}

/// The character that an entity at the beginning of the text stands for, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    const LONGEST: usize = 12;
    if !matches!(text.as_bytes().get(1), Some(b'#' | b'a'..=b'z')) {
        return None;
    }
    let length = text
        .bytes()
        .skip(1)
        .take(LONGEST)
        .take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'#')
        .count();
    if text.as_bytes().get(length + 1) != Some(&b';') {
        return None;
    }
    let name = text.get(1..=length)?;
    let c = match name {
        "lt" => '<',
        "gt" => '>',
        "amp" => '&',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            char::from_u32(code).filter(|&c| c != '\0')?
        }
    };
    Some((c, length + 2))
}

/// Line and column of a place, both counted from 1, the column in characters.
pub(super) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
    (line, column_of(text, at))
}

/// The column of a place, in characters.
pub(super) fn column_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    let line = memchr::memrchr(b'\n', before.as_bytes()).map_or(0, |newline| newline + 1);
    before.get(line..).unwrap_or_default().chars().count() + 1
}
