//! Paths of a workspace: one spelling for each file, and nothing that leads out.

use std::fmt;

use crate::limits::{
    MAX_WORKSPACE_NAME_BYTES, MAX_WORKSPACE_PATH_BYTES, MAX_WORKSPACE_PATH_SEGMENTS,
};

/// Relative, with `/` between its parts, without `.`, `..` and empty parts. Its first part is its root.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath(String);

/// Why a text is no path. Without the place: whoever was given the path names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathFault {
    #[error("it is empty: name a file like output/main.md")]
    Empty,
    #[error("it holds a control character: leave it out")]
    Control,
    #[error("it begins with a slash: paths are relative, like output/main.md")]
    Absolute,
    #[error("it begins with a drive: paths are relative, like output/main.md")]
    Drive,
    #[error("'..' leads out of its folder: write the path from its root on")]
    Parent,
    #[error("it is longer than {MAX_WORKSPACE_PATH_BYTES} bytes: choose shorter names")]
    TooLong,
    #[error(
        "one of its names is longer than {MAX_WORKSPACE_NAME_BYTES} bytes: choose a shorter one"
    )]
    LongName,
    #[error("it is more than {MAX_WORKSPACE_PATH_SEGMENTS} folders deep: use fewer")]
    TooDeep,
}

impl WorkspacePath {
    pub fn parse(text: &str) -> Result<Self, PathFault> {
        let text = text.trim();
        if text.chars().any(char::is_control) {
            return Err(PathFault::Control);
        }
        if text.starts_with(['/', '\\']) {
            return Err(PathFault::Absolute);
        }
        let mut start = text.chars();
        if start.next().is_some_and(|c| c.is_ascii_alphabetic()) && start.next() == Some(':') {
            return Err(PathFault::Drive);
        }
        if text.len() > MAX_WORKSPACE_PATH_BYTES {
            return Err(PathFault::TooLong);
        }
        let mut segments = Vec::new();
        for segment in text.split(['/', '\\']) {
            match segment {
                "" | "." => {}
                ".." => return Err(PathFault::Parent),
                long if long.len() > MAX_WORKSPACE_NAME_BYTES => return Err(PathFault::LongName),
                name => segments.push(name),
            }
        }
        match segments.len() {
            0 => Err(PathFault::Empty),
            deep if deep > MAX_WORKSPACE_PATH_SEGMENTS => Err(PathFault::TooDeep),
            _ => Ok(Self(segments.join("/"))),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn root(&self) -> &str {
        self.0.split_once('/').map_or(&self.0, |(root, _)| root)
    }

    pub fn is_root(&self) -> bool {
        !self.0.contains('/')
    }

    /// Folders above it, the nearest first, its root last.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.0.as_str();
        std::iter::from_fn(move || {
            rest = rest.rsplit_once('/')?.0;
            Some(rest)
        })
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether `path` lies in the folder, which is written without a slash at its end.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder)
        .is_some_and(|rest| rest.starts_with('/'))
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
