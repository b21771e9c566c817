//! The slots of a node file: inputs, outputs and settings, which are described alike.

use innkeeper_engine::Branch;
use innkeeper_yaml::Value;
use serde_json::{Map, Value as Json};

use super::manifest::label;
use super::node::{DataFlowType, NodeInput, NodeShape, NodeSlot};
use super::place::{Place, did_you_mean};
use super::problem::{Code, Report};
use crate::limits::{MAX_NODE_SLOTS, MAX_SLOT_KEY_CHARS};

const SLOT_FIELDS: &[&str] = &[
    "displayName",
    "description",
    "dataFlowType",
    "type",
    "isStream",
    "matchCategories",
    "allowDynamicType",
    "hideHandle",
];
const INPUT_FIELDS: &[&str] = &[
    "required",
    "config",
    "multi",
    "actions",
    "allowMoreConnections",
    "maxConnections",
];
const HANDLERS: &[(&str, ())] = &[
    ("builtin_preview", ()),
    ("builtin_editor", ()),
    ("emit_event", ()),
    ("client_script_hook", ()),
    ("open_panel", ()),
];

/// What people write for a type that has another name here.
const OTHER_NAMES: &[(&str, &str)] = &[
    (
        "STREAM",
        "a stream is no type; give the type of its pieces, and \"isStream\": true",
    ),
    ("TEXT", "write STRING"),
    ("NUMBER", "write INTEGER or FLOAT"),
    ("JSON", "write OBJECT, or STRING if it is JSON as text"),
    ("LIST", "write ARRAY"),
    ("ANY", "write WILDCARD"),
    ("BYTES", "write BINARY"),
];

/// `inputs`, `outputs` and `configSchema` of a node or of one of its modes.
pub(super) fn read_shape(owner: &Place<'_>, report: &mut Report) -> NodeShape {
    NodeShape {
        inputs: read_slots(owner, "inputs", report, read_input),
        outputs: read_slots(owner, "outputs", report, read_output),
        config: read_slots(owner, "configSchema", report, read_input),
    }
}

fn read_slots<T>(
    owner: &Place<'_>,
    field: &str,
    report: &mut Report,
    read: fn(&str, &Place<'_>, &mut Report) -> Option<T>,
) -> Vec<T> {
    let Some(place) = owner.map(field, report) else {
        return Vec::new();
    };
    let entries = place.entries();
    if entries.len() > MAX_NODE_SLOTS {
        let message = format!(
            "there are {} slots; at most {MAX_NODE_SLOTS} are read",
            entries.len()
        );
        report.problem(&place, Code::TooMany, message);
        return Vec::new();
    }
    let slots = entries.into_iter().filter_map(|(key, at)| {
        let fits = check_key(&at, key, report) & at.expect_map(report);
        fits.then(|| read(key, &at, report)).flatten()
    });
    slots.collect()
}

fn check_key(at: &Place<'_>, key: &str, report: &mut Report) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let is_name = !key.is_empty()
        && key.chars().count() <= MAX_SLOT_KEY_CHARS
        && key.chars().all(letter)
        && key != "__proto__";
    let message = if !is_name {
        format!(
            "'{key}' is no key of a slot; use 1 to {MAX_SLOT_KEY_CHARS} letters, digits, '_' and '-'"
        )
    } else if is_numbered(key) {
        format!(
            "'{key}' ends like one connection of a slot with many; leave out the '__' before the number"
        )
    } else {
        return true;
    };
    report.problem(at, Code::BadSlotKey, message);
    false
}

/// `key__2` is what a workflow calls the third connection of `key`.
fn is_numbered(key: &str) -> bool {
    let number = key.rsplit_once("__").map(|(_, number)| number);
    number.is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

fn read_output(key: &str, place: &Place<'_>, report: &mut Report) -> Option<NodeSlot> {
    place.misspelt(SLOT_FIELDS, report);
    read_slot(key, place, report)
}

fn read_slot(key: &str, place: &Place<'_>, report: &mut Report) -> Option<NodeSlot> {
    let flow = read_flow(place, report);
    let display_name = label(place, "displayName", report).map(str::to_owned);
    let description = place.text("description", report).map(str::to_owned);
    let is_stream = place.boolean("isStream", report).unwrap_or_default();
    let categories = place.texts("matchCategories", report);
    let allow_dynamic_type = place
        .boolean("allowDynamicType", report)
        .unwrap_or_default();
    let hide_handle = place.boolean("hideHandle", report).unwrap_or_default();
    Some(NodeSlot {
        key: key.to_owned(),
        display_name,
        description,
        flow: flow?,
        is_stream,
        match_categories: categories
            .into_iter()
            .map(|(_, category)| category.to_owned())
            .collect(),
        allow_dynamic_type,
        hide_handle,
    })
}

/// `dataFlowType`, which the oldest files call `type`.
fn read_flow(place: &Place<'_>, report: &mut Report) -> Option<DataFlowType> {
    let at = match (place.field("dataFlowType"), place.field("type")) {
        (Some(at), old) => {
            if let Some(old) = old {
                let message = "dataFlowType says it already; this is ignored";
                report.warning(&old, Code::NoEffect, message);
            }
            at
        }
        (None, Some(old)) => old,
        (None, None) => {
            let remedy = "say what passes through this slot, such as STRING";
            place.missing("dataFlowType", remedy, report);
            return None;
        }
    };
    let text = at.as_text(report)?;
    let found = DataFlowType::ALL
        .into_iter()
        .find(|flow| flow.as_str() == text);
    if found.is_none() {
        let names: Vec<_> = DataFlowType::ALL.iter().map(|flow| flow.as_str()).collect();
        let other = OTHER_NAMES
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(text));
        let hint = match other {
            Some((_, remedy)) => format!("; {remedy}"),
            None => did_you_mean(text, names.iter().copied()),
        };
        let message = format!("'{text}' is none of {}{hint}", names.join(", "));
        report.problem(&at, Code::BadValue, message);
    }
    found
}

fn read_input(key: &str, place: &Place<'_>, report: &mut Report) -> Option<NodeInput> {
    let known: Vec<_> = SLOT_FIELDS.iter().chain(INPUT_FIELDS).copied().collect();
    place.misspelt(&known, report);
    let slot = read_slot(key, place, report);
    let required = place.boolean("required", report).unwrap_or_default();
    let multi = place.boolean("multi", report).unwrap_or_default();
    let most = i64::from(u32::MAX);
    let max_connections = place.whole("maxConnections", 1, most, report);
    place.boolean("allowMoreConnections", report);
    read_actions(place, report);
    let flow = slot.as_ref().map(|slot| slot.flow);
    let config = read_config(place, flow, multi, report);
    Some(NodeInput {
        slot: slot?,
        required,
        multi,
        max_connections: max_connections.and_then(|most| u32::try_from(most).ok()),
        branch: Branch::default(),
        config,
    })
}

/// They are for the canvas, which gets them with the whole definition.
fn read_actions(place: &Place<'_>, report: &mut Report) {
    for action in place.items("actions", report) {
        if !action.expect_map(report) {
            continue;
        }
        if let Some(id) = action.required("id", report) {
            id.as_text(report);
        }
        if action.required("handlerType", report).is_some() {
            action.choice("handlerType", HANDLERS, report);
        }
        action.map("handlerArgs", report);
    }
}

fn read_config(
    owner: &Place<'_>,
    flow: Option<DataFlowType>,
    multi: bool,
    report: &mut Report,
) -> Map<String, Json> {
    let Some(place) = owner.map("config", report) else {
        return Map::new();
    };
    let bounds = (place.number("min", report), place.number("max", report));
    if let (Some(min), Some(max)) = bounds
        && min > max
        && let Some(at) = place.field("max")
    {
        let message = format!("the largest value, {max}, is smaller than the smallest, {min}");
        report.problem(&at, Code::BadValue, message);
    }
    place.number("step", report);
    if let Some(flow) = flow {
        if let Some(at) = place.field("default") {
            check_default(&at, flow, multi, report);
        }
        for item in place.items("suggestions", report) {
            let value = match item.node.value {
                Value::Map(_) => item.required("value", report),
                _ => Some(item),
            };
            if let Some(at) = value {
                check_value(&at, flow, report);
            }
        }
    }
    match place.node.to_json() {
        Json::Object(config) => config,
        _ => Map::new(),
    }
}

/// An input with many connections may begin with one value or with a list of them.
fn check_default(at: &Place<'_>, flow: DataFlowType, multi: bool, report: &mut Report) {
    match at.node.value {
        Value::List(_) if multi && flow != DataFlowType::Array => {
            for item in at.as_items(report) {
                check_value(&item, flow, report);
            }
        }
        _ => check_value(at, flow, report),
    }
}

pub(super) fn check_value(at: &Place<'_>, flow: DataFlowType, report: &mut Report) {
    if !flow.accepts(&at.node.to_json()) {
        let message = format!(
            "expected a value of the type {flow}, found {}",
            at.node.kind()
        );
        report.problem(at, Code::BadDefault, message);
    }
}
