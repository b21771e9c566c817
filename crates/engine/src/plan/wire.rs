//! Which slots each edge connects, and whether it may.

use std::collections::HashMap;

use crate::flow::{SlotKind, fits};
use crate::node::{NodeSlot, Structure};
use crate::problem::{Problem, Problems, Severity, quoted};
use crate::workflow::WorkflowEdge;

use super::scope::{Connection, Scope, Unfolded};

pub(super) fn wire(unfolded: &mut Unfolded, problems: &mut Problems) {
    let mut connections = vec![Vec::new(); unfolded.nodes.len()];
    for scope in &unfolded.scopes {
        for (index, edges) in scope.incoming.iter().enumerate() {
            let number = scope.first + index;
            let Some(list) = connections.get_mut(number) else {
                continue;
            };
            *list = into(unfolded, scope, number, edges, problems);
        }
    }
    unfolded.connections = connections;
}

/// The connections of one node, those of an input in their order.
fn into(
    unfolded: &Unfolded,
    scope: &Scope,
    number: usize,
    edges: &[u32],
    problems: &mut Problems,
) -> Vec<Connection> {
    let (Some(placed), Some(node)) = (unfolded.nodes.get(number), unfolded.node(number)) else {
        return Vec::new();
    };
    if placed.structure == Some(Structure::Frame) {
        return Vec::new();
    }
    // Where an edge stands: in the order that was written down, then by its number, then as it comes.
    let mut ranks: HashMap<(&str, &str), usize> = HashMap::new();
    for (key, order) in &node.orders {
        for (rank, edge) in order.iter().enumerate() {
            ranks.entry((key, edge)).or_insert(rank);
        }
    }
    let mut found = Vec::new();
    for edge in edges
        .iter()
        .filter_map(|edge| scope.workflow.edges.get(*edge as usize))
    {
        let Some((connection, place)) = connect(unfolded, scope, number, edge, problems) else {
            continue;
        };
        let key = placed.shape.inputs().nth(connection.input);
        let key = key.map_or("", |input| input.slot.key.as_str());
        let rank = ranks.get(&(key, edge.id.as_str())).copied();
        let rank = (rank.is_none(), rank, place.is_none(), place);
        found.push((connection.input, rank, connection));
    }
    found.sort_by_key(|(input, rank, _)| (*input, *rank));
    let mut connections = Vec::with_capacity(found.len());
    for (input, _, connection) in found {
        let declared = placed.shape.inputs().nth(input);
        let is_multi = declared.is_some_and(|input| input.multi);
        let is_second = connections
            .last()
            .is_some_and(|last: &Connection| last.input == input);
        if is_second && !is_multi {
            let message = "more than one edge goes into it, and it takes one value; remove the others, or put a Merge before it";
            let problem = Problem::error("slot.several_connections", message);
            let key = declared.map_or("", |input| input.slot.key.as_str());
            problems.add(problem.at(&*placed.path).slot(key));
            continue;
        }
        connections.push(connection);
    }
    connections
}

/// The slots of one edge.
fn connect(
    unfolded: &Unfolded,
    scope: &Scope,
    number: usize,
    edge: &WorkflowEdge,
    problems: &mut Problems,
) -> Option<(Connection, Option<u64>)> {
    let to = unfolded.nodes.get(number)?;
    let source = scope.first + scope.by_id.get(&edge.source)?;
    let from = unfolded.nodes.get(source)?;
    // What was meant is looked for only where it will be read.
    let mut refuse = |at: &str, slot: Option<&str>, message: &dyn Fn() -> String| {
        let message = match problems.lists(Severity::Error) {
            true => format!("{} (edge {})", message(), quoted(&edge.id)),
            false => String::new(),
        };
        let problem = Problem::error("edge.unknown_slot", message).at(at);
        problems.add(match slot {
            Some(slot) => problem.slot(slot),
            None => problem,
        });
    };
    let handle = edge.target_handle.as_deref();
    let target = to.shape.target(handle);
    if target.is_none() {
        refuse(&to.path, handle, &|| to.shape.no_target(handle));
    }
    let handle = edge.source_handle.as_deref();
    let output = from.shape.origin(handle);
    if output.is_none() {
        refuse(&from.path, handle, &|| from.shape.no_origin(handle));
    }
    let (target, output) = target.zip(output)?;
    let input = to.shape.inputs().nth(target.input)?;
    if let Some(slot) = from.shape.output(output) {
        if !fits(kind(slot), kind(&input.slot)) {
            let message = format!(
                "{}.{} gives {}, and this takes {}; put a core:Convert between them",
                from.path, slot.key, slot.flow, input.slot.flow
            );
            let problem = Problem::error("edge.type", message);
            problems.add(problem.at(&*to.path).slot(&input.slot.key));
        }
        if slot.is_stream && !input.slot.is_stream && !is_open(to.structure) {
            let message = format!(
                "the stream {}.{} is collected into one value",
                from.path, slot.key
            );
            let problem = Problem::warning("edge.stream_collected", message);
            problems.add(problem.at(&*to.path).slot(&input.slot.key));
        }
    }
    let connection = Connection {
        input: target.input,
        from: (source, output),
    };
    Some((connection, target.place))
}

/// Ends that take what comes, streams as streams.
fn is_open(structure: Option<Structure>) -> bool {
    structure.is_some()
}

fn kind(slot: &NodeSlot) -> SlotKind<'_> {
    SlotKind {
        flow: slot.flow,
        match_categories: &slot.match_categories,
    }
}
