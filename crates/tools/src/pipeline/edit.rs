//! Arguments as a person has changed them before they allowed the call.
//!
//! What a person was shown is not all there is: secrets are taken out of it and long texts are cut. What they left as it
//! was shown stays what it really is; the mark of something that was not shown, put anywhere else, is refused. So nobody
//! calls a tool with `[redacted]` for a password, and nothing that was hidden gets to another place.

use innkeeper_protocol::{
    Argument, ErrorCode, Outcome, Protocol, Provider, Source, Span, ToolCallRequest, Value,
};
use serde_json::{Map, Value as Json};

use super::authorise;
use super::bind;
use crate::ToolError;
use crate::limits::{MAX_EDIT_BYTES, MAX_EDIT_DEPTH};
use crate::policy::Decision;
use crate::redact::{REDACTED, redact_arguments};
use crate::registry::{Lookup, Tool};
use crate::run::ToolRun;

/// Texts that stand for something that was not shown.
const MARKS: [&str; 3] = [REDACTED, "[secret ", "[nested too deeply to be kept]"];
const CUT: (&str, &str) = ("… (", " more characters)");

/// An edit with what it left as it was.
#[derive(Debug, PartialEq)]
pub(crate) struct Restored {
    pub(crate) arguments: Map<String, Json>,
    /// Pointers to what the person has not seen whole and has left alone.
    pub(crate) unseen: Vec<String>,
}

/// `real` is what was shown as `shown`; where it is not known, what was shown stands for it. `Err` says what is wrong.
pub(crate) fn restored(
    edit: &Map<String, Json>,
    shown: &Json,
    real: Option<&Map<String, Json>>,
) -> Result<Restored, String> {
    let mut unseen = Vec::new();
    let mut arguments = Map::new();
    for (name, value) in edit {
        let shown = shown.get(name);
        if is_reference(name, real) && shown.is_some() {
            if shown != Some(value) {
                return Err(format!(
                    "'{name}' says where a value came from and cannot be changed; change the value itself"
                ));
            }
            continue;
        }
        let known = match real {
            Some(real) => real.get(name),
            None => shown,
        };
        let path = format!("/{}", escaped(name));
        let value = value_of(value, shown, known, path, &mut unseen)?;
        arguments.insert(name.clone(), value);
    }
    Ok(Restored { arguments, unseen })
}

/// The audit names a fetched argument by where it came from too.
fn is_reference(name: &str, real: Option<&Map<String, Json>>) -> bool {
    name.starts_with("uri_") && real.is_none_or(|real| !real.contains_key(name))
}

fn value_of(
    edit: &Json,
    shown: Option<&Json>,
    real: Option<&Json>,
    path: String,
    unseen: &mut Vec<String>,
) -> Result<Json, String> {
    if shown == Some(edit) {
        let real = real.unwrap_or(edit);
        if real != edit || has_mark(edit) {
            unseen.push(path);
        }
        return Ok(real.clone());
    }
    match edit {
        Json::Object(fields) => {
            let one = |(name, value): (&String, &Json)| {
                let inner = format!("{path}/{}", escaped(name));
                let (shown, real) = (
                    shown.and_then(|shown| shown.get(name)),
                    real.and_then(|real| real.get(name)),
                );
                Ok((name.clone(), value_of(value, shown, real, inner, unseen)?))
            };
            let fields: Result<_, String> = fields.iter().map(one).collect();
            Ok(Json::Object(fields?))
        }
        Json::Array(items) => {
            let one = |(at, value): (usize, &Json)| {
                let inner = format!("{path}/{at}");
                let (shown, real) = (
                    shown.and_then(|shown| shown.get(at)),
                    real.and_then(|real| real.get(at)),
                );
                value_of(value, shown, real, inner, unseen)
            };
            let items: Result<_, String> = items.iter().enumerate().map(one).collect();
            Ok(Json::Array(items?))
        }
        Json::String(text) if is_marked(text) => Err(format!(
            "'{}' has a mark in it that stands for something you were not shown; leave the value as it was shown, or write it whole",
            path.trim_start_matches('/')
        )),
        other => Ok(other.clone()),
    }
}

fn has_mark(value: &Json) -> bool {
    match value {
        Json::String(text) => is_marked(text),
        Json::Array(items) => items.iter().any(has_mark),
        Json::Object(fields) => fields.values().any(has_mark),
        _ => false,
    }
}

fn is_marked(text: &str) -> bool {
    let is_cut = text.ends_with(CUT.1) && text.contains(CUT.0);
    is_cut || MARKS.iter().any(|mark| text.contains(mark))
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Held against the tool like what a model writes; faults of what was not seen are not the person's.
pub(crate) fn fitting(tool: &Tool, restored: Restored) -> Result<Map<String, Json>, Outcome> {
    let request = written(tool, &restored.arguments);
    let (mut bound, faults) = bind::bind(tool, &request);
    let Err(outcome) = bind::validate(tool, &request, &mut bound, faults) else {
        return Ok(bound.arguments);
    };
    let Outcome::Error(mut failure) = outcome else {
        return Err(outcome);
    };
    let is_unseen = |path: &str| {
        let mut unseen = restored.unseen.iter();
        unseen.any(|place| {
            path == place
                || path
                    .strip_prefix(place.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
        })
    };
    failure.problems.retain(|problem| !is_unseen(&problem.path));
    match failure.problems.is_empty() && failure.omitted == 0 {
        true => Ok(restored.arguments),
        false => {
            let said: Vec<_> = failure
                .problems
                .iter()
                .map(|problem| problem.message.as_str())
                .collect();
            failure.message = said.join("; ");
            Err(Outcome::Error(failure))
        }
    }
}

/// As a model would write it that calls natively: names are exact, values are JSON.
fn written<'a>(tool: &Tool, arguments: &'a Map<String, Json>) -> ToolCallRequest<'a> {
    let id = tool.definition().id.to_string();
    let mut request = ToolCallRequest::new(Protocol::Native(Provider::OpenAi), id);
    let one = |(name, value): (&'a String, &Json)| Argument {
        name: name.as_str().into(),
        written: name.as_str().into(),
        source: Source::Inline,
        value: Value::Json(value.clone()),
        hint: None,
        shared: false,
        span: Span::default(),
    };
    request.arguments = arguments.iter().map(one).collect();
    request
}

impl ToolRun {
    /// Whether a person may let the tool be called with these arguments, changed from what they were `shown`. Gives them
    /// as they may be shown in turn. What was hidden from them is judged when the call is made.
    pub fn check_edit(
        &self,
        tool: &str,
        shown: &Json,
        edit: &Map<String, Json>,
    ) -> Result<Json, ToolError> {
        let invalid = |why: String| ToolError::invalid(why).permanent();
        let bytes = serde_json::to_string(edit).map_or(usize::MAX, |text| text.len());
        if bytes > MAX_EDIT_BYTES {
            return Err(invalid(format!(
                "the arguments have {bytes} bytes, and at most {MAX_EDIT_BYTES} are taken"
            )));
        }
        if edit.values().any(|value| is_deeper(value, MAX_EDIT_DEPTH)) {
            return Err(invalid(format!(
                "the arguments are nested more than {MAX_EDIT_DEPTH} deep"
            )));
        }
        let Lookup::Found(tool) = self.snapshot.find(tool) else {
            return Err(invalid(format!("the tool '{tool}' is not there any more")));
        };
        let restored = restored(edit, shown, None).map_err(invalid)?;
        let arguments = fitting(tool, restored).map_err(|outcome| match outcome {
            Outcome::Error(failure) => invalid(failure.message),
            _ => invalid("the tool does not take them".to_owned()),
        })?;
        let verdict = authorise::verdict(self, tool.definition(), &arguments);
        if verdict.decision == Decision::Deny {
            let rule = format!("the rule '{}'", verdict.rule);
            let why = match &verdict.reason {
                None => format!("{rule} forbids these arguments"),
                Some(reason) if reason.contains(&rule) => reason.clone(),
                Some(reason) => format!("{rule} forbids these arguments: {reason}"),
            };
            return Err(ToolError::new(ErrorCode::ToolPolicyDenied, why).permanent());
        }
        let mut shown = Json::Object(redact_arguments(tool.definition(), &arguments));
        self.shared.redactor.load().redact_json(&mut shown);
        Ok(shown)
    }
}

fn is_deeper(value: &Json, left: usize) -> bool {
    match value {
        Json::Array(_) | Json::Object(_) if left == 0 => true,
        Json::Array(items) => items.iter().any(|item| is_deeper(item, left - 1)),
        Json::Object(fields) => fields.values().any(|field| is_deeper(field, left - 1)),
        _ => false,
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
