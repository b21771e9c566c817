//! What changes in the object of a node, an edge or a slot, under the names that the file uses for it.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use super::patch::{self, Change, Style};
use super::piece::{Kind, Parts, Piece};
use super::save::{Listable, optional};
use super::{InterfaceSlot, WorkflowEdge, WorkflowNode};
use super::{read_edge, read_node, read_slot, write};

type Changes = Vec<(&'static str, Change)>;

impl Listable for WorkflowNode {
    const KEYED: bool = false;

    fn name(&self) -> &str {
        &self.id
    }

    fn json(&self) -> Json {
        write::node(self)
    }

    fn changes(&self, old: &Self, parts: &Parts<'_>, style: &Style<'_>) -> Changes {
        let mut changes = Vec::new();
        if old.id != self.id {
            changes.push(("id", Change::Set(json!(self.id))));
        }
        if old.full_type != self.full_type {
            let name = parts.spelling(&read_node::TYPE);
            changes.push((name, Change::Set(json!(self.full_type))));
        }
        let mut text = |name, old: &Option<String>, new: &Option<String>| {
            if old != new {
                changes.push((name, optional(new.as_ref().map(|it| json!(it)))));
            }
        };
        text("parentNode", &old.parent, &self.parent);
        text("displayName", &old.display_name, &self.display_name);
        let description = parts.spelling(&read_node::DESCRIPTION);
        text(description, &old.description, &self.description);
        match self.position {
            None if old.position.is_some() => changes.push(("position", Change::Remove)),
            _ => {
                let place = |node: &Self| node.position.map(write::position).unwrap_or_default();
                let (old, new) = (place(old), place(self));
                changes.extend(map_change(parts, "position", &old, &new, style));
            }
        }
        config_changes(self, old, parts, style, &mut changes);
        let inputs = parts.spelling(&read_node::INPUTS);
        changes.extend(map_change(parts, inputs, &old.inputs, &self.inputs, style));
        let (before, after) = (write::orders(&old.orders), write::orders(&self.orders));
        changes.extend(map_change(parts, read_node::ORDERS, &before, &after, style));
        let before = write::execution(&old.execution);
        let after = write::execution(&self.execution);
        changes.extend(map_change(parts, "execution", &before, &after, style));
        changes
    }
}

impl Listable for WorkflowEdge {
    const KEYED: bool = false;

    fn name(&self) -> &str {
        &self.id
    }

    fn json(&self) -> Json {
        write::edge(self)
    }

    fn changes(&self, old: &Self, parts: &Parts<'_>, _style: &Style<'_>) -> Changes {
        let source = parts.spelling(&read_edge::SOURCE);
        let target = parts.spelling(&read_edge::TARGET);
        let rows = [
            (source, json!(old.source), json!(self.source)),
            (
                "sourceHandle",
                json!(old.source_handle),
                json!(self.source_handle),
            ),
            (target, json!(old.target), json!(self.target)),
            (
                "targetHandle",
                json!(old.target_handle),
                json!(self.target_handle),
            ),
        ];
        let changed = rows.into_iter().filter(|(_, old, new)| old != new);
        changed
            .map(|(name, _, new)| (name, Change::Set(new)))
            .collect()
    }
}

impl Listable for InterfaceSlot {
    const KEYED: bool = true;

    fn name(&self) -> &str {
        &self.key
    }

    fn json(&self) -> Json {
        write::slot(self)
    }

    fn changes(&self, old: &Self, parts: &Parts<'_>, style: &Style<'_>) -> Changes {
        let mut changes = Vec::new();
        if old.flow != self.flow {
            let name = parts.spelling(&read_slot::FLOW);
            changes.push((name, Change::Set(json!(self.flow.as_str()))));
        }
        let description = parts.spelling(&read_slot::DESCRIPTION);
        let mut row = |name, old: Json, new: Json| {
            if old != new {
                changes.push((name, optional((!new.is_null()).then_some(new))));
            }
        };
        row(
            "displayName",
            json!(old.display_name),
            json!(self.display_name),
        );
        row(description, json!(old.description), json!(self.description));
        row("required", json!(old.required), json!(self.required));
        row("isStream", json!(old.is_stream), json!(self.is_stream));
        row("multi", json!(old.multi), json!(self.multi));
        let (categories, new) = (&old.match_categories, &self.match_categories);
        row("matchCategories", json!(categories), json!(new));
        let bound = |bound: Option<f64>| bound.map_or(Json::Null, write::number);
        row("min", bound(old.min), bound(self.min));
        row("max", bound(old.max), bound(self.max));
        let (before, after) = (&old.config, &self.config);
        changes.extend(map_change(parts, "config", before, after, style));
        changes
    }
}

/// An object of values: those that changed, were added or went away. What could not be taken stays.
fn map_change(
    parts: &Parts<'_>,
    field: &'static str,
    old: &Map<String, Json>,
    new: &Map<String, Json>,
    style: &Style<'_>,
) -> Option<(&'static str, Change)> {
    let changes = map_changes(old, new);
    if changes.is_empty() {
        return None;
    }
    let place = parts.position(field).and_then(|at| parts.items.get(at));
    let Some((item, members)) = place.and_then(|item| Some((item, item.value.members()?))) else {
        return Some((field, Change::Set(Json::Object(new.clone()))));
    };
    let text = patch::object(&members, changes, item.lead_text(), style);
    Some((field, Change::Text(text)))
}

fn map_changes<'m>(
    old: &'m Map<String, Json>,
    new: &'m Map<String, Json>,
) -> Vec<(&'m str, Change)> {
    let gone = old.keys().filter(|name| !new.contains_key(*name));
    let gone = gone.map(|name| (name.as_str(), Change::Remove));
    let changed = new
        .iter()
        .filter(|(name, value)| old.get(*name) != Some(*value));
    let changed = changed.map(|(name, value)| (name.as_str(), Change::Set(value.clone())));
    gone.chain(changed).collect()
}

/// Where a setting stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    /// In `configValues`; all new ones come here.
    Own,
    /// In `data.configValues`.
    Data,
    /// Beside them, as `data.referencedWorkflowId`.
    Reference,
}

/// Settings and the switch may stand in `data`, and are changed where they stand.
fn config_changes(
    node: &WorkflowNode,
    old: &WorkflowNode,
    parts: &Parts<'_>,
    style: &Style<'_>,
    changes: &mut Changes,
) {
    let data = parts.position("data").and_then(|at| parts.items.get(at));
    let data = data.and_then(|item| Some((item, item.value.members()?)));
    let inside = data.as_ref().map(|(_, data)| data);
    let (own, legacy) = (settings(Some(parts)), settings(inside));
    let is_reference = |name: &str| {
        let here = inside.is_some_and(|inside| inside.some(name).is_some());
        name == read_node::GROUP_REFERENCE && here
    };
    let home = |name: &str| match own.contains(name) {
        true => Home::Own,
        false if legacy.contains(name) => Home::Data,
        false if is_reference(name) => Home::Reference,
        false => Home::Own,
    };
    let of = |map: &Map<String, Json>, wanted: Home| -> Map<String, Json> {
        let those = map.iter().filter(|(name, _)| home(name) == wanted);
        let those = those.map(|(name, value)| (name.clone(), value.clone()));
        those.collect()
    };
    let both = |wanted| (of(&old.config, wanted), of(&node.config, wanted));
    let mut inner: Changes = Vec::new();
    if old.config != node.config {
        let (before, after) = both(Home::Own);
        changes.extend(map_change(parts, "configValues", &before, &after, style));
        if let Some(inside) = inside {
            let (before, after) = both(Home::Data);
            inner.extend(map_change(inside, "configValues", &before, &after, style));
        }
        let (before, after) = both(Home::Reference);
        if before != after {
            let value = after.into_iter().next().map(|(_, value)| value);
            inner.push((read_node::GROUP_REFERENCE, optional(value)));
        }
    }
    if old.bypassed != node.bypassed {
        let flag = |parts: &Parts<'_>| parts.get("bypassed").map(Piece::kind);
        let there = inside.and_then(flag) == Some(Kind::Boolean);
        let change = ("bypassed", Change::Set(json!(node.bypassed)));
        match there && flag(parts) != Some(Kind::Boolean) {
            true => inner.push(change),
            false => changes.push(change),
        }
    }
    if let Some((item, data)) = &data
        && !inner.is_empty()
    {
        let text = patch::object(data, inner, item.lead_text(), style);
        changes.push(("data", Change::Text(text)));
    }
}

/// The names of the settings that stand here.
fn settings(parts: Option<&Parts<'_>>) -> HashSet<String> {
    let members = parts.and_then(|parts| parts.get("configValues")?.members());
    let items = members.into_iter().flat_map(|members| members.items);
    let names = items.filter_map(|item| item.name);
    names.map(Into::into).collect()
}
