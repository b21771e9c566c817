//! Template: a text with gaps.

use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value as Json};

use super::recent::Recent;
use crate::expression::{Template, Variables};
use crate::limits::HEAVY_BYTES;
use crate::node::{Io, NodeBuilder, object, text};
use crate::nodes::heavy::away;
use crate::{NodeError, NodeType, Value};

static RECENT: LazyLock<Recent<Template>> = LazyLock::new(Recent::new);

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "Template",
        "Text",
        "Template",
        "Fills a template: inputs of any name are its variables",
    );
    let template = node.input(
        text("template")
            .title("Template")
            .about("Jinja: {{ name }}, {% if … %}, {% for … in … %}, filters")
            .multiline()
            .required(),
    );
    let variables = node.input(
        object("variables")
            .title("Variables")
            .about("More variables; an input of the same name goes first"),
    );
    let output = node.output(text("text").title("Text").about("The text, filled in"));
    node.dynamic();
    let own = variables.index() + 1;
    node.task(move |mut io| async move {
        let template = io.get(template)?;
        let variables = Filling::of(&io, variables.index(), own);
        let filled = fill(template, variables).await?;
        io.set(output, filled);
        io.done()
    })
}

/// A template filled in.
pub(super) async fn fill(template: String, variables: Filling) -> Result<String, NodeError> {
    let size = template.len() + variables.weight();
    let variables = Arc::new(variables);
    if size <= HEAVY_BYTES {
        let parsed = RECENT.get(&template, Template::parse)?;
        if let Some(filled) = parsed.render_in_place(variables.clone())? {
            return Ok(filled);
        }
    }
    away(move |stop| {
        let template = RECENT.get(&template, Template::parse)?;
        Ok(template.render(variables, stop)?)
    })
    .await
}

/// What the gaps of a template are filled with: the slots that a workflow gave the node, then the object.
pub(super) struct Filling {
    slots: Vec<(Arc<str>, Value)>,
    object: Value,
}

impl Filling {
    pub(super) fn of(io: &Io, object: usize, own: usize) -> Self {
        let slots = io.info().inputs.iter().enumerate().skip(own);
        Self {
            slots: slots
                .map(|(index, slot)| (slot.key.clone(), io.input(index).as_value()))
                .filter(|(_, value)| !value.is_null())
                .collect(),
            object: io.input(object).as_value(),
        }
    }

    fn weight(&self) -> usize {
        let slots = self.slots.iter().map(|(_, value)| value.weight());
        slots.sum::<usize>() + self.object.weight()
    }
}

impl Variables for Filling {
    fn get(&self, name: &str) -> Option<Value> {
        let slot = self.slots.iter().find(|(key, _)| **key == *name);
        let slot = slot.map(|(_, value)| value.clone());
        slot.or_else(|| {
            let object: &Map<String, Json> = self.object.as_json().as_object()?;
            object.get(name).cloned().map(Value::from)
        })
    }
}

#[cfg(test)]
#[path = "template_tests.rs"]
mod tests;
