//! Workflows as they are told of.

use std::collections::HashMap;

use innkeeper_engine::InterfaceSlot;
use innkeeper_tools::workflow::{Place, Seen};
use serde::Serialize;
use serde_json::Value as Data;
use utoipa::ToSchema;

use crate::api::shapes::workflows as shape;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkflowSlot)]
pub(super) struct Slot {
    key: String,
    /// `STRING`, `INTEGER`, `OBJECT` …
    #[serde(rename = "type")]
    flow: &'static str,
    required: bool,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = serde_json::Value, required = false)]
    default: Option<Data>,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
}

impl From<&InterfaceSlot> for Slot {
    fn from(slot: &InterfaceSlot) -> Self {
        Self {
            key: slot.key.clone(),
            flow: slot.flow.as_str(),
            required: slot.required,
            stream: slot.is_stream,
            default: slot.config.get("default").cloned(),
            display_name: slot.display_name.clone(),
            description: slot.description.clone(),
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkflowAbout)]
pub(super) struct About {
    /// What it can be asked for by: the id in the file, or else the file's name.
    pub(super) id: String,
    /// The file's name without its ending.
    file: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// `project`, `library`, `plugin:scribe` or `shipped`. Those of a project can be changed here.
    #[serde(rename = "where")]
    place: String,
    inputs: Vec<Slot>,
    outputs: Vec<Slot>,
    errors: usize,
    warnings: usize,
    #[schema(value_type = Vec<shape::WorkflowProblem>)]
    problems: Vec<innkeeper_engine::Problem>,
    /// Whose workflow of the same name is found before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hidden_by: Option<String>,
}

impl About {
    pub(super) fn of(seen: &Seen, hidden_by: Option<String>) -> Self {
        let workflow = seen.workflow.as_deref();
        let slots = |slots: Option<&Vec<InterfaceSlot>>| {
            let slots = slots.into_iter().flatten();
            slots.map(Slot::from).collect()
        };
        let errors = seen.problems.errors().count();
        Self {
            id: seen.id().unwrap_or(&seen.stem).to_owned(),
            file: seen.stem.clone(),
            name: seen.name().unwrap_or(&seen.stem).to_owned(),
            description: workflow.and_then(|workflow| workflow.description.clone()),
            place: seen.place.owner(),
            inputs: slots(workflow.map(|workflow| &workflow.inputs)),
            outputs: slots(workflow.map(|workflow| &workflow.outputs)),
            errors,
            warnings: seen.problems.list.len() - errors,
            problems: seen.problems.list.clone(),
            hidden_by,
        }
    }

    /// All that there are, each with who stands before it.
    pub(super) fn all(seen: &[Seen]) -> Vec<Self> {
        let mut places: HashMap<&str, &Place> = HashMap::new();
        let each = seen.iter().map(|one| {
            let id = one.id().unwrap_or(&one.stem);
            let nearest = *places.entry(id).or_insert(&one.place);
            Self::of(one, (*nearest != one.place).then(|| nearest.owner()))
        });
        each.collect()
    }
}
