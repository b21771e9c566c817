//! From text to a workflow: what the file says, as far as it can be understood, and everything that is wrong with it.
//!
//! Whether nodes exist, fit together and can run is the checker's business.

use std::collections::{HashMap, HashSet};

use super::piece::{Kind, Parts, Piece};
use super::read_edge::Ends;
use super::reader::{Reader, Scope, unfit};
use super::save::Origin;
use super::scan::scan;
use super::{InterfaceSlot, Workflow, WorkflowEdge, WorkflowNode};
use crate::limits::{
    MAX_EDGES, MAX_FILE_DEPTH, MAX_FILE_VALUES, MAX_NAME_CHARS, MAX_NODES, MAX_SLOTS,
    MAX_WORKFLOW_BYTES,
};
use crate::problem::{Problem, Problems, quoted};

/// What the clipboard of the canvas says that it is.
const FRAGMENT: &str = "ComfyTavernWorkflowFragment";
/// The name of a workflow that has none.
pub(super) const UNTITLED: &str = "untitled";

pub(super) const ID: [&str; 2] = ["id", "workflowId"];
pub(super) const INPUTS: [&str; 2] = ["interfaceInputs", "inputInterface"];
pub(super) const OUTPUTS: [&str; 2] = ["interfaceOutputs", "outputInterface"];

/// What was read, as far as it could be.
#[derive(Debug, Clone)]
pub struct Reading {
    /// `None` where the text is no workflow at all.
    pub workflow: Option<Workflow>,
    pub problems: Problems,
}

/// Where the parts of a workflow stand in its text.
pub(super) struct Places<'t> {
    /// The object that holds the nodes: the file's, or a fragment's `data`.
    pub(super) body: Parts<'t>,
    /// The way to it from the file's object.
    pub(super) outer: Option<Parts<'t>>,
    pub(super) nodes: Taken<'t>,
    pub(super) edges: Taken<'t>,
    pub(super) inputs: Taken<'t>,
    pub(super) outputs: Taken<'t>,
}

/// A list or object of the file, and which of its items were taken, in order.
#[derive(Default)]
pub(super) struct Taken<'t> {
    pub(super) parts: Option<Parts<'t>>,
    pub(super) indices: Vec<usize>,
}

impl Workflow {
    /// Reads a workflow file, an execution payload or a fragment from the clipboard. Never fails whole where a part
    /// can be understood; takes time and memory in proportion to the text.
    pub fn read(text: &str) -> Reading {
        let mut reader = Reader::new(text);
        let workflow = read_placed(&mut reader, text).map(|(mut workflow, _)| {
            workflow.origin = Origin::of(text);
            workflow
        });
        Reading {
            workflow,
            problems: reader.problems,
        }
    }
}

pub(super) fn read_placed<'t>(
    reader: &mut Reader<'t>,
    text: &'t str,
) -> Option<(Workflow, Places<'t>)> {
    if text.len() > MAX_WORKFLOW_BYTES {
        let message = format!("the file is larger than {MAX_WORKFLOW_BYTES} bytes");
        reader.add(Problem::error("file.too_large", message), "", 0);
        return None;
    }
    let scanned = match scan(text, MAX_FILE_DEPTH, MAX_FILE_VALUES) {
        Ok(scanned) => scanned,
        Err(fault) => {
            let message = format!("this is not JSON: {}", fault.why);
            reader.add(Problem::error("file.not_json", message), "", fault.at);
            return None;
        }
    };
    if let Some(at) = scanned.too_many {
        let message = format!("the file holds more than {MAX_FILE_VALUES} values");
        reader.add(Problem::error("file.too_many_values", message), "", at);
        return None;
    }
    if let Some(at) = scanned.too_deep {
        let message =
            format!("objects and lists are nested deeper than {MAX_FILE_DEPTH} levels here");
        reader.add(Problem::error("file.too_deep", message), "", at);
    }
    let top = Piece::new(text, scanned.start, scanned.end);
    if top.kind() != Kind::Object {
        let message = format!("a workflow is an object, this is {}", top.kind().words());
        reader.add(
            Problem::error("file.not_an_object", message),
            "",
            scanned.start,
        );
        return None;
    }
    let top = reader.object(top, "")?;
    let (body, outer) = fragment(reader, top)?;
    read_body(reader, body, outer)
}

/// Goes into a fragment, if it is one.
fn fragment<'t>(reader: &mut Reader<'t>, top: Parts<'t>) -> Option<(Parts<'t>, Option<Parts<'t>>)> {
    let source = top.get("source").and_then(Piece::string);
    if source.as_deref() != Some(FRAGMENT) {
        return Some((top, None));
    }
    match top.some("data") {
        Some(data) => Some((reader.object(data, "data")?, Some(top))),
        None => {
            let problem = Problem::error("file.no_data", "a fragment needs an object 'data'");
            reader.add(problem, "data", top.whole.start);
            None
        }
    }
}

fn read_body<'t>(
    reader: &mut Reader<'t>,
    body: Parts<'t>,
    outer: Option<Parts<'t>>,
) -> Option<(Workflow, Places<'t>)> {
    let is_one = ["nodes", "edges"].iter().chain(&INPUTS).chain(&OUTPUTS);
    let is_one = is_one.copied().any(|field| body.get(field).is_some());
    if body.some("nodes").is_none() {
        let message = match is_one {
            true => "a workflow needs a list 'nodes'",
            false => "this is no workflow: there is no list 'nodes'",
        };
        let problem = Problem::error("file.no_nodes", message);
        reader.add(problem, "nodes", body.whole.start);
    }
    if !is_one {
        return None;
    }
    let id = reader.name_field(&body, body.spelling(&ID));
    let name = name(reader, &body, id.as_deref(), outer.is_some());
    let mut workflow = Workflow {
        id,
        description: reader.text_field(&body, "description"),
        ..Workflow::new(name)
    };
    let (nodes, refused) = read_nodes(reader, &body, &mut workflow.nodes);
    let ends = Ends::new(&workflow.nodes, refused);
    let (edges, taken) = read_edges(reader, &body, &ends);
    workflow.edges = taken;
    reader.check_references(&body, &nodes, &workflow);
    let inputs = read_interface(reader, &body, &INPUTS, &mut workflow.inputs);
    let outputs = read_interface(reader, &body, &OUTPUTS, &mut workflow.outputs);
    let places = Places {
        body,
        outer,
        nodes,
        edges,
        inputs,
        outputs,
    };
    Some((workflow, places))
}

fn name<'t>(
    reader: &mut Reader<'t>,
    body: &Parts<'t>,
    id: Option<&str>,
    is_fragment: bool,
) -> String {
    let fallback = || id.unwrap_or(UNTITLED).to_owned();
    let Some(piece) = body.some("name") else {
        if !is_fragment {
            let message = format!("the workflow has no name; it is called '{}'", fallback());
            let problem = Problem::warning("file.no_name", message);
            reader.add(problem, "name", body.whole.start);
        }
        return fallback();
    };
    let Some(name) = reader.text(piece, "name") else {
        return fallback();
    };
    if name.trim().is_empty() {
        let message = format!("the name is empty; it is called '{}'", fallback());
        let problem = Problem::warning("file.no_name", message);
        reader.add(problem, "name", piece.start);
        return fallback();
    }
    if let Some((code, why)) = unfit(&name) {
        reader.add(Problem::error(code, why), "name", piece.start);
    }
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Takes the nodes, and says which ids were seen but not taken, so that edges to them are no news.
fn read_nodes<'t>(
    reader: &mut Reader<'t>,
    body: &Parts<'t>,
    nodes: &mut Vec<WorkflowNode>,
) -> (Taken<'t>, HashSet<String>) {
    let mut refused = HashSet::new();
    let Some(parts) = reader.list_field(body, "nodes") else {
        return (Taken::default(), refused);
    };
    if let Some(first) = parts.items.get(MAX_NODES) {
        let message = format!(
            "{} nodes are more than {MAX_NODES}; those from here on are left out",
            parts.items.len()
        );
        let problem = Problem::error("file.too_many_nodes", message);
        reader.add(problem, "nodes", first.start);
    }
    let mut indices = Vec::new();
    let mut known = HashSet::new();
    for (index, item) in parts.items.iter().enumerate() {
        if index >= MAX_NODES {
            refused.extend(id_of(item.value));
            continue;
        }
        reader.scope = Scope::Element {
            list: "nodes",
            index,
        };
        let Some(node) = reader.node(item.value) else {
            refused.extend(id_of(item.value));
            continue;
        };
        if !known.insert(node.id.clone()) {
            let message = format!("another node is called {} already", quoted(&node.id));
            let problem = Problem::error("node.duplicate_id", message);
            reader.add(problem, "id", item.start);
            continue;
        }
        nodes.push(node);
        indices.push(index);
    }
    reader.scope = Scope::File;
    let parts = Some(parts);
    (Taken { parts, indices }, refused)
}

fn id_of(node: Piece<'_>) -> Option<String> {
    let id = node.members()?.get("id")?.string()?;
    Some(id.into_owned())
}

fn read_edges<'t>(
    reader: &mut Reader<'t>,
    body: &Parts<'t>,
    ends: &Ends<'_>,
) -> (Taken<'t>, Vec<WorkflowEdge>) {
    let Some(parts) = reader.list_field(body, "edges") else {
        return Default::default();
    };
    if let Some(first) = parts.items.get(MAX_EDGES) {
        let message = format!(
            "{} edges are more than {MAX_EDGES}; those from here on are left out",
            parts.items.len()
        );
        let problem = Problem::error("file.too_many_edges", message);
        reader.add(problem, "edges", first.start);
    }
    let mut indices = Vec::new();
    let mut edges: Vec<WorkflowEdge> = Vec::new();
    let mut known = HashSet::new();
    for (index, item) in parts.items.iter().take(MAX_EDGES).enumerate() {
        reader.scope = Scope::Element {
            list: "edges",
            index,
        };
        let Some(edge) = reader.edge(item.value, ends) else {
            continue;
        };
        if !edge.id.is_empty() && !known.insert(edge.id.clone()) {
            let message = format!("another edge is called {} already", quoted(&edge.id));
            let problem = Problem::error("edge.duplicate_id", message);
            reader.add(problem, "id", item.start);
            continue;
        }
        edges.push(edge);
        indices.push(index);
    }
    reader.scope = Scope::File;
    name_edges(&mut edges, &mut known);
    let parts = Some(parts);
    (Taken { parts, indices }, edges)
}

/// Edges of an execution payload need no ids.
fn name_edges(edges: &mut [WorkflowEdge], known: &mut HashSet<String>) {
    let mut number = 0;
    for edge in edges.iter_mut().filter(|edge| edge.id.is_empty()) {
        edge.id = loop {
            number += 1;
            let id = format!("edge_{number}");
            if known.insert(id.clone()) {
                break id;
            }
        };
    }
}

fn read_interface<'t>(
    reader: &mut Reader<'t>,
    body: &Parts<'t>,
    names: &[&'static str],
    slots: &mut Vec<InterfaceSlot>,
) -> Taken<'t> {
    let side = body.spelling(names);
    let Some(parts) = reader.object_field(body, side) else {
        return Taken::default();
    };
    if let Some(first) = parts.items.get(MAX_SLOTS) {
        let message = format!(
            "{} entries are more than {MAX_SLOTS}; those from here on are left out",
            parts.items.len()
        );
        let problem = Problem::error("interface.too_many_slots", message);
        reader.add(problem, side, first.start);
    }
    let items = || parts.items.iter().enumerate().take(MAX_SLOTS);
    // The last of several with one name counts; they are reported already.
    let last: HashMap<_, _> = items().map(|(index, item)| (&item.name, index)).collect();
    let mut indices = Vec::new();
    for (index, item) in items().filter(|(index, item)| last.get(&item.name) == Some(index)) {
        let Some(key) = item.name.clone() else {
            let problem = Problem::error("file.bad_text", "a key is half a surrogate pair");
            reader.add(problem, side, item.start);
            continue;
        };
        reader.scope = Scope::Slot { side, key };
        if let Some(slot) = reader.slot(item) {
            slots.push(slot);
            indices.push(index);
        }
        reader.scope = Scope::File;
    }
    let parts = Some(parts);
    Taken { parts, indices }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
