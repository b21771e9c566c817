//! The arguments of a run, held against what the workflow takes.

use super::state::{Held, State};
use crate::Value;
use crate::flow::{coerce, kind};
use crate::limits::{MAX_VALUE_BYTES, MAX_VALUE_DEPTH};
use crate::plan::Region;
use crate::problem::{Problem, Problems, did_you_mean, quoted};

/// Puts them into their slots: as given, else as assumed.
pub(crate) fn bind(
    region: &Region,
    mut given: Vec<(String, Value)>,
    state: &mut State,
) -> Result<(), Problems> {
    let mut problems = Problems::default();
    for argument in &region.arguments {
        let place = given.iter().position(|(key, _)| **key == *argument.key);
        let value = place.map(|place| given.remove(place).1);
        let value = value.filter(|value| !value.is_null());
        let held = match value {
            Some(value) => {
                let found = kind(value.as_json());
                match coerce(argument.flow, value) {
                    Some(value) if value.is_too_deep() => {
                        let message = format!(
                            "lists and objects lie more than {MAX_VALUE_DEPTH} deep in each other"
                        );
                        let problem = Problem::error("argument.too_deep", message);
                        problems.add(problem.slot(&*argument.key));
                        Held::Absent
                    }
                    Some(value) if value.is_too_large() => {
                        let message = format!("it is larger than {MAX_VALUE_BYTES} bytes");
                        let problem = Problem::error("argument.too_large", message);
                        problems.add(problem.slot(&*argument.key));
                        Held::Absent
                    }
                    Some(value) => Held::Value(value),
                    None => {
                        let message = format!("it takes {}, and was given {found}", argument.flow);
                        let problem = Problem::error("argument.type", message);
                        problems.add(problem.slot(&*argument.key));
                        Held::Absent
                    }
                }
            }
            None => match &argument.default {
                Some(value) => Held::Value(value.clone()),
                None => {
                    if argument.is_required {
                        let problem = Problem::error("argument.missing", "it must be given");
                        problems.add(problem.slot(&*argument.key));
                    }
                    Held::Absent
                }
            },
        };
        state.set(argument.slot, held);
    }
    for (key, _) in &given {
        let names = region.arguments.iter().map(|argument| &*argument.key);
        let list: Vec<&str> = names.clone().collect();
        let hint = match did_you_mean(key, names) {
            hint if !hint.is_empty() => hint,
            _ if list.is_empty() => "; it takes none".to_owned(),
            _ => format!("; it takes: {}", list.join(", ")),
        };
        let message = format!("the workflow has no input {}{hint}", quoted(key));
        problems.add(Problem::error("argument.unknown", message));
    }
    match problems.has_errors() {
        true => Err(problems),
        false => Ok(()),
    }
}
