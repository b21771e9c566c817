//! What a run is given, from the command line: each value read as the type that the interface declares. Everything
//! that is wrong is told at once.

use std::path::Path;

use innkeeper_engine::{DataFlowType, InterfaceSlot, Workflow, flow};
use serde_json::{Map, Value as Json};

use crate::cli::WorkflowRunArgs;
use crate::failure::{
    Expected, Failure, InputFault, Place, Taken, ToolFault, WorkflowFault, json_cause,
};
use crate::input::{Source, text_of};
use crate::limits::MAX_INPUT_BYTES;
use crate::suggest::nearest;

/// All inputs, ready for the engine.
pub(super) fn inputs(
    args: &WorkflowRunArgs,
    workflow: &Workflow,
) -> Result<Map<String, Json>, Failure> {
    let mut given = match &args.inputs {
        Some(path) => object(path)?,
        None => Map::new(),
    };
    let mut faults = Vec::new();
    let mut typed: Vec<&str> = Vec::new();
    for word in &args.input {
        let assignment = Assignment::of(word)?;
        let name = assignment.name;
        if typed.contains(&name) {
            faults.push(InputFault::Twice(name.to_owned()));
            continue;
        }
        typed.push(name);
        let Some(slot) = workflow.inputs.iter().find(|slot| slot.key == name) else {
            // Told below, with the others that do not exist.
            given.insert(name.to_owned(), Json::Null);
            continue;
        };
        match assignment.value(slot.flow)? {
            Ok(value) => drop(given.insert(name.to_owned(), value)),
            Err(fault) => {
                given.shift_remove(name);
                faults.push(fault);
            }
        }
    }
    check(workflow, &given, &mut faults);
    match faults.is_empty() {
        true => Ok(given),
        false => Err(WorkflowFault::Inputs {
            workflow: workflow.name.clone(),
            faults,
            interface: workflow.inputs.iter().map(described).collect(),
        }
        .into()),
    }
}

fn check(workflow: &Workflow, given: &Map<String, Json>, faults: &mut Vec<InputFault>) {
    let is_told = |faults: &[InputFault], key: &str| {
        faults.iter().any(|fault| match fault {
            InputFault::Type { name, .. } => name == key,
            _ => false,
        })
    };
    for slot in &workflow.inputs {
        match given.get(&slot.key).filter(|value| !value.is_null()) {
            Some(value) if flow::coerce(slot.flow, value.clone().into()).is_none() => {
                faults.push(wrong(slot.flow, &slot.key, &value.to_string(), None));
            }
            None if is_needed(slot) && !is_told(faults, &slot.key) => {
                faults.push(InputFault::Missing(slot.key.clone()));
            }
            Some(_) | None => {}
        }
    }
    for name in given.keys() {
        if workflow.inputs.iter().all(|slot| slot.key != *name) {
            let known = workflow.inputs.iter().map(|slot| slot.key.as_str());
            faults.push(InputFault::Unknown {
                near: nearest(name, known),
                name: name.clone(),
            });
        }
    }
}

fn is_needed(slot: &InterfaceSlot) -> bool {
    let is_assumed = ["default", "suggestions"]
        .iter()
        .any(|key| slot.config.contains_key(*key));
    slot.required && !is_assumed
}

fn described(slot: &InterfaceSlot) -> Taken {
    Taken {
        name: slot.key.clone(),
        kind: slot.flow.as_str(),
        default: slot.config.get("default").map(Json::to_string),
        is_needed: is_needed(slot),
    }
}

fn wrong(flow: DataFlowType, name: &str, given: &str, why: Option<String>) -> InputFault {
    InputFault::Type {
        name: name.to_owned(),
        wanted: flow.as_str(),
        given: given.to_owned(),
        why,
    }
}

/// One `--input`.
#[derive(Debug, PartialEq, Eq)]
struct Assignment<'w> {
    name: &'w str,
    given: Given<'w>,
}

#[derive(Debug, PartialEq, Eq)]
enum Given<'w> {
    Text(&'w str),
    File(&'w str),
    Json(&'w str),
}

impl<'w> Assignment<'w> {
    fn of(word: &'w str) -> Result<Self, Failure> {
        let (name, value) = word.split_once('=').unwrap_or_default();
        let (name, given) = match (name.strip_suffix(':'), value.strip_prefix('@')) {
            (Some(name), _) => (name, Given::Json(value)),
            // Doubled, it is a letter like any other.
            (None, Some(rest)) if rest.starts_with('@') => (name, Given::Text(rest)),
            (None, Some(path)) => (name, Given::File(path)),
            (None, None) => (name, Given::Text(value)),
        };
        match name.is_empty() {
            false => Ok(Self { name, given }),
            true => Err(Failure::Tool(ToolFault::Value {
                of: "--input",
                given: word.to_owned(),
                expected: Expected::Input,
            })),
        }
    }

    fn value(&self, flow: DataFlowType) -> Result<Result<Json, InputFault>, Failure> {
        Ok(match self.given {
            Given::Text(text) => self.typed(flow, text),
            Given::File(path) => {
                let source = Source::File(path.into());
                let text = text_of(&source, MAX_INPUT_BYTES, std::io::empty())?;
                self.typed(flow, &text)
            }
            Given::Json(text) => serde_json::from_str(text)
                .map_err(|error| wrong(flow, self.name, text, Some(json_cause(&error)))),
        })
    }

    fn typed(&self, flow: DataFlowType, text: &str) -> Result<Json, InputFault> {
        use DataFlowType::{
            Array, Binary, Boolean, ConvertibleAny, Float, Integer, Object, String, Wildcard,
        };
        match flow {
            String | Binary | Wildcard | ConvertibleAny => Ok(text.into()),
            Integer | Float | Boolean => match flow::coerce(flow, text.into()) {
                Some(value) if !text.trim().is_empty() => Ok(value.into_json()),
                _ => Err(wrong(flow, self.name, text, None)),
            },
            Object | Array => match serde_json::from_str::<Json>(text) {
                Ok(value) if flow.accepts(&value) => Ok(value),
                Ok(_) => Err(wrong(flow, self.name, text, None)),
                Err(error) => Err(wrong(flow, self.name, text, Some(json_cause(&error)))),
            },
        }
    }
}

fn object(path: &Path) -> Result<Map<String, Json>, Failure> {
    let source = match path.as_os_str() == "-" {
        true => Source::Stdin,
        false => Source::File(path.to_owned()),
    };
    let place = source.place();
    let text = text_of(&source, MAX_INPUT_BYTES, std::io::stdin().lock())?;
    serde_json::from_str(&text).map_err(|error| not_an_object(place, &error))
}

fn not_an_object(place: Place, error: &serde_json::Error) -> Failure {
    Failure::NotJson(place, json_cause(error))
}

#[cfg(test)]
#[path = "inputs_tests.rs"]
mod tests;
