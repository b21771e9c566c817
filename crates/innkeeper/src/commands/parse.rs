//! `innkeeper parse`: a model's reply in, the calls in it out, as JSON.
//!
//! Owns reading, bounding and printing. What a text means is the protocol crate's business; whatever it is,
//! there is a result. Only input that cannot be read as text fails.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use innkeeper_protocol::{Dialect, Reply, parse_response, parse_with};
use serde::Serialize;
use serde_json::ser::Formatter;

use crate::cli::{Global, ParseArgs};
use crate::failure::{Failure, JsonKind, LineProblem, Place};
use crate::limits::{MAX_LINE_BYTES, MAX_REPLY_BYTES};

/// Where the text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    File(PathBuf),
    Stdin,
}

impl Source {
    /// Waiting for a person to type is right only where they asked for it with `-`.
    pub(crate) fn of(file: Option<&Path>, stdin_is_terminal: bool) -> Result<Self, Failure> {
        match file {
            Some(path) if path.as_os_str() == "-" => Ok(Self::Stdin),
            Some(path) => Ok(Self::File(path.to_owned())),
            None if stdin_is_terminal => Err(Failure::NoInput),
            None => Ok(Self::Stdin),
        }
    }

    fn place(&self) -> Place {
        match self {
            Self::File(path) => Place::file(path),
            Self::Stdin => Place::Stdin,
        }
    }
}

/// How a result is laid out. Both are the same JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Pretty,
    Compact,
}

impl Layout {
    /// Pretty for a person's eyes, one line for a program.
    pub(crate) fn of(global: &Global, stdout_is_terminal: bool) -> Self {
        if stdout_is_terminal && !global.json {
            Self::Pretty
        } else {
            Self::Compact
        }
    }
}

pub(crate) fn run(
    args: &ParseArgs,
    source: Source,
    layout: Layout,
    stdin: impl Read,
    stdout: impl Write,
) -> Result<(), Failure> {
    let dialect = args.protocol.into();
    let place = source.place();
    match source {
        Source::Stdin => read_and_print(args, stdin, place, dialect, layout, stdout),
        Source::File(path) => {
            let file = open(&path, &place, args)?;
            read_and_print(args, file, place, dialect, layout, stdout)
        }
    }
}

fn read_and_print(
    args: &ParseArgs,
    input: impl Read,
    place: Place,
    dialect: Dialect,
    layout: Layout,
    stdout: impl Write,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(stdout);
    if args.jsonl {
        lines(input, &place, dialect, MAX_LINE_BYTES, &mut out)
    } else {
        let text = whole(input, place, MAX_REPLY_BYTES)?;
        print(&understand(&text, dialect), layout, &mut out)?;
        out.flush().map_err(Failure::writing)
    }
}

/// Opens a file that can be read; a file known to be too large is refused before it is read.
fn open(path: &Path, place: &Place, args: &ParseArgs) -> Result<File, Failure> {
    let file = File::open(path).map_err(|error| Failure::reading(place.clone(), error))?;
    let about = file
        .metadata()
        .map_err(|error| Failure::reading(place.clone(), error))?;
    if about.is_dir() {
        return Err(Failure::IsDirectory(place.clone()));
    }
    if !args.jsonl && about.len() > MAX_REPLY_BYTES {
        return Err(Failure::TooLarge(place.clone(), MAX_REPLY_BYTES));
    }
    Ok(file)
}

/// The whole input as text, if it is no longer than `limit`.
fn whole(input: impl Read, place: Place, limit: u64) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    if let Err(error) = read {
        return Err(Failure::reading(place, error));
    }
    if bytes.len() as u64 > limit {
        return Err(Failure::TooLarge(place, limit));
    }
    match String::from_utf8(bytes) {
        Ok(text) => match first_binary_byte(text.as_bytes()) {
            Some(at) => Err(Failure::NotText(place, at)),
            None => Ok(text),
        },
        Err(error) => Err(Failure::NotText(
            place,
            error.utf8_error().valid_up_to() as u64,
        )),
    }
}

/// Where a file gives itself away as binary although it happens to be valid UTF-8: a stray NUL in a text is
/// none of our business, a text that is mostly control characters is no text.
fn first_binary_byte(bytes: &[u8]) -> Option<u64> {
    const LOOK: usize = 8_192;
    const FEW: usize = 4;
    let head = bytes.get(..LOOK.min(bytes.len()))?;
    let is_binary =
        |byte: &u8| byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b);
    let count = head.iter().filter(|byte| is_binary(byte)).count();
    if count < FEW || count * 10 < head.len() * 3 {
        return None;
    }
    head.iter().position(is_binary).map(|at| at as u64)
}

/// One JSON string per line in, one result per line out; stops at the first line that is none.
///
/// Results go out as soon as no further input is at hand, so that a program can converse line by line.
fn lines(
    input: impl Read,
    place: &Place,
    dialect: Dialect,
    limit: u64,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut input = BufReader::new(input);
    let mut line = Vec::new();
    for number in 1.. {
        if input.buffer().is_empty() {
            out.flush().map_err(Failure::writing)?;
        }
        let outcome = match next_line(&mut input, limit, &mut line) {
            Ok(Some(())) if number == 1 => {
                string_of(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line))
            }
            Ok(Some(())) => string_of(&line),
            Ok(None) => break,
            Err(Unread::TooLong) => Err(LineProblem::TooLong(limit)),
            Err(Unread::Io(error)) => {
                out.flush().map_err(Failure::writing)?;
                return Err(Failure::reading(place.clone(), error));
            }
        };
        match outcome {
            Ok(text) => print(&understand(&text, dialect), Layout::Compact, out)?,
            Err(problem) => {
                out.flush().map_err(Failure::writing)?;
                return Err(Failure::Line(place.clone(), number, problem));
            }
        }
    }
    out.flush().map_err(Failure::writing)
}

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

enum Unread {
    TooLong,
    Io(io::Error),
}

/// Reads the next line without its line end into `line`; `None` at the end of the input.
fn next_line(
    input: &mut impl BufRead,
    limit: u64,
    line: &mut Vec<u8>,
) -> Result<Option<()>, Unread> {
    line.clear();
    // Room for the line end, which the limit does not count.
    let read = input
        .take(limit.saturating_add(2))
        .read_until(b'\n', line)
        .map_err(Unread::Io)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
    }
    if line.len() as u64 > limit {
        return Err(Unread::TooLong);
    }
    Ok(Some(()))
}

fn string_of(line: &[u8]) -> Result<String, LineProblem> {
    let line =
        std::str::from_utf8(line).map_err(|error| LineProblem::NotUtf8(error.valid_up_to()))?;
    let kind = match line.trim_start().bytes().next() {
        Some(b'"') => return serde_json::from_str(line).map_err(LineProblem::NotJson),
        None => return Err(LineProblem::Blank),
        Some(b'{') => JsonKind::Object,
        Some(b'[') => JsonKind::Array,
        Some(b'-' | b'0'..=b'9') => JsonKind::Number,
        Some(_) if matches!(line.trim(), "true" | "false" | "null") => JsonKind::Literal,
        Some(_) => JsonKind::BareText,
    };
    Err(LineProblem::NotAString(kind))
}

/// Keys by which a provider's native response gives itself away.
const NATIVE_KEYS: [&str; 5] = [
    "\"tool_calls\"",
    "\"function_call\"",
    "\"functionCall\"",
    "\"tool_use\"",
    "\"function\"",
];

/// A native response where it is one and any dialect will do; the model's text otherwise.
fn understand(text: &str, dialect: Dialect) -> Reply<'_> {
    if dialect == Dialect::Auto && may_be_native(text) {
        let response = serde_json::from_str(text.trim_matches(is_margin)).ok();
        if let Some(reply) = response.as_ref().and_then(parse_response) {
            return reply;
        }
    }
    parse_with(text, dialect)
}

fn may_be_native(text: &str) -> bool {
    text.trim_start_matches(is_margin).starts_with(['{', '['])
        && NATIVE_KEYS.iter().any(|key| text.contains(key))
}

/// Blanks, and the byte order mark some editors put first.
fn is_margin(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

/// One result and a line break.
fn print(result: &impl Serialize, layout: Layout, out: &mut impl Write) -> Result<(), Failure> {
    match layout {
        Layout::Pretty => serde_json::to_writer_pretty(&mut *out, result),
        Layout::Compact => result.serialize(&mut serde_json::Serializer::with_formatter(
            &mut *out, OneLine,
        )),
    }
    .map_err(io::Error::from)
    .and_then(|()| out.write_all(b"\n"))
    .map_err(Failure::writing)
}

/// Compact JSON in which a line ends only where the result ends, whatever a reader takes for a line end.
struct OneLine;

impl Formatter for OneLine {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(at) = rest.find(['\u{85}', '\u{2028}', '\u{2029}']) {
            let (before, after) = rest.split_at(at);
            writer.write_all(before.as_bytes())?;
            let mut chars = after.chars();
            if let Some(c) = chars.next() {
                write!(writer, "\\u{:04x}", u32::from(c))?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
