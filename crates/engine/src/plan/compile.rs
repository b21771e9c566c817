//! The plan, put together: nodes in an order in which they can run, slots numbered, dependents listed.

use std::collections::HashMap;
use std::sync::Arc;

use crate::node::{Branch, Structure};
use crate::problem::{Problem, Problems};
use crate::workflow::{Workflow, WorkflowSource};
use crate::{DataFlowType, NodeTypes};

use super::inputs::{Taken, take_all};
use super::scope::{Unfolded, unfold};
use super::slots::Slots;
use super::source::Origin;
use super::{Plan, PlanNode, Prepared, Region, bypass, gate, hints, order};

pub(super) fn prepare(
    workflow: &Arc<Workflow>,
    types: &NodeTypes,
    source: &dyn WorkflowSource,
) -> Prepared {
    let mut problems = Problems::default();
    let unfolded = unfold(workflow, types, source, &mut problems);
    hints::look(&unfolded, &mut problems);
    let taken = take_all(&unfolded, &mut problems);
    let mut members: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
    for (number, placed) in unfolded.nodes.iter().enumerate() {
        let is_member = match placed.structure {
            Some(Structure::Frame) => false,
            // Switched off, it is still told of.
            Some(Structure::NodeGroup) => bypass::is_bypassed(&unfolded, number),
            Some(Structure::GroupInput | Structure::GroupOutput) => unfolded
                .scopes
                .get(placed.scope)
                .is_some_and(|scope| scope.parent.is_none()),
            _ => true,
        };
        if is_member {
            members.entry(placed.zone).or_default().push(number);
        }
    }
    let mut compiler = Compiler {
        unfolded: &unfolded,
        taken: &taken,
        members,
        problems: &mut problems,
    };
    let region = compiler.region(None);
    compiler.warn_unused();
    let plan = match problems.has_errors() {
        true => None,
        false => region.map(|compiled| Plan(Arc::new(compiled.region))),
    };
    Prepared { plan, problems }
}

pub(super) struct Compiler<'c> {
    pub(super) unfolded: &'c Unfolded,
    pub(super) taken: &'c [Vec<Taken>],
    /// The nodes of each loop, and of the whole.
    members: HashMap<Option<usize>, Vec<usize>>,
    pub(super) problems: &'c mut Problems,
}

pub(super) struct Compiled {
    pub(super) region: Region,
    /// What the inside of a loop takes from outside: outputs of nodes.
    pub(super) captured: Vec<(usize, usize)>,
}

/// The inside of a loop, compiled before what is around it.
pub(super) struct Inner {
    pub(super) compiled: Compiled,
}

impl Compiler<'_> {
    /// The nodes of one loop, or of the whole workflow.
    pub(super) fn region(&mut self, zone: Option<usize>) -> Option<Compiled> {
        let members = self.members.remove(&zone).unwrap_or_default();
        let mut inner: HashMap<usize, Inner> = HashMap::new();
        for number in &members {
            let structure = self.unfolded.nodes.get(*number)?.structure;
            if structure == Some(Structure::LoopZone)
                && !bypass::is_bypassed(self.unfolded, *number)
                && let Some(compiled) = self.region(Some(*number))
            {
                inner.insert(*number, Inner { compiled });
            }
        }
        let (begin, end) = self.ends(&members, zone);
        // The end takes values, but is no work.
        let vertices: Vec<usize> = members
            .into_iter()
            .filter(|number| Some(*number) != end)
            .collect();
        let vertex_of: HashMap<usize, u32> = vertices.iter().copied().zip(0u32..).collect();
        let mut captured: Vec<(usize, usize)> = Vec::new();
        let mut captured_at: HashMap<(usize, usize), usize> = HashMap::new();

        // Who needs whom.
        let mut needs: Vec<Vec<Need>> = Vec::with_capacity(vertices.len());
        for number in vertices.iter().copied().chain(end) {
            let mut list = self.needs(number, zone);
            // A node that is switched off only tells what passes it: for it no error counts as taken, and nothing is
            // brought into a loop.
            if bypass::is_bypassed(self.unfolded, number) {
                list.retain(|need| {
                    let from = self.unfolded.nodes.get(need.place.0);
                    from.is_some_and(|from| {
                        from.zone == zone && from.shape.output(need.place.1).is_some()
                    })
                });
            }
            if let Some(inner) = inner.get(&number) {
                let places = inner.compiled.captured.iter();
                list.extend(places.map(|place| Need {
                    place: *place,
                    lazy: None,
                }));
            }
            for need in &list {
                let at = self.unfolded.nodes.get(need.place.0)?;
                if at.zone != zone && !captured_at.contains_key(&need.place) {
                    captured_at.insert(need.place, captured.len());
                    captured.push(need.place);
                }
            }
            needs.push(list);
        }
        let count = vertices.len();
        let mut edges = vec![Vec::new(); count];
        let mut uses = vec![Vec::new(); count];
        let mut open = vec![false; count];
        let is_off = vertices.iter();
        let is_off: Vec<bool> = is_off
            .map(|number| bypass::is_bypassed(self.unfolded, *number))
            .collect();
        for (to, list) in needs.iter().enumerate() {
            for need in list {
                let Some(from) = vertex_of.get(&need.place.0) else {
                    continue;
                };
                match to < count {
                    true => {
                        let to = u32::try_from(to).unwrap_or(u32::MAX);
                        edges.get_mut(*from as usize)?.push(to);
                        // A node that is switched off only tells what passes it.
                        if !is_off.get(to as usize).copied().unwrap_or_default() {
                            uses.get_mut(*from as usize)?.push((to, need.lazy));
                        }
                    }
                    false => *open.get_mut(*from as usize)? = true,
                }
            }
        }
        let sorted = match order::sort(&edges) {
            Ok(sorted) => sorted,
            Err(cycle) => {
                self.report_cycle(&cycle, &vertices);
                return None;
            }
        };
        let gates = gate::find(&sorted, &edges, &uses, &open);
        // A node with lazy inputs that gate something decides before it runs: a vertex of its own.
        let mut decides: Vec<u32> = gates.gates.iter().map(|gate| gate.vertex).collect();
        decides.sort_unstable();
        decides.dedup();
        let decide_of: HashMap<u32, u32> = decides
            .iter()
            .copied()
            .zip(u32::try_from(count).unwrap_or(u32::MAX)..)
            .collect();
        edges.resize(count + decides.len(), Vec::new());
        for (vertex, decide) in &decide_of {
            for need in needs.get(*vertex as usize)? {
                if need.lazy.is_none()
                    && let Some(from) = vertex_of.get(&need.place.0)
                {
                    edges.get_mut(*from as usize)?.push(*decide);
                }
            }
            edges.get_mut(*decide as usize)?.push(*vertex);
        }
        for (vertex, gate) in (0u32..).zip(&gates.of) {
            if let Some(gate) = gate.and_then(|gate| gates.gates.get(gate as usize)) {
                let decide = decide_of.get(&gate.vertex)?;
                edges.get_mut(*decide as usize)?.push(vertex);
            }
        }
        let sorted = order::sort(&edges).ok()?;

        let mut slots = Slots::new(captured.len());
        slots.assign(self, &sorted, &vertices, &decides, &inner, &needs);
        for (index, place) in captured.iter().enumerate() {
            slots.capture(*place, u32::try_from(index).unwrap_or(u32::MAX));
        }
        let mut region = Region {
            captured: (0..u32::try_from(captured.len()).unwrap_or(u32::MAX)).collect(),
            ..Region::default()
        };
        for vertex in &sorted {
            let node = match vertices.get(*vertex as usize) {
                Some(number) => {
                    let behind = gates.of.get(*vertex as usize).copied().flatten();
                    let gate = behind.and_then(|gate| {
                        let gate = gates.gates.get(gate as usize)?;
                        slots.gate(*decide_of.get(&gate.vertex)?, gate.input)
                    });
                    let inside = inner.remove(number);
                    PlanNode {
                        gate,
                        ..self.node(*number, inside, &mut slots)
                    }
                }
                None => {
                    let chosen = decides.get(*vertex as usize - count)?;
                    self.decide(*vertices.get(*chosen as usize)?, *vertex, &mut slots)
                }
            };
            region.nodes.push(node);
        }
        if let Some(begin) = begin {
            region.arguments = self.arguments(begin, &slots);
        }
        if let Some(end) = end {
            region.outputs = self.outputs(end, &mut slots);
        }
        slots.finish(&mut region);
        Some(Compiled { region, captured })
    }

    /// The nodes that begin and end a region.
    fn ends(&mut self, members: &[usize], zone: Option<usize>) -> (Option<usize>, Option<usize>) {
        let (mut begin, mut end) = (None, None);
        for number in members {
            let Some(placed) = self.unfolded.nodes.get(*number) else {
                continue;
            };
            let (place, is_here) = match placed.structure {
                Some(Structure::GroupInput) => (&mut begin, zone.is_none()),
                Some(Structure::GroupOutput) => (&mut end, zone.is_none()),
                Some(Structure::LoopInput) => (&mut begin, zone.is_some()),
                Some(Structure::LoopOutput) => (&mut end, zone.is_some()),
                _ => continue,
            };
            if !is_here {
                let message = match zone {
                    None => "it stands in no loop; put it into a LoopZone (parentNode)",
                    Some(_) => {
                        "it is an end of the whole workflow, and stands inside a loop; take it out"
                    }
                };
                let problem = Problem::error("node.misplaced", message);
                self.problems.add(problem.at(&*placed.path));
                continue;
            }
            match place {
                None => *place = Some(*number),
                // The second of a workflow was told when it was unfolded.
                Some(_) if zone.is_none() => {}
                Some(first) => {
                    let first = self.unfolded.path(*first);
                    let message = format!("the loop already has that end: {first}");
                    let problem = Problem::error("loop.second_end", message);
                    self.problems.add(problem.at(&*placed.path));
                }
            }
        }
        (begin, end)
    }

    /// What a node takes from others, checked against the borders of loops.
    fn needs(&mut self, number: usize, zone: Option<usize>) -> Vec<Need> {
        let (Some(placed), Some(taken)) = (self.unfolded.nodes.get(number), self.taken.get(number))
        else {
            return Vec::new();
        };
        let is_choosing = placed
            .kind
            .as_ref()
            .is_some_and(|kind| kind.choose.is_some());
        let is_bypassed = bypass::is_bypassed(self.unfolded, number);
        let mut needs = Vec::new();
        for (index, (taken, input)) in taken.iter().zip(placed.shape.inputs()).enumerate() {
            let is_lazy = input.branch == Branch::Lazy && is_choosing && !is_bypassed;
            let lazy = is_lazy.then(|| u32::try_from(index).unwrap_or(u32::MAX));
            each_place(taken, &mut |place| {
                if self.is_visible(place.0, zone) {
                    needs.push(Need { place, lazy });
                } else {
                    let from = self.unfolded.path(place.0);
                    let message = format!(
                        "{from} lies inside a loop, and its value does not leave it; take it out through the loop's LoopOutput"
                    );
                    let problem = Problem::error("loop.border", message);
                    self.problems
                        .add(problem.at(&*placed.path).slot(&input.slot.key));
                }
            });
        }
        needs
    }

    /// Whether a node's outputs can be seen from inside a loop: it lies in the same one, or in one around it.
    pub(super) fn is_visible(&self, node: usize, zone: Option<usize>) -> bool {
        let Some(wanted) = self.unfolded.nodes.get(node).map(|placed| placed.zone) else {
            return false;
        };
        let mut at = zone;
        loop {
            if at == wanted {
                return true;
            }
            match at {
                None => return false,
                Some(inner) => {
                    at = self
                        .unfolded
                        .nodes
                        .get(inner)
                        .and_then(|placed| placed.zone)
                }
            }
        }
    }

    fn report_cycle(&mut self, cycle: &[u32], vertices: &[usize]) {
        let mut names: Vec<_> = cycle
            .iter()
            .filter_map(|vertex| vertices.get(*vertex as usize))
            .map(|number| self.unfolded.path(*number))
            .collect();
        let first = names.first().cloned().unwrap_or_default();
        if names.len() > 20 {
            let hidden = names.len() - 19;
            names.splice(10..10 + hidden, [format!("… {hidden} more …")]);
        }
        names.push(first.clone());
        let message = format!(
            "the nodes need each other in a circle: {}; cut it, or use a LoopZone",
            names.join(" → ")
        );
        self.problems
            .add(Problem::error("workflow.cycle", message).at(first));
    }

    /// Nodes whose work nobody takes, and which do nothing else.
    fn warn_unused(&mut self) {
        let mut is_used = vec![false; self.unfolded.nodes.len()];
        for taken in self.taken.iter().flatten() {
            each_place(taken, &mut |(node, _)| {
                if let Some(used) = is_used.get_mut(node) {
                    *used = true;
                }
            });
        }
        for (number, placed) in self.unfolded.nodes.iter().enumerate() {
            let is_pure = placed.structure.is_none()
                && placed
                    .kind
                    .as_ref()
                    .is_some_and(|kind| kind.definition.deterministic)
                && placed.shape.outputs().next().is_some();
            let is_used = is_used.get(number).copied().unwrap_or_default();
            if is_pure && !is_used && !bypass::is_bypassed(self.unfolded, number) {
                let message = "nothing takes its outputs, and it does nothing else";
                let problem = Problem::warning("node.unused", message);
                self.problems.add(problem.at(&*placed.path));
            }
        }
    }
}

/// What a node takes from another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Need {
    pub(super) place: (usize, usize),
    /// The lazy input that takes it.
    pub(super) lazy: Option<u32>,
}

/// All outputs that an input takes from.
pub(super) fn each_place(taken: &Taken, found: &mut dyn FnMut((usize, usize))) {
    fn of_origin(origin: &Origin, found: &mut dyn FnMut((usize, usize))) {
        match origin {
            Origin::Output { node, output } => found((*node, *output)),
            Origin::List(list) => list.iter().for_each(|one| of_origin(one, found)),
            Origin::Value(_) | Origin::Nothing => {}
        }
    }
    match taken {
        Taken::Set(_) => {}
        Taken::One { node, output, .. } => found((*node, *output)),
        Taken::Many { origins, .. } => origins.iter().for_each(|one| of_origin(one, found)),
    }
}

/// How a stream is collected where the input does not care.
pub(super) fn collect_as(wanted: DataFlowType, made: DataFlowType) -> DataFlowType {
    match wanted {
        DataFlowType::String | DataFlowType::Array => wanted,
        _ if made == DataFlowType::String => DataFlowType::String,
        _ => DataFlowType::Wildcard,
    }
}
