use serde_json::json;

use super::*;

#[test]
fn each_type_has_its_schema() {
    let rows = [
        (DataFlowType::String, json!({"type": "string"})),
        (DataFlowType::Integer, json!({"type": "integer"})),
        (DataFlowType::Float, json!({"type": "number"})),
        (DataFlowType::Boolean, json!({"type": "boolean"})),
        (DataFlowType::Object, json!({"type": "object"})),
        (DataFlowType::Array, json!({"type": "array"})),
        (DataFlowType::Binary, json!({"type": "string"})),
        (DataFlowType::Wildcard, json!({})),
        (DataFlowType::ConvertibleAny, json!({})),
    ];
    for (flow, expected) in rows {
        assert_eq!(slot_schema(flow, false, None, &[], &Map::new()), expected);
        let list = json!({"type": "array", "items": expected});
        assert_eq!(slot_schema(flow, true, None, &[], &Map::new()), list);
    }
}

#[test]
fn settings_become_keywords() {
    let combo = ["Prompt".to_owned(), CHOICE.to_owned()];
    let suggestions = json!([{"value": "a", "label": "A"}, "b", {"value": "a"}]);
    let many: Vec<_> = (0..=MAX_CHOICES).collect();
    use DataFlowType::{Float, Integer, String as Text};
    #[rustfmt::skip]
    let rows = [
        (Text, false, &combo[..], json!({"suggestions": suggestions}), json!({"type": "string", "enum": ["a", "b"]})),
        (Text, true, &combo[..], json!({"suggestions": suggestions}), json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}})),
        (Text, false, &combo[..1], json!({"suggestions": suggestions}), json!({"type": "string"})),
        (Text, false, &combo[..], json!({"suggestions": "x"}), json!({"type": "string"})),
        (Integer, false, &combo[..], json!({"suggestions": many}), json!({"type": "integer"})),
        (Text, false, &[], json!({"default": "d", "min": 1}), json!({"type": "string", "default": "d"})),
        (Text, false, &[], json!({"default": null}), json!({"type": "string"})),
        (Integer, false, &[], json!({"default": "d"}), json!({"type": "integer"})),
        (Text, true, &[], json!({"default": "d"}), json!({"type": "array", "items": {"type": "string"}})),
        (Text, true, &[], json!({"default": ["d"]}), json!({"type": "array", "items": {"type": "string"}, "default": ["d"]})),
        (Integer, false, &[], json!({"min": 0, "max": 9, "step": 1}), json!({"type": "integer", "minimum": 0, "maximum": 9})),
        (Float, true, &[], json!({"min": 0.5, "max": "x"}), json!({"type": "array", "items": {"type": "number", "minimum": 0.5}})),
    ];
    for (flow, multi, categories, config, expected) in rows {
        let map = config.as_object().unwrap();
        assert_eq!(
            slot_schema(flow, multi, None, categories, map),
            expected,
            "{config}"
        );
    }
}

#[test]
fn an_interface_becomes_parameters() {
    let text = r#"{"name": "n", "nodes": [],
        "interfaceInputs": {
            "question": {"dataFlowType": "STRING", "required": true, "displayName": "Question", "customDescription": "What is asked"},
            "tone": {"dataFlowType": "STRING", "required": true, "displayName": "Tone", "description": "", "config": {"default": "dry"}},
            "words": {"dataFlowType": "INTEGER", "min": 1, "config": {"min": 0, "max": 100}},
            "*": {"dataFlowType": "CONVERTIBLE_ANY", "displayName": "*", "allowDynamicType": true}},
        "interfaceOutputs": {"answer": {"dataFlowType": "STRING", "isStream": true}, "usage": {"dataFlowType": "OBJECT"}}}"#;
    let mut flow = Workflow::read(text).workflow.unwrap();
    let expected = json!({
        "type": "object",
        "properties": {
            "question": {"type": "string", "description": "What is asked"},
            "tone": {"type": "string", "description": "Tone", "default": "dry"},
            "words": {"type": "integer", "minimum": 1, "maximum": 100},
        },
        "required": ["question"],
        "additionalProperties": false,
    });
    assert_eq!(flow.parameters_schema(), expected);
    let both = json!({"type": "object", "properties": {"answer": {"type": "string"}, "usage": {"type": "object"}}});
    assert_eq!(flow.result_schema(), both);
    flow.outputs.pop();
    assert_eq!(flow.result_schema(), json!({"type": "string"}));
    flow.outputs.pop();
    assert_eq!(
        flow.result_schema(),
        json!({"type": "object", "properties": {}})
    );
    flow.inputs.clear();
    let none = json!({"type": "object", "properties": {}, "additionalProperties": false});
    assert_eq!(flow.parameters_schema(), none);
}
