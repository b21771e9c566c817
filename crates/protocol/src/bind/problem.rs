//! What is wrong with the arguments of a call, for the model to read and for programs to count.

use std::fmt;

use serde::Serialize;
use serde_json::Value as Json;

use crate::ToolId;
use crate::limits::{MAX_KEY_BYTES, MAX_LISTED_NAMES, MAX_PROBLEMS, MAX_QUOTE_CHARS};

/// The arguments do not fit the tool. Displayed, it is the sentence the model is told.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, Serialize)]
#[error("Invalid parameters for {tool}: {}", Sentences(self))]
pub struct BindError {
    pub tool: String,
    /// At most [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// Problems found beyond those.
    #[serde(skip_serializing_if = "is_zero")]
    pub omitted: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

struct Sentences<'e>(&'e BindError);

impl fmt::Display for Sentences<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.problems.iter().enumerate() {
            if at > 0 {
                f.write_str("; ")?;
            }
            f.write_str(&problem.message)?;
        }
        match self.0.omitted {
            0 => Ok(()),
            more => write!(f, "; and {more} more"),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub code: ProblemCode,
    /// JSON Pointer into the arguments, in declared names where there are any.
    pub path: String,
    pub expected: String,
    /// What came instead: a short quote, or the kind of value.
    pub received: String,
    /// The declared name or value that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    pub message: String,
}

/// Stable name of a problem. The wire form never changes once released.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemCode {
    UnknownParameter,
    MissingParameter,
    /// Two fields mean the same parameter.
    DuplicateParameter,
    /// One field could mean two declared parameters.
    AmbiguousParameter,
    /// Both `x` and `uri_x`.
    ConflictingUri,
    WrongType,
    /// None of the values that the schema lists.
    InvalidValue,
    /// An integer that 64 bits do not hold.
    OutOfRange,
    InvalidJson,
    InvalidBase64,
    /// Too large or nested too deeply to be checked.
    TooComplex,
}

impl ProblemCode {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownParameter => "unknown_parameter",
            Self::MissingParameter => "missing_parameter",
            Self::DuplicateParameter => "duplicate_parameter",
            Self::AmbiguousParameter => "ambiguous_parameter",
            Self::ConflictingUri => "conflicting_uri",
            Self::WrongType => "wrong_type",
            Self::InvalidValue => "invalid_value",
            Self::OutOfRange => "out_of_range",
            Self::InvalidJson => "invalid_json",
            Self::InvalidBase64 => "invalid_base64",
            Self::TooComplex => "too_complex",
        }
    }
}

/// Problems while they are found: a list that stays short and a count of the rest.
#[derive(Debug, Default)]
pub(super) struct Faults {
    list: Vec<Problem>,
    omitted: usize,
    /// Names beside these problems that the schema does not know. They are none, but make it less likely that
    /// this schema was meant.
    strays: usize,
}

impl Faults {
    /// Beyond the cap the problem is only counted, and never made.
    pub(super) fn push(&mut self, problem: impl FnOnce() -> Problem) {
        if self.list.len() < MAX_PROBLEMS {
            self.list.push(problem());
        } else {
            self.omitted += 1;
        }
    }

    pub(super) fn extend(&mut self, other: Self) {
        for problem in other.list {
            self.push(|| problem);
        }
        self.omitted += other.omitted;
        self.strays += other.strays;
    }

    pub(super) fn add_strays(&mut self, strays: usize) {
        self.strays += strays;
    }

    /// How much speaks against a schema.
    pub(super) fn weight(&self) -> usize {
        self.list.len() + self.omitted + self.strays
    }

    pub(super) fn list(&self) -> &[Problem] {
        &self.list
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(super) fn into_error(self, tool: &ToolId) -> BindError {
        BindError {
            tool: tool.to_string(),
            problems: self.list,
            omitted: self.omitted,
        }
    }
}

impl From<Problem> for Faults {
    fn from(problem: Problem) -> Self {
        Self {
            list: vec![problem],
            ..Self::default()
        }
    }
}

/// Where in the arguments a value stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Place(Vec<Segment>);

#[derive(Debug, Clone)]
enum Segment {
    Name(String),
    Index(usize),
}

impl Place {
    pub(super) fn name(&mut self, name: &str) {
        self.0.push(Segment::Name(name.to_owned()));
    }

    pub(super) fn index(&mut self, index: usize) {
        self.0.push(Segment::Index(index));
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    /// `/user/tags/0`.
    pub(super) fn pointer(&self) -> String {
        let mut out = String::new();
        for segment in &self.0 {
            out.push('/');
            match segment {
                Segment::Name(name) => {
                    // Only a name that nobody declared is ever that long.
                    let short: String = name.chars().take(MAX_KEY_BYTES).collect();
                    out.push_str(&short.replace('~', "~0").replace('/', "~1"));
                }
                Segment::Index(index) => out.push_str(&index.to_string()),
            }
        }
        out
    }

    /// `user.tags[0]`, as a sentence names it.
    pub(super) fn words(&self) -> String {
        let mut out = String::new();
        for segment in &self.0 {
            match segment {
                Segment::Name(name) => {
                    if !out.is_empty() {
                        out.push('.');
                    }
                    out.push_str(name);
                }
                Segment::Index(index) => out.push_str(&format!("[{index}]")),
            }
        }
        out
    }

    /// The problem that the value here is not what it must be.
    pub(super) fn problem(
        &self,
        code: ProblemCode,
        expected: impl Into<String>,
        received: impl Into<String>,
    ) -> Problem {
        let (expected, received) = (expected.into(), received.into());
        Problem {
            code,
            path: self.pointer(),
            message: format!(
                "Parameter {} must be {expected}, received {received}",
                quote_name(&self.words())
            ),
            expected,
            received,
            suggestion: None,
        }
    }

    /// Here stands a name that nobody declared. `shown` and `suggestion` are what the message says.
    pub(super) fn unknown<'n>(
        &self,
        shown: &str,
        suggestion: Option<(&str, String)>,
        declared: impl Iterator<Item = &'n str>,
    ) -> Problem {
        let declared = list(declared.map(quote_name));
        let message = match (&suggestion, declared.as_str()) {
            (Some((_, text)), _) => format!(
                "Unknown parameter {}, did you mean {}?",
                quote_name(shown),
                quote_name(text)
            ),
            (None, "") => format!("Unknown parameter {}, none are declared", quote_name(shown)),
            (None, _) => format!(
                "Unknown parameter {}, declared are {declared}",
                quote_name(shown)
            ),
        };
        Problem {
            code: ProblemCode::UnknownParameter,
            path: self.pointer(),
            expected: declared,
            received: quote_name(shown),
            suggestion: suggestion.map(|(name, _)| name.to_owned()),
            message,
        }
    }

    pub(super) fn missing(&self, expected: String) -> Problem {
        Problem {
            code: ProblemCode::MissingParameter,
            path: self.pointer(),
            expected,
            received: "nothing".to_owned(),
            suggestion: None,
            message: format!("Missing required parameter {}", quote_name(&self.words())),
        }
    }
}

/// A name in single quotes: short, and on one line whatever it holds.
pub(super) fn quote_name(name: &str) -> String {
    format!("'{}'", shorten(name, |c| c.is_control()))
}

/// Text in double quotes: short, and on one line whatever it holds.
pub(super) fn quote_text(text: &str) -> String {
    if text.is_empty() {
        return "an empty text".to_owned();
    }
    format!(
        "\"{}\"",
        shorten(text, |c| c.is_control() || matches!(c, '"' | '\\'))
    )
}

fn shorten(text: &str, escape: impl Fn(char) -> bool) -> String {
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == MAX_QUOTE_CHARS {
            out.push('…');
            break;
        }
        if escape(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

pub(super) fn quote_json(value: &Json) -> String {
    match value {
        Json::String(text) => quote_text(text),
        Json::Array(_) => "an array".to_owned(),
        Json::Object(_) => "an object".to_owned(),
        scalar => scalar.to_string(),
    }
}

/// `a, b, c and 4 more`.
pub(super) fn list(items: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    let mut more = 0;
    for (at, item) in items.enumerate() {
        if at >= MAX_LISTED_NAMES {
            more += 1;
            continue;
        }
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&item);
    }
    if more > 0 {
        out.push_str(&format!(" and {more} more"));
    }
    out
}
