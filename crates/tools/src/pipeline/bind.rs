//! From what the model wrote to arguments of the declared names and types, all faults at once.

use innkeeper_protocol::{
    BoundCall, ErrorCode, Failure, Outcome, ParameterProblem, Source, ToolCallRequest, Value,
    bind_partly, key,
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

/// Adds what the schema says about the arguments. A place that has a problem already gets no second one: it would
/// say the same, or that something is missing which was only misspelt.
pub(super) fn validate(
    tool: &Tool,
    request: &ToolCallRequest<'_>,
    bound: &mut BoundCall,
    faults: Faults,
) -> Result<(), Outcome> {
    if faults.is_empty() {
        return judge(tool, &mut bound.arguments, faults, &[]);
    }
    // What would have been fetched is not there, since something else was wrong.
    let mut absent: Vec<_> = bound.uris.keys().map(|name| format!("/{name}")).collect();
    let mut arguments = bound.arguments.clone();
    for problem in &faults.problems {
        let place = first_segment(&problem.path);
        // A value that is wrong in one place may be wrong in others.
        match place
            .strip_prefix('/')
            .and_then(|name| as_json(request, name))
        {
            Some((name, value)) => {
                arguments.entry(name).or_insert(value);
            }
            None => absent.push(place.to_owned()),
        }
        absent.extend(problem.suggestion.iter().map(|name| format!("/{name}")));
    }
    judge(tool, &mut arguments, faults, &absent)
}

/// The same for arguments that were put together by somebody else.
pub(super) fn validate_alone(
    tool: &Tool,
    arguments: &mut Map<String, Json>,
) -> Result<(), Outcome> {
    judge(tool, arguments, Faults::default(), &[])
}

fn judge(
    tool: &Tool,
    arguments: &mut Map<String, Json>,
    mut faults: Faults,
    absent: &[String],
) -> Result<(), Outcome> {
    let found = check_arguments(tool.parameters(), arguments);
    for problem in found.problems {
        let is_known = faults
            .problems
            .iter()
            .any(|known| known.path == problem.path)
            || absent
                .iter()
                .any(|place| place == first_segment(&problem.path));
        if !is_known {
            faults.push(problem);
        }
    }
    faults.omitted += found.omitted;
    match faults.is_empty() {
        true => Ok(()),
        false => Err(invalid(faults)),
    }
}

/// An argument that was written as JSON, by the name its problem has.
fn as_json(request: &ToolCallRequest<'_>, pointer: &str) -> Option<(String, Json)> {
    let name = pointer.replace("~1", "/").replace("~0", "~");
    let form = key::normalise(&name);
    let argument = request.arguments.iter().find(|argument| {
        argument.source == Source::Inline
            && (argument.name == name
                || (request.protocol.normalises_keys() && argument.name == form))
    })?;
    let value = match &argument.value {
        Value::Json(value) => value.clone(),
        Value::Text(text) => serde_json::from_str(&text.trimmed()).ok()?,
        Value::Tree(_) => return None,
    };
    matches!(value, Json::Array(_) | Json::Object(_)).then_some((name, value))
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
