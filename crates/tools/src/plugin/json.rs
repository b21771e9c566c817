//! JSON into a tree, with a place for everything and no key twice.

use std::collections::HashSet;

use innkeeper_yaml::{Entry, Node, Position, Value};
use serde_json::Value as Json;

use super::problem::{Code, Report};

/// Reads JSON, or says what is wrong with it.
pub(super) fn read_json(text: &str, report: &mut Report) -> Option<Node> {
    if let Err(error) = serde_json::from_str::<Json>(text) {
        let position = Position {
            line: error.line().max(1),
            column: error.column().max(1),
        };
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or(&what);
        report.about_file(
            Code::BadJson,
            Some(position),
            format!("this is no valid JSON: {what}"),
        );
        return None;
    }
    let before = report.count();
    let mut scan = Scan {
        rest: text,
        at: Position { line: 1, column: 1 },
    };
    let node = scan.value(report);
    node.filter(|_| report.count() == before)
}

/// Goes once more over JSON that is known to be sound, this time for the places. The depth is bounded by the
/// reader that went first.
struct Scan<'t> {
    rest: &'t str,
    at: Position,
}

impl<'t> Scan<'t> {
    fn value(&mut self, report: &mut Report) -> Option<Node> {
        self.blanks();
        let position = self.at;
        let value = match self.rest.chars().next()? {
            '{' => self.map(report)?,
            '[' => self.list(report)?,
            _ => scalar(self.token()?)?,
        };
        Some(Node { value, position })
    }

    fn list(&mut self, report: &mut Report) -> Option<Value> {
        let mut items = Vec::new();
        self.take(1)?;
        loop {
            self.blanks();
            match self.rest.chars().next()? {
                ']' => break,
                ',' => {
                    self.take(1)?;
                }
                _ => items.push(self.value(report)?),
            }
        }
        self.take(1)?;
        Some(Value::List(items))
    }

    fn map(&mut self, report: &mut Report) -> Option<Value> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut seen = HashSet::new();
        self.take(1)?;
        loop {
            self.blanks();
            match self.rest.chars().next()? {
                '}' => break,
                ',' | ':' => {
                    self.take(1)?;
                }
                _ => {
                    let position = self.at;
                    let key = serde_json::from_str::<String>(self.token()?).ok()?;
                    self.blanks();
                    self.take(1)?;
                    let value = self.value(report)?;
                    if !seen.insert(key.clone()) {
                        report.duplicate_key(Some(position), &key);
                    }
                    entries.push(Entry {
                        key,
                        position,
                        value,
                    });
                }
            }
        }
        self.take(1)?;
        Some(Value::Map(entries))
    }

    /// A text with its quotes, a number, or a word.
    fn token(&mut self) -> Option<&'t str> {
        let length = if self.rest.starts_with('"') {
            let mut escaped = false;
            let end = self.rest.char_indices().skip(1).find(|(_, c)| {
                let ends = *c == '"' && !escaped;
                escaped = *c == '\\' && !escaped;
                ends
            });
            end.map(|(at, _)| at + 1)?
        } else {
            let ends = |c: char| c.is_ascii_whitespace() || matches!(c, ',' | ']' | '}' | ':');
            self.rest.find(ends).unwrap_or(self.rest.len())
        };
        self.take(length)
    }

    fn blanks(&mut self) {
        let length = self.rest.len() - self.rest.trim_ascii_start().len();
        self.take(length);
    }

    fn take(&mut self, length: usize) -> Option<&'t str> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        for c in taken.chars() {
            if c == '\n' {
                self.at.line += 1;
                self.at.column = 1;
            } else {
                self.at.column += 1;
            }
        }
        Some(taken)
    }
}

fn scalar(token: &str) -> Option<Value> {
    Some(match serde_json::from_str::<Json>(token).ok()? {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(value),
        Json::Number(value) => Value::Number(value),
        Json::String(value) => Value::Text(value),
        Json::Array(_) | Json::Object(_) => return None,
    })
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
