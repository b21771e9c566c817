use serde_json::{Value as Json, json};

use crate::NodeManager;
use crate::node::{Bypass, NodeDefinition, NodeInput, NodeShape, NodeSlot};

#[test]
fn a_built_in_node() {
    let types = NodeManager::new().types();
    let json = types.get("core:TextMerge").unwrap().definition.to_json();
    assert_eq!(json["type"], "TextMerge");
    assert_eq!(json["namespace"], "core");
    assert_eq!(json["fullType"], "core:TextMerge");
    assert_eq!(json["inputs"]["text_inputs"]["dataFlowType"], "STRING");
    assert_eq!(json["inputs"]["text_inputs"]["multi"], true);
    assert_eq!(json["inputs"]["text_inputs"]["required"], true);
    assert_eq!(
        json["inputs"]["separator"]["config"],
        json!({"default": "\\n"})
    );
    assert_eq!(json["outputs"]["merged_text"]["dataFlowType"], "STRING");
    assert_eq!(json.get("modes"), None);
    assert_eq!(json.get("dynamicSlots"), None);
}

#[test]
fn modes_settings_streams_and_branches() {
    let types = NodeManager::new().types();
    let json = |name: &str| types.get(name).unwrap().definition.to_json();
    let math = json("core:MathOperation");
    assert_eq!(math["modes"].as_object().unwrap().len(), 34);
    assert_eq!(
        math["modes"]["power"]["inputs"]["exponent"]["config"]["default"],
        2.0
    );
    assert_eq!(math["defaultModeId"], "add");
    assert_eq!(math["modeConfigKey"], "operationMode");
    assert_eq!(
        math["configSchema"]["operationMode"]["config"]["default"],
        "add"
    );
    assert_eq!(
        json("core:StreamLogger")["inputs"]["inputStream"]["isStream"],
        true
    );
    assert_eq!(json("core:If")["inputs"]["then"]["branch"], "lazy");
    assert_eq!(json("core:Template")["dynamicSlots"], true);
    assert_eq!(json("core:frame")["isUiNode"], true);
    assert_eq!(json("core:RandomNumber")["deterministic"], false);
}

#[test]
fn what_a_plugin_wrote_is_kept() {
    let raw = json!({
        "type": "Sky", "colour": "blue", "execute": {"command": "secret"},
        "inputs": {"city": {"dataFlowType": "STRING", "hint": "for the canvas"}},
        "modes": {"day": {"icon": "sun"}},
    });
    let Json::Object(raw) = raw else { panic!() };
    let slot = |key: &str| NodeSlot {
        key: key.to_owned(),
        ..NodeSlot::default()
    };
    let definition = NodeDefinition {
        name: "Sky".to_owned(),
        namespace: "weather".to_owned(),
        raw,
        shape: NodeShape {
            inputs: vec![NodeInput {
                slot: slot("city"),
                max_connections: Some(2),
                ..NodeInput::default()
            }],
            outputs: vec![slot("sky")],
            config: Vec::new(),
        },
        modes: vec![crate::NodeMode {
            id: "day".to_owned(),
            display_name: "Day".to_owned(),
            description: String::new(),
            shape: NodeShape::default(),
        }],
        bypass: Some(Bypass::Pass {
            through: vec![("sky".to_owned(), "city".to_owned())],
            defaults: serde_json::Map::new(),
        }),
        width: Some(300.0),
        ..NodeDefinition::default()
    };
    let json = definition.to_json();
    assert_eq!(json["colour"], "blue");
    assert_eq!(json.get("execute"), None);
    assert_eq!(json["namespace"], "weather");
    assert_eq!(json["inputs"]["city"]["hint"], "for the canvas");
    assert_eq!(json["inputs"]["city"]["dataFlowType"], "WILDCARD");
    assert_eq!(json["inputs"]["city"]["maxConnections"], 2);
    assert_eq!(json["modes"]["day"]["icon"], "sun");
    assert_eq!(json["modes"]["day"]["displayName"], "Day");
    assert_eq!(
        json["bypassBehavior"],
        json!({"passThrough": {"sky": "city"}, "defaults": {}})
    );
    assert_eq!(json["width"], 300.0);
}
