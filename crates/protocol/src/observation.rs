//! What came of a call, as a record and as the sentence that the model reads.
//!
//! The wording is the specification's (`Observation: Tool X executed successfully. Result: sunny`); the record
//! beside it carries the code, the place and what was expected. A result is data: lines in it that begin like
//! an observation, and marks of calls, are shown with a backslash, and a note after the result says so.

mod wording;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::limits::MAX_ALIAS_BYTES;
use crate::{BindError, Block, Code, Diagnostic, ErrorCode, Problem, Reply};

pub use wording::{render_observation, render_observation_within};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Observation {
    /// The tool as the model knows it; empty where a call could not be read at all.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// Step number in its block.
    #[serde(default = "first")]
    pub index: u32,
    /// The task that ran it in the background.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    #[serde(flatten)]
    pub outcome: Outcome,
}

const fn first() -> u32 {
    1
}

const fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "outcome",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Outcome {
    Success {
        result: Json,
        /// Where the whole result stands, if `result` is only its beginning or it is too long to show.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spilled: Option<Spilled>,
    },
    Error(Failure),
    /// A person or a policy said no. Nothing was done.
    Denied {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// Stopped before it was finished.
    Cancelled {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        reason: String,
    },
    /// Sent, and no answer came: it may have taken effect.
    OutcomeUnknown {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// It runs in the background; its end is an observation of its own.
    AsyncStarted {
        task_id: String,
    },
    /// Nothing failed, but the model should know: a part of its text was not used.
    Notice {
        reason: String,
        message: String,
    },
}

/// A result that is kept elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spilled {
    /// How the model can reach it: a path or a URI.
    pub reference: String,
    /// Length of the whole, in characters.
    pub chars: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    pub code: ErrorCode,
    pub message: String,
    /// A finer code: the parser's, or a tool's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What is wrong with which parameter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ParameterProblem>,
    /// Problems found beyond those.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub omitted: usize,
    /// Names that were perhaps meant, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestions: Vec<String>,
}

/// One thing that is wrong with one parameter.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ParameterProblem {
    /// A stable word: `unknown_parameter`, `missing_parameter`, `wrong_type`.
    pub code: String,
    /// JSON pointer or name of the parameter.
    pub path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received: Option<String>,
    /// The declared name or value that was probably meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// The sentence for the model, without a full stop: `Unknown parameter 'playerId', did you mean …?`
    pub message: String,
}

impl Failure {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            reason: None,
            problems: Vec::new(),
            omitted: 0,
            suggestions: Vec::new(),
        }
    }
}

impl Observation {
    pub fn new(tool: impl Into<String>, outcome: Outcome) -> Self {
        Self {
            tool: tool.into(),
            call_id: None,
            index: 1,
            task: None,
            outcome,
        }
    }

    pub fn success(tool: impl Into<String>, result: impl Into<Json>) -> Self {
        Self::new(
            tool,
            Outcome::Success {
                result: result.into(),
                spilled: None,
            },
        )
    }

    pub fn error(tool: impl Into<String>, code: ErrorCode, message: impl Into<String>) -> Self {
        Self::new(tool, Outcome::Error(Failure::new(code, message)))
    }

    pub fn invalid_arguments(tool: impl Into<String>, problems: Vec<ParameterProblem>) -> Self {
        let message = problems
            .iter()
            .map(|problem| problem.message.as_str())
            .collect::<Vec<_>>()
            .join("; ");
        let failure = Failure {
            problems,
            ..Failure::new(ErrorCode::ToolInvalidArguments, message)
        };
        Self::new(tool, Outcome::Error(failure))
    }

    /// `suggestions`: nearest first.
    pub fn unknown_tool(tool: impl Into<String>, suggestions: Vec<String>) -> Self {
        let tool = tool.into();
        let message = wording::unknown_tool(&tool, &suggestions);
        let failure = Failure {
            suggestions,
            ..Failure::new(ErrorCode::ToolUnknown, message)
        };
        Self::new(tool, Outcome::Error(failure))
    }

    /// What the model must be told about a block (what `bind` will say of its calls left out): one observation for each error, so that nothing it wrote
    /// is dropped in silence, and one for each part that was left out of a block that runs all the same.
    pub fn of_block(block: &Block<'_>) -> Vec<Self> {
        block
            .diagnostics
            .iter()
            .filter_map(Self::of_diagnostic)
            .collect()
    }

    /// The same for a whole reply, in order of position.
    pub fn of_reply(reply: &Reply<'_>) -> Vec<Self> {
        reply
            .all_diagnostics()
            .into_iter()
            .filter_map(Self::of_diagnostic)
            .collect()
    }

    fn of_diagnostic(diagnostic: &Diagnostic) -> Option<Self> {
        let reason = diagnostic.code.as_str().to_owned();
        let message = diagnostic.message.to_string();
        let outcome = match diagnostic.code {
            code if code.is_left_to_bind() => return None,
            _ if diagnostic.is_error() => Outcome::Error(Failure {
                reason: Some(reason),
                ..Failure::new(ErrorCode::ProtocolMalformed, message)
            }),
            code if leaves_out(code) => Outcome::Notice { reason, message },
            _ => return None,
        };
        Some(Self::new("", outcome))
    }

    /// The code of a failure, also where the outcome is one by its nature.
    pub fn error_code(&self) -> Option<ErrorCode> {
        match &self.outcome {
            Outcome::Success { .. } | Outcome::AsyncStarted { .. } | Outcome::Notice { .. } => None,
            Outcome::Error(failure) => Some(failure.code),
            Outcome::Denied { .. } => Some(ErrorCode::ToolApprovalDenied),
            Outcome::Cancelled { .. } => Some(ErrorCode::ToolCancelled),
            Outcome::OutcomeUnknown { .. } => Some(ErrorCode::ToolOutcomeUnknown),
        }
    }
}

impl From<&BindError> for Observation {
    fn from(error: &BindError) -> Self {
        let problems = error.problems.iter().map(ParameterProblem::from).collect();
        let mut observation = Self::invalid_arguments(error.tool.as_str(), problems);
        if let Outcome::Error(failure) = &mut observation.outcome {
            failure.omitted = error.omitted;
        }
        observation
    }
}

impl From<&Problem> for ParameterProblem {
    fn from(problem: &Problem) -> Self {
        Self {
            code: problem.code.as_str().to_owned(),
            path: problem.path.clone(),
            expected: Some(problem.expected.clone()),
            received: Some(problem.received.clone()),
            suggestion: problem.suggestion.clone(),
            message: problem.message.clone(),
        }
    }
}

/// Warnings after which a part of what the model wrote has no effect.
const fn leaves_out(code: Code) -> bool {
    matches!(
        code,
        Code::OrphanParameter
            | Code::UnparsedLine
            | Code::ExtraActionBlock
            | Code::IgnoredAttribute
            | Code::DuplicateKey
            | Code::MoreDiagnostics
    )
}

/// A name as the model wrote it, fit to be quoted.
fn quoted(name: &str) -> String {
    crate::defuse::one_line(name, MAX_ALIAS_BYTES)
}

#[cfg(test)]
#[path = "observation_tests.rs"]
mod tests;
