//! In which order nodes run: what each needs, and what only a lazy input needs.

use std::collections::{BTreeSet, HashMap};

use super::flat::{FlatNode, From};
use super::{Region, Run};
use crate::Branch;
use crate::node::NodeInput;

/// A lazy input: of which node, and what it is called.
type Lazy = (usize, String);

impl Run<'_> {
    fn is_inside(&self, node: usize, zone: usize) -> bool {
        let at = self.flat.nodes[node].zone;
        at == Some(zone) || at.is_some_and(|at| self.is_inside(at, zone))
    }

    /// Every input of a node and where it comes from; of a loop, also what is taken by what lies in it.
    pub(super) fn needs(&self, number: usize) -> Vec<(NodeInput, Vec<From>)> {
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

    pub(super) fn region(&mut self, zone: Option<usize>) -> Region {
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
}
