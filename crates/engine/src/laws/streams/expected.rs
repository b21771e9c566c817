//! What is in every stream and every value of such a workflow: found one node after the other, without any waiting.

use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::chance::{Flag, Kind, Streams};
use super::graph::Given;
use super::nodes::{relayed, taken};
use crate::flow::coerce;
use crate::laws::nodes::digest;
use crate::{DataFlowType, Value};

#[derive(Debug, Clone)]
enum Content {
    Stream(Vec<Json>),
    Value(Json),
}

#[derive(Debug, Default)]
pub(super) struct Expected {
    contents: HashMap<(usize, &'static str), Content>,
    /// Nodes that break, or take from one that does.
    pub(super) may_fail: Vec<bool>,
    /// Loops that take from one that may fail, and whoever takes from them: what needs it inside is skipped, turn by
    /// turn, and the loop gives the rest.
    pub(super) is_partial: Vec<bool>,
}

impl Expected {
    pub(super) fn of(streams: &Streams) -> Self {
        let mut expected = Self::default();
        for index in 0..streams.nodes.len() {
            expected.add(streams, index);
        }
        expected
    }

    /// The chunks of a stream; a value is a stream of one.
    pub(super) fn chunks(&self, given: Given) -> Vec<Json> {
        match &self.contents[&(given.node, given.key)] {
            Content::Stream(chunks) => chunks.clone(),
            Content::Value(value) => vec![value.clone()],
        }
    }

    /// The value, of a stream the whole of it, as a slot of this type takes it.
    pub(super) fn value(&self, given: Given, flow: DataFlowType) -> Json {
        let value = match &self.contents[&(given.node, given.key)] {
            Content::Value(value) => value.clone(),
            Content::Stream(chunks) => {
                let is_text = flow == DataFlowType::String || given.flow == DataFlowType::String;
                match is_text {
                    true => chunks
                        .iter()
                        .map(|chunk| Value::from(chunk.clone()).to_text().to_string())
                        .collect::<String>()
                        .into(),
                    false => json!(chunks),
                }
            }
        };
        coerce(flow, value.into()).unwrap().into_json()
    }

    fn add(&mut self, streams: &Streams, index: usize) {
        let node = &streams.nodes[index];
        let (mut may_fail, mut is_partial) = (false, false);
        let mut granted = |given: Given| {
            may_fail |= self.may_fail[given.node];
            is_partial |= self.is_partial[given.node];
            given
        };
        let mut any = |wish: usize| granted(streams.any(index, wish));
        if let Some(after) = node.after {
            any(after);
        }
        let flag = |flag: Flag, any: &mut dyn FnMut(usize) -> Given| match flag {
            Flag::Set(yes) => yes,
            Flag::From(wish) => {
                let value = self.value(any(wish), DataFlowType::Wildcard);
                Value::from(value).is_truthy()
            }
        };
        let whole = |given: Given| self.value(given, DataFlowType::Wildcard);
        let made: Vec<(&'static str, Content)> = match &node.kind {
            Kind::Write { chunks, fails } => {
                may_fail |= fails.is_some();
                written((0..*chunks as i64).collect())
            }
            Kind::Relay(from) => {
                let chunks = self.chunks(any(*from));
                written(chunks.iter().flat_map(relayed).collect())
            }
            Kind::Listen { from, most } => {
                let mut seen = self.chunks(any(*from));
                seen.truncate(most.unwrap_or(usize::MAX));
                vec![("seen", Content::Value(json!(seen)))]
            }
            Kind::Both {
                one, two, is_twin, ..
            } => {
                let first = any(*one);
                let second = granted(streams.second(index, first, *two, *is_twin));
                let seen = [first, second].map(|given| digest(&[&json!(self.chunks(given))]));
                vec![("seen", Content::Value(json!(seen)))]
            }
            Kind::Take {
                any: one,
                text,
                list,
                many,
                ..
            } => {
                let one = whole(any(*one));
                let many: Vec<Json> = many.iter().map(|wish| whole(any(*wish))).collect();
                let mut typed = |wish: &Option<usize>, flow, empty: Json| match wish {
                    Some(wish) => self.value(granted(streams.granted(index, *wish, flow)), flow),
                    None => empty,
                };
                let text = typed(text, DataFlowType::String, json!(""));
                let list = typed(list, DataFlowType::Array, json!([]));
                vec![
                    (
                        "out",
                        Content::Value(taken(&one, &text, &list, &json!(many))),
                    ),
                    ("items", Content::Value(list)),
                ]
            }
            Kind::If {
                condition,
                then,
                otherwise,
            } => {
                let is_true = flag(*condition, &mut any);
                let both = [any(*then), any(*otherwise)];
                let chosen = whole(both[usize::from(!is_true)]);
                vec![("result", Content::Value(chosen))]
            }
            Kind::Switch { case, x, y } => {
                let both = [any(*x), any(*y)];
                let chosen = match *case {
                    "x" => whole(both[0]),
                    "y" => whole(both[1]),
                    other => json!(other),
                };
                vec![("result", Content::Value(chosen))]
            }
            Kind::Pick {
                flag: by, yes, no, ..
            } => {
                let is_true = flag(*by, &mut any);
                let both = [any(*yes), any(*no)];
                let seen = self.chunks(both[usize::from(!is_true)]);
                vec![("seen", Content::Value(json!(seen)))]
            }
            Kind::Loop { from, turns } => {
                // What lies in a loop takes from outside it as a value.
                let once = relayed(&whole(any(*from)));
                let out = taken(&json!(once), &json!(""), &json!([]), &json!([]));
                let each = vec![out; *turns];
                let chunks = once.repeat(*turns).into_iter().map(Json::from).collect();
                vec![
                    ("each", Content::Value(json!(each))),
                    ("chunks", Content::Stream(chunks)),
                ]
            }
        };
        for (key, content) in made {
            self.contents.insert((index, key), content);
        }
        is_partial |= may_fail && matches!(node.kind, Kind::Loop { .. });
        self.may_fail.push(may_fail);
        self.is_partial.push(is_partial);
    }
}

fn written(numbers: Vec<i64>) -> Vec<(&'static str, Content)> {
    let also = numbers.iter().map(|number| json!(format!("{number} ")));
    vec![
        ("count", Content::Value(json!(numbers.len()))),
        ("also", Content::Stream(also.collect())),
        (
            "out",
            Content::Stream(numbers.into_iter().map(Json::from).collect()),
        ),
    ]
}
