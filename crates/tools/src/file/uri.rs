//! What a path means: text to [`FileUri`]. No IO; where it is on disk is `mounts`' business.
//!
//! A `FileUri` is proof that the caller may go there: only [`resolve`] makes one, and everything derived from it
//! stays below the same scheme.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::FileError;
use crate::limits::{MAX_NAME_BYTES, MAX_PATH_BYTES, MAX_PATH_SEGMENTS};
use crate::{Caller, ProjectId, UserId};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// The files of one person.
    User,
    /// What everybody on this machine shares.
    Shared,
    /// The platform's own. Never for agents.
    System,
}

impl Scheme {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Shared => "shared",
            Self::System => "system",
        }
    }

    /// What can stand directly below, where that is not free.
    pub(super) fn roots(self) -> Option<&'static [&'static str]> {
        match self {
            Self::User => None,
            Self::Shared => Some(&["library", "templates"]),
            Self::System => Some(&["config", "data", "logs", "public"]),
        }
    }

    fn named(text: &str) -> Option<Self> {
        [Self::User, Self::Shared, Self::System]
            .into_iter()
            .find(|scheme| scheme.as_str().eq_ignore_ascii_case(text))
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A place that its caller may go to, in canonical form: `user://projects/default/reports/x.md`.
///
/// The text is in Unicode form C, without `.`, `..` or empty segments, so equal places have equal texts.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileUri {
    scheme: Scheme,
    path: Arc<str>,
    user: UserId,
}

impl FileUri {
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Below the scheme, without a slash in front; empty for the root.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whose `user://` it is.
    pub fn user(&self) -> &UserId {
        &self.user
    }

    pub fn segments(&self) -> impl Iterator<Item = &str> {
        self.path.split('/').filter(|segment| !segment.is_empty())
    }

    pub fn file_name(&self) -> Option<&str> {
        self.segments().last()
    }

    pub fn parent(&self) -> Option<Self> {
        if self.path.is_empty() {
            return None;
        }
        let parent = self.path.rsplit_once('/').map_or("", |(parent, _)| parent);
        Some(self.with_path(parent))
    }

    /// What is at `path` seen from here. It may climb, but not out of the scheme.
    pub fn join(&self, path: &str) -> Result<Self, FileError> {
        let path = normal_form(path);
        let mut segments: Vec<&str> = self.segments().collect();
        push_segments(&mut segments, &path, 0, &path)?;
        Self::checked(self.scheme, &segments, self.user.clone())
    }

    /// `other` is this or below it.
    pub fn contains(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.user == other.user
            && (self.path.is_empty()
                || other
                    .path
                    .strip_prefix(&*self.path)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    /// One of the folders that the layout consists of.
    pub fn is_protected(&self) -> bool {
        let segments: Vec<&str> = self.segments().collect();
        match (self.scheme, segments.as_slice()) {
            (_, []) | (Scheme::Shared | Scheme::System, [_]) => true,
            (Scheme::User, ["projects"]) => true,
            (Scheme::User, ["projects", project]) => *project == ProjectId::default().as_str(),
            _ => false,
        }
    }

    /// Its first `count` segments: where on the way something was in the way.
    pub(super) fn ancestor(&self, count: usize) -> Self {
        let segments: Vec<&str> = self.segments().take(count).collect();
        self.with_path(&segments.join("/"))
    }

    fn with_path(&self, path: &str) -> Self {
        Self {
            scheme: self.scheme,
            path: path.into(),
            user: self.user.clone(),
        }
    }

    fn checked(scheme: Scheme, segments: &[&str], user: UserId) -> Result<Self, FileError> {
        let path = segments.join("/");
        if path.len() > MAX_PATH_BYTES || segments.len() > MAX_PATH_SEGMENTS {
            let problem = format!(
                "it is longer than {MAX_PATH_BYTES} bytes or deeper than {MAX_PATH_SEGMENTS} folders"
            );
            return Err(invalid(&path, problem));
        }
        if let (Some(roots), Some(first)) = (scheme.roots(), segments.first())
            && !roots.contains(first)
        {
            return Err(FileError::NoSuchRoot {
                uri: format!("{scheme}://{path}"),
                scheme: scheme.as_str(),
                roots: roots.join(", "),
            });
        }
        Ok(Self {
            scheme,
            path: path.into(),
            user,
        })
    }
}

impl fmt::Display for FileUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.path)
    }
}

impl Serialize for FileUri {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// What `text` means for this caller, if the caller may go there.
pub(super) fn resolve(caller: &Caller, text: &str) -> Result<FileUri, FileError> {
    // Before any check: what is checked must be what is used.
    let text = &*normal_form(text.trim());
    if text.is_empty() {
        return Err(invalid(text, "it is empty"));
    }
    let own_project = normal_form(caller.project.as_str());
    let (scheme, project, path) = match split_scheme(text)? {
        None => (
            Scheme::User,
            Some(&*own_project),
            text.strip_prefix('/').unwrap_or(text),
        ),
        Some((name, rest)) if name.eq_ignore_ascii_case("fam") => {
            let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
            match Scheme::named(authority) {
                Some(scheme) => (scheme, None, path),
                None => {
                    ProjectId::try_from(authority).map_err(|e| invalid(text, e.to_string()))?;
                    (Scheme::User, Some(authority), path)
                }
            }
        }
        Some((name, path)) => match Scheme::named(name) {
            Some(scheme) => (scheme, None, path),
            None => return Err(unknown_scheme(text, name)),
        },
    };
    if scheme == Scheme::System && caller.is_agent() {
        return Err(FileError::SystemDenied(shown(text)));
    }
    let mut segments = Vec::new();
    if let Some(project) = project {
        segments.extend(["projects", project]);
    }
    let floor = segments.len();
    push_segments(&mut segments, path, floor, text)?;
    FileUri::checked(scheme, &segments, caller.user.clone())
}

/// `name://rest`, or nothing for a plain path.
fn split_scheme(text: &str) -> Result<Option<(&str, &str)>, FileError> {
    let first = text.split('/').next().unwrap_or(text);
    let Some((name, _)) = first.split_once(':') else {
        return Ok(None);
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    if !is_name {
        return Ok(None);
    }
    let rest = text.get(name.len()..).unwrap_or_default();
    match rest.strip_prefix("://") {
        Some(rest) => Ok(Some((name, rest))),
        None => Err(unknown_scheme(text, name)),
    }
}

/// Adds the segments of `path`, never going below `floor`.
fn push_segments<'a>(
    segments: &mut Vec<&'a str>,
    path: &'a str,
    floor: usize,
    whole: &str,
) -> Result<(), FileError> {
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok(());
    }
    for segment in path.split('/') {
        match segment {
            "." => {}
            ".." if segments.len() > floor => {
                segments.pop();
            }
            ".." => return Err(FileError::LeavesRoot(shown(whole))),
            name => {
                if let Some(problem) = problem_with_name(name) {
                    return Err(invalid(whole, problem));
                }
                segments.push(name);
            }
        }
    }
    Ok(())
}

/// Whether something on disk with this name could be named by a URI.
pub(super) fn is_nameable(name: &str) -> bool {
    !matches!(name, "." | "..") && problem_with_name(name).is_none()
}

fn problem_with_name(name: &str) -> Option<String> {
    if name.is_empty() {
        Some("it has an empty part between two slashes".to_owned())
    } else if name.len() > MAX_NAME_BYTES {
        Some(format!(
            "a name in it is longer than {MAX_NAME_BYTES} bytes"
        ))
    } else if name.trim() != name {
        // Around a whole path blanks are trimmed, so such a name could not be written down.
        Some("a name in it begins or ends with a blank".to_owned())
    } else if name.contains('\\') {
        Some("it has a backslash, folders are separated by '/'".to_owned())
    } else if name.contains(is_deceptive) {
        Some("it has a control character".to_owned())
    } else {
        None
    }
}

/// Controls, line separators and the marks that turn the direction of writing: a person who is asked to approve a
/// path must see the path.
fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

pub(super) fn normal_form(text: &str) -> std::borrow::Cow<'_, str> {
    if is_nfc(text) {
        text.into()
    } else {
        text.nfc().collect::<String>().into()
    }
}

fn invalid(text: &str, problem: impl Into<String>) -> FileError {
    FileError::InvalidPath {
        text: shown(text),
        problem: problem.into(),
    }
}

fn unknown_scheme(text: &str, name: &str) -> FileError {
    let problem = match Scheme::named(name).is_some() || name.eq_ignore_ascii_case("fam") {
        true => format!("after '{name}:' two slashes belong"),
        false => format!(
            "'{name}:' is not among the schemes (for a name with a colon write ./ in front)"
        ),
    };
    invalid(text, problem)
}

/// What a message may repeat of a text from outside.
fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if is_deceptive(c) { '\u{fffd}' } else { c })
        .take(200)
        .collect();
    if text.chars().nth(200).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
#[path = "uri_tests.rs"]
mod tests;
