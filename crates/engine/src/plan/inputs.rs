//! What each input of each node takes, once groups and nodes that are switched off are seen through.

use crate::flow::{coerce, kind};
use crate::node::{NodeInput, Structure};
use crate::problem::{Problem, Problems};
use crate::{DataFlowType, Value};

use super::bypass;
use super::scope::Unfolded;
use super::source::{Origin, Origins, set_value};

/// What one input takes.
#[derive(Debug, Clone)]
pub(super) enum Taken {
    /// Nothing is connected.
    Set(Value),
    One {
        node: usize,
        output: usize,
        /// Where the output turns out to give nothing.
        otherwise: Value,
    },
    Many {
        origins: Vec<Origin>,
        /// Together they are one list; else each is one of many.
        is_list: bool,
    },
}

/// For each node, for each input.
pub(super) fn take_all(unfolded: &Unfolded, problems: &mut Problems) -> Vec<Vec<Taken>> {
    let mut origins = Origins::new(unfolded);
    (0..unfolded.nodes.len())
        .map(|number| take_node(unfolded, &mut origins, number, problems))
        .collect()
}

fn take_node(
    unfolded: &Unfolded,
    origins: &mut Origins<'_>,
    number: usize,
    problems: &mut Problems,
) -> Vec<Taken> {
    let Some(placed) = unfolded.nodes.get(number) else {
        return Vec::new();
    };
    let is_inner_end = match placed.structure {
        Some(Structure::Frame) => true,
        Some(Structure::NodeGroup) => !bypass::is_bypassed(unfolded, number),
        Some(Structure::GroupInput | Structure::GroupOutput) => unfolded
            .scopes
            .get(placed.scope)
            .is_some_and(|scope| scope.parent.is_some()),
        _ => false,
    };
    if is_inner_end {
        return Vec::new();
    }
    let inputs = placed.shape.inputs().enumerate();
    inputs
        .map(|(index, input)| {
            let connected: Vec<_> = unfolded.incoming(number, index).collect();
            let connected: Vec<_> = connected
                .into_iter()
                .map(|place| match origins.of(place, problems) {
                    Origin::List(list) if !origins.allows(list.len(), number, problems) => {
                        Origin::Nothing
                    }
                    origin => origin,
                })
                .collect();
            let taken = take(unfolded, number, index, input, connected);
            match (&taken, placed.kind.is_some()) {
                (Taken::Set(value), true) => check_set(unfolded, number, input, value, problems),
                _ => taken,
            }
        })
        .collect()
}

fn take(
    unfolded: &Unfolded,
    number: usize,
    index: usize,
    input: &NodeInput,
    mut connected: Vec<Origin>,
) -> Taken {
    let otherwise = || set_value(unfolded, number, index);
    if input.multi {
        connected.retain(|origin| *origin != Origin::Nothing);
        if connected.is_empty() {
            return Taken::Set(otherwise());
        }
        return Taken::Many {
            origins: connected,
            is_list: false,
        };
    }
    match connected.into_iter().next() {
        None | Some(Origin::Nothing) => Taken::Set(otherwise()),
        Some(Origin::Value(value)) => Taken::Set(value),
        Some(Origin::Output { node, output }) => Taken::One {
            node,
            output,
            otherwise: otherwise(),
        },
        Some(Origin::List(origins)) => Taken::Many {
            origins: origins.to_vec(),
            is_list: true,
        },
    }
}

/// A value that was set has to be of the slot's type, and must not be missing where it is needed.
fn check_set(
    unfolded: &Unfolded,
    number: usize,
    input: &NodeInput,
    value: &Value,
    problems: &mut Problems,
) -> Taken {
    let slot = &input.slot;
    let at = |problem: Problem| problem.at(unfolded.path(number)).slot(&slot.key);
    if value.is_null() || (input.multi && value.as_json() == &serde_json::json!([])) {
        if input.required {
            let what = match input.multi {
                true => "it needs at least one connection",
                false => "it must be connected or set",
            };
            problems.add(at(Problem::error("input.missing", what)));
        }
        return Taken::Set(Value::null());
    }
    if input.multi {
        return many(unfolded, number, input, value, problems);
    }
    if input.required && is_empty_text(slot.flow, value) && !slot.is_stream {
        let message = "nothing is connected or set, and it is needed: it is taken as empty";
        problems.add(at(Problem::warning("input.empty", message)));
    }
    match coerce(slot.flow, value.clone()) {
        Some(value) => Taken::Set(value),
        None => {
            let found = kind(value.as_json());
            let message = format!("it is set to {found}, and takes {}", slot.flow);
            problems.add(at(Problem::error("input.type", message)));
            Taken::Set(Value::null())
        }
    }
}

fn is_empty_text(flow: DataFlowType, value: &Value) -> bool {
    flow == DataFlowType::String && value.as_str() == Some("")
}

/// A multi input that is set takes a list, or one value.
fn many(
    unfolded: &Unfolded,
    number: usize,
    input: &NodeInput,
    value: &Value,
    problems: &mut Problems,
) -> Taken {
    let slot = &input.slot;
    let values: Vec<Value> = match value.as_json() {
        serde_json::Value::Array(list) => list.iter().cloned().map(Value::from).collect(),
        _ => vec![value.clone()],
    };
    let mut origins = Vec::with_capacity(values.len());
    for value in values {
        match coerce(slot.flow, value.clone()) {
            Some(value) => origins.push(Origin::Value(value)),
            None => {
                let found = kind(value.as_json());
                let message = format!("it is set to {found}, and takes {}", slot.flow);
                let problem = Problem::error("input.type", message);
                problems.add(problem.at(unfolded.path(number)).slot(&slot.key));
            }
        }
    }
    Taken::Many {
        origins,
        is_list: false,
    }
}
