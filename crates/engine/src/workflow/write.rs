//! The parts of a workflow as JSON, for those that a file does not have yet.

use serde_json::{Map, Value as Json, json};

use super::{InterfaceSlot, NodeExecution, Workflow, WorkflowEdge, WorkflowNode};

pub(super) fn workflow(workflow: &Workflow) -> Json {
    let mut object = Map::new();
    if let Some(id) = &workflow.id {
        object.insert("id".to_owned(), json!(id));
    }
    object.insert("name".to_owned(), json!(workflow.name));
    if let Some(description) = &workflow.description {
        object.insert("description".to_owned(), json!(description));
    }
    let nodes = workflow.nodes.iter().map(node).collect();
    object.insert("nodes".to_owned(), Json::Array(nodes));
    let edges = workflow.edges.iter().map(edge).collect();
    object.insert("edges".to_owned(), Json::Array(edges));
    // The canvas wants to know.
    let viewport = json!({"x": 0, "y": 0, "zoom": 1});
    object.insert("viewport".to_owned(), viewport);
    object.insert("interfaceInputs".to_owned(), slots(&workflow.inputs));
    object.insert("interfaceOutputs".to_owned(), slots(&workflow.outputs));
    Json::Object(object)
}

pub(super) fn node(node: &WorkflowNode) -> Json {
    let mut object = Map::new();
    let mut add = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    add("id", Some(json!(node.id)));
    add("type", Some(json!(node.full_type)));
    add(
        "position",
        node.position.map(|it| Json::Object(position(it))),
    );
    add("parentNode", node.parent.as_ref().map(|it| json!(it)));
    add(
        "displayName",
        node.display_name.as_ref().map(|it| json!(it)),
    );
    let description = node.description.as_ref();
    add("customDescription", description.map(|it| json!(it)));
    let filled = |map: Map<String, Json>| (!map.is_empty()).then_some(Json::Object(map));
    add("configValues", filled(node.config.clone()));
    add("inputValues", filled(node.inputs.clone()));
    add("inputConnectionOrders", filled(orders(&node.orders)));
    add("bypassed", node.bypassed.then_some(Json::Bool(true)));
    add("execution", filled(execution(&node.execution)));
    Json::Object(object)
}

pub(super) fn edge(edge: &WorkflowEdge) -> Json {
    json!({
        "id": edge.id,
        "source": edge.source,
        "sourceHandle": edge.source_handle,
        "target": edge.target,
        "targetHandle": edge.target_handle,
    })
}

pub(super) fn slots(slots: &[InterfaceSlot]) -> Json {
    let slots = slots.iter();
    Json::Object(slots.map(|one| (one.key.clone(), slot(one))).collect())
}

pub(super) fn slot(slot: &InterfaceSlot) -> Json {
    let mut object = Map::new();
    let mut add = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            object.insert(name.to_owned(), value);
        }
    };
    add("key", Some(json!(slot.key)));
    add("dataFlowType", Some(json!(slot.flow.as_str())));
    add(
        "displayName",
        slot.display_name.as_ref().map(|it| json!(it)),
    );
    let description = slot.description.as_ref();
    add("customDescription", description.map(|it| json!(it)));
    add("required", slot.required.then_some(Json::Bool(true)));
    add("isStream", slot.is_stream.then_some(Json::Bool(true)));
    add("multi", slot.multi.then_some(Json::Bool(true)));
    let categories = &slot.match_categories;
    let categories = (!categories.is_empty()).then(|| json!(categories));
    add("matchCategories", categories);
    add("min", slot.min.map(number));
    add("max", slot.max.map(number));
    let config = (!slot.config.is_empty()).then(|| Json::Object(slot.config.clone()));
    add("config", config);
    Json::Object(object)
}

pub(super) fn position((x, y): (f64, f64)) -> Map<String, Json> {
    let axes = [("x", x), ("y", y)].into_iter();
    axes.map(|(name, at)| (name.to_owned(), number(at)))
        .collect()
}

pub(super) fn orders(orders: &[(String, Vec<String>)]) -> Map<String, Json> {
    let orders = orders.iter();
    orders
        .map(|(slot, ids)| (slot.clone(), json!(ids)))
        .collect()
}

/// Without what says nothing.
pub(super) fn execution(execution: &NodeExecution) -> Map<String, Json> {
    let NodeExecution {
        retry,
        retry_delay_ms,
        timeout_ms,
        cache,
    } = execution;
    let values = [
        (*retry > 0).then(|| json!(retry)),
        (*retry_delay_ms > 0).then(|| json!(retry_delay_ms)),
        timeout_ms.map(|it| json!(it)),
        cache.map(|it| json!(it)),
    ];
    let fields = super::read_node::EXECUTION.into_iter().zip(values);
    fields
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// Whole numbers without a point, as the canvas writes them.
pub(super) fn number(number: f64) -> Json {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match number.fract() == 0.0
        && number.abs() <= EXACT
        && !(number == 0.0 && number.is_sign_negative())
    {
        #[expect(clippy::cast_possible_truncation, reason = "whole and small enough")]
        true => json!(number as i64),
        // What is no number has no place in a file.
        false if !number.is_finite() => json!(0),
        false => json!(number),
    }
}
