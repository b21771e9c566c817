//! What a node has in its hands when it runs.

use std::collections::HashMap;

use serde_json::Value as Json;

use super::flat::{Flat, From};
use super::{Input, Run, Slot, Stop, Why};
use crate::flow::{coerce, kind};
use crate::{Branch, Value};

impl Run<'_> {
    pub(super) fn choose(&self, number: usize) -> Option<String> {
        let placed = &self.flat.nodes[number];
        for input in self.flat.inputs(placed.scope, &placed.node) {
            if input.branch != Branch::Lazy {
                self.take(number, &input.slot.key).ok()?;
            }
        }
        match placed.node.full_type.as_str() {
            "core:If" => match self.take(number, "condition").ok()? {
                Input::Value(value) => {
                    let key = if Value::from(value).is_truthy() {
                        "then"
                    } else {
                        "else"
                    };
                    Some(key.to_owned())
                }
                _ => None,
            },
            "core:Switch" => match self.take(number, "selector").ok()? {
                Input::Value(value) => value.as_str().map(str::to_owned),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn slot(&self, from: &From) -> Slot {
        match from {
            From::Node(node, handle) => self.slots[&(*node, handle.clone())].clone(),
            From::Value(value) => Slot::Value(value.clone()),
            From::Nothing => Slot::Absent,
        }
    }

    pub(super) fn end_value(&self, scope: usize, id: &str, key: &str) -> Option<Slot> {
        let node = self.flat.scopes[scope].workflow.node(id)?;
        let from = self.flat.sources(scope, node, key);
        from.first().map(|from| self.slot(from))
    }

    pub(super) fn take(&self, number: usize, key: &str) -> std::result::Result<Input, Stop> {
        let placed = &self.flat.nodes[number];
        let inputs = self.flat.inputs(placed.scope, &placed.node);
        let input = inputs.iter().find(|input| input.slot.key == key).unwrap();
        let (flow, key) = (input.slot.flow, &input.slot.key);
        let wrong = |found: &Json| {
            let found = kind(found);
            let message = format!("the input '{key}' takes {flow}, and got {found}");
            Stop::Fail(message, "input.type")
        };
        let set = || Flat::set_value(&placed.node, input);
        let from = self.flat.sources(placed.scope, &placed.node, key);
        if input.multi {
            let slots: Vec<Slot> = from.iter().map(|from| self.slot(from)).collect();
            let values: Vec<Json> = slots
                .iter()
                .filter_map(|slot| match slot {
                    Slot::Value(value) => Some(value.clone()),
                    Slot::Absent | Slot::Dead(_) => None,
                })
                .collect();
            if input.branch == Branch::Needed {
                if slots.contains(&Slot::Dead(Why::Failed)) {
                    return Err(Stop::Skip(Why::Failed));
                }
                if values.is_empty() && slots.contains(&Slot::Dead(Why::Branch)) {
                    return Err(Stop::Skip(Why::Branch));
                }
            }
            return Ok(Input::Many(values));
        }
        match from.first().map(|from| self.slot(from)) {
            Some(Slot::Dead(why)) if input.branch == Branch::Needed => return Err(Stop::Skip(why)),
            Some(Slot::Value(value)) if flow.accepts(&value) || !value.is_null() => {
                return match coerce(flow, value.clone().into()) {
                    Some(value) => Ok(Input::Value(value.into_json())),
                    None => Err(wrong(&value)),
                };
            }
            _ => {}
        }
        match set() {
            Json::Null if input.required => {
                let message = format!("the input '{key}' is needed, and got nothing");
                Err(Stop::Fail(message, "input.missing"))
            }
            Json::Null => Ok(Input::Absent),
            value => match coerce(flow, value.clone().into()) {
                Some(value) => Ok(Input::Value(value.into_json())),
                None => Err(wrong(&value)),
            },
        }
    }

    /// Every input, in the order of the slots; the first that will not do decides.
    pub(super) fn gather(
        &self,
        number: usize,
    ) -> std::result::Result<HashMap<String, Input>, Stop> {
        let placed = &self.flat.nodes[number];
        let inputs = self.flat.inputs(placed.scope, &placed.node).into_iter();
        inputs
            .map(|input| {
                let taken = self.take(number, &input.slot.key)?;
                Ok((input.slot.key, taken))
            })
            .collect()
    }
}
