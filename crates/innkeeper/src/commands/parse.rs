//! `innkeeper parse`: a model's reply in, the calls in it out, as JSON.
//!
//! Owns reading, bounding and printing. What a text means is the protocol crate's business; whatever it is,
//! there is a result. Only input that cannot be read as text fails.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};

use innkeeper_protocol::{Dialect, understand};

use crate::cli::ParseArgs;
use crate::failure::{Failure, JsonKind, LineProblem, Place};
use crate::input::{Source, open, whole};
use crate::limits::{MAX_LINE_BYTES, MAX_REPLY_BYTES};
use crate::output::{Layout, print};

pub(crate) fn run(
    args: &ParseArgs,
    source: Source,
    layout: Layout,
    stdin: impl Read,
    stdout: impl Write,
) -> Result<(), Failure> {
    let dialect = args.reply.protocol.into();
    let place = source.place();
    match source {
        Source::Stdin => read_and_print(args, stdin, place, dialect, layout, stdout),
        Source::File(path) => {
            let limit = (!args.jsonl).then_some(MAX_REPLY_BYTES);
            let file = open(&path, &place, limit)?;
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

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
