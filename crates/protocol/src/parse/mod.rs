//! From a model's text to calls.
//!
//! `scanner` finds the blocks, `tam_*`, `action` and `tool_call` read them, `native` reads what came outside
//! the text. Everything here is total and linear, and works the same on a text that is still growing.

mod action;
mod any;
mod cursor;
mod fence;
mod live;
mod marks;
mod native;
pub(crate) mod notes;
mod scanner;
mod stream;
mod tam_arguments;
mod tam_block;
mod tam_line;
mod tam_steps;
mod tam_value;
mod texts;
mod tool_call;
mod xml_block;
mod xml_read;
mod xml_tree;

use crate::{Block, Reply};
use cursor::Input;
use scanner::{RawBlock, RawKind, Scanner, Step};
use xml_block::XmlKind;

pub use any::understand;
pub use native::{add_native_calls, parse_response};
pub use stream::{Stream, StreamEvent};

/// Which ways of calling are looked for in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    /// All of them, in order of position.
    #[default]
    Auto,
    Tam,
    Action,
    ToolCall,
}

impl Dialect {
    fn reads_tam(self) -> bool {
        matches!(self, Self::Auto | Self::Tam)
    }

    fn reads(self, kind: XmlKind) -> bool {
        match kind {
            XmlKind::Action => matches!(self, Self::Auto | Self::Action),
            XmlKind::ToolCall => matches!(self, Self::Auto | Self::ToolCall),
        }
    }
}

/// From here on a text does not fit into a processor's cache, in bytes.
const LARGE: usize = 4 * 1024 * 1024;
/// How much of a large text is looked at before the next part is, in bytes.
const WINDOW: usize = 256 * 1024;

/// Reads a reply in whatever dialects it uses. Never fails, never drops anything without saying so.
pub fn parse(text: &str) -> Reply<'_> {
    parse_with(text, Dialect::Auto)
}

/// Reads only one dialect; everything else is text.
pub fn parse_with(text: &str, dialect: Dialect) -> Reply<'_> {
    let mut scanner = Scanner::new(dialect);
    // A large text is looked at window by window, so that every search finds it in the cache.
    let mut end = WINDOW;
    while end < text.len() && text.len() > LARGE {
        let input = Input {
            text: text.get(..text.floor_char_boundary(end)).unwrap_or(text),
            complete: false,
        };
        while !matches!(scanner.step(input), Step::Wait | Step::Done) {}
        end += WINDOW;
    }
    let input = Input {
        text,
        complete: true,
    };
    while scanner.step(input) != Step::Done {}
    texts::reply(text, scanner)
}

fn read_block(text: &str, raw: RawBlock) -> Block<'_> {
    match raw.kind {
        RawKind::Tam(fields) => tam_steps::block(text, fields, raw.span),
        RawKind::Xml(frame) => match frame.kind {
            XmlKind::Action => action::block(text, &frame, raw.span),
            XmlKind::ToolCall => tool_call::block(text, &frame, raw.span),
        },
    }
}
