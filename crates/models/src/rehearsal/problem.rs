//! What is wrong with a script: where, why, and what to do about it. All of it at once.

use std::fmt;

use innkeeper_yaml::Position;

use crate::limits::MAX_SCRIPT_PROBLEMS;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    pub(super) position: Option<Position>,
    /// `scenes[2].when.role`; empty where it is about the whole script.
    pub field: String,
    pub message: String,
}

impl ScriptProblem {
    pub(super) fn of_file(message: String) -> Self {
        Self {
            position: None,
            field: String::new(),
            message,
        }
    }

    pub fn line(&self) -> Option<usize> {
        self.position.map(|position| position.line)
    }

    pub fn column(&self) -> Option<usize> {
        self.position.map(|position| position.column)
    }
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Position { line, column }) = self.position {
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
    pub(super) fn add(&mut self, position: Position, field: &str, message: impl Into<String>) {
        if self.found.len() >= MAX_SCRIPT_PROBLEMS {
            self.omitted += 1;
            return;
        }
        self.found.push(ScriptProblem {
            position: Some(position),
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
