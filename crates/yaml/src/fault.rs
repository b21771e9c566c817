//! Why a text cannot be read, sorted by what a person can do about it.

use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

use crate::Position;
use crate::read::position;

/// The first thing that is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub position: Option<Position>,
    pub why: Why,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Why {
    /// A key that the same map has already.
    DuplicateKey(String),
    SecondDocument,
    /// `.nan` and `.inf`, as written.
    NotFinite(String),
    /// Beyond a bound, what aliases repeat included.
    TooLarge,
    /// No YAML, in the words of the library.
    Invalid(String),
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Self {
            position: error.location().map(position),
            why: why(innermost(error)),
        }
    }
}

/// Errors found through an alias carry the one that counts inside.
fn innermost(mut error: &Error) -> &Error {
    while let Error::AliasError { error: inner, .. } | Error::WithSnippet { error: inner, .. } =
        error
    {
        error = inner;
    }
    error
}

fn why(error: &Error) -> Why {
    match error {
        Error::DuplicateMappingKey { key, .. } => {
            Why::DuplicateKey(key.as_deref().unwrap_or("…").to_owned())
        }
        Error::MultipleDocuments { .. }
        | Error::Budget {
            breach: BudgetBreach::Documents { .. },
            ..
        } => Why::SecondDocument,
        Error::NonFiniteFloat { value, .. } => Why::NotFinite(value.to_string()),
        Error::Budget { .. }
        | Error::AliasReplayLimitExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. }
        | Error::AliasReplayStackDepthExceeded { .. } => Why::TooLarge,
        other => {
            // The library adds the place at the end; a fault has its own.
            let text = other.to_string();
            let what = text.split(" at line ").next().unwrap_or(&text);
            let what = what.strip_prefix("error: ").unwrap_or(what);
            Why::Invalid(what.to_owned())
        }
    }
}
