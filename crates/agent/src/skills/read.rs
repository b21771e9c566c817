//! A part of a text, by lines or by characters.

use innkeeper_tools::builtin::text::count;
use serde::{Deserialize, Serialize};

use super::error::SkillError;
use crate::workspace::Lines;

/// What of a file is wanted. Lines are counted from 1, characters from 0; `max_chars` bounds both ways.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Part {
    pub start_line: Option<i64>,
    pub line_count: Option<i64>,
    pub start_char: Option<i64>,
    pub max_chars: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Piece {
    pub bytes: usize,
    pub chars: u64,
    pub words: usize,
    pub total_bytes: usize,
    pub total_chars: u64,
    pub total_words: usize,
    pub start_char: u64,
    pub end_char: u64,
    pub truncated: bool,
    pub total_lines: usize,
    pub start_line: usize,
    pub end_line: usize,
    pub content: String,
}

/// Why there is no piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NoPiece {
    Invalid(SkillError),
    /// So many characters were asked for, and less would not do.
    TooLong(u64),
}

impl From<SkillError> for NoPiece {
    fn from(error: SkillError) -> Self {
        Self::Invalid(error)
    }
}

impl Part {
    /// Somebody said how much; otherwise less will do.
    pub(crate) fn is_exact(&self) -> bool {
        self.line_count.is_some() || self.max_chars.is_some()
    }

    fn check(&self) -> Result<(), SkillError> {
        let invalid = |message: &str| Err(SkillError::request("skill.range_invalid", message));
        let by_lines = self.start_line.is_some() || self.line_count.is_some();
        if by_lines && self.start_char.is_some() {
            return invalid(
                "a part is read by lines or by characters, not by both: give start_line and line_count, or start_char",
            );
        }
        let is_low = |number: Option<i64>, least: i64| number.is_some_and(|number| number < least);
        if is_low(self.start_line, 1) || is_low(self.line_count, 1) {
            return invalid("lines are counted from 1, and at least one is read");
        }
        if is_low(self.start_char, 0) || is_low(self.max_chars, 1) {
            return invalid("characters are counted from 0, and at least one is read");
        }
        Ok(())
    }

    /// At most `most` characters. Whoever said how much they want gets that or nothing.
    pub(crate) fn of(&self, text: &str, most: u64) -> Result<Piece, NoPiece> {
        self.check()?;
        let lines = Lines::of(text);
        let total = count(text);
        let size = |number: Option<i64>, default: usize| {
            number.map_or(default, |number| {
                usize::try_from(number).unwrap_or(usize::MAX)
            })
        };
        let none = |what: &str, at: usize, all: usize| {
            let message =
                format!("the file has {all} {what}, so there is none with the number {at}");
            SkillError::request("skill.range_invalid", message)
        };
        let bytes = match self.start_char {
            Some(_) => {
                let start = size(self.start_char, 0);
                if start >= total.chars.max(1) {
                    return Err(none("characters", start, total.chars).into());
                }
                after(text, start)..text.len()
            }
            None => {
                let start = size(self.start_line, 1);
                if start > lines.count().max(1) {
                    return Err(none("lines", start, lines.count()).into());
                }
                lines.bytes(start, size(self.line_count, usize::MAX))
            }
        };
        let meant = text.get(bytes.clone()).unwrap_or_default();
        let meant = upto(meant, size(self.max_chars, usize::MAX));
        let asked = meant.chars().count() as u64;
        if asked > most && self.is_exact() {
            return Err(NoPiece::TooLong(asked));
        }
        let shown = upto(meant, usize::try_from(most).unwrap_or(usize::MAX));
        let counted = count(shown);
        let start_char = text.get(..bytes.start).unwrap_or_default().chars().count() as u64;
        let end_char = start_char + counted.chars as u64;
        let start_line = lines.number_at(bytes.start);
        Ok(Piece {
            bytes: counted.bytes,
            chars: counted.chars as u64,
            words: counted.words,
            total_bytes: total.bytes,
            total_chars: total.chars as u64,
            total_words: total.words,
            start_char,
            end_char,
            truncated: end_char < total.chars as u64,
            total_lines: lines.count(),
            start_line,
            end_line: match shown.is_empty() {
                true => start_line - 1,
                false => lines.number_at(bytes.start + shown.len() - 1),
            },
            content: shown.to_owned(),
        })
    }
}

/// The byte after so many characters.
fn after(text: &str, chars: usize) -> usize {
    text.char_indices()
        .nth(chars)
        .map_or(text.len(), |(at, _)| at)
}

fn upto(text: &str, chars: usize) -> &str {
    text.get(..after(text, chars)).unwrap_or(text)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
