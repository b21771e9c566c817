//! What is wrong with a workflow: where, why, and what to do. Reading and checking both speak in these.

use std::fmt;

use serde::Serialize;

use crate::limits::{MAX_PROBLEM_CHARS, MAX_PROBLEMS};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Warning,
    /// The workflow, or the part of it that is named, cannot run.
    Error,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    pub severity: Severity,
    /// Stable: `edge.unknown_node`.
    pub code: &'static str,
    /// Path of the node: `group_1/Merge_2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The slot, setting or field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slot: Option<String>,
    /// Line and column in the file, from 1, where it is a matter of the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<(usize, usize)>,
    pub message: String,
}

impl Problem {
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code,
            node: None,
            slot: None,
            position: None,
            message: shortened(message.into()),
        }
    }

    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(code, message)
        }
    }

    pub fn at(mut self, node: impl Into<String>) -> Self {
        self.node = Some(shortened(node.into()));
        self
    }

    pub fn slot(mut self, slot: impl Into<String>) -> Self {
        self.slot = Some(shortened(slot.into()));
        self
    }

    pub fn position(mut self, line: usize, column: usize) -> Self {
        self.position = Some((line, column));
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.position {
            write!(f, "line {line}, column {column}: ")?;
        }
        match (&self.node, &self.slot) {
            (Some(node), Some(slot)) => write!(f, "{node}.{slot}: ")?,
            (Some(node), None) => write!(f, "{node}: ")?,
            (None, Some(slot)) => write!(f, "{slot}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)
    }
}

/// All that is wrong, up to a number that a person can read; the rest is counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Problems {
    pub list: Vec<Problem>,
    /// How many more there are than the list holds.
    pub more: usize,
    #[serde(skip)]
    errors: usize,
    #[serde(skip)]
    shown_errors: usize,
}

impl Problems {
    pub fn add(&mut self, problem: Problem) {
        self.errors += usize::from(problem.is_error());
        if self.list.len() < MAX_PROBLEMS {
            self.shown_errors += usize::from(problem.is_error());
            self.list.push(problem);
            return;
        }
        self.more += 1;
        // An error is never hidden behind warnings.
        if problem.is_error()
            && self.shown_errors < self.list.len()
            && let Some(place) = self.list.iter_mut().rev().find(|known| !known.is_error())
        {
            *place = problem;
            self.shown_errors += 1;
        }
    }

    pub fn extend(&mut self, others: Self) {
        self.more += others.more;
        self.errors += others.errors - others.shown_errors;
        for problem in others.list {
            self.add(problem);
        }
    }

    /// Whether one more of that kind would be listed, not only counted: whether its words are worth while.
    pub(crate) fn lists(&self, severity: Severity) -> bool {
        let has_warnings = || self.list.iter().any(|problem| !problem.is_error());
        self.list.len() < MAX_PROBLEMS || (severity == Severity::Error && has_warnings())
    }

    pub fn has_errors(&self) -> bool {
        self.errors > 0
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter().filter(|problem| problem.is_error())
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.list.iter().enumerate() {
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// Names in hostile files can be megabytes long.
pub(crate) fn shortened(mut text: String) -> String {
    if let Some((cut, _)) = text.char_indices().nth(MAX_PROBLEM_CHARS) {
        text.truncate(cut);
        text.push('…');
    }
    text
}

/// A name inside a message.
pub(crate) fn quoted(name: &str) -> String {
    match name.char_indices().nth(80) {
        Some((cut, _)) => format!("'{}…'", name.get(..cut).unwrap_or_default()),
        None => format!("'{name}'"),
    }
}

/// `; did you mean 'x'?`, or nothing.
pub(crate) fn did_you_mean<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> String {
    // Comparing takes the product of both lengths, and nobody mistypes a name that long.
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return String::new();
    }
    let near = known
        .into_iter()
        .filter(|known| known.len() <= LONGEST)
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    near.map(|(_, known)| format!("; did you mean '{known}'?"))
        .unwrap_or_default()
}
