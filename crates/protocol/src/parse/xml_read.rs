//! Reads XML into elements, through `quick-xml`, with messages a model can act on.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::notes::{Notes, quote};
use super::xml_block::begins_tag;
use super::xml_tree::{Element, unescaped};
use crate::limits::{MAX_DEPTH, MAX_ELEMENTS};
use crate::{Code, Span};

/// What is wrong, and where in the text.
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) at: usize,
    pub(super) what: Cow<'static, str>,
}

/// The elements of a body that begins at `offset` of the whole text, and its comments.
pub(super) struct Body<'t> {
    pub(super) elements: Vec<Element<'t>>,
    pub(super) comments: Vec<Cow<'t, str>>,
    /// Words directly in the block, outside any element.
    pub(super) stray: Option<Span>,
}

pub(super) fn read<'t>(
    body: &'t str,
    offset: usize,
    literal_less: bool,
    notes: &mut Notes,
) -> Result<Body<'t>, Fault> {
    if !literal_less {
        return Builder::new(body, offset).run(notes);
    }
    let (escaped, shifts) = escape_less(body);
    notes.add(
        Code::UnescapedCharacter,
        Span::new(offset, offset + body.len()),
        "A < that begins no tag was taken literally; write &lt; or put the value into <![CDATA[…]]>.",
    );
    let place = |at: usize| offset + original(&shifts, at - offset);
    match Builder::new(&escaped, offset).run(notes) {
        Ok(body) => Ok(Body {
            elements: body
                .elements
                .into_iter()
                .map(|element| element.into_owned(&place))
                .collect(),
            comments: body
                .comments
                .into_iter()
                .map(|comment| Cow::Owned(comment.into_owned()))
                .collect(),
            stray: body
                .stray
                .map(|span| Span::new(place(span.start), place(span.end))),
        }),
        Err(fault) => Err(Fault {
            at: place(fault.at),
            ..fault
        }),
    }
}

/// A copy in which every `<` that begins no tag is `&lt;`, and where those stand in the copy.
fn escape_less(body: &str) -> (String, Vec<usize>) {
    let bytes = body.as_bytes();
    let mut out = String::with_capacity(body.len() + 64);
    let mut shifts = Vec::new();
    let mut copied = 0;
    let mut from = 0;
    while let Some(at) = bytes
        .get(from..)
        .and_then(|rest| memchr::memchr(b'<', rest))
        .map(|o| from + o)
    {
        let rest = body.get(at..).unwrap_or_default();
        from = at + 1;
        let section = [("<![CDATA[", "]]>"), ("<!--", "-->")]
            .into_iter()
            .find(|(open, _)| rest.starts_with(open));
        if let Some((_, close)) = section {
            from = rest
                .find(close)
                .map_or(body.len(), |end| at + end + close.len());
        } else if !begins_tag(bytes, at) {
            out.push_str(body.get(copied..at).unwrap_or_default());
            shifts.push(out.len());
            out.push_str("&lt;");
            copied = at + 1;
        }
    }
    out.push_str(body.get(copied..).unwrap_or_default());
    (out, shifts)
}

/// The place in the original of a place in the copy: each `&lt;` before it made the copy three bytes longer.
fn original(shifts: &[usize], at: usize) -> usize {
    let before = shifts.partition_point(|&shift| shift < at);
    let inside = before
        .checked_sub(1)
        .and_then(|last| shifts.get(last))
        .map_or(0, |&last| 4usize.saturating_sub(at - last));
    (at + inside).saturating_sub(3 * before)
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
    fn new(body: &'t str, offset: usize) -> Self {
        Self {
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
    }

    fn run(mut self, notes: &mut Notes) -> Result<Body<'t>, Fault> {
        let mut reader = Reader::from_str(self.body);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        loop {
            let start = position(&reader);
            let event = reader.read_event();
            let end = position(&reader);
            match event {
                Ok(Event::Start(tag)) => self.start(&tag, start, end, notes)?,
                Ok(Event::Empty(tag)) => {
                    self.start(&tag, start, end, notes)?;
                    self.close(end, end);
                }
                Ok(Event::End(_)) => self.end(start, end)?,
                Ok(Event::Text(_)) => {
                    let text = self.slice(start, end);
                    if text.starts_with('&') {
                        self.note_ampersand(start, notes);
                    }
                    self.text(Cow::Borrowed(text), start, end);
                }
                Ok(Event::CData(_)) => {
                    let text =
                        self.slice(start + "<![CDATA[".len(), end.saturating_sub("]]>".len()));
                    self.cdata(text, start, end);
                }
                Ok(Event::GeneralRef(reference)) => self.reference(&reference, start, end, notes),
                Ok(Event::Comment(_)) => {
                    let text = self.slice(start + "<!--".len(), end.saturating_sub("-->".len()));
                    self.out.comments.push(Cow::Borrowed(text.trim()));
                }
                // At the top these are a document's preamble; within a value they are somebody's PHP or HTML.
                Ok(Event::Decl(_) | Event::PI(_) | Event::DocType(_)) => {
                    if !self.open.is_empty() {
                        self.text(Cow::Borrowed(self.slice(start, end)), start, end);
                    }
                }
                Ok(Event::Eof) => return self.finish(),
                Err(error) => return Err(self.syntax(&error, start)),
            }
        }
    }

    fn slice(&self, start: usize, end: usize) -> &'t str {
        self.body.get(start..end).unwrap_or_default()
    }

    fn fault(&self, code: Code, at: usize, what: impl Into<Cow<'static, str>>) -> Fault {
        Fault {
            code,
            at: self.offset + at,
            what: what.into(),
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
        for attribute in tag.attributes().with_checks(false) {
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
            Some(open) if open.element.name == name => {}
            Some(open) => {
                let expected = open.element.name.to_string();
                let (line, column) = line_column(self.body, open.element.span.start - self.offset);
                return Err(self.fault(
                    Code::MalformedXml,
                    start,
                    format!(
                        "expected </{}> (opened {line} line(s) into the block, column {column}), found </{}>",
                        quote(&expected),
                        quote(name)
                    ),
                ));
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

    fn reference(&mut self, reference: &BytesRef<'_>, start: usize, end: usize, notes: &mut Notes) {
        let raw = self.slice(start, end);
        let name = raw.trim_start_matches('&').trim_end_matches(';');
        let decoded = match reference.resolve_char_ref() {
            Ok(Some(c)) => Some(Cow::Owned(c.to_string())),
            _ => quick_xml::escape::resolve_xml_entity(name).map(Cow::Borrowed),
        };
        let text = decoded.unwrap_or_else(|| {
            self.note_ampersand(start, notes);
            Cow::Borrowed(raw)
        });
        self.text(text, start, end);
    }

    fn note_ampersand(&self, at: usize, notes: &mut Notes) {
        notes.add(
            Code::UnescapedCharacter,
            self.span(at, at + 1),
            "An & that begins no known entity was taken literally; write &amp; or put the value into <![CDATA[…]]>.",
        );
    }

    fn finish(self) -> Result<Body<'t>, Fault> {
        match self.open.last() {
            Some(open) => {
                let name = quote(&open.element.name);
                Err(self.fault(
                    Code::MalformedXml,
                    self.body.len(),
                    format!("expected </{name}>, found the end of the block"),
                ))
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

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// Line and column of a place, both counted from 1, the column in characters.
pub(super) fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at.min(text.len())).unwrap_or(text);
    let line = memchr::memchr_iter(b'\n', before.as_bytes()).count() + 1;
    let last = before.rsplit('\n').next().unwrap_or_default();
    (line, last.chars().count() + 1)
}
