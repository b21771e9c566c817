use std::time::Duration;

use serde_json::json;

use super::*;
use crate::limits::{MAX_NODE_SLOTS, MAX_PLUGIN_NODES, MAX_SLOT_KEY_CHARS};
use crate::plugin::DataFlowType;
use crate::plugin::testing::{Sample, WITH_NODES, row};

const FULL: &str = r#"{
  "type": "Sky",
  "namespace": "p",
  "category": "天气",
  "displayName": "Sky",
  "description": "Says what the sky is like",
  "inputs": {
    "place": { "dataFlowType": "STRING", "required": true, "matchCategories": ["Prompt"],
               "config": { "default": "Oslo", "multiline": true } },
    "days": { "type": "INTEGER", "config": { "default": 3, "min": 1, "max": 7, "suggestions": [1, { "value": 7, "label": "a week" }] } },
    "notes": { "dataFlowType": "STRING", "multi": true, "maxConnections": 4, "config": { "default": ["a"] },
               "actions": [{ "id": "look", "handlerType": "builtin_preview" }] }
  },
  "outputs": {
    "sky": { "dataFlowType": "OBJECT", "displayName": "天空", "description": "…" },
    "text": { "dataFlowType": "STRING", "isStream": true, "x-colour": "blue" }
  },
  "configSchema": { "units": { "dataFlowType": "STRING" }, "way": { "dataFlowType": "STRING" } },
  "configValues": { "units": "metric", "way": null },
  "implementation": { "type": "script", "command": "python s.py --node", "timeout": 5000 },
  "permissions": ["net:api.example.com"],
  "bypassBehavior": { "passThrough": { "text": "place" }, "defaults": { "sky": {} } },
  "modes": {
    "short": { "id": "short", "displayName": "Short", "inputs": {}, "outputs": { "text": { "dataFlowType": "STRING" } } },
    "long": { "inputs": {}, "outputs": { "all": { "dataFlowType": "ARRAY" } } }
  },
  "defaultModeId": "short",
  "modeConfigKey": "way",
  "clientScriptUrl": "web/sky.js",
  "width": 240.5,
  "experimental": true,
  "dynamicSlots": true,
  "isPreviewUnsafe": true,
  "author": { "name": "x" }
}"#;

#[test]
fn every_field_is_read_and_every_other_one_kept() {
    let reading = Sample::node(FULL).file("nodes/web/sky.js", "").read();
    let warnings = &reading.warnings;
    assert_eq!(warnings.len(), 1, "{warnings:#?}");
    assert!(
        warnings[0]
            .message
            .contains("the stream 'text' comes in one piece")
    );
    let package = reading.outcome.unwrap();
    let node = &package.nodes[0];
    assert_eq!(node.file, Path::new("nodes/n.node.json"));
    let definition = &node.definition;
    assert_eq!(definition.full_type(), "p:Sky");
    assert_eq!(definition.category, "天气");
    assert_eq!(definition.client_script, Some("nodes/web/sky.js".into()));
    assert_eq!(definition.width, Some(240.5));
    assert!(definition.experimental && definition.dynamic_slots && definition.is_preview_unsafe);
    assert!(!definition.deprecated && !definition.is_ui);
    let shape = &definition.shape;
    let inputs: Vec<_> = shape
        .inputs
        .iter()
        .map(|input| (input.slot.key.as_str(), input.slot.flow))
        .collect();
    assert_eq!(
        inputs,
        [
            ("place", DataFlowType::String),
            ("days", DataFlowType::Integer),
            ("notes", DataFlowType::String)
        ]
    );
    assert!(shape.inputs[0].required && !shape.inputs[0].multi);
    assert_eq!(shape.inputs[0].slot.match_categories, ["Prompt"]);
    assert_eq!(shape.inputs[0].config["default"], json!("Oslo"));
    assert!(shape.inputs[2].multi);
    assert_eq!(shape.inputs[2].max_connections, Some(4));
    assert_eq!(shape.outputs[0].display_name.as_deref(), Some("天空"));
    assert!(shape.outputs[1].is_stream && !shape.outputs[0].is_stream);
    assert_eq!(shape.config.len(), 2);
    assert_eq!(definition.config_values["units"], json!("metric"));
    assert_eq!(
        definition.bypass,
        Some(Bypass::Pass {
            through: vec![("text".into(), "place".into())],
            defaults: json!({"sky": {}}).as_object().unwrap().clone(),
        })
    );
    assert_eq!(definition.default_mode.as_deref(), Some("short"));
    assert_eq!(definition.mode_key.as_deref(), Some("way"));
    let long = definition.mode("long").unwrap();
    assert_eq!(long.display_name, "long");
    assert_eq!(long.shape.outputs[0].flow, DataFlowType::Array);
    assert_eq!(definition.mode("wide"), None);
    assert_eq!(definition.raw["author"], json!({"name": "x"}));
    assert_eq!(definition.raw["outputs"]["text"]["x-colour"], json!("blue"));
    let command = node.command.as_ref().unwrap();
    assert_eq!(command.program, "python");
    assert_eq!(command.arguments, ["s.py", "--node"]);
    assert_eq!(command.timeout, Some(Duration::from_secs(5)));
    assert_eq!(command.hosts, ["api.example.com"]);
    let asked: Vec<_> = package.permissions.iter().map(|p| p.as_str()).collect();
    assert_eq!(asked, ["net:api.example.com", "run:python"]);
}

const IMPLEMENTATION: &str =
    r#""description": "d", "implementation": {"type": "script", "command": "python s.py"}"#;

/// A node with these fields and whatever else it needs, on one line behind the first.
fn with(fields: &str) -> String {
    format!("{{{IMPLEMENTATION},\n{fields}}}")
}

fn warnings(text: &str) -> Vec<(String, &'static str, String)> {
    let reading = Sample::node(text).read();
    reading.outcome.unwrap();
    let warnings = reading.warnings.into_iter();
    warnings
        .map(|warning| {
            let field = warning.field.unwrap_or_default();
            (field, warning.code, warning.message)
        })
        .collect()
}

#[test]
fn a_small_node_needs_little() {
    let text = with(r#""type": "Now", "outputs": {"time": {"dataFlowType": "STRING"}}"#);
    assert_eq!(warnings(&text), []);
    let package = Sample::node(&text).package();
    let definition = &package.nodes[0].definition;
    assert_eq!(definition.display_name, "Now");
    assert_eq!(definition.category, "p");
    assert_eq!(definition.namespace, "p");
    assert_eq!(definition.raw["namespace"], json!("p"));
    assert_eq!(definition.bypass, None);
    assert_eq!(definition.shape.inputs, []);
}

#[test]
fn a_node_of_the_page_needs_no_script() {
    let text = r#"{"type": "Frame", "description": "d", "isUiNode": true}"#;
    assert_eq!(warnings(text), []);
    let package = Sample::node(text).package();
    assert_eq!(package.nodes[0].command, None);
    assert!(package.permissions.is_empty());
}

/// Every row breaks a sound node in one way and must give that one problem.
#[test]
fn what_is_wrong_is_told_with_its_place_and_a_remedy() {
    let rows = [
        row(
            "",
            "1:1 type",
            "plugin.missing_field",
            "the field is missing",
        ),
        row(
            r#""type": 1, "outputs": {}"#,
            "2:9 type",
            "plugin.wrong_type",
            "expected a text",
        ),
        row(
            r#""type": "p:Sky", "outputs": {}"#,
            "2:9 type",
            "plugin.bad_node_type",
            "write 'Sky' alone",
        ),
        row(
            r#""type": "blue sky", "outputs": {}"#,
            "2:9 type",
            "plugin.bad_node_type",
            "'blue sky' is no type of a node",
        ),
        row(
            r#""type": "N""#,
            "1:1 outputs",
            "plugin.missing_field",
            "write {} if it gives nothing",
        ),
        row(
            r#""type": "N", "outputs": []"#,
            "2:25 outputs",
            "plugin.wrong_type",
            "expected a map",
        ),
        row(
            r#""type": "N", "outputs": {"a": "STRING"}"#,
            "2:31 outputs.a",
            "plugin.wrong_type",
            "expected a map",
        ),
        row(
            r#""type": "N", "outputs": {"a b": {"dataFlowType": "STRING"}}"#,
            "2:33 outputs.a b",
            "plugin.bad_slot_key",
            "'a b' is no key of a slot",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a__0": {"dataFlowType": "STRING"}}"#,
            "2:48 inputs.a__0",
            "plugin.bad_slot_key",
            "leave out the '__'",
        ),
        row(
            r#""type": "N", "outputs": {"__proto__": {"dataFlowType": "STRING"}}"#,
            "2:39 outputs.__proto__",
            "plugin.bad_slot_key",
            "is no key",
        ),
        row(
            r#""type": "N", "outputs": {"a": {}}"#,
            "2:31 outputs.a.dataFlowType",
            "plugin.missing_field",
            "what passes through this slot",
        ),
        row(
            r#""type": "N", "outputs": {"a": {"dataFlowType": "Strng"}}"#,
            "2:48 outputs.a.dataFlowType",
            "plugin.bad_value",
            "did you mean 'STRING'?",
        ),
        row(
            r#""type": "N", "outputs": {"a": {"dataFlowType": "STREAM"}}"#,
            "2:48 outputs.a.dataFlowType",
            "plugin.bad_value",
            "\"isStream\": true",
        ),
        row(
            r#""type": "N", "outputs": {"a": {"type": "any"}}"#,
            "2:40 outputs.a.type",
            "plugin.bad_value",
            "write WILDCARD",
        ),
        row(
            r#""type": "N", "outputs": {"a": {"dataFlowType": "STRING", "isStream": "yes"}}"#,
            "2:70 outputs.a.isStream",
            "plugin.wrong_type",
            "true or false",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a": {"dataFlowType": "FLOAT", "config": {"default": "1"}}}"#,
            "2:93 inputs.a.config.default",
            "plugin.bad_default",
            "expected a value of the type FLOAT, found a text",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a": {"dataFlowType": "STRING", "multi": true, "config": {"default": [1]}}}"#,
            "2:110 inputs.a.config.default[0]",
            "plugin.bad_default",
            "STRING",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a": {"dataFlowType": "FLOAT", "config": {"suggestions": [{"label": "x"}]}}}"#,
            "2:98 inputs.a.config.suggestions[0].value",
            "plugin.missing_field",
            "missing",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a": {"dataFlowType": "FLOAT", "config": {"min": 2, "max": 1}}}"#,
            "2:99 inputs.a.config.max",
            "plugin.bad_value",
            "smaller than the smallest",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a": {"dataFlowType": "FLOAT", "required": "if"}}"#,
            "2:83 inputs.a.required",
            "plugin.wrong_type",
            "true or false",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a": {"dataFlowType": "FLOAT", "maxConnections": 0}}"#,
            "2:89 inputs.a.maxConnections",
            "plugin.bad_value",
            "from 1",
        ),
        row(
            r#""type": "N", "outputs": {}, "inputs": {"a": {"dataFlowType": "FLOAT", "actions": [{"id": "x", "handlerType": "run"}]}}"#,
            "2:110 inputs.a.actions[0].handlerType",
            "plugin.bad_value",
            "builtin_preview",
        ),
        row(
            r#""type": "N", "outputs": {}, "configSchema": {"k": {"dataFlowType": "BOOLEAN"}}, "configValues": {"k": 1}"#,
            "2:103 configValues.k",
            "plugin.bad_default",
            "BOOLEAN",
        ),
        row(
            r#""type": "N", "outputs": {}, "bypassBehavior": "silent""#,
            "2:47 bypassBehavior",
            "plugin.bad_value",
            "\"mute\"",
        ),
        row(
            r#""type": "N", "outputs": {"out": {"dataFlowType": "STRING"}}, "bypassBehavior": {"passThrough": {"out": "inn"}}, "inputs": {"in": {"dataFlowType": "STRING"}}"#,
            "2:104 bypassBehavior.passThrough.out",
            "plugin.unknown_slot",
            "did you mean 'in'?",
        ),
        row(
            r#""type": "N", "outputs": {"out": {"dataFlowType": "STRING"}}, "bypassBehavior": {"defaults": {"o": 1}}"#,
            "2:99 bypassBehavior.defaults.o",
            "plugin.unknown_slot",
            "no output 'o'",
        ),
        row(
            r#""type": "N", "outputs": {"out": {"dataFlowType": "STRING"}}, "bypassBehavior": {"defaults": {"out": 1}}"#,
            "2:101 bypassBehavior.defaults.out",
            "plugin.bad_default",
            "STRING",
        ),
        row(
            r#""type": "N", "modes": {"a": {"id": "b"}}"#,
            "2:36 modes.a.id",
            "plugin.bad_value",
            "called 'a' above",
        ),
        row(
            r#""type": "N", "modes": {"add": {}}, "defaultModeId": "ad""#,
            "2:53 defaultModeId",
            "plugin.bad_value",
            "did you mean 'add'?",
        ),
        row(
            r#""type": "N", "modes": {"add": {}}, "modeConfigKey": "mode""#,
            "2:53 modeConfigKey",
            "plugin.unknown_slot",
            "no setting 'mode'",
        ),
        row(
            r#""type": "N", "outputs": {}, "clientScriptUrl": "https://example.com/x.js""#,
            "2:48 clientScriptUrl",
            "plugin.path_outside",
            "nothing is loaded from elsewhere",
        ),
        row(
            r#""type": "N", "outputs": {}, "clientScriptUrl": "../../x.js""#,
            "2:48 clientScriptUrl",
            "plugin.path_outside",
            "leads out",
        ),
        row(
            r#""type": "N", "outputs": {}, "isUiNode": true"#,
            "1:40 implementation",
            "plugin.bad_value",
            "never run",
        ),
        row(
            r#""type": "N", "outputs": {}, "permissions": ["everything"]"#,
            "2:45 permissions[0]",
            "plugin.bad_permission",
            "'everything'",
        ),
    ];
    for row in rows {
        let text = match row.text {
            "" => format!("{{{IMPLEMENTATION}, \"outputs\": {{}}}}"),
            fields => with(fields),
        };
        row.check("nodes/n.node.json", &Sample::node(&text).problem());
    }
}

#[test]
fn a_node_has_a_script_behind_it() {
    let node = |implementation: &str| {
        format!(r#"{{"type": "N", "description": "d", "outputs": {{}}, {implementation}}}"#)
    };
    for (implementation, field, says) in [
        (
            r#""implementation": {"type": "workflow", "workflowId": "w"}"#,
            "implementation.type",
            "not a workflow",
        ),
        (
            r#""implementation": {"type": "script"}"#,
            "implementation.command",
            "missing",
        ),
        (
            r#""implementation": {"type": "script", "command": "python none.py"}"#,
            "implementation.command",
            "no file 'none.py'",
        ),
        (r#""x": 1"#, "implementation", "missing"),
    ] {
        let problem = Sample::node(&node(implementation)).problem();
        assert_eq!(problem.field.as_deref(), Some(field));
        assert!(problem.message.contains(says), "{problem}");
    }
}

#[test]
fn what_is_odd_is_a_warning() {
    let out = r#""outputs": {"a": {"dataFlowType": "STRING"}}"#;
    for (fields, field, code, says) in [
        (
            format!(r#""type": "N", {out}, "namespace": "core""#),
            "namespace",
            "plugin.no_effect",
            "always its name, 'p'",
        ),
        (
            format!(r#""type": "N", {out}, "catgory": "x""#),
            "catgory",
            "plugin.unknown_key",
            "did you mean 'category'?",
        ),
        (
            format!(r#""type": "N", {out}, "execute": "x""#),
            "execute",
            "plugin.no_effect",
            "no code in it",
        ),
        (
            r#""type": "N", "outputs": {}"#.to_owned(),
            "outputs",
            "plugin.unlikely_value",
            "gives nothing",
        ),
        (
            r#""type": "N", "outputs": {"a": {"dataFlowType": "STRING", "type": "X"}}"#.to_owned(),
            "outputs.a.type",
            "plugin.no_effect",
            "says it already",
        ),
        (
            r#""type": "N", "outputs": {"a": {"dataFlowType": "STRING", "isstream": true}}"#
                .to_owned(),
            "outputs.a.isstream",
            "plugin.unknown_key",
            "did you mean 'isStream'?",
        ),
        (
            r#""type": "N", "outputs": {"success": {"dataFlowType": "BOOLEAN"}}"#.to_owned(),
            "",
            "plugin.unlikely_value",
            "says that the script failed",
        ),
        (
            format!(r#""type": "N", {out}, "configValues": {{"k": 1}}"#),
            "configValues.k",
            "plugin.unknown_key",
            "no setting 'k'",
        ),
    ] {
        let all = warnings(&with(&fields));
        assert_eq!(all.len(), 1, "{all:?}");
        let (at, kind, message) = &all[0];
        assert_eq!((at.as_str(), *kind), (field, code));
        assert!(message.contains(says), "{message}");
    }
}

#[test]
fn two_nodes_of_one_type_name_both_files() {
    let node = |name: &str| with(&format!(r#""type": "{name}", "outputs": {{}}"#));
    for (second, says) in [
        ("Sky", "'Sky' is also in nodes/a.node.json"),
        ("SKY", "'SKY' can hardly be told from 'Sky'"),
    ] {
        let problem = Sample::new(WITH_NODES)
            .file("nodes/a.node.json", node("Sky"))
            .file("nodes/sub/b.node.json", node(second))
            .problem();
        assert_eq!(problem.code, "plugin.duplicate_node");
        assert_eq!(problem.file, "nodes/sub/b.node.json");
        let place = (problem.line, problem.column, problem.field.as_deref());
        assert_eq!(place, (Some(2), Some(9), Some("type")));
        assert!(problem.message.contains(says), "{problem}");
    }
}

#[test]
fn the_numbers_are_bounded() {
    let mut sample = Sample::new(WITH_NODES);
    for number in 0..=MAX_PLUGIN_NODES {
        sample = sample.file(&format!("nodes/{number}.node.json"), "{}");
    }
    let problem = sample.problem();
    assert_eq!(problem.code, "plugin.too_many_nodes");
    assert_eq!(problem.file, "nodes");

    let slots = |count: usize| {
        let slots = (0..count).map(|n| format!(r#""s{n}": {{"dataFlowType": "STRING"}}"#));
        let slots: Vec<_> = slots.collect();
        with(&format!(
            r#""type": "N", "outputs": {{{}}}"#,
            slots.join(",")
        ))
    };
    let most = Sample::node(&slots(MAX_NODE_SLOTS)).package();
    assert_eq!(most.nodes[0].definition.shape.outputs.len(), MAX_NODE_SLOTS);
    let problem = Sample::node(&slots(MAX_NODE_SLOTS + 1)).problem();
    assert_eq!(problem.code, "plugin.too_many");

    let modes: Vec<_> = (0..=MAX_NODE_MODES)
        .map(|n| format!(r#""m{n}": {{}}"#))
        .collect();
    let text = with(&format!(r#""type": "N", "modes": {{{}}}"#, modes.join(",")));
    assert_eq!(Sample::node(&text).problem().code, "plugin.too_many");

    for (length, is_fine) in [(MAX_SLOT_KEY_CHARS, true), (MAX_SLOT_KEY_CHARS + 1, false)] {
        let key = "é".repeat(length);
        let text = with(&format!(
            r#""type": "N", "outputs": {{"{key}": {{"dataFlowType": "STRING"}}}}"#
        ));
        assert_eq!(Sample::node(&text).read().outcome.is_ok(), is_fine);
    }
    for (length, is_fine) in [
        (MAX_NODE_TYPE_CHARS, true),
        (MAX_NODE_TYPE_CHARS + 1, false),
    ] {
        let text = with(&format!(
            r#""type": "{}", "outputs": {{}}"#,
            "n".repeat(length)
        ));
        assert_eq!(Sample::node(&text).read().outcome.is_ok(), is_fine);
    }
    let large = with(&format!(
        r#""type": "N", "outputs": {{}}, "x": "{}""#,
        "x".repeat(MAX_NODE_FILE_BYTES)
    ));
    assert_eq!(Sample::node(&large).problem().code, "plugin.too_large");
}

#[test]
fn a_folder_that_nobody_names_is_mentioned() {
    let text = with(r#""type": "N", "outputs": {"a": {"dataFlowType": "STRING"}}"#);
    let sample = Sample::new("name: p\nversion: \"1\"\n").file("nodes/n.node.json", text);
    let reading = sample.read();
    assert_eq!(reading.outcome.unwrap().nodes, []);
    assert_eq!(reading.warnings[0].code, "plugin.no_effect");
    assert!(reading.warnings[0].message.contains("entry: ./nodes"));
}

#[test]
fn types_take_what_they_say() {
    let values = json!(["a", 1, 1.5, true, {}, [], null]);
    for (flow, fits) in [
        (DataFlowType::String, "1000000"),
        (DataFlowType::Integer, "0100000"),
        (DataFlowType::Float, "0110000"),
        (DataFlowType::Boolean, "0001000"),
        (DataFlowType::Object, "0000100"),
        (DataFlowType::Array, "0000010"),
        (DataFlowType::Binary, "1000100"),
        (DataFlowType::Wildcard, "1111111"),
        (DataFlowType::ConvertibleAny, "1111111"),
    ] {
        let taken: String = values
            .as_array()
            .unwrap()
            .iter()
            .map(|value| if flow.accepts(value) { '1' } else { '0' })
            .collect();
        assert_eq!(taken, fits, "{flow}");
    }
}
