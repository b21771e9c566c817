//! How results are put on standard output: JSON in one shape, and text that cannot rewrite a terminal.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::cli::Global;
use crate::failure::Failure;

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

/// One result and a line break.
pub(crate) fn print(
    result: &(impl Serialize + ?Sized), layout: Layout, out: &mut impl Write) -> Result<(), Failure> {
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
#[path = "output_tests.rs"]
mod tests;
