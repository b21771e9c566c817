//! One node of a workflow file.

use std::collections::HashSet;

use serde_json::{Map, Value as Json};

use super::piece::{Kind, Parts, Piece};
use super::read::Taken;
use super::reader::{Reader, Scope};
use super::{NodeExecution, Workflow, WorkflowNode};
use crate::limits::{MAX_RETRIES, MAX_RETRY_DELAY};
use crate::problem::{Problem, did_you_mean, quoted};

pub(super) const TYPE: [&str; 2] = ["type", "fullType"];
pub(super) const DESCRIPTION: [&str; 2] = ["customDescription", "description"];
pub(super) const INPUTS: [&str; 2] = ["inputValues", "inputs"];
pub(super) const ORDERS: &str = "inputConnectionOrders";
/// The setting of a group that says which workflow it is; older files have it beside the settings.
pub(super) const GROUP_REFERENCE: &str = "referencedWorkflowId";
pub(super) const EXECUTION: [&str; 4] = ["retry", "retryDelayMs", "timeoutMs", "cache"];

impl<'t> Reader<'t> {
    /// `None` where it cannot be told apart from others.
    pub(super) fn node(&mut self, piece: Piece<'t>) -> Option<WorkflowNode> {
        let parts = self.object(piece, "")?;
        if parts.some("id").is_none() {
            let problem = Problem::error("node.no_id", "a node needs an id");
            self.add(problem, "id", piece.start);
            return None;
        }
        let id = self.name_field(&parts, "id")?;
        self.scope = Scope::Node { id: id.clone() };
        if TYPE.iter().all(|name| parts.some(name).is_none()) {
            let problem = Problem::error("node.no_type", "the node does not say what it is");
            self.add(problem, "type", piece.start);
        }
        let full_type = self.name_field(&parts, parts.spelling(&TYPE));
        let data = self.object_field(&parts, "data");
        let node = WorkflowNode {
            parent: self.name_field(&parts, "parentNode"),
            display_name: self.text_field(&parts, "displayName"),
            description: self.text_field(&parts, parts.spelling(&DESCRIPTION)),
            position: self.node_position(&parts),
            config: self.config(&parts, data.as_ref()),
            inputs: self.values(&parts, parts.spelling(&INPUTS)),
            orders: self.orders(&parts),
            bypassed: self.bypassed(&parts, data.as_ref()),
            execution: self.execution(&parts),
            ..WorkflowNode::new(full_type.unwrap_or_default(), id)
        };
        Some(node)
    }

    /// Where it stands on the canvas; nothing depends on it.
    fn node_position(&mut self, parts: &Parts<'t>) -> Option<(f64, f64)> {
        let piece = parts.some("position")?;
        let place = piece.members().and_then(|members| {
            let axis = |name| members.get(name)?.json().ok()?.as_f64();
            Some((axis("x")?, axis("y")?))
        });
        if place.is_none() {
            let problem = Problem::warning("node.bad_position", "must be {\"x\": 0, \"y\": 0}");
            self.add(problem, "position", piece.start);
        }
        place
    }

    /// `configValues`, and what older files have in `data` instead.
    fn config(&mut self, parts: &Parts<'t>, data: Option<&Parts<'t>>) -> Map<String, Json> {
        let mut config = self.values(parts, "configValues");
        let Some(data) = data else {
            return config;
        };
        for (name, value) in self.values(data, "configValues") {
            config.entry(name).or_insert(value);
        }
        if let Some(piece) = data.some(GROUP_REFERENCE)
            && !config.contains_key(GROUP_REFERENCE)
            && let Some(value) = self.json(piece, "data.referencedWorkflowId")
        {
            config.insert(GROUP_REFERENCE.to_owned(), value);
        }
        config
    }

    fn bypassed(&mut self, parts: &Parts<'t>, data: Option<&Parts<'t>>) -> bool {
        let own = self.flag_field(parts, "bypassed");
        let own = own.or_else(|| self.flag_field(data?, "bypassed"));
        own.unwrap_or(false)
    }

    fn orders(&mut self, parts: &Parts<'t>) -> Vec<(String, Vec<String>)> {
        let mut orders = Vec::new();
        let Some(members) = self.object_field(parts, ORDERS) else {
            return orders;
        };
        let mut seen = HashSet::new();
        // From behind, since the last of several with one name counts.
        for item in members.items.iter().rev() {
            let Some(slot) = item.name.as_deref() else {
                continue;
            };
            if !seen.insert(slot) {
                continue;
            }
            let field = format!("{ORDERS}.{slot}");
            let Some(list) = item.value.elements() else {
                self.wrong_type(&field, item.value, Kind::List);
                continue;
            };
            let ids = list.items.iter();
            let ids = ids.filter_map(|item| self.text(item.value, &field));
            orders.push((slot.to_owned(), ids.map(Into::into).collect()));
        }
        orders.reverse();
        orders
    }

    fn execution(&mut self, parts: &Parts<'t>) -> NodeExecution {
        let mut execution = NodeExecution::default();
        let Some(members) = self.object_field(parts, "execution") else {
            return execution;
        };
        for item in &members.items {
            let Some(name) = item.name.as_deref() else {
                continue;
            };
            if !EXECUTION.contains(&name) {
                let hint = did_you_mean(name, EXECUTION);
                let message = format!("{} is not known here{hint}", quoted(name));
                let problem = Problem::warning("node.unknown_setting", message);
                self.add(problem, "execution", item.start);
            }
        }
        let longest = u64::try_from(MAX_RETRY_DELAY.as_millis()).unwrap_or(u64::MAX);
        if let Some(retry) = self.count(&members, "retry", 0..=u64::from(MAX_RETRIES)) {
            execution.retry = u32::try_from(retry).unwrap_or(MAX_RETRIES);
        }
        if let Some(delay) = self.count(&members, "retryDelayMs", 0..=longest) {
            execution.retry_delay_ms = delay;
        }
        execution.timeout_ms = self.count(&members, "timeoutMs", 1..=u64::MAX);
        execution.cache = match members.some("cache") {
            Some(piece) if piece.kind() != Kind::Boolean => {
                self.wrong_type("execution.cache", piece, Kind::Boolean);
                None
            }
            piece => piece.map(|piece| piece.raw() == "true"),
        };
        execution
    }

    fn count(
        &mut self,
        members: &Parts<'t>,
        name: &str,
        allowed: std::ops::RangeInclusive<u64>,
    ) -> Option<u64> {
        let piece = members.some(name)?;
        let number = piece.json().ok().and_then(|json| json.as_u64());
        let number = number.filter(|number| allowed.contains(number));
        if number.is_none() {
            let least = allowed.start();
            let message = match *allowed.end() {
                u64::MAX => format!("must be a whole number from {least}"),
                most => format!("must be a whole number from {least} to {most}"),
            };
            let problem = Problem::error("node.bad_setting", message);
            self.add(problem, &format!("execution.{name}"), piece.start);
        }
        number
    }

    /// What can be told only when everything is read: parents and edges that are not there.
    pub(super) fn check_references(
        &mut self,
        body: &Parts<'t>,
        taken: &Taken<'t>,
        workflow: &Workflow,
    ) {
        let nodes: HashSet<&str> = workflow.nodes.iter().map(|node| node.id.as_str()).collect();
        let edges: HashSet<&str> = workflow.edges.iter().map(|edge| edge.id.as_str()).collect();
        for (node, index) in workflow.nodes.iter().zip(&taken.indices) {
            let item = taken
                .parts
                .as_ref()
                .and_then(|parts| parts.items.get(*index));
            let at = item.map_or(body.whole.start, |item| item.start);
            self.scope = Scope::Node {
                id: node.id.clone(),
            };
            if let Some(parent) = &node.parent
                && (!nodes.contains(parent.as_str()) || *parent == node.id)
            {
                let message = match *parent == node.id {
                    true => "a node cannot lie in itself".to_owned(),
                    false => format!("there is no node {}", quoted(parent)),
                };
                let problem = Problem::warning("node.unknown_parent", message);
                self.add(problem, "parentNode", at);
            }
            for (slot, order) in &node.orders {
                for edge in order.iter().filter(|edge| !edges.contains(edge.as_str())) {
                    let message =
                        format!("the order names an edge {} that is not there", quoted(edge));
                    let problem = Problem::warning("node.unknown_edge", message);
                    self.add(problem, &format!("{ORDERS}.{slot}"), at);
                }
            }
        }
        self.scope = Scope::File;
    }
}
