//! `*.node.json`: one node each, described as the canvas knows nodes, with a script behind it.

use std::path::{Path, PathBuf};

use innkeeper_yaml::{Position, Value};
use serde_json::{Map, Value as Json};

use super::folder::{Folder, Kind, shown};
use super::implementation::read_implementation;
use super::json::read_json;
use super::manifest::{Manifest, label};
use super::node::{Bypass, NodeDefinition, NodeMode, NodeShape, PluginNode};
use super::node_slot::{check_value, read_shape};
use super::place::{Place, did_you_mean};
use super::problem::{Code, Report};
use super::wants::Wants;
use super::{Implementation, ScriptCommand};
use crate::limits::{
    MAX_NODE_FILE_BYTES, MAX_NODE_MODES, MAX_NODE_TYPE_CHARS, MAX_TOOL_DESCRIPTION_CHARS,
};

const FIELDS: &[&str] = &[
    "type",
    "namespace",
    "category",
    "displayName",
    "description",
    "inputs",
    "outputs",
    "configSchema",
    "configValues",
    "implementation",
    "permissions",
    "bypassBehavior",
    "modes",
    "defaultModeId",
    "modeConfigKey",
    "dynamicSlots",
    "deterministic",
    "isUiNode",
    "isPreviewUnsafe",
    "isGroupInternal",
    "groupId",
    "groupConfig",
    "clientScriptUrl",
    "width",
    "deprecated",
    "experimental",
    "$schema",
];
/// What only a node written in code has.
const OF_CODE: &[&str] = &["execute", "filePath"];

/// A node, and where its type stands: another file may have the same.
pub(super) struct NamedNode {
    pub(super) node: PluginNode,
    pub(super) position: Position,
}

pub(super) fn read_node(
    relative: &Path,
    folder: &Folder,
    manifest: &Manifest,
    report: &mut Report,
) -> Option<NamedNode> {
    report.enter(shown(relative));
    let before = report.count();
    let text = folder.read(relative, MAX_NODE_FILE_BYTES, report)?;
    let node = read_json(&text, report)?;
    let root = Place::root(&node);
    if !root.expect_map(report) {
        return None;
    }
    root.misspelt(FIELDS, report);
    for field in OF_CODE {
        if let Some(place) = root.field(field) {
            let message = "a node in a file has no code in it; this is ignored";
            report.warning(&place, Code::NoEffect, message);
        }
    }
    let kind = read_type(&root, &manifest.name, report);
    check_namespace(&root, &manifest.name, report);
    let flag = |name, report: &mut Report| root.boolean(name, report).unwrap_or_default();
    let is_ui = flag("isUiNode", report);
    let command = read_command(&root, is_ui, folder, manifest, report);
    let shape = read_shape(&root, report);
    let modes = read_modes(&root, report);
    check_outputs(&root, &shape, &modes, is_ui, report);
    check_streams(&root, &shape, &modes, report);
    let display_name = label(&root, "displayName", report);
    let category = label(&root, "category", report);
    let definition = NodeDefinition {
        name: kind.unwrap_or_default().to_owned(),
        namespace: manifest.name.clone(),
        category: category.unwrap_or(&manifest.display_name).to_owned(),
        display_name: display_name.or(kind).unwrap_or_default().to_owned(),
        description: read_description(&root, report),
        default_mode: read_default_mode(&root, &modes, report),
        mode_key: read_mode_key(&root, &shape, &modes, report),
        config_values: read_config_values(&root, &shape, &modes, report),
        bypass: read_bypass(&root, &shape, &modes, report),
        shape,
        modes,
        is_ui,
        is_preview_unsafe: flag("isPreviewUnsafe", report),
        dynamic_slots: flag("dynamicSlots", report),
        deterministic: flag("deterministic", report),
        deprecated: flag("deprecated", report),
        experimental: flag("experimental", report),
        width: root.number("width", report),
        client_script: read_client_script(&root, relative, folder, report),
        raw: raw(&root, &manifest.name),
    };
    if report.count() > before {
        return None;
    }
    let position = root.field("type")?.node.position;
    Some(NamedNode {
        position,
        node: PluginNode {
            definition,
            command,
            file: relative.to_owned(),
        },
    })
}

fn read_type<'n>(root: &Place<'n>, plugin: &str, report: &mut Report) -> Option<&'n str> {
    let place = root.required("type", report)?;
    let text = place.as_text(report)?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let message = if let Some((_, name)) = text.split_once(':') {
        format!("write '{name}' alone; the namespace is the plugin's name, '{plugin}'")
    } else if text.is_empty() || text.len() > MAX_NODE_TYPE_CHARS || !text.chars().all(fits) {
        format!(
            "'{text}' is no type of a node; use 1 to {MAX_NODE_TYPE_CHARS} of the letters a to z, digits, '_' and '-'"
        )
    } else {
        return Some(text);
    };
    report.problem(&place, Code::BadNodeType, message);
    None
}

fn check_namespace(root: &Place<'_>, plugin: &str, report: &mut Report) {
    let Some(place) = root.field("namespace") else {
        return;
    };
    if place.as_text(report).is_some_and(|text| text != plugin) {
        let message =
            format!("the namespace of a plugin's node is always its name, '{plugin}'; remove this");
        report.warning(&place, Code::NoEffect, message);
    }
}

fn read_description(root: &Place<'_>, report: &mut Report) -> String {
    let Some(place) = root.field("description") else {
        let message = "the node has no description; nobody can know what it does";
        report.warning(root, Code::Unlikely, message);
        return String::new();
    };
    let text = place.as_text(report).unwrap_or_default();
    if text.chars().count() > MAX_TOOL_DESCRIPTION_CHARS {
        let message =
            format!("the description is longer than {MAX_TOOL_DESCRIPTION_CHARS} characters");
        report.problem(&place, Code::BadValue, message);
    }
    text.to_owned()
}

/// What is run, and what it asks for.
fn read_command(
    root: &Place<'_>,
    is_ui: bool,
    folder: &Folder,
    manifest: &Manifest,
    report: &mut Report,
) -> Option<ScriptCommand> {
    let mut wants = Wants::default();
    for (at, text) in root.texts("permissions", report) {
        wants.read_permission(&at, text, report);
    }
    let place = root.field("implementation");
    if is_ui {
        if let Some(place) = place {
            let message = "a node with isUiNode is never run; remove one of the two";
            report.problem(&place, Code::BadValue, message);
        }
        return None;
    }
    match read_implementation(root, folder, report)? {
        Implementation::Script(mut command) => {
            manifest.wants.give(&mut command);
            wants.give(&mut command);
            Some(command)
        }
        other => {
            let at = place.and_then(|place| place.field("type"));
            let message = format!(
                "a node has a script behind it, not a {}; write \"type\": \"script\" and a command",
                other.kind()
            );
            report.problem(at.as_ref().unwrap_or(root), Code::BadValue, message);
            None
        }
    }
}

fn read_modes(root: &Place<'_>, report: &mut Report) -> Vec<NodeMode> {
    let Some(place) = root.map("modes", report) else {
        return Vec::new();
    };
    let entries = place.entries();
    if entries.len() > MAX_NODE_MODES {
        let count = entries.len();
        let message = format!("there are {count} modes; at most {MAX_NODE_MODES} are read");
        report.problem(&place, Code::TooMany, message);
        return Vec::new();
    }
    let modes = entries.into_iter().filter_map(|(id, at)| {
        if !at.expect_map(report) {
            return None;
        }
        if let Some(inner) = at.field("id")
            && inner.as_text(report).is_some_and(|text| text != id)
        {
            let message =
                format!("this mode is called '{id}' above; write the same or leave it out");
            report.problem(&inner, Code::BadValue, message);
        }
        let display_name = label(&at, "displayName", report).unwrap_or(id).to_owned();
        let description = at.text("description", report).unwrap_or_default();
        Some(NodeMode {
            id: id.to_owned(),
            display_name,
            description: description.to_owned(),
            shape: read_shape(&at, report),
        })
    });
    modes.collect()
}

/// A node may well give nothing, but then its author should have meant it.
fn check_outputs(
    root: &Place<'_>,
    shape: &NodeShape,
    modes: &[NodeMode],
    is_ui: bool,
    report: &mut Report,
) {
    if is_ui {
        return;
    }
    let has_modes = root.field("modes").is_some();
    match root.field("outputs") {
        _ if has_modes => {}
        None => {
            let remedy = "say what the node gives, or write {} if it gives nothing";
            root.missing("outputs", remedy, report);
        }
        Some(place) if shape.outputs.is_empty() && place.entries().is_empty() => {
            let message = "the node gives nothing, so nothing can be connected behind it";
            report.warning(&place, Code::Unlikely, message);
        }
        Some(_) => {}
    }
    let of_modes = modes.iter().flat_map(|mode| &mode.shape.outputs);
    if shape
        .outputs
        .iter()
        .chain(of_modes)
        .any(|slot| slot.key == "success")
    {
        let message = "an answer with \"success\": false says that the script failed; call the output something else, \
                       or print {\"success\": true, \"outputData\": …}";
        report.warning(root, Code::Unlikely, message);
    }
}

/// A process for each run has said nothing before it has said all.
fn check_streams(root: &Place<'_>, shape: &NodeShape, modes: &[NodeMode], report: &mut Report) {
    let of_modes = modes.iter().flat_map(|mode| &mode.shape.outputs);
    let mut outputs = shape.outputs.iter().chain(of_modes);
    let Some(implementation) = root.field("implementation") else {
        return;
    };
    let is_worker = implementation
        .field("protocol")
        .is_some_and(|protocol| protocol.node.value == Value::Text("jsonrpc".to_owned()));
    if let Some(slot) = outputs.find(|slot| slot.is_stream)
        && !is_worker
    {
        let message = format!(
            "the stream '{}' comes in one piece; only a worker (\"protocol\": \"jsonrpc\") can give it bit by bit",
            slot.key
        );
        report.warning(&implementation, Code::Unlikely, message);
    }
}

fn read_default_mode(root: &Place<'_>, modes: &[NodeMode], report: &mut Report) -> Option<String> {
    let place = root.field("defaultModeId")?;
    let id = place.as_text(report)?;
    let ids = || modes.iter().map(|mode| mode.id.as_str());
    if !ids().any(|other| other == id) {
        let hint = did_you_mean(id, ids());
        let message = format!("there is no mode '{id}'{hint}");
        report.problem(&place, Code::BadValue, message);
    }
    Some(id.to_owned())
}

fn read_mode_key(
    root: &Place<'_>,
    shape: &NodeShape,
    modes: &[NodeMode],
    report: &mut Report,
) -> Option<String> {
    let place = root.field("modeConfigKey")?;
    let key = place.as_text(report)?;
    let settings = || all_settings(shape, modes).map(|setting| setting.slot.key.as_str());
    if !settings().any(|other| other == key) {
        let hint = did_you_mean(key, settings());
        let message = format!("configSchema has no setting '{key}'{hint}");
        report.problem(&place, Code::UnknownSlot, message);
    }
    Some(key.to_owned())
}

fn all_settings<'s>(
    shape: &'s NodeShape,
    modes: &'s [NodeMode],
) -> impl Iterator<Item = &'s super::node::NodeInput> {
    let of_modes = modes.iter().flat_map(|mode| &mode.shape.config);
    shape.config.iter().chain(of_modes)
}

fn read_config_values(
    root: &Place<'_>,
    shape: &NodeShape,
    modes: &[NodeMode],
    report: &mut Report,
) -> Map<String, Json> {
    let Some(place) = root.map("configValues", report) else {
        return Map::new();
    };
    let mut values = Map::new();
    for (key, at) in place.entries() {
        match all_settings(shape, modes).find(|setting| setting.slot.key == key) {
            Some(_) if at.node.value == Value::Null => {}
            Some(setting) => check_value(&at, setting.slot.flow, report),
            None => {
                let names = all_settings(shape, modes).map(|setting| setting.slot.key.as_str());
                let message = format!(
                    "configSchema has no setting '{key}'{}",
                    did_you_mean(key, names)
                );
                report.warning(&at, Code::UnknownKey, message);
            }
        }
        values.insert(key.to_owned(), at.node.to_json());
    }
    values
}

/// `"mute"`, or `{passThrough: {output: input}, defaults: {output: value}}`.
fn read_bypass(
    root: &Place<'_>,
    shape: &NodeShape,
    modes: &[NodeMode],
    report: &mut Report,
) -> Option<Bypass> {
    let place = root.field("bypassBehavior")?;
    if !matches!(place.node.value, Value::Map(_)) {
        place_is_mute(&place, report);
        return Some(Bypass::Mute);
    }
    place.known(&["passThrough", "defaults"], report);
    let shapes = || std::iter::once(shape).chain(modes.iter().map(|mode| &mode.shape));
    let outputs = || shapes().flat_map(|shape| shape.outputs.iter());
    let output = |key: &str| outputs().find(|slot| slot.key == key);
    let outputs: Vec<_> = outputs().map(|slot| slot.key.as_str()).collect();
    let inputs = shapes().flat_map(|shape| shape.inputs.iter());
    let inputs: Vec<_> = inputs.map(|input| input.slot.key.as_str()).collect();
    let mut through = Vec::new();
    if let Some(map) = place.map("passThrough", report) {
        for (key, at) in map.entries() {
            check_slot(&at, "output", key, &outputs, report);
            if let Some(input) = at.as_text(report) {
                check_slot(&at, "input", input, &inputs, report);
                through.push((key.to_owned(), input.to_owned()));
            }
        }
    }
    let mut defaults = Map::new();
    if let Some(map) = place.map("defaults", report) {
        for (key, at) in map.entries() {
            check_slot(&at, "output", key, &outputs, report);
            if let Some(slot) = output(key)
                && at.node.value != Value::Null
            {
                check_value(&at, slot.flow, report);
            }
            defaults.insert(key.to_owned(), at.node.to_json());
        }
    }
    Some(Bypass::Pass { through, defaults })
}

fn place_is_mute(place: &Place<'_>, report: &mut Report) {
    if let Some(text) = place.as_text(report)
        && text != "mute"
    {
        let message = format!("'{text}' is neither \"mute\" nor {{passThrough, defaults}}");
        report.problem(place, Code::BadValue, message);
    }
}

fn check_slot(at: &Place<'_>, what: &str, key: &str, known: &[&str], report: &mut Report) {
    if !known.contains(&key) {
        let hint = did_you_mean(key, known.iter().copied());
        let message = format!("the node has no {what} '{key}'{hint}");
        report.problem(at, Code::UnknownSlot, message);
    }
}

/// Beside the node's file or, failing that, from the plugin's folder.
fn read_client_script(
    root: &Place<'_>,
    file: &Path,
    folder: &Folder,
    report: &mut Report,
) -> Option<PathBuf> {
    let place = root.field("clientScriptUrl")?;
    let path = place.as_text(report)?;
    if path.contains("://") {
        let message =
            "nothing is loaded from elsewhere; put the script into the plugin and write its path";
        report.problem(&place, Code::PathOutside, message);
        return None;
    }
    let beside = shown(&file.with_file_name("").join(path));
    let relative = folder.inside(&beside).ok();
    let is_relative = !path.starts_with(['/', '\\', '~']);
    match relative.filter(|path| is_relative && folder.root.join(path).is_file()) {
        Some(relative) => Some(relative),
        None => folder.existing(&place, path, Kind::File, report),
    }
}

fn raw(root: &Place<'_>, plugin: &str) -> Map<String, Json> {
    let mut raw = match root.node.to_json() {
        Json::Object(raw) => raw,
        _ => Map::new(),
    };
    raw.insert("namespace".to_owned(), Json::from(plugin));
    raw
}

#[cfg(test)]
#[path = "node_file_tests.rs"]
mod tests;
