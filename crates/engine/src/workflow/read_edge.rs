//! One edge of a workflow file.

use std::collections::HashSet;

use super::piece::{Parts, Piece};
use super::reader::Reader;
use super::{WorkflowEdge, WorkflowNode};
use crate::limits::MAX_HINT_NODES;
use crate::problem::{Problem, did_you_mean, quoted};

pub(super) const SOURCE: [&str; 2] = ["source", "sourceNodeId"];
pub(super) const TARGET: [&str; 2] = ["target", "targetNodeId"];

/// What edges can lead to.
pub(super) struct Ends<'n> {
    nodes: &'n [WorkflowNode],
    ids: HashSet<&'n str>,
    /// Ids of nodes that were seen but not taken: that is reported already.
    refused: HashSet<String>,
}

impl<'n> Ends<'n> {
    pub(super) fn new(nodes: &'n [WorkflowNode], refused: HashSet<String>) -> Self {
        Self {
            nodes,
            ids: nodes.iter().map(|node| node.id.as_str()).collect(),
            refused,
        }
    }
}

impl<'t> Reader<'t> {
    /// `None` where it does not say what it connects, or that is not there. Its id is empty where it has none.
    pub(super) fn edge(&mut self, piece: Piece<'t>, ends: &Ends<'_>) -> Option<WorkflowEdge> {
        let parts = self.object(piece, "")?;
        let id = match parts.some("id") {
            Some(id) => self.name(id, "id")?,
            None => String::new(),
        };
        let source = self.end(&parts, &SOURCE, ends);
        let target = self.end(&parts, &TARGET, ends);
        let source_handle = self.handle(&parts, "sourceHandle");
        let target_handle = self.handle(&parts, "targetHandle");
        Some(WorkflowEdge {
            id,
            source: source?,
            source_handle: source_handle?,
            target: target?,
            target_handle: target_handle?,
        })
    }

    fn end(
        &mut self,
        parts: &Parts<'t>,
        names: &[&'static str],
        ends: &Ends<'_>,
    ) -> Option<String> {
        let field = parts.spelling(names);
        let Some(piece) = parts.some(field) else {
            let problem = Problem::error("edge.no_end", "the edge does not say which node");
            self.add(problem, field, parts.whole.start);
            return None;
        };
        let text = self.text(piece, field)?;
        if ends.ids.contains(text.as_ref()) {
            return Some(text.into_owned());
        }
        if !ends.refused.contains(text.as_ref()) {
            let hint = match ends.nodes.len() <= MAX_HINT_NODES && !self.is_full() {
                true => did_you_mean(&text, ends.nodes.iter().map(|node| node.id.as_str())),
                false => String::new(),
            };
            let message = format!("there is no node {}{hint}", quoted(&text));
            let problem = Problem::error("edge.unknown_node", message);
            self.add(problem, field, piece.start);
        }
        None
    }

    /// The inner `None` where it is not given, which some files do.
    fn handle(&mut self, parts: &Parts<'t>, field: &str) -> Option<Option<String>> {
        if let Some(piece) = parts.some(field) {
            return self.name(piece, field).map(Some);
        }
        let problem = Problem::warning("edge.no_handle", "the edge does not say which slot");
        self.add(problem, field, parts.whole.start);
        Some(None)
    }
}
