//! `uri_x`: reads what stands at the URI and gives it to `x`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::{
    BoundCall, Outcome, ParameterProblem, Text, ToolDefinition, TypeHint, UriArgument, Value,
    bind_value,
};
use serde_json::Value as Json;

use super::bind::invalid;
use super::validate::Faults;
use crate::Caller;
use crate::file::FileLayer;
use crate::limits::MAX_FETCHED_BYTES;

/// Puts the content of every `uri_` argument among the arguments, in the declared order of the tool.
pub(super) async fn fetch(
    files: &FileLayer,
    caller: &Caller,
    tool: &ToolDefinition,
    bound: &mut BoundCall,
) -> Result<(), Outcome> {
    if bound.uris.is_empty() {
        return Ok(());
    }
    let mut faults = Faults::default();
    let mut left = MAX_FETCHED_BYTES;
    for (name, argument) in &bound.uris {
        let bytes = match read(files, caller, &argument.uri, left).await {
            Ok(bytes) => bytes,
            Err(error) => return Err(error),
        };
        left = left.saturating_sub(bytes.len() as u64);
        match typed(tool, name, argument, bytes) {
            Ok(value) => {
                bound.arguments.insert(name.clone(), value);
            }
            Err(problem) => faults.push(*problem),
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(invalid(faults)),
    }
}

async fn read(
    files: &FileLayer,
    caller: &Caller,
    uri: &str,
    limit: u64,
) -> Result<Vec<u8>, Outcome> {
    let uri = files
        .resolve(caller, uri)
        .map_err(|error| Outcome::from(crate::ToolError::from(error)))?;
    files
        .read(&uri, limit)
        .await
        .map_err(|error| Outcome::from(crate::ToolError::from(error)))
}

/// The content as the parameter wants it: exact text where text is wanted, else read as if it had been
/// written out.
fn typed(
    tool: &ToolDefinition,
    name: &str,
    argument: &UriArgument,
    bytes: Vec<u8>,
) -> Result<Json, Box<ParameterProblem>> {
    let wants_bytes = argument.hint == Some(TypeHint::Base64)
        || tool.properties().any(|(known, schema)| {
            known == name
                && (schema.get("contentEncoding").and_then(Json::as_str) == Some("base64")
                    || schema.get("format").and_then(Json::as_str) == Some("byte"))
        });
    if wants_bytes {
        return Ok(STANDARD.encode(bytes).into());
    }
    let Ok(text) = String::from_utf8(bytes) else {
        return Err(Box::new(ParameterProblem {
            code: "not_text".to_owned(),
            path: format!("/{name}"),
            expected: Some("text".to_owned()),
            received: Some("bytes that are no UTF-8 text".to_owned()),
            suggestion: None,
            message: format!(
                "Parameter '{name}' must be text, but {} holds other bytes; give type_hint_{name} as base64 if the tool takes that",
                argument.uri
            ),
        }));
    };
    let as_text = matches!(argument.hint, None | Some(TypeHint::Text | TypeHint::Raw));
    if as_text
        && let Ok(value) = bind_value(tool, name, &Value::Json(Json::String(text.clone())), None)
    {
        return Ok(value);
    }
    let written = Value::Text(Text::new(text, ""));
    bind_value(tool, name, &written, argument.hint).map_err(|error| {
        Box::new(match error.problems.first() {
            Some(problem) => ParameterProblem::from(problem),
            None => ParameterProblem {
                code: "wrong_type".to_owned(),
                path: format!("/{name}"),
                message: error.to_string(),
                ..ParameterProblem::default()
            },
        })
    })
}
