//! What is wrong with a profile: where, why, and under which names programs know it.

use std::cell::RefCell;
use std::fmt;

use innkeeper_protocol::ErrorCode;
use serde::Serialize;

use crate::limits::{MAX_PROFILE_PROBLEMS, MAX_TOLD_PROBLEMS};

/// The reason for all that is wrong with the form of a profile.
pub(super) const CONTRACT: &str = "agent.profile_contract_invalid";

/// One thing that is wrong, at one place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub severity: Severity,
    /// The fine name: `agent.profile_max_rounds_invalid`. The code of all of them is `agent.invalid_profile`.
    pub reason: &'static str,
    /// Where in the file: `$.tools.maxRounds`.
    pub path: String,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The profile cannot be used.
    Error,
    /// It can, but perhaps not as it was meant.
    Warning,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// A profile that cannot be used, with everything that is wrong with it. Never without a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidProfile {
    pub problems: Vec<Problem>,
}

impl InvalidProfile {
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::AgentInvalidProfile
    }

    /// The fine name of the first problem.
    pub fn reason(&self) -> &'static str {
        self.first().map_or(CONTRACT, |problem| problem.reason)
    }

    fn first(&self) -> Option<&Problem> {
        self.problems.first()
    }
}

impl fmt::Display for InvalidProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.problems.iter().take(MAX_TOLD_PROBLEMS).enumerate() {
            let between = if at == 0 { "" } else { "; " };
            write!(f, "{between}{problem}")?;
        }
        match self.problems.len().saturating_sub(MAX_TOLD_PROBLEMS) {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

impl std::error::Error for InvalidProfile {}

/// Problems as they are found. Shared by all who read one profile.
#[derive(Debug, Default)]
pub(super) struct Findings(RefCell<Vec<Problem>>);

impl Findings {
    pub(super) fn error(&self, reason: &'static str, path: &str, message: impl Into<String>) {
        self.add(Severity::Error, reason, path, message.into());
    }

    pub(super) fn warning(&self, reason: &'static str, path: &str, message: impl Into<String>) {
        self.add(Severity::Warning, reason, path, message.into());
    }

    fn add(&self, severity: Severity, reason: &'static str, path: &str, message: String) {
        let mut found = self.0.borrow_mut();
        // Many warnings must not hide an error.
        let room = match severity {
            Severity::Error => MAX_PROFILE_PROBLEMS,
            Severity::Warning => MAX_PROFILE_PROBLEMS / 2,
        };
        let same = found.iter().filter(|other| other.severity == severity);
        if same.count() < room {
            found.push(Problem {
                severity,
                reason,
                path: path.to_owned(),
                message,
            });
        }
    }

    pub(super) fn has_errors(&self) -> bool {
        self.0
            .borrow()
            .iter()
            .any(|problem| problem.severity == Severity::Error)
    }

    /// Warnings where nothing is worse, everything that is an error otherwise.
    pub(super) fn verdict(self) -> Result<Vec<Problem>, InvalidProfile> {
        let failed = self.has_errors();
        let mut problems = self.0.into_inner();
        match failed {
            false => Ok(problems),
            true => {
                problems.retain(|problem| problem.severity == Severity::Error);
                Err(InvalidProfile { problems })
            }
        }
    }
}

/// `, did you mean 'x'?`, or nothing where nothing is near.
pub(super) fn did_you_mean<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> String {
    match nearest(word, candidates) {
        Some(candidate) => format!(", did you mean '{candidate}'?"),
        None => String::new(),
    }
}

/// Letter case and the marks between words are how one writes; a third of the rest may be wrong. Then the one name
/// that has the word in it: `visible` for `visibleRoots`.
pub(super) fn nearest<'c>(
    word: &str,
    candidates: impl Iterator<Item = &'c str>,
) -> Option<&'c str> {
    // The distance takes time in the square of the length; nothing that long is a slip of the pen.
    if word.len() > 100 {
        return None;
    }
    let form = |text: &str| -> String {
        let letters = text.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let wanted = form(word);
    let length = wanted.chars().count();
    let candidates: Vec<_> = candidates
        .filter(|candidate| candidate.len() <= 100)
        .map(|candidate| (candidate, form(candidate)))
        .collect();
    let close = candidates.iter().filter_map(|(candidate, form)| {
        let distance = strsim::osa_distance(&wanted, form);
        let most = length.max(form.chars().count()) / 3;
        (distance <= most).then_some((distance, *candidate))
    });
    if let Some((_, candidate)) = close.min_by_key(|(distance, _)| *distance) {
        return Some(candidate);
    }
    let mut longer = candidates
        .iter()
        .filter(|(_, form)| length > 3 && form.contains(&wanted));
    let (first, second) = (longer.next(), longer.next());
    first.filter(|_| second.is_none()).map(|(name, _)| *name)
}
