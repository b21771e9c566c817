//! Where a value really comes from: an edge is followed through the ends of groups and through nodes that are
//! switched off, to a node that makes it, to a value that was set, or to nothing.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Value;
use crate::flow::effective_default;
use crate::limits::{MAX_EDGES, MAX_NESTING};
use crate::node::Structure;
use crate::problem::{Problem, Problems};

use super::bypass;
use super::scope::Unfolded;

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Origin {
    /// An output of a node that runs.
    Output {
        node: usize,
        output: usize,
    },
    /// Set, or assumed.
    Value(Value),
    /// Several, as one list; none of them is a list itself.
    List(Arc<[Origin]>),
    Nothing,
}

/// An output in its place: the number of the node among all nodes, and of its output.
pub(super) type Place = (usize, usize);

pub(super) struct Origins<'u> {
    unfolded: &'u Unfolded,
    /// `None` for places that are being followed.
    known: HashMap<Place, Option<Origin>>,
    /// Parts of lists, wherever they stand: a list of lists, or one that many take, is many edges.
    parts: usize,
}

enum Step {
    Found(Origin),
    Further(Place),
    /// Several, each of which has to be followed.
    Several(Vec<Place>),
}

impl<'u> Origins<'u> {
    pub(super) fn new(unfolded: &'u Unfolded) -> Self {
        Self {
            unfolded,
            known: HashMap::new(),
            parts: 0,
        }
    }

    /// Whether there may be so many parts more; told once if not.
    pub(super) fn allows(&mut self, parts: usize, at: usize, problems: &mut Problems) -> bool {
        let was_allowed = self.parts <= MAX_EDGES;
        self.parts = self.parts.saturating_add(parts);
        let is_allowed = self.parts <= MAX_EDGES;
        if was_allowed && !is_allowed {
            let message = format!(
                "with its groups unfolded the workflow has more than {MAX_EDGES} edges, because lists go into groups that use them often; split it"
            );
            let problem = Problem::error("workflow.too_large", message);
            problems.add(problem.at(self.unfolded.path(at)));
        }
        is_allowed
    }

    pub(super) fn of(&mut self, place: Place, problems: &mut Problems) -> Origin {
        self.follow(place, 0, problems)
    }

    fn follow(&mut self, begin: Place, depth: usize, problems: &mut Problems) -> Origin {
        let mut way = Vec::new();
        let mut at = begin;
        let found = loop {
            match self.known.get(&at) {
                Some(Some(known)) => break known.clone(),
                Some(None) => {
                    let message = "groups that only pass a value on pass it round in a circle";
                    let problem = Problem::error("workflow.cycle", message);
                    problems.add(problem.at(self.unfolded.path(at.0)));
                    break Origin::Nothing;
                }
                None => {}
            }
            way.push(at);
            self.known.insert(at, None);
            match self.step(at) {
                Step::Found(origin) => break origin,
                Step::Further(next) => at = next,
                Step::Several(_) if depth > MAX_NESTING => break Origin::Nothing,
                Step::Several(places) => {
                    break self.list(at.0, places, depth + 1, problems);
                }
            }
        };
        for place in way {
            self.known.insert(place, Some(found.clone()));
        }
        found
    }

    fn list(
        &mut self,
        at: usize,
        places: Vec<Place>,
        depth: usize,
        problems: &mut Problems,
    ) -> Origin {
        let mut list = Vec::new();
        for place in places {
            let origin = self.follow(place, depth, problems);
            let parts = match &origin {
                Origin::List(parts) => parts,
                one => std::slice::from_ref(one),
            };
            if !self.allows(parts.len(), at, problems) {
                return Origin::Nothing;
            }
            list.extend_from_slice(parts);
        }
        Origin::List(list.into())
    }

    fn step(&self, (number, output): Place) -> Step {
        let Some(placed) = self.unfolded.nodes.get(number) else {
            return Step::Found(Origin::Nothing);
        };
        let Some(scope) = self.unfolded.scopes.get(placed.scope) else {
            return Step::Found(Origin::Nothing);
        };
        if bypass::is_bypassed(self.unfolded, number) {
            return match bypass::stands_for(self.unfolded, number, output) {
                bypass::Stand::Input(input) => self.of_input(number, input),
                bypass::Stand::Value(value) => Step::Found(value.into()),
                bypass::Stand::Nothing => Step::Found(Origin::Nothing),
            };
        }
        match placed.structure {
            Some(Structure::GroupInput) => match scope.parent {
                None => Step::Found(Origin::Output {
                    node: number,
                    output,
                }),
                Some(parent) => self.through_group(placed.scope, parent, number, output),
            },
            Some(Structure::NodeGroup) => self.out_of_group(number, output),
            _ => Step::Found(Origin::Output {
                node: number,
                output,
            }),
        }
    }

    /// A slot of a group's beginning: what comes into the group.
    fn through_group(
        &self,
        scope: usize,
        (outer, node): (usize, usize),
        number: usize,
        output: usize,
    ) -> Step {
        let slot = self.unfolded.nodes.get(number);
        let key = slot.and_then(|placed| placed.shape.output(output));
        let group = self
            .unfolded
            .scopes
            .get(outer)
            .map(|scope| scope.first + node);
        let (Some(key), Some(group)) = (key, group) else {
            return Step::Found(Origin::Nothing);
        };
        let input = self.unfolded.nodes.get(group);
        let input = input.and_then(|placed| placed.shape.input_index(&key.key));
        match input {
            Some(input) => self.of_input(group, input),
            None => {
                let workflow = self.unfolded.scopes.get(scope).map(|scope| &scope.workflow);
                let slot = workflow
                    .and_then(|workflow| workflow.inputs.iter().find(|slot| slot.key == key.key));
                Step::Found(match slot {
                    Some(slot) => effective_default(slot.flow, slot.is_stream, &slot.config).into(),
                    None => Origin::Nothing,
                })
            }
        }
    }

    /// An output of a group: what goes into the group's end.
    fn out_of_group(&self, number: usize, output: usize) -> Step {
        let inner = || {
            let placed = self.unfolded.nodes.get(number)?;
            let key = &placed.shape.output(output)?.key;
            let scope = self.unfolded.scopes.get(placed.scope)?;
            let child = self
                .unfolded
                .scopes
                .get(*scope.groups.get(&placed.index)?)?;
            let end = child.first + child.output_node?;
            let input = self.unfolded.nodes.get(end)?.shape.input_index(key)?;
            Some((end, input))
        };
        match inner() {
            Some((end, input)) => self.of_input(end, input),
            None => Step::Found(Origin::Nothing),
        }
    }

    /// What goes into an input: what is connected, else what is set, else what is assumed.
    fn of_input(&self, number: usize, input: usize) -> Step {
        let mut edges = self.unfolded.incoming(number, input);
        match (edges.next(), edges.next()) {
            (None, _) => Step::Found(set_value(self.unfolded, number, input).into()),
            (Some(one), None) => Step::Further(one),
            _ => Step::Several(self.unfolded.incoming(number, input).collect()),
        }
    }
}

impl From<Value> for Origin {
    fn from(value: Value) -> Self {
        match value.is_null() {
            true => Self::Nothing,
            false => Self::Value(value),
        }
    }
}

/// What an unconnected input holds.
pub(super) fn set_value(unfolded: &Unfolded, number: usize, input: usize) -> Value {
    let (Some(placed), Some(node)) = (unfolded.nodes.get(number), unfolded.node(number)) else {
        return Value::null();
    };
    let Some(slot) = placed.shape.inputs().nth(input) else {
        return Value::null();
    };
    match node.inputs.get(&slot.slot.key) {
        Some(value) if !value.is_null() => value.clone().into(),
        // Many of nothing, not one that is empty.
        _ if slot.multi && !slot.config.contains_key("default") => Value::null(),
        _ => effective_default(slot.slot.flow, slot.slot.is_stream, &slot.config),
    }
}
