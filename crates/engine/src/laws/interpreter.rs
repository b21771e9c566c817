//! A workflow run in the plainest way: one node after the other, straight from the file, with nothing made ready.
//!
//! What it gives is what the engine has to give. It knows no streams and no waiting.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::nodes::{FAILED, digest, pleases};
use crate::flow::{SlotKind, coerce, effective_default, empty, fits, kind};
use crate::node::NodeInput;
use crate::testing::Shelf;
use crate::{Branch, DataFlowType, NodeTypes, Value, Workflow, WorkflowNode, WorkflowSource};

/// What an output holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Slot {
    Absent,
    Value(Json),
    Dead(Why),
}

/// Why something does not run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Why {
    /// It lies on a branch that was not taken.
    Branch,
    /// Something that it needs failed.
    Failed,
}

/// What a run comes to.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Result {
    pub(super) outputs: BTreeMap<String, Json>,
    pub(super) failed: BTreeSet<String>,
    /// Nodes of the whole that ran, those of loops left out.
    pub(super) ran: BTreeSet<String>,
}

pub(super) fn interpret(
    workflow: &Arc<Workflow>,
    shelf: &Shelf,
    types: &NodeTypes,
    arguments: &Map<String, Json>,
) -> Result {
    let mut flat = Flat {
        types,
        shelf,
        scopes: Vec::new(),
        nodes: Vec::new(),
    };
    flat.unfold(workflow.clone(), "", None, None);
    let mut run = Run {
        slots: HashMap::new(),
        flat: &flat,
    };
    for input in &workflow.inputs {
        let slot = arguments.get(&input.key).cloned();
        run.slots.insert(
            (0, input.key.clone()),
            slot.map_or(Slot::Absent, Slot::Value),
        );
    }
    let region = run.region(None);
    let mut outputs = BTreeMap::new();
    for output in &workflow.outputs {
        if let Some(Slot::Value(value)) = run.end_value(0, "out", &output.key) {
            outputs.insert(output.key.clone(), value);
        }
    }
    Result {
        outputs,
        failed: region.failed,
        ran: region.ran,
    }
}

/// One workflow in one place.
struct Scope {
    workflow: Arc<Workflow>,
    /// The scope and id of the group that it stands for.
    parent: Option<(usize, String)>,
    children: HashMap<String, usize>,
    flat: HashMap<String, usize>,
}

struct FlatNode {
    path: String,
    scope: usize,
    node: WorkflowNode,
    /// The loop that it lies in.
    zone: Option<usize>,
}

/// All nodes that do something, groups unfolded.
struct Flat<'f> {
    types: &'f NodeTypes,
    shelf: &'f Shelf,
    scopes: Vec<Scope>,
    nodes: Vec<FlatNode>,
}

/// Where a value comes from, groups and nodes that are switched off seen through.
#[derive(Debug, Clone)]
enum From {
    Node(usize, String),
    Value(Json),
    Nothing,
}

impl Flat<'_> {
    fn unfold(
        &mut self,
        workflow: Arc<Workflow>,
        prefix: &str,
        parent: Option<(usize, String)>,
        around: Option<usize>,
    ) -> usize {
        let scope = self.scopes.len();
        self.scopes.push(Scope {
            workflow: workflow.clone(),
            parent,
            children: HashMap::new(),
            flat: HashMap::new(),
        });
        // Loops come before what lies in them.
        for node in &workflow.nodes {
            let zone = node
                .parent
                .as_ref()
                .map(|parent| self.scopes[scope].flat[parent]);
            let zone = zone.or(around);
            let path = format!("{prefix}{}", node.id);
            if node.full_type == "core:NodeGroup" {
                let reference = node.config["referencedWorkflowId"].as_str().unwrap();
                let inner = self.shelf.find(reference).unwrap();
                let at = Some((scope, node.id.clone()));
                let child = self.unfold(inner, &format!("{path}/"), at, zone);
                self.scopes[scope].children.insert(node.id.clone(), child);
                continue;
            }
            let is_end = ["core:GroupInput", "core:GroupOutput"].contains(&node.full_type.as_str());
            if is_end && self.scopes[scope].parent.is_some() {
                continue;
            }
            let number = self.nodes.len();
            self.scopes[scope].flat.insert(node.id.clone(), number);
            self.nodes.push(FlatNode {
                path,
                scope,
                node: node.clone(),
                zone,
            });
        }
        scope
    }

    fn inputs(&self, scope: usize, node: &WorkflowNode) -> Vec<NodeInput> {
        let kind = self.types.get(&node.full_type).unwrap();
        let mut inputs = kind.definition.shape.inputs.clone();
        let named = self.scopes[scope].workflow.edges.iter();
        let named = named.filter(|edge| edge.target == node.id);
        let named = named.filter_map(|edge| edge.target_handle.clone());
        for key in named.chain(node.inputs.keys().cloned()) {
            if !inputs.iter().any(|input| input.slot.key == key) {
                let mut input = NodeInput::default();
                input.slot.key = key;
                input.slot.flow = match node.full_type.as_str() {
                    "core:GroupOutput" | "core:NodeGroup" => DataFlowType::Wildcard,
                    _ => DataFlowType::ConvertibleAny,
                };
                if node.full_type == "core:Switch" {
                    input.branch = Branch::Lazy;
                }
                inputs.push(input);
            }
        }
        inputs
    }

    /// What goes into an input: what its edges bring, in their order.
    fn sources(&self, scope: usize, node: &WorkflowNode, key: &str) -> Vec<From> {
        let edges = self.scopes[scope].workflow.edges.iter();
        let mut edges: Vec<_> = edges
            .filter(|edge| edge.target == node.id && edge.target_handle.as_deref() == Some(key))
            .collect();
        if let Some((_, order)) = node.orders.iter().find(|(known, _)| known == key) {
            let place = |id: &str| order.iter().position(|known| known == id);
            edges.sort_by_key(|edge| place(&edge.id).unwrap_or(usize::MAX));
        }
        let handles = edges
            .iter()
            .map(|edge| (&edge.source, edge.source_handle.as_ref().unwrap()));
        handles
            .map(|(id, handle)| self.follow(scope, id, handle))
            .collect()
    }

    fn set_value(node: &WorkflowNode, input: &NodeInput) -> Json {
        match node.inputs.get(&input.slot.key) {
            Some(value) if !value.is_null() => value.clone(),
            _ => effective_default(input.slot.flow, false, &input.config).into_json(),
        }
    }

    /// What an input that takes one value takes, as it is.
    fn through(&self, scope: usize, node: &WorkflowNode, key: &str) -> From {
        let inputs = self.inputs(scope, node);
        let input = inputs.iter().find(|input| input.slot.key == key);
        match (self.sources(scope, node, key).into_iter().next(), input) {
            (Some(from), _) => from,
            (None, Some(input)) => of_value(Self::set_value(node, input)),
            (None, None) => From::Nothing,
        }
    }

    fn follow(&self, scope: usize, id: &str, handle: &str) -> From {
        let here = &self.scopes[scope];
        let node = here.workflow.node(id).unwrap();
        match node.full_type.as_str() {
            "core:GroupInput" => match &here.parent {
                None => From::Node(here.flat[id], handle.to_owned()),
                Some((outer, group)) => {
                    let group = self.scopes[*outer].workflow.node(group).unwrap().clone();
                    self.through(*outer, &group, handle)
                }
            },
            "core:NodeGroup" => {
                let inner = here.children[id];
                let end = self.scopes[inner].workflow.node("out").unwrap().clone();
                self.through(inner, &end, handle)
            }
            _ if node.bypassed => self.stands_for(scope, node, handle),
            _ => From::Node(here.flat[id], handle.to_owned()),
        }
    }

    /// Each output of a node that is switched off takes the first input that fits and is not taken.
    fn stands_for(&self, scope: usize, node: &WorkflowNode, handle: &str) -> From {
        let shape = &self.types.get(&node.full_type).unwrap().definition.shape;
        let flow = |flow| SlotKind {
            flow,
            match_categories: &[],
        };
        let mut taken = BTreeSet::new();
        for output in &shape.outputs {
            let found = shape.inputs.iter().find(|input| {
                !input.multi
                    && !taken.contains(&input.slot.key)
                    && fits(flow(input.slot.flow), flow(output.flow))
            });
            if output.key == handle {
                return match found {
                    Some(input) => self.through(scope, node, &input.slot.key),
                    None => of_value(empty(output.flow).into_json()),
                };
            }
            taken.extend(found.map(|input| input.slot.key.clone()));
        }
        From::Nothing
    }
}

fn of_value(value: Json) -> From {
    match value.is_null() {
        true => From::Nothing,
        false => From::Value(value),
    }
}

/// What a node has in its hands.
enum Input {
    Absent,
    Value(Json),
    Many(Vec<Json>),
}

enum Stop {
    Skip(Why),
    Fail(String, &'static str),
}

#[derive(Default)]
struct Region {
    failed: BTreeSet<String>,
    ran: BTreeSet<String>,
}

struct Run<'r> {
    flat: &'r Flat<'r>,
    slots: HashMap<(usize, String), Slot>,
}

type Lazy = (usize, String);

impl Run<'_> {
    fn is_inside(&self, node: usize, zone: usize) -> bool {
        let at = self.flat.nodes[node].zone;
        at == Some(zone) || at.is_some_and(|at| self.is_inside(at, zone))
    }

    /// Every input of a node and where it comes from; of a loop, also what is taken by what lies in it.
    fn needs(&self, number: usize) -> Vec<(NodeInput, Vec<From>)> {
        let placed = &self.flat.nodes[number];
        let of = |placed: &FlatNode| -> Vec<(NodeInput, Vec<From>)> {
            let inputs = self.flat.inputs(placed.scope, &placed.node).into_iter();
            inputs
                .map(|input| {
                    let from = self
                        .flat
                        .sources(placed.scope, &placed.node, &input.slot.key);
                    (input, from)
                })
                .collect()
        };
        let mut needs = of(placed);
        if placed.node.full_type == "core:LoopZone" {
            for (inner, placed) in self.flat.nodes.iter().enumerate() {
                if !self.is_inside(inner, number) || placed.node.bypassed {
                    continue;
                }
                for from in of(placed).into_iter().flat_map(|(_, from)| from) {
                    if let From::Node(source, _) = &from
                        && *source != number
                        && !self.is_inside(*source, number)
                    {
                        needs.push((NodeInput::default(), vec![from]));
                    }
                }
            }
        }
        needs
    }

    /// The lazy inputs that everything made by a node goes through.
    fn gates(&self, members: &[usize], zone: Option<usize>) -> HashMap<usize, Vec<Lazy>> {
        let mut uses: Vec<(usize, usize, Option<String>)> = Vec::new();
        let mut roots = BTreeSet::new();
        for number in self.flat.nodes.iter().enumerate().map(|(number, _)| number) {
            let placed = &self.flat.nodes[number];
            if placed.zone != zone || placed.node.bypassed {
                continue;
            }
            for (input, from) in self.needs(number) {
                for from in from {
                    let From::Node(source, _) = from else {
                        continue;
                    };
                    match placed.node.full_type.as_str() {
                        "core:GroupOutput" | "core:LoopOutput" => drop(roots.insert(source)),
                        _ => {
                            let lazy =
                                (input.branch == Branch::Lazy).then(|| input.slot.key.clone());
                            uses.push((source, number, lazy));
                        }
                    }
                }
            }
        }
        let unused = members
            .iter()
            .filter(|one| !uses.iter().any(|(source, ..)| source == *one));
        roots.extend(unused.copied().collect::<Vec<_>>());
        let all: BTreeSet<Lazy> = uses
            .iter()
            .filter_map(|(_, user, lazy)| Some((*user, lazy.clone()?)))
            .collect();
        let mut gates: HashMap<usize, Vec<Lazy>> = HashMap::new();
        for gate in all {
            // Who is still needed if nothing goes through this input?
            let mut needed = roots.clone();
            loop {
                let before = needed.len();
                for (source, user, lazy) in &uses {
                    let is_gate = *user == gate.0 && lazy.as_ref() == Some(&gate.1);
                    if needed.contains(user) && !is_gate {
                        needed.insert(*source);
                    }
                }
                if needed.len() == before {
                    break;
                }
            }
            for member in members.iter().filter(|member| !needed.contains(member)) {
                gates.entry(*member).or_default().push(gate.clone());
            }
        }
        gates
    }

    fn region(&mut self, zone: Option<usize>) -> Region {
        let ends = [
            "core:GroupInput",
            "core:GroupOutput",
            "core:LoopInput",
            "core:LoopOutput",
        ];
        let members = self.flat.nodes.iter().enumerate().filter(|(_, placed)| {
            placed.zone == zone
                && !placed.node.bypassed
                && !ends.contains(&placed.node.full_type.as_str())
        });
        let mut members: Vec<usize> = members.map(|(number, _)| number).collect();
        let gates = self.gates(&members, zone);
        let mut region = Region::default();
        let mut chosen: HashMap<usize, Option<String>> = HashMap::new();
        while !members.is_empty() {
            let before = (members.len(), chosen.len());
            for number in members.clone() {
                let needs = self.needs(number);
                let is_known = |from: &From| match from {
                    From::Node(node, handle) => self.slots.contains_key(&(*node, handle.clone())),
                    From::Value(_) | From::Nothing => true,
                };
                let around = gates.get(&number).map_or(&[][..], Vec::as_slice);
                if !around.iter().all(|(user, _)| chosen.contains_key(user)) {
                    continue;
                }
                let is_open = around
                    .iter()
                    .all(|(user, key)| chosen[user].as_ref() == Some(key));
                let eager = needs
                    .iter()
                    .filter(|(input, _)| input.branch != Branch::Lazy);
                if eager.flat_map(|(_, from)| from).all(is_known) && !chosen.contains_key(&number) {
                    let wanted = if is_open { self.choose(number) } else { None };
                    chosen.insert(number, wanted);
                }
                if !needs.iter().flat_map(|(_, from)| from).all(is_known) {
                    continue;
                }
                members.retain(|member| *member != number);
                self.node(number, is_open, &mut region);
            }
            assert_ne!(before, (members.len(), chosen.len()), "nothing can run");
        }
        region
    }

    fn choose(&self, number: usize) -> Option<String> {
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

    fn slot(&self, from: &From) -> Slot {
        match from {
            From::Node(node, handle) => self.slots[&(*node, handle.clone())].clone(),
            From::Value(value) => Slot::Value(value.clone()),
            From::Nothing => Slot::Absent,
        }
    }

    fn end_value(&self, scope: usize, id: &str, key: &str) -> Option<Slot> {
        let node = self.flat.scopes[scope].workflow.node(id)?;
        let from = self.flat.sources(scope, node, key);
        from.first().map(|from| self.slot(from))
    }

    fn take(&self, number: usize, key: &str) -> std::result::Result<Input, Stop> {
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

    fn node(&mut self, number: usize, is_open: bool, region: &mut Region) {
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

    /// Every input, in the order of the slots; the first that will not do decides.
    fn gather(&self, number: usize) -> std::result::Result<HashMap<String, Input>, Stop> {
        let placed = &self.flat.nodes[number];
        let inputs = self.flat.inputs(placed.scope, &placed.node).into_iter();
        inputs
            .map(|input| {
                let taken = self.take(number, &input.slot.key)?;
                Ok((input.slot.key, taken))
            })
            .collect()
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
