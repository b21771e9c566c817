//! What is wrong with a script: where, why, and what to do about it. All of it at once.

use std::fmt;

use crate::limits::MAX_SCRIPT_PROBLEMS;

/// Where something stands, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    pub(super) place: Option<Place>,
    /// `scenes[2].when.role`; empty where it is about the whole script.
    pub field: String,
    pub message: String,
}

impl ScriptProblem {
    pub(super) fn of_file(message: String) -> Self {
        Self {
            place: None,
            field: String::new(),
            message,
        }
    }

    pub fn line(&self) -> Option<usize> {
        self.place.map(|place| place.line)
    }

    pub fn column(&self) -> Option<usize> {
        self.place.map(|place| place.column)
    }
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

/// A script that cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ScriptError {
    /// In the order of the file; never empty.
    pub problems: Vec<ScriptProblem>,
    /// Problems found beyond those.
    pub omitted: usize,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the rehearsal script cannot be played")?;
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        match self.omitted {
            0 => Ok(()),
            more => write!(f, "\n  and {more} more"),
        }
    }
}

impl From<ScriptProblem> for ScriptError {
    fn from(problem: ScriptProblem) -> Self {
        Self {
            problems: vec![problem],
            omitted: 0,
        }
    }
}

/// Where problems are gathered.
#[derive(Debug, Default)]
pub(super) struct Problems {
    found: Vec<ScriptProblem>,
    omitted: usize,
}

impl Problems {
    pub(super) fn add(&mut self, place: Place, field: &str, message: impl Into<String>) {
        if self.found.len() >= MAX_SCRIPT_PROBLEMS {
            self.omitted += 1;
            return;
        }
        self.found.push(ScriptProblem {
            place: Some(place),
            field: field.to_owned(),
            message: message.into(),
        });
    }

    pub(super) fn into_result<T>(mut self, value: T) -> Result<T, ScriptError> {
        if self.found.is_empty() {
            return Ok(value);
        }
        self.found
            .sort_by_key(|problem| (problem.line(), problem.column()));
        Err(ScriptError {
            problems: self.found,
            omitted: self.omitted,
        })
    }
}
