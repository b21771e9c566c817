//! How results are put on standard output: JSON in one shape, and text that cannot rewrite a terminal.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::cli::Global;
use crate::failure::{Failure, is_unprintable};
use crate::lang::Lang;
use crate::table::Table;

/// Where results go, and how the person wants them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Screen {
    pub(crate) lang: Lang,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// Of standard output.
    terminal: bool,
    width: Option<usize>,
}

impl Screen {
    pub(crate) fn of(global: &Global, lang: Lang) -> Self {
        let terminal = io::stdout().is_terminal();
        let size = terminal.then(terminal_size::terminal_size).flatten();
        Self {
            lang,
            json: global.json,
            quiet: global.quiet,
            terminal,
            width: size.map(|(width, _)| usize::from(width.0)),
        }
    }

    /// The text for the person's language.
    pub(crate) fn pick<T>(&self, english: T, chinese: T) -> T {
        self.lang.pick(english, chinese)
    }

    /// One JSON document on one line.
    pub(crate) fn document(&self, result: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        print(result, Layout::Compact, &mut out)?;
        out.flush().map_err(Failure::writing)
    }

    /// JSON for people, and for programs that asked for no particular form.
    pub(crate) fn indented(&self, result: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        let mut text = Vec::new();
        print(result, Layout::Pretty, &mut text)?;
        self.text(&String::from_utf8_lossy(&text))
    }

    /// Text in lines. A terminal gets nothing that could rewrite it; a program gets every byte.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let written = match self.terminal {
            true => out.write_all(printable(text).as_bytes()),
            false => out.write_all(text.as_bytes()),
        };
        let ended = match text.ends_with('\n') {
            true => written,
            false => written.and_then(|()| out.write_all(b"\n")),
        };
        ended.and_then(|()| out.flush()).map_err(Failure::writing)
    }

    /// A piece of a text whose rest is still to come.
    pub(crate) fn piece(&self, text: &str) -> Result<(), Failure> {
        let mut out = io::stdout().lock();
        let written = match self.terminal {
            true => out.write_all(printable(text).as_bytes()),
            false => out.write_all(text.as_bytes()),
        };
        written.and_then(|()| out.flush()).map_err(Failure::writing)
    }

    /// Lines, each in its colour where a person wants colours; elsewhere as they are.
    pub(crate) fn painted(&self, lines: &[(Colour, &str)]) -> Result<(), Failure> {
        let wanted = |name: &str| std::env::var_os(name).is_none_or(|value| value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let is_coloured = self.terminal && wanted("NO_COLOR") && !is_dumb;
        let mut out = io::BufWriter::new(io::stdout().lock());
        let mut write = |colour: Colour, line: &str| {
            let (line, end) = match line.strip_suffix('\n') {
                Some(line) => (line, "\n"),
                None => (line, ""),
            };
            match (colour.code(), self.terminal) {
                (Some(code), true) if is_coloured => {
                    write!(out, "\u{1b}[{code}m{}\u{1b}[0m{end}", printable(line))
                }
                (_, true) => write!(out, "{}{end}", printable(line)),
                (_, false) => write!(out, "{line}{end}"),
            }
        };
        let written = lines
            .iter()
            .try_for_each(|(colour, line)| write(*colour, line));
        written.and_then(|()| out.flush()).map_err(Failure::writing)
    }

    /// Whether a person reads standard output as it is written.
    pub(crate) fn is_terminal(&self) -> bool {
        self.terminal
    }

    pub(crate) fn table(&self, table: &Table) -> Result<(), Failure> {
        self.text(&table.render(self.width))
    }

    /// A word to the person beside the results; nobody reads it by program.
    pub(crate) fn note(&self, english: &str, chinese: &str) {
        if !self.quiet {
            let said = printable(self.pick(english, chinese));
            // Whoever does not listen misses only this.
            let _ = writeln!(io::stderr(), "{said}");
        }
    }

    /// Whether somebody sees what is shown while work goes on.
    pub(crate) fn shows_progress(&self) -> bool {
        !self.quiet && io::stderr().is_terminal()
    }
}

/// What a line is, for those who see colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colour {
    Plain,
    Heading,
    Place,
    Added,
    Removed,
    Aside,
}

impl Colour {
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Heading => Some("1"),
            Self::Place => Some("36"),
            Self::Added => Some("32"),
            Self::Removed => Some("31"),
            Self::Aside => Some("2"),
        }
    }
}

/// Line ends and tabs stay; everything else that could rewrite a screen is shown by its number.
pub(crate) fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if is_unprintable(c) => out.extend(c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
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

/// One result and a line break.
pub(crate) fn print(
    result: &(impl Serialize + ?Sized),
    layout: Layout,
    out: &mut impl Write,
) -> Result<(), Failure> {
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
