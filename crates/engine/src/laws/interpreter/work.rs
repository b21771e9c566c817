//! What each node makes of what it takes, and the turns of loops.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value as Json, json};

use super::flat::From;
use super::{Input, Region, Run, Slot, Stop, Why};
use crate::Value;
use crate::laws::nodes::{FAILED, digest, pleases};

impl Run<'_> {
    pub(super) fn node(&mut self, number: usize, is_open: bool, region: &mut Region) {
        let flat = self.flat;
        let placed = &flat.nodes[number];
        let end = match is_open {
            true => self.work(number),
            false => Err(Stop::Skip(Why::Branch)),
        };
        let edges = &flat.scopes[placed.scope].workflow.edges;
        let shape = &flat
            .types
            .get(&placed.node.full_type)
            .unwrap()
            .definition
            .shape;
        let mut keys: BTreeSet<String> =
            shape.outputs.iter().map(|slot| slot.key.clone()).collect();
        let mentioned = edges.iter().filter(|edge| edge.source == placed.node.id);
        keys.extend(mentioned.map(|edge| edge.source_handle.clone().unwrap()));
        keys.remove("error");
        let mut why = Why::Branch;
        let (given, error) = match end {
            Ok(given) => {
                region.ran.insert(placed.path.clone());
                (Some(given), Slot::Dead(Why::Branch))
            }
            Err(Stop::Skip(skipped)) => {
                why = skipped;
                (None, Slot::Dead(skipped))
            }
            Err(Stop::Fail(message, code)) => {
                if !self.is_wanted(number) {
                    region.failed.insert(placed.path.clone());
                    why = Why::Failed;
                }
                let is_permanent = code != "law.failed";
                let error = json!({"message": message, "code": code, "retryable": !is_permanent, "node": placed.path});
                (None, Slot::Value(error))
            }
        };
        for key in keys {
            let slot = match &given {
                None => Slot::Dead(why),
                Some(given) => given.get(&key).cloned().unwrap_or(Slot::Absent),
            };
            self.slots.insert((number, key), slot);
        }
        self.slots.insert((number, "error".to_owned()), error);
    }

    /// Whether somebody takes the error of a node.
    fn is_wanted(&self, number: usize) -> bool {
        let all = 0..self.flat.nodes.len();
        all.filter(|other| !self.flat.nodes[*other].node.bypassed)
            .flat_map(|other| self.needs(other))
            .flat_map(|(_, from)| from)
            .any(|from| matches!(from, From::Node(node, handle) if node == number && handle == "error"))
    }

    fn work(&mut self, number: usize) -> std::result::Result<HashMap<String, Slot>, Stop> {
        let flat = self.flat;
        let mut inputs = self.gather(number)?;
        let placed = &flat.nodes[number];
        if let Some(chosen) = self.choose(number) {
            let from = flat.sources(placed.scope, &placed.node, &chosen);
            let is_lost = |from: &From| self.slot(from) == Slot::Dead(Why::Failed);
            if from.first().is_some_and(is_lost) {
                return Err(Stop::Skip(Why::Failed));
            }
        }
        let mut value = |key: &str| match inputs.remove(key) {
            Some(Input::Value(value)) => Some(value),
            Some(Input::Many(list)) => Some(Json::Array(list)),
            Some(Input::Absent) | None => None,
        };
        let mut given = HashMap::new();
        let mut give =
            |key: &str, value: Json| drop(given.insert(key.to_owned(), Slot::Value(value)));
        match placed.node.full_type.as_str() {
            "law:Mix" | "law:MixTask" => {
                let (a, b, list) = (value("a").unwrap(), value("b"), value("list"));
                let list = list.unwrap_or_else(|| json!([]));
                let sum = digest(&[&a, &b.unwrap_or_default(), &list, &value("t").unwrap()]);
                give("x", json!(sum));
                give("y", json!(sum.to_string()));
                if sum % 3 != 0 {
                    give("none", json!(sum + 1));
                }
            }
            "law:Picky" | "law:PickyTask" => {
                let a = value("a").unwrap().as_i64().unwrap();
                match pleases(a) {
                    true => give("out", json!(a + 1)),
                    false => return Err(Stop::Fail(FAILED.to_owned(), "law.failed")),
                }
            }
            "core:If" => {
                let is_true = Value::from(value("condition").unwrap()).is_truthy();
                let passed = value("value").unwrap_or_else(|| json!(is_true));
                let both = [value("then"), value("else")];
                let is_connected = ["then", "else"].iter().any(|key| {
                    let from = flat.sources(placed.scope, &placed.node, key);
                    matches!(from.first(), Some(From::Node(..)))
                });
                let is_wired = is_connected || both.iter().any(Option::is_some);
                let [then, otherwise] = both;
                give(if is_true { "true" } else { "false" }, passed.clone());
                match if is_true { then } else { otherwise } {
                    Some(chosen) => give("result", chosen),
                    None if is_wired => {}
                    None => give("result", passed),
                }
                given.insert(
                    (if is_true { "false" } else { "true" }).to_owned(),
                    Slot::Dead(Why::Branch),
                );
            }
            "core:Switch" => {
                let case = value("selector").unwrap();
                let passed = value("value").unwrap_or_else(|| case.clone());
                let case = case.as_str().unwrap().to_owned();
                let slots = flat.inputs(placed.scope, &placed.node);
                let edges = &flat.scopes[placed.scope].workflow.edges;
                let has_output = edges.iter().any(|edge| {
                    edge.source == placed.node.id && edge.source_handle.as_deref() == Some(&case)
                });
                let taken = if has_output { case.as_str() } else { "default" };
                match slots.iter().skip(2).any(|input| input.slot.key == case) {
                    true => give("result", value(&case).unwrap_or_default()),
                    false => give("result", passed.clone()),
                }
                for key in ["default", "c0", "c1"] {
                    let slot = if key == taken {
                        Slot::Value(passed.clone())
                    } else {
                        Slot::Dead(Why::Branch)
                    };
                    given.insert(key.to_owned(), slot);
                }
            }
            "core:Merge" => {
                let came = value("inputs").unwrap_or_else(|| json!([]));
                let list = came.as_array().unwrap();
                let is_last = placed.node.config["mode"] == "last";
                let one = if is_last { list.last() } else { list.first() };
                let one = one.map_or(Slot::Dead(Why::Branch), |one| Slot::Value(one.clone()));
                let all = if list.is_empty() {
                    Slot::Dead(Why::Branch)
                } else {
                    Slot::Value(came.clone())
                };
                given.extend([("output".to_owned(), one), ("all".to_owned(), all)]);
            }
            "core:LoopZone" => {
                let (items, acc) = (value("items"), value("acc"));
                return self.turns(number, items.unwrap_or_else(|| json!([])), acc);
            }
            other => panic!("{other}"),
        }
        Ok(given)
    }

    fn turns(
        &mut self,
        number: usize,
        items: Json,
        mut acc: Option<Json>,
    ) -> std::result::Result<HashMap<String, Slot>, Stop> {
        let flat = self.flat;
        let placed = &flat.nodes[number];
        let scope = placed.scope;
        let inside = flat.scopes[scope].workflow.nodes.iter();
        let inside: Vec<_> = inside
            .filter(|node| node.parent.as_ref() == Some(&placed.node.id))
            .collect();
        let end_of = |full_type: &str| inside.iter().find(|node| node.full_type == full_type);
        let begin = flat.scopes[scope].flat[&end_of("core:LoopInput").unwrap().id];
        let end = end_of("core:LoopOutput").unwrap().id.clone();
        let mut each = Vec::new();
        let mut turns = 0;
        for item in items.as_array().unwrap() {
            turns += 1;
            self.slots.retain(|(node, _), _| {
                let mut at = flat.nodes[*node].zone;
                while let Some(zone) = at {
                    if zone == number {
                        return false;
                    }
                    at = flat.nodes[zone].zone;
                }
                true
            });
            let begins = [
                ("item", Some(item.clone())),
                ("acc", acc.clone()),
                ("iteration", Some(json!(turns))),
            ];
            for (key, value) in begins {
                let slot = match value {
                    Some(Json::Null) | None => Slot::Absent,
                    Some(value) => Slot::Value(value),
                };
                self.slots.insert((begin, key.to_owned()), slot);
            }
            let region = self.region(Some(number));
            if !region.failed.is_empty() {
                if placed.node.config["onError"] == "stop" {
                    return Err(Stop::Fail(String::new(), "law.failed"));
                }
                continue;
            }
            if let Some(Slot::Value(value)) = self.end_value(scope, &end, "each") {
                each.push(value);
            }
            if let Some(Slot::Value(value)) = self.end_value(scope, &end, "acc") {
                acc = Some(value);
            }
        }
        let slot = |value: Option<Json>| value.map_or(Slot::Absent, Slot::Value);
        Ok(HashMap::from([
            ("acc".to_owned(), slot(acc)),
            ("each".to_owned(), slot(Some(Json::Array(each)))),
            ("iterations".to_owned(), slot(Some(json!(turns)))),
        ]))
    }
}
