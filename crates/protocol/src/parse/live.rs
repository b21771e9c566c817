//! What can be told of a call that is still being written.

use memchr::{memchr, memmem};

use super::marks::{Family, Seen};
use super::stream::StreamEvent;
use super::tam_line::{Shape, belongs_to_key, is_blank};
use super::tam_value::{RawField, ValueScan};
use super::xml_block::{XmlKind, XmlScan, tag_begins};
use crate::key::{normalise, split_number};
use crate::limits::MAX_HELD_LINE;

type Tell<'f> = dyn FnMut(StreamEvent<'_>) + 'f;

/// A TAM block in progress.
#[derive(Debug)]
pub(super) struct TamLive {
    block: usize,
    fields: usize,
    /// Values have been told up to here.
    told: usize,
    /// The line that begins here cannot become a key's any more.
    plain_line: usize,
    pub(super) started: Vec<u32>,
}

impl TamLive {
    pub(super) fn new(block: usize) -> Self {
        Self {
            block,
            fields: 0,
            told: 0,
            plain_line: 0,
            started: Vec::new(),
        }
    }

    /// Fields that have been read to their end.
    pub(super) fn fields(&mut self, text: &str, fields: &[RawField], on: &mut Tell<'_>) {
        for field in fields.get(self.fields..).unwrap_or_default() {
            self.fields += 1;
            let key = normalise(field.key.of(text));
            if let Some(step) = command_step(&key) {
                if !self.started.contains(&step) {
                    self.started.push(step);
                    let tool = field.value.of(text).trim();
                    on(StreamEvent::CallStarted {
                        block: self.block,
                        step,
                        tool,
                    });
                }
                continue;
            }
            self.tell(text, &key, field.value.start, field.value.end, on);
        }
    }

    /// The value that is being written.
    pub(super) fn value(
        &mut self,
        text: &str,
        value: &ValueScan,
        frontier: usize,
        on: &mut Tell<'_>,
    ) {
        let key = normalise(value.key.of(text));
        if command_step(&key).is_some() {
            return;
        }
        let end = value
            .certain_end()
            .min(self.undecided_from(text, value, frontier));
        self.tell(text, &key, value.start, end, on);
    }

    fn tell(&mut self, text: &str, key: &str, start: usize, end: usize, on: &mut Tell<'_>) {
        let start = start.max(self.told);
        if matches!(key, "request_id" | "comment") {
            return;
        }
        if let Some(piece) = text.get(start..end)
            && !piece.is_empty()
        {
            on(StreamEvent::ArgumentDelta {
                block: self.block,
                key,
                text: piece,
            });
            self.told = end;
        }
    }

    /// Where the end of the text so far may be the beginning of a mark, or of the next key's line.
    fn undecided_from(&mut self, text: &str, value: &ValueScan, frontier: usize) -> usize {
        let mut from = frontier.min(text.len());
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let window = from.saturating_sub(MAX_HELD_LINE).max(value.start);
        let bytes = text.as_bytes();
        let newline = memchr::memrchr(b'\n', bytes.get(window..from).unwrap_or_default());
        let Some(line) = newline.map(|newline| window + newline + 1) else {
            return from;
        };
        if line == self.plain_line {
            return from;
        }
        let rest = text.get(line..).unwrap_or_default();
        let end = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        if may_become_key(rest.get(..end).unwrap_or_default()) {
            return line;
        }
        self.plain_line = line;
        from
    }
}

/// The step that a key names the tool of.
fn command_step(key: &str) -> Option<u32> {
    match split_number(key) {
        Some(("command", number)) => Some(number),
        _ => (key == "command").then_some(1),
    }
}

/// Whether a line may go on to be `key:OPEN`.
fn may_become_key(line: &str) -> bool {
    let rest = line.trim_start_matches(|c| belongs_to_key(c, Shape::Strict));
    let rest = rest
        .strip_prefix([':', '：'])
        .unwrap_or(rest)
        .trim_start_matches(is_blank);
    Family::ALL
        .map(Family::open)
        .iter()
        .any(|open| open.starts_with(rest) || rest.starts_with(open))
}

/// An `<ACTION>` or `<tool_call>` block in progress.
#[derive(Debug)]
pub(super) struct XmlLive {
    block: usize,
    kind: XmlKind,
    at: usize,
    /// The tag or comment at `at` does not end before this place.
    searched: usize,
    depth: usize,
    calls: u32,
    parameter: String,
    cdata: bool,
    /// Nothing is told of a JSON body, or of one that does not begin with a tag.
    silent: bool,
    decided: bool,
    pub(super) started: Vec<u32>,
    name: Option<String>,
}

impl XmlLive {
    pub(super) fn new(block: usize, scan: &XmlScan, text: &str) -> Self {
        let attributes = text
            .get(scan.tag.attributes..scan.tag.end)
            .unwrap_or_default();
        let name = super::tool_call::attribute(attributes, "name").map(|name| name.into_owned());
        Self {
            block,
            kind: scan.kind,
            at: scan.tag.end,
            searched: 0,
            depth: 0,
            calls: 0,
            parameter: String::new(),
            cdata: false,
            silent: false,
            decided: false,
            started: Vec::new(),
            name: name.filter(|name| scan.kind == XmlKind::ToolCall && !name.trim().is_empty()),
        }
    }

    /// Tells what stands before `limit`, as far as it is whole.
    pub(super) fn advance(&mut self, text: &str, limit: usize, on: &mut Tell<'_>) {
        if !self.decided {
            let Some(first) = text
                .get(self.at..limit)
                .and_then(|body| body.trim_start().chars().next())
            else {
                return;
            };
            self.decided = true;
            self.silent = first != '<' || (self.kind == XmlKind::ToolCall && self.name.is_none());
            if let Some(name) = self.name.clone().filter(|_| !self.silent) {
                self.start(&name, on);
            }
        }
        while !self.silent && self.at < limit && self.token(text, limit, on) {}
    }

    fn start(&mut self, tool: &str, on: &mut Tell<'_>) {
        self.calls += 1;
        self.started.push(self.calls);
        on(StreamEvent::CallStarted {
            block: self.block,
            step: self.calls,
            tool,
        });
    }

    /// One piece of markup or text; `false` when more is needed.
    fn token(&mut self, text: &str, limit: usize, on: &mut Tell<'_>) -> bool {
        let Some(rest) = text.get(self.at..limit) else {
            return false;
        };
        if self.cdata {
            let end = memmem::find(rest.as_bytes(), b"]]>");
            // Two brackets at the end may be half of the closing mark.
            let open = rest
                .strip_suffix("]]")
                .or_else(|| rest.strip_suffix(']'))
                .unwrap_or(rest);
            let length = end.unwrap_or(open.len());
            self.tell(rest.get(..length).unwrap_or_default(), on);
            self.at += length + if end.is_some() { 3 } else { 0 };
            self.cdata = end.is_none();
            return end.is_some();
        }
        let markup = memchr(b'<', rest.as_bytes());
        if markup != Some(0) {
            let length = markup.unwrap_or_else(|| whole_references(rest));
            let piece = rest.get(..length).unwrap_or_default();
            let decoded = quick_xml::escape::unescape(piece).unwrap_or(piece.into());
            self.tell(&decoded, on);
            self.at += length;
            return markup.is_some();
        }
        if rest.starts_with("<![CDATA[") {
            self.cdata = true;
            self.at += "<![CDATA[".len();
            return true;
        }
        match tag_begins(text.as_bytes(), self.at) {
            Seen::Yes(()) => {}
            Seen::Unclear => return false,
            Seen::No => {
                self.tell("<", on);
                self.at += 1;
                return true;
            }
        }
        let close = if rest.starts_with("<!--") { "-->" } else { ">" };
        let from = self.searched.max(self.at);
        let found = memmem::find(
            text.as_bytes().get(from..).unwrap_or_default(),
            close.as_bytes(),
        );
        let Some(end) = found.map(|offset| from + offset + close.len()) else {
            self.searched = (text.len() + 1).saturating_sub(close.len()).max(self.at);
            return false;
        };
        let tag = text.get(self.at..end).unwrap_or_default();
        self.at = end;
        if close == ">" {
            self.tag(tag, on);
        }
        true
    }

    fn tag(&mut self, tag: &str, on: &mut Tell<'_>) {
        let inside = tag.trim_start_matches('<').trim_end_matches('>');
        if inside.starts_with(['!', '?']) {
            return;
        }
        let call_depth = usize::from(self.kind == XmlKind::Action);
        if inside.starts_with('/') {
            self.depth = self.depth.saturating_sub(1);
            if self.depth > call_depth {
                self.tell(tag, on);
            }
            return;
        }
        let empty = inside.ends_with('/');
        let name = inside
            .trim_end_matches('/')
            .split(|c: char| c.is_ascii_whitespace())
            .next()
            .unwrap_or_default();
        if self.depth == 0 && self.kind == XmlKind::Action {
            self.start(name, on);
        } else if self.depth == call_depth {
            let attributes = inside.get(name.len()..).unwrap_or_default();
            self.parameter = match self.kind {
                XmlKind::Action => name.to_owned(),
                XmlKind::ToolCall => super::tool_call::attribute(attributes, "name")
                    .map_or(name.to_owned(), |name| name.into_owned()),
            };
        } else {
            self.tell(tag, on);
        }
        self.depth += usize::from(!empty);
    }

    fn tell(&self, text: &str, on: &mut Tell<'_>) {
        let within = usize::from(self.kind == XmlKind::Action);
        if self.depth > within && !text.is_empty() {
            on(StreamEvent::ArgumentDelta {
                block: self.block,
                key: &self.parameter,
                text,
            });
        }
    }
}

/// How much of a text surely holds no half of an entity.
fn whole_references(text: &str) -> usize {
    const LONGEST: usize = 12;
    let window = text.len().saturating_sub(LONGEST);
    match memchr::memrchr(b'&', text.as_bytes()) {
        Some(at) if at >= window && !text.get(at..).unwrap_or_default().contains(';') => at,
        _ => text.len(),
    }
}
