//! From a workflow back to text. What was read and not changed stays byte for byte; the rest is written in the style
//! of the file.
//!
//! The workflow is compared with a second reading of its own text, so that nobody has to note what they change.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::patch::{self, Change, Entry, Style};
use super::piece::Parts;
use super::read::{self, Places, Taken, read_placed};
use super::reader::Reader;
use super::{InterfaceSlot, Workflow, WorkflowEdge, WorkflowNode, write};

/// What a workflow was read from, for saving it.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    text: Option<Arc<str>>,
    /// Ids that nodes were given since, and those they had.
    pub(super) renamed: HashMap<String, String>,
    /// The number of edges when one was last named, and the number it got.
    pub(super) named: Option<(usize, usize)>,
}

impl Origin {
    pub(super) fn of(text: &str) -> Self {
        Self {
            text: Some(Arc::from(text)),
            ..Self::default()
        }
    }
}

impl fmt::Debug for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.text.as_ref().map(|text| text.len());
        f.debug_struct("Origin").field("bytes", &bytes).finish()
    }
}

impl Workflow {
    /// The file of this workflow. Where nothing was changed since it was read, that is the same text; otherwise all
    /// that did not change is, unknown data included. A node keeps its unknown data as long as it keeps its id, or is
    /// given another by [`Workflow::rename_node`].
    pub fn to_text(&self) -> String {
        let text = self.origin.text.as_deref();
        text.and_then(|text| self.patched(text))
            .unwrap_or_else(|| format!("{:#}\n", write::workflow(self)))
    }

    fn patched(&self, text: &str) -> Option<String> {
        let (old, places) = read_placed(&mut Reader::new(text), text)?;
        if old == *self {
            return Some(text.to_owned());
        }
        let top = places.outer.as_ref().unwrap_or(&places.body);
        let style = Style::of(top);
        let style = &style;
        // The file's own object begins a line.
        let mut lead = "\n";
        if let Some(outer) = &places.outer {
            let item = outer.items.get(outer.position("data")?)?;
            lead = item.lead_text();
        }
        let changes = self.changes(&old, &places, lead, style);
        let mut body = patch::object(&places.body, changes, lead, style);
        if let Some(outer) = &places.outer {
            let changes = vec![("data", Change::Text(body))];
            body = patch::object(outer, changes, "\n", style);
        }
        let whole = top.whole;
        let (before, after) = (
            whole.slice(0, whole.start),
            whole.slice(whole.end, text.len()),
        );
        Some(format!("{before}{body}{after}"))
    }

    fn changes(
        &self,
        old: &Self,
        places: &Places<'_>,
        lead: &str,
        style: &Style<'_>,
    ) -> Vec<(&'static str, Change)> {
        let body = &places.body;
        let mut changes = Vec::new();
        if old.id != self.id {
            let id = body.spelling(&read::ID);
            changes.push((id, optional(self.id.as_ref().map(|it| json!(it)))));
        }
        if old.name != self.name {
            changes.push(("name", Change::Set(json!(self.name))));
        }
        if old.description != self.description {
            let description = self.description.as_ref().map(|it| json!(it));
            changes.push(("description", optional(description)));
        }
        let mut list = |name, change: Option<Change>| changes.extend(change.map(|it| (name, it)));
        let renamed = &self.origin.renamed;
        let was = |node: &WorkflowNode| renamed.get(&node.id).unwrap_or(&node.id).clone();
        let nodes = Listed::new(&old.nodes, &self.nodes, &places.nodes);
        list("nodes", nodes.change(body, "nodes", lead, style, was));
        let edges = Listed::new(&old.edges, &self.edges, &places.edges);
        let was = |edge: &WorkflowEdge| edge.id.clone();
        list("edges", edges.change(body, "edges", lead, style, was));
        let was = |slot: &InterfaceSlot| slot.key.clone();
        let name = body.spelling(&read::INPUTS);
        let inputs = Listed::new(&old.inputs, &self.inputs, &places.inputs);
        list(name, inputs.change(body, name, lead, style, was));
        let name = body.spelling(&read::OUTPUTS);
        let outputs = Listed::new(&old.outputs, &self.outputs, &places.outputs);
        list(name, outputs.change(body, name, lead, style, was));
        changes
    }
}

/// What stands in lists of the file: it has a name, can be written, and can be changed in place.
pub(super) trait Listable: PartialEq {
    /// Whether it is a member of an object, or an element of a list.
    const KEYED: bool;
    fn name(&self) -> &str;
    fn json(&self) -> Json;
    /// What to change in the object that it is.
    fn changes(
        &self,
        old: &Self,
        parts: &Parts<'_>,
        style: &Style<'_>,
    ) -> Vec<(&'static str, Change)>;
}

struct Listed<'w, 't, T> {
    old: &'w [T],
    new: &'w [T],
    taken: &'w Taken<'t>,
}

impl<'w, 't, T: Listable> Listed<'w, 't, T> {
    fn new(old: &'w [T], new: &'w [T], taken: &'w Taken<'t>) -> Self {
        Self { old, new, taken }
    }

    fn change(
        &self,
        body: &Parts<'_>,
        field: &str,
        lead: &str,
        style: &Style<'_>,
        was: impl Fn(&T) -> String,
    ) -> Option<Change> {
        if self.old == self.new {
            return None;
        }
        let Some(parts) = &self.taken.parts else {
            return Some(Change::Set(self.fresh()));
        };
        let lead = body
            .position(field)
            .and_then(|at| body.items.get(at))
            .map_or(lead, |item| item.lead_text());
        let entries = self.entries(parts, lead, style, was);
        Some(Change::Text(patch::render(parts, &entries, lead, style)))
    }

    fn fresh(&self) -> Json {
        let items = self.new.iter();
        match T::KEYED {
            true => Json::Object(
                items
                    .map(|item| (item.name().to_owned(), item.json()))
                    .collect::<Map<_, _>>(),
            ),
            false => Json::Array(items.map(T::json).collect()),
        }
    }

    /// The items of the new list. Those that were never taken stay before the ones they stood before.
    fn entries<'p>(
        &self,
        parts: &'p Parts<'_>,
        lead: &str,
        style: &Style<'_>,
        was: impl Fn(&T) -> String,
    ) -> Vec<Entry<'p>> {
        let pairs = self.old.iter().zip(&self.taken.indices);
        let mut known: HashMap<&str, (&T, usize)> =
            pairs.map(|(old, at)| (old.name(), (old, *at))).collect();
        let mut is_taken = vec![false; parts.items.len()];
        for index in &self.taken.indices {
            if let Some(taken) = is_taken.get_mut(*index) {
                *taken = true;
            }
        }
        let others = is_taken.iter().enumerate().filter(|(_, taken)| !**taken);
        let mut others = others.map(|(index, _)| index).peekable();
        let mut entries = Vec::new();
        for new in self.new {
            let Some((old, at)) = known.remove(was(new).as_str()) else {
                let name = T::KEYED.then(|| new.name());
                entries.push(patch::added(parts, name, &new.json(), lead, style));
                continue;
            };
            while let Some(other) = others.next_if(|other| *other < at) {
                entries.extend(kept(parts, other));
            }
            let Some(item) = parts.items.get(at) else {
                continue;
            };
            let members = (old != new).then(|| item.value.members()).flatten();
            let Some(members) = members else {
                entries.extend(kept(parts, at));
                continue;
            };
            let changes = new.changes(old, &members, style);
            let head = item.value.slice(item.start, item.value.start);
            let object = patch::object(&members, changes, item.lead_text(), style);
            entries.push(Entry {
                origin: Some(at),
                text: format!("{head}{object}").into(),
            });
        }
        entries.extend(others.filter_map(|other| kept(parts, other)));
        entries
    }
}

fn kept<'p>(parts: &'p Parts<'_>, at: usize) -> Option<Entry<'p>> {
    let item = parts.items.get(at)?;
    Some(Entry {
        origin: Some(at),
        text: patch::own_text(item).into(),
    })
}

pub(super) fn optional(value: Option<Json>) -> Change {
    value.map_or(Change::Remove, Change::Set)
}

#[cfg(test)]
#[path = "save_tests.rs"]
mod tests;
