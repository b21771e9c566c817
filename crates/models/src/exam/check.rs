//! Marks one reply: is it read, does it fit, is it right.

use std::borrow::Cow;

use innkeeper_protocol::{
    Aliases, Protocol, ToolCallRequest, ToolDefinition, add_native_calls, bind, parse,
};
use serde_json::{Map, Value as Json};

use super::result::Marks;
use super::take::Validate;
use super::tasks::{Expected, ExpectedCall, Task, Wanted};
use crate::ModelReply;

/// What came of a reply: its marks, and what is wrong with it in a sentence.
pub(super) fn mark(
    reply: &ModelReply,
    task: &Task,
    dialect: Protocol,
    aliases: &Aliases,
    validate: Validate<'_>,
) -> (Marks, Option<String>) {
    let mut marks = Marks {
        replied: true,
        ..Marks::default()
    };
    let text = reply.text();
    let mut parsed = parse(&text);
    if matches!(dialect, Protocol::Native(_)) {
        add_native_calls(&mut parsed, &reply.to_standard_response());
    }
    let fault = parsed
        .all_diagnostics()
        .into_iter()
        .find(|said| said.is_error())
        .map(|said| said.message.to_string());
    if fault.is_some() {
        return (marks, fault);
    }
    let calls: Vec<_> = parsed.calls().collect();
    if calls.iter().any(|call| !speaks(dialect, call)) {
        let other = "the call is written in another dialect than the one that was taught";
        return (marks, Some(other.to_owned()));
    }
    let wanted = match &task.expected {
        Expected::NoCall => {
            marks.parsed = true;
            if let Some(call) = calls.first() {
                let why = format!("'{}' was called where nothing had to be", call.tool);
                return (marks, Some(why));
            }
            // There is nothing that could be wrong about no call.
            return (Marks::all(), None);
        }
        Expected::Calls(_) if calls.is_empty() => {
            return (marks, Some("nothing was called".to_owned()));
        }
        Expected::Calls(wanted) => wanted,
    };
    marks.parsed = true;
    match fitted(&calls, task, aliases, validate, &mut marks) {
        Ok(found) => judge(&found, wanted, &mut marks),
        Err(why) => (marks, Some(why)),
    }
}

fn speaks(dialect: Protocol, call: &ToolCallRequest<'_>) -> bool {
    match dialect {
        Protocol::Native(_) => matches!(call.protocol, Protocol::Native(_)),
        dialect => call.protocol == dialect,
    }
}

type Found<'t> = (&'t ToolDefinition, Map<String, Json>);

/// The calls, each fitted to its tool and validated.
fn fitted<'t>(
    calls: &[&ToolCallRequest<'_>],
    task: &'t Task,
    aliases: &Aliases,
    validate: Validate<'_>,
    marks: &mut Marks,
) -> Result<Vec<Found<'t>>, String> {
    let mut found = Vec::with_capacity(calls.len());
    for &call in calls {
        let mut call = call.clone();
        aliases.restore(&mut call);
        let tool = task.tools.iter().find(|tool| tool.id.as_str() == call.tool);
        let tool = tool.ok_or_else(|| format!("there is no tool '{}'", call.tool))?;
        let bound = bind(&call, tool).map_err(|error| error.to_string())?;
        found.push((tool, bound.arguments));
    }
    marks.bound = true;
    for (tool, arguments) in &found {
        validate(tool, arguments).map_err(|why| format!("{}: {why}", tool.id))?;
    }
    marks.validated = true;
    Ok(found)
}

/// Each call that was wanted must be there, and no other.
fn judge(
    found: &[Found<'_>],
    wanted: &[ExpectedCall],
    marks: &mut Marks,
) -> (Marks, Option<String>) {
    let mut names: Vec<&str> = found.iter().map(|(tool, _)| tool.id.as_str()).collect();
    let mut right: Vec<&str> = wanted.iter().map(|call| call.tool).collect();
    names.sort_unstable();
    right.sort_unstable();
    if names != right {
        let why = format!("called {}, not {}", names.join(", "), right.join(", "));
        return (*marks, Some(why));
    }
    marks.right_tool = true;
    let mut left: Vec<&Found<'_>> = found.iter().collect();
    let mut why = None;
    for call in wanted {
        let same = left
            .iter()
            .enumerate()
            .filter(|(_, f)| f.0.id.as_str() == call.tool);
        let mut wrong = None;
        let at = same
            .filter(|(_, f)| match first_wrong(&f.1, call) {
                None => true,
                Some(fault) => {
                    wrong.get_or_insert(fault);
                    false
                }
            })
            .map(|(at, _)| at)
            .next();
        match at {
            Some(at) => {
                left.swap_remove(at);
            }
            None => {
                why.get_or_insert(wrong.unwrap_or_default());
            }
        }
    }
    marks.right_arguments = why.is_none();
    (*marks, why)
}

fn first_wrong(arguments: &Map<String, Json>, wanted: &ExpectedCall) -> Option<String> {
    let arguments = Json::Object(arguments.clone());
    let wrong = wanted.arguments.iter().find(|(pointer, wanted)| {
        let value = arguments.pointer(pointer);
        !wanted.takes(value)
    });
    wrong.map(|(pointer, _)| {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        match arguments.pointer(pointer) {
            Some(value) => format!("{} is not as asked: {value}", name),
            None => format!("{name} is missing"),
        }
    })
}

impl Wanted {
    fn takes(&self, value: Option<&Json>) -> bool {
        let text = value.and_then(Json::as_str);
        match self {
            Self::Equal(wanted) => value.is_some_and(|value| equal(value, wanted)),
            Self::Text(wanted) => text.is_some_and(|text| folded(text) == folded(wanted)),
            Self::Holds(pieces) => text.is_some_and(|text| {
                // Letter case matters only in the pieces that have any.
                let lower = text.to_lowercase();
                pieces
                    .iter()
                    .all(|piece| text.contains(piece) || lower.contains(piece))
            }),
            Self::Among(wanted) => value.and_then(Json::as_array).is_some_and(|items| {
                let mut items: Vec<_> = items.iter().filter_map(Json::as_str).map(folded).collect();
                let mut wanted: Vec<_> = wanted.iter().copied().map(folded).collect();
                items.sort();
                wanted.sort();
                items == wanted
            }),
            Self::AbsentOr(other) => value.is_none_or(|value| equal(value, other)),
        }
    }
}

fn folded(text: &str) -> Cow<'_, str> {
    Cow::Owned(text.trim().to_lowercase())
}

fn equal(value: &Json, wanted: &Json) -> bool {
    match (value.as_f64(), wanted.as_f64()) {
        (Some(value), Some(wanted)) => (value - wanted).abs() < f64::EPSILON,
        _ => value == wanted,
    }
}
