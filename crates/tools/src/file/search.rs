//! Finding lines. Files that are no text are passed over and counted; the work is bounded whatever is searched.

use std::collections::VecDeque;

use regex::{Regex, RegexBuilder};
use serde::Serialize;

use super::mounts::Mounts;
use super::{FileError, FileUri, Kind, Stat, Stop, list, read};
use crate::Pattern;
use crate::limits::{
    MAX_FOLDER_NAMES, MAX_QUERY_BYTES, MAX_REGEX_BYTES, MAX_SEARCH_BYTES, MAX_SEARCH_DEPTH,
    MAX_SEARCH_FILE_BYTES, MAX_SEARCH_FILES, MAX_SNIPPET_LINE_CHARS, MAX_TOOL_CONTEXT_LINES,
    MAX_TOOL_HITS,
};

/// What to look for, within one line.
#[derive(Debug, Clone)]
pub struct Query(Regex);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    AsWritten,
    AnyCase,
}

impl Query {
    pub fn literal(text: &str, letters: Letters) -> Result<Self, FileError> {
        if text.contains(['\n', '\r']) {
            let problem = "it has a line break, and lines are searched one by one";
            return Err(FileError::InvalidQuery(problem.to_owned()));
        }
        Self::build(text, &regex::escape(text), letters)
    }

    /// An expression of the `regex` crate: it takes time proportional to the text, whatever it is.
    pub fn expression(text: &str, letters: Letters) -> Result<Self, FileError> {
        Self::build(text, text, letters)
    }

    fn build(text: &str, expression: &str, letters: Letters) -> Result<Self, FileError> {
        if text.is_empty() || text.len() > MAX_QUERY_BYTES {
            let problem = format!("it must have 1 to {MAX_QUERY_BYTES} bytes");
            return Err(FileError::InvalidQuery(problem));
        }
        RegexBuilder::new(expression)
            .case_insensitive(letters == Letters::AnyCase)
            .size_limit(MAX_REGEX_BYTES)
            .dfa_size_limit(MAX_REGEX_BYTES)
            .build()
            .map(Self)
            .map_err(|e| FileError::InvalidQuery(e.to_string()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchOptions {
    /// Only files with such a name.
    pub names: Option<Pattern>,
    pub limit: usize,
    /// Lines before and after each hit.
    pub context: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    pub uri: FileUri,
    pub line: u64,
    /// The line of the first line in `snippet`.
    pub snippet_line: u64,
    pub snippet: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Found {
    pub hits: Vec<Hit>,
    pub files: usize,
    pub binary: usize,
    pub too_large: usize,
    /// Links, folders and files that could not be read.
    pub unread: usize,
    /// There may be more: a limit was reached.
    pub truncated: bool,
}

pub(super) fn search(
    mounts: &Mounts,
    uri: &FileUri,
    query: &Query,
    options: SearchOptions,
    stop: &Stop,
) -> Result<Found, FileError> {
    let mut search = Search {
        mounts,
        query,
        limit: options.limit.clamp(1, MAX_TOOL_HITS),
        context: options.context.min(MAX_TOOL_CONTEXT_LINES),
        bytes: MAX_SEARCH_BYTES,
        found: Found::default(),
    };
    let start = list::stat(mounts, uri)?;
    match start.kind {
        Kind::Directory => {}
        Kind::Link => return Err(FileError::Link(uri.clone())),
        Kind::Special => return Err(FileError::Special(uri.clone())),
        Kind::File => {
            // Asked for by name, it is an error that a folder would only count.
            let text = read::whole(mounts, uri, MAX_SEARCH_FILE_BYTES)?;
            search.found.files = 1;
            search.look_into(uri, &read::text(uri, text)?);
            return Ok(search.found);
        }
    }
    let mut folders = VecDeque::from([(uri.clone(), 1)]);
    while let Some((folder, level)) = folders.pop_front() {
        let children = match list::children(mounts, &folder, MAX_FOLDER_NAMES) {
            Ok(children) => children,
            Err(e) if level == 1 => return Err(e),
            Err(_) => {
                search.found.unread += 1;
                continue;
            }
        };
        search.found.truncated |= children.more;
        search.found.unread += children.skipped;
        for entry in children.entries {
            if stop.is_cancelled() {
                return Err(FileError::Stopped(uri.to_string()));
            }
            match entry.kind {
                Kind::Directory if level < MAX_SEARCH_DEPTH => {
                    folders.push_back((entry.uri, level + 1));
                }
                Kind::Directory => search.found.truncated = true,
                Kind::Link | Kind::Special => search.found.unread += 1,
                Kind::File if is_wanted(&entry.uri, options.names.as_ref()) => {
                    if !search.file(&entry) {
                        search.found.truncated = true;
                        return Ok(search.found);
                    }
                }
                Kind::File => {}
            }
        }
    }
    Ok(search.found)
}

fn is_wanted(uri: &FileUri, names: Option<&Pattern>) -> bool {
    let name = uri.file_name().unwrap_or_default();
    names.is_none_or(|pattern| pattern.matches(name))
}

struct Search<'a> {
    mounts: &'a Mounts,
    query: &'a Query,
    limit: usize,
    context: usize,
    bytes: u64,
    found: Found,
}

impl Search<'_> {
    /// False when nothing more can be taken in.
    fn file(&mut self, entry: &Stat) -> bool {
        if entry.size > MAX_SEARCH_FILE_BYTES {
            self.found.too_large += 1;
            return true;
        }
        let Some(left) = self.bytes.checked_sub(entry.size) else {
            return false;
        };
        if self.found.files == MAX_SEARCH_FILES {
            return false;
        }
        self.bytes = left;
        match read::whole(self.mounts, &entry.uri, MAX_SEARCH_FILE_BYTES) {
            Err(_) => self.found.unread += 1,
            Ok(bytes) if bytes.contains(&0) => self.found.binary += 1,
            Ok(bytes) => match String::from_utf8(bytes) {
                Err(_) => self.found.binary += 1,
                Ok(text) => {
                    self.found.files += 1;
                    return self.look_into(&entry.uri, &text);
                }
            },
        }
        true
    }

    fn look_into(&mut self, uri: &FileUri, text: &str) -> bool {
        let lines: Vec<&str> = text.lines().collect();
        for (index, line) in lines.iter().enumerate() {
            let Some(found) = self.query.0.find(line) else {
                continue;
            };
            if self.found.hits.len() == self.limit {
                self.found.truncated = true;
                return false;
            }
            let first = index.saturating_sub(self.context);
            let shown = lines
                .iter()
                .enumerate()
                .skip(first)
                .take(index - first + 1 + self.context)
                .map(|(at, line)| shorten(line, if at == index { found.start() } else { 0 }));
            self.found.hits.push(Hit {
                uri: uri.clone(),
                line: index as u64 + 1,
                snippet_line: first as u64 + 1,
                snippet: shown.collect::<Vec<_>>().join("\n"),
            });
        }
        true
    }
}

/// At most so many characters of a line, those at byte `at` among them.
fn shorten(line: &str, at: usize) -> String {
    let before = line.get(..at).map_or(0, |text| text.chars().count());
    let total = line.chars().count();
    if total <= MAX_SNIPPET_LINE_CHARS {
        return line.to_owned();
    }
    let start = before
        .saturating_sub(MAX_SNIPPET_LINE_CHARS / 4)
        .min(total - MAX_SNIPPET_LINE_CHARS);
    let part: String = line
        .chars()
        .skip(start)
        .take(MAX_SNIPPET_LINE_CHARS)
        .collect();
    let head = if start > 0 { "…" } else { "" };
    let tail = if start + MAX_SNIPPET_LINE_CHARS < total {
        "…"
    } else {
        ""
    };
    format!("{head}{part}{tail}")
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
