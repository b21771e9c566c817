//! From what the model wrote to arguments of the declared names and types, all faults at once.

use innkeeper_protocol::{
    BoundCall, ErrorCode, Failure, Outcome, ParameterProblem, ToolCallRequest, bind_partly,
};
use serde_json::{Map, Value as Json};

use super::validate::{Faults, check_arguments};
use crate::registry::Tool;

/// What `bind` made of the call, and what it found wrong.
pub(super) fn bind(tool: &Tool, request: &ToolCallRequest<'_>) -> (BoundCall, Faults) {
    let (bound, error) = bind_partly(request, tool.definition());
    let faults = match error {
        None => Faults::default(),
        Some(error) => Faults {
            problems: error.problems.iter().map(ParameterProblem::from).collect(),
            omitted: error.omitted,
        },
    };
    (bound, faults)
}

/// Adds what the schema says about the arguments that could be bound. A parameter that has a problem already
/// gets no second one: it would say the same, or that something is missing which was only misspelt.
pub(super) fn validate(tool: &Tool, bound: &BoundCall, faults: Faults) -> Result<(), Outcome> {
    // What would have been fetched is not there yet if something else was wrong.
    let absent = match faults.is_empty() {
        true => Vec::new(),
        false => bound.uris.keys().map(|name| format!("/{name}")).collect(),
    };
    judge(tool, &bound.arguments, faults, absent)
}

/// The same for arguments that were put together by somebody else.
pub(super) fn validate_alone(tool: &Tool, arguments: &Map<String, Json>) -> Result<(), Outcome> {
    judge(tool, arguments, Faults::default(), Vec::new())
}

fn judge(
    tool: &Tool,
    arguments: &Map<String, Json>,
    mut faults: Faults,
    absent: Vec<String>,
) -> Result<(), Outcome> {
    let found = check_arguments(tool.parameters(), arguments);
    let known: Vec<_> = faults
        .problems
        .iter()
        .flat_map(|problem| {
            let meant = problem.suggestion.iter().map(|name| format!("/{name}"));
            std::iter::once(first_segment(&problem.path).to_owned()).chain(meant)
        })
        .chain(absent)
        .collect();
    for problem in found.problems {
        if !known
            .iter()
            .any(|path| path == first_segment(&problem.path))
        {
            faults.push(problem);
        }
    }
    faults.omitted += found.omitted;
    match faults.is_empty() {
        true => Ok(()),
        false => Err(invalid(faults)),
    }
}

pub(super) fn invalid(faults: Faults) -> Outcome {
    let message = faults.sentences();
    Outcome::Error(Failure {
        problems: faults.problems,
        omitted: faults.omitted,
        ..Failure::new(ErrorCode::ToolInvalidArguments, message)
    })
}

fn first_segment(pointer: &str) -> &str {
    match pointer.char_indices().skip(1).find(|(_, c)| *c == '/') {
        Some((at, _)) => pointer.get(..at).unwrap_or(pointer),
        None => pointer,
    }
}
