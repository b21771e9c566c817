//! The types of nodes that workflows are made of.

use axum::Json;
use innkeeper_engine::{NodeDefinition, NodeInput, NodeMode, NodeShape, NodeSlot};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Data};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::asked::nothing;
use crate::app::App;
use crate::auth::MayRead;
use crate::guard::{PathOf, QueryOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    category: Option<String>,
    /// Somewhere in the type, the title or the description.
    search: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct Nodes {
    nodes: Vec<Brief>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NodeBrief)]
struct Brief {
    /// As workflows write it: `core:TextMerge`.
    #[serde(rename = "type")]
    full_type: String,
    category: String,
    display_name: String,
    description: String,
    modes: Vec<String>,
    /// The same inputs always give the same outputs.
    deterministic: bool,
    /// A workflow may give it further slots.
    dynamic_slots: bool,
    deprecated: bool,
    experimental: bool,
}

impl Brief {
    fn of(definition: &NodeDefinition) -> Self {
        Self {
            full_type: definition.full_type(),
            category: definition.category.clone(),
            display_name: definition.display_name.clone(),
            description: definition.description.clone(),
            modes: definition
                .modes
                .iter()
                .map(|mode| mode.id.clone())
                .collect(),
            deterministic: definition.deterministic,
            dynamic_slots: definition.dynamic_slots,
            deprecated: definition.deprecated,
            experimental: definition.experimental,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NodeType)]
struct Whole {
    #[serde(rename = "type")]
    full_type: String,
    category: String,
    display_name: String,
    description: String,
    deterministic: bool,
    dynamic_slots: bool,
    deprecated: bool,
    experimental: bool,
    /// The setting that chooses the mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    mode_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    default_mode: Option<String>,
    modes: Vec<Mode>,
    #[serde(flatten)]
    shape: Shape,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NodeMode)]
struct Mode {
    id: String,
    display_name: String,
    description: String,
    #[serde(flatten)]
    shape: Shape,
}

#[derive(Serialize, ToSchema)]
#[schema(as = NodeShape)]
struct Shape {
    inputs: Vec<Input>,
    outputs: Vec<Slot>,
    settings: Vec<Input>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NodeSlot)]
struct Slot {
    key: String,
    /// `STRING`, `INTEGER`, `OBJECT` …
    #[serde(rename = "type")]
    flow: &'static str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    display_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    match_categories: Vec<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = NodeInput)]
struct Input {
    #[serde(flatten)]
    slot: Slot,
    required: bool,
    /// Takes a list: one value for each connection.
    multi: bool,
    /// `default`, `min`, `max`, `suggestions`, and hints for the canvas.
    #[schema(value_type = Object)]
    config: Map<String, Data>,
}

impl From<&NodeSlot> for Slot {
    fn from(slot: &NodeSlot) -> Self {
        Self {
            key: slot.key.clone(),
            flow: slot.flow.as_str(),
            stream: slot.is_stream,
            display_name: slot.display_name.clone(),
            description: slot.description.clone(),
            match_categories: slot.match_categories.clone(),
        }
    }
}

impl From<&NodeInput> for Input {
    fn from(input: &NodeInput) -> Self {
        Self {
            slot: Slot::from(&input.slot),
            required: input.required,
            multi: input.multi,
            config: input.config.clone(),
        }
    }
}

impl From<&NodeShape> for Shape {
    fn from(shape: &NodeShape) -> Self {
        Self {
            inputs: shape.inputs.iter().map(Input::from).collect(),
            outputs: shape.outputs.iter().map(Slot::from).collect(),
            settings: shape.config.iter().map(Input::from).collect(),
        }
    }
}

impl From<&NodeMode> for Mode {
    fn from(mode: &NodeMode) -> Self {
        Self {
            id: mode.id.clone(),
            display_name: mode.display_name.clone(),
            description: mode.description.clone(),
            shape: Shape::from(&mode.shape),
        }
    }
}

/// Those built in, and those of plugins that are on.
#[utoipa::path(get, path = "/api/v1/nodes", tag = "workflows", operation_id = "listNodes", params(Query),
    responses((status = 200, body = Nodes), Problem))]
async fn list(may: MayRead, QueryOf(query): QueryOf<Query>) -> Result<Json<Nodes>, Problem> {
    let search = query.search.map(|text| text.to_lowercase());
    let fits = |definition: &NodeDefinition| {
        let category = query.category.as_deref();
        let texts = [
            &definition.full_type(),
            &definition.display_name,
            &definition.description,
        ];
        category.is_none_or(|category| definition.category.eq_ignore_ascii_case(category))
            && search
                .as_ref()
                .is_none_or(|text| texts.iter().any(|one| one.to_lowercase().contains(text)))
    };
    let types = may.house.workflows.engine().nodes().types();
    let found = types
        .iter()
        .map(|kind| &kind.definition)
        .filter(|definition| fits(definition));
    Ok(Json(Nodes {
        nodes: found.map(Brief::of).collect(),
    }))
}

/// With its slots and settings.
#[utoipa::path(get, path = "/api/v1/nodes/{type}", tag = "workflows", operation_id = "readNode",
    params(("type" = String, Path, description = "`core:TextMerge`, with `/` as `%2F`")),
    responses((status = 200, body = Whole), Problem))]
async fn read(may: MayRead, PathOf(full_type): PathOf<String>) -> Result<Json<Whole>, Problem> {
    let types = may.house.workflows.engine().nodes().types();
    let kind = types
        .get(&full_type)
        .ok_or_else(|| nothing(types.unknown(&full_type)))?;
    let definition = &kind.definition;
    let Brief {
        full_type,
        category,
        display_name,
        description,
        modes: _,
        deterministic,
        dynamic_slots,
        deprecated,
        experimental,
    } = Brief::of(definition);
    Ok(Json(Whole {
        full_type,
        category,
        display_name,
        description,
        deterministic,
        dynamic_slots,
        deprecated,
        experimental,
        mode_key: definition.mode_key.clone(),
        default_mode: definition.default_mode.clone(),
        modes: definition.modes.iter().map(Mode::from).collect(),
        shape: Shape::from(&definition.shape),
    }))
}
