use serde_json::json;

use super::*;
use crate::DataFlowType;

/// The problems of a text: `E code: place and message`.
fn problems(text: &str) -> Vec<String> {
    let reading = Workflow::read(text);
    let list = reading.problems.list.iter();
    list.map(|problem| {
        let severity = if problem.is_error() { "E" } else { "W" };
        let mut problem = problem.clone();
        problem.position = None;
        format!("{severity} {}: {problem}", problem.code)
    })
    .collect()
}

fn read(text: &str) -> Workflow {
    Workflow::read(text).workflow.unwrap()
}

/// A workflow with a name and whatever else.
fn with(rest: &str) -> String {
    format!(r#"{{"name": "n", {rest}}}"#)
}

#[test]
fn what_is_no_workflow_says_why_and_where() {
    #[rustfmt::skip]
    let rows = [
        ("", "file.not_json", (1, 1), "this is not JSON: the text ends too early"),
        ("{\n  \"name\": 'a'\n}", "file.not_json", (2, 11), "this is not JSON: a text stands in double quotes"),
        ("{\"name\": \"a\0\"}", "file.not_json", (1, 12), "this is not JSON: a control character inside a text must be written \\u00.."),
        ("[1]", "file.not_an_object", (1, 1), "a workflow is an object, this is a list"),
        ("\r\n 1", "file.not_an_object", (2, 2), "a workflow is an object, this is a number"),
        ("{\"name\": \"a package\"}", "file.no_nodes", (1, 1), "this is no workflow: there is no list 'nodes'"),
        ("{\"source\": \"ComfyTavernWorkflowFragment\"}", "file.no_data", (1, 1), "a fragment needs an object 'data'"),
        ("{\"source\": \"ComfyTavernWorkflowFragment\", \"data\": 3}", "file.wrong_type", (1, 51), "must be an object, is a number"),
    ];
    for (text, code, position, message) in rows {
        let reading = Workflow::read(text);
        assert!(reading.workflow.is_none(), "{text}");
        let problem = reading.problems.errors().next().unwrap();
        assert_eq!(problem.code, code, "{text}");
        assert_eq!(problem.position, Some(position), "{text}");
        assert_eq!(problem.message, message, "{text}");
    }
}

#[test]
fn every_problem_is_named() {
    #[rustfmt::skip]
    let rows: &[(&str, &[&str])] = &[
        (r#""nodes": [], "edges": []"#, &[]),
        (r#""nodes": []"#, &[]),
        (r#""edges": []"#, &["E file.no_nodes: nodes: a workflow needs a list 'nodes'"]),
        (r#""nodes": {}, "edges": "x""#, &[
            "E file.wrong_type: nodes: must be a list, is an object",
            "E file.wrong_type: edges: must be a list, is a text",
        ]),
        (r#""nodes": [], "id": 3, "description": []"#, &[
            "E file.wrong_type: id: must be a text, is a number",
            "E file.wrong_type: description: must be a text, is a list",
        ]),
        (r#""nodes": [3, {}, {"id": ""}, {"id": "\u0000"}, {"id": 1}]"#, &[
            "E file.wrong_type: nodes[0]: must be an object, is a number",
            "E node.no_id: nodes[1].id: a node needs an id",
            "E name.empty: nodes[2].id: is empty",
            "E name.control_character: nodes[3].id: holds the control character U+0000",
            "E file.wrong_type: nodes[4].id: must be a text, is a number",
        ]),
        (r#""nodes": [{"id": "a", "type": "t"}, {"id": "a", "type": "t"}]"#, &[
            "E node.duplicate_id: a.id: another node is called 'a' already",
        ]),
        (r#""nodes": [{"id": "a"}]"#, &["E node.no_type: a.type: the node does not say what it is"]),
        (r#""nodes": [{"id": "a", "type": 1, "position": [], "parentNode": "gone", "displayName": {}, "configValues": [], "inputValues": "x",
            "inputConnectionOrders": 3, "bypassed": "yes", "execution": null, "data": 7, "customDescription": false}]"#, &[
            "E file.wrong_type: a.type: must be a text, is a number",
            "E file.wrong_type: a.data: must be an object, is a number",
            "E file.wrong_type: a.displayName: must be a text, is an object",
            "E file.wrong_type: a.customDescription: must be a text, is true or false",
            "W node.bad_position: a.position: must be {\"x\": 0, \"y\": 0}",
            "E file.wrong_type: a.configValues: must be an object, is a list",
            "E file.wrong_type: a.inputValues: must be an object, is a text",
            "E file.wrong_type: a.inputConnectionOrders: must be an object, is a number",
            "E file.wrong_type: a.bypassed: must be true or false, is a text",
            "W node.unknown_parent: a.parentNode: there is no node 'gone'",
        ]),
        (r#""nodes": [{"id": "a", "type": "t", "inputValues": {"x": 1e400, "y": 2, "z": "\ud800"}}]"#, &[
            "E file.bad_value: a.inputValues.x: cannot be taken: number out of range",
            "E file.bad_value: a.inputValues.z: cannot be taken: unexpected end of hex escape",
        ]),
        (r#""nodes": [{"id": "a", "type": "t", "parentNode": "a", "inputConnectionOrders": {"x": ["e9"], "y": 3, "z": [4]}}]"#, &[
            "E file.wrong_type: a.inputConnectionOrders.z: must be a text, is a number",
            "E file.wrong_type: a.inputConnectionOrders.y: must be a list, is a number",
            "W node.unknown_parent: a.parentNode: a node cannot lie in itself",
            "W node.unknown_edge: a.inputConnectionOrders.x: the order names an edge 'e9' that is not there",
        ]),
        (r#""nodes": [{"id": "a", "type": "t", "execution": {"retry": 11, "retryDelayMs": 60001, "timeoutMs": 0, "cache": 1, "retrys": 3}}]"#, &[
            "W node.unknown_setting: a.execution: 'retrys' is not known here; did you mean 'retry'?",
            "E node.bad_setting: a.execution.retry: must be a whole number from 0 to 10",
            "E node.bad_setting: a.execution.retryDelayMs: must be a whole number from 0 to 60000",
            "E node.bad_setting: a.execution.timeoutMs: must be a whole number from 1",
            "E file.wrong_type: a.execution.cache: must be true or false, is a number",
        ]),
        (r#""nodes": [{"id": "a", "type": "t", "execution": {"retry": 1.5, "timeoutMs": -1, "retryDelayMs": "1"}}]"#, &[
            "E node.bad_setting: a.execution.retry: must be a whole number from 0 to 10",
            "E node.bad_setting: a.execution.retryDelayMs: must be a whole number from 0 to 60000",
            "E node.bad_setting: a.execution.timeoutMs: must be a whole number from 1",
        ]),
        (r#""nodes": [{"id": "Merge_1", "type": "t"}], "edges": [
            {"id": "e", "source": "Merge_2", "sourceHandle": "o", "target": "Merge_1", "targetHandle": "i"},
            {"id": "f", "source": "Merge_1", "target": "Merge_1", "targetHandle": 3},
            {"id": "g", "sourceHandle": "o", "targetHandle": "i"},
            {"id": "h", "source": "Merge_1", "sourceHandle": null, "target": "Merge_1", "targetHandle": "i"},
            {"id": "h", "source": "Merge_1", "sourceHandle": "o", "target": "Merge_1", "targetHandle": "i"},
            {"id": [], "source": "Merge_1", "target": "Merge_1"},
            null]"#, &[
            "E edge.unknown_node: edges[0].source: there is no node 'Merge_2'; did you mean 'Merge_1'?",
            "W edge.no_handle: edges[1].sourceHandle: the edge does not say which slot",
            "E file.wrong_type: edges[1].targetHandle: must be a text, is a number",
            "E edge.no_end: edges[2].source: the edge does not say which node",
            "E edge.no_end: edges[2].target: the edge does not say which node",
            "W edge.no_handle: edges[3].sourceHandle: the edge does not say which slot",
            "E edge.duplicate_id: edges[4].id: another edge is called 'h' already",
            "E file.wrong_type: edges[5].id: must be a text, is a list",
            "E file.wrong_type: edges[6]: must be an object, is null",
        ]),
        // What was refused as a node is no news as the end of an edge.
        (r#""nodes": [{"id": "", "type": "t"}, {"id": "b", "type": "t"}], "edges": [
            {"source": "", "sourceHandle": "o", "target": "b", "targetHandle": "i"}]"#, &["E name.empty: nodes[0].id: is empty"]),
        (r#""nodes": [], "interfaceInputs": [], "interfaceOutputs": {
            "a": 1, "b": {}, "c": {"dataFlowType": "STREAM"}, "d": {"dataFlowType": "STRNG"}, "e": {"dataFlowType": []},
            "f": {"dataFlowType": "STRING", "key": "g", "required": "x", "isStream": 1, "multi": {}, "matchCategories": [1], "min": "0", "max": 1e400, "config": 2},
            "": {"dataFlowType": "STRING"}}"#, &[
            "E file.wrong_type: interfaceInputs: must be an object, is a list",
            "E file.wrong_type: interfaceOutputs.a: must be an object, is a number",
            "W interface.no_type: interfaceOutputs.b.dataFlowType: the type is not given; anything is taken",
            "E interface.unknown_type: interfaceOutputs.c.dataFlowType: there is no type 'STREAM'; a stream has the type of its values, and isStream",
            "E interface.unknown_type: interfaceOutputs.d.dataFlowType: there is no type 'STRNG'; did you mean 'STRING'?",
            "E file.wrong_type: interfaceOutputs.e.dataFlowType: must be a text, is a list",
            "W interface.other_key: interfaceOutputs.f.key: the entry calls itself 'g'; 'f' counts",
            "E file.wrong_type: interfaceOutputs.f.required: must be true or false, is a text",
            "E file.wrong_type: interfaceOutputs.f.isStream: must be true or false, is a number",
            "E file.wrong_type: interfaceOutputs.f.multi: must be true or false, is an object",
            "E file.wrong_type: interfaceOutputs.f.matchCategories: must be a text, is a number",
            "E file.wrong_type: interfaceOutputs.f.min: must be a number, is a text",
            "E file.bad_value: interfaceOutputs.f.max: cannot be taken: number out of range",
            "E file.wrong_type: interfaceOutputs.f.config: must be an object, is a number",
            "E name.empty: interfaceOutputs.: the key is empty",
        ]),
        (r#""nodes": [], "nodes": [{"id": "a", "type": "t", "type": "u"}]"#, &[
            "W file.repeated_key: 'nodes' stands here more than once; the last one counts",
            "W file.repeated_key: nodes[0]: 'type' stands here more than once; the last one counts",
        ]),
    ];
    for (rest, expected) in rows {
        assert_eq!(problems(&with(rest)), *expected, "{rest}");
    }
}

#[test]
fn a_workflow_without_a_name_is_called_by_its_id() {
    let rows = [
        (r#"{"nodes": []}"#, "untitled", true),
        (r#"{"id": "i", "nodes": []}"#, "i", true),
        (r#"{"id": "i", "name": " ", "nodes": []}"#, "i", true),
        (
            r#"{"workflowId": "w", "name": null, "nodes": []}"#,
            "w",
            true,
        ),
        (r#"{"id": "i", "name": "n", "nodes": []}"#, "n", false),
        (
            r#"{"source": "ComfyTavernWorkflowFragment", "data": {"nodes": []}}"#,
            "untitled",
            false,
        ),
    ];
    for (text, name, warned) in rows {
        let reading = Workflow::read(text);
        assert_eq!(!reading.problems.is_empty(), warned, "{text}");
        assert!(!reading.problems.has_errors(), "{text}");
        assert_eq!(reading.workflow.unwrap().name, name, "{text}");
    }
}

#[test]
fn both_spellings_say_the_same() {
    let stored = r#"{"id": "w", "name": "n",
        "nodes": [{"id": "a", "type": "core:A", "inputValues": {"x": 1}, "configValues": {"k": 2, "referencedWorkflowId": "r"}, "bypassed": true, "customDescription": "d"},
                  {"id": "b", "type": "core:B"}],
        "edges": [{"id": "edge_1", "source": "a", "sourceHandle": "o", "target": "b", "targetHandle": "i__0"}],
        "interfaceInputs": {"q": {"key": "q", "dataFlowType": "STRING", "customDescription": "what"}},
        "interfaceOutputs": {"r": {"key": "r", "dataFlowType": "ARRAY"}}}"#;
    let other = r#"{"workflowId": "w", "name": "n",
        "nodes": [{"id": "a", "fullType": "core:A", "inputs": {"x": 1}, "data": {"configValues": {"k": 2}, "referencedWorkflowId": "r", "bypassed": true}, "description": "d"},
                  {"id": "b", "fullType": "core:B"}],
        "edges": [{"sourceNodeId": "a", "sourceHandle": "o", "targetNodeId": "b", "targetHandle": "i__0"}],
        "inputInterface": {"q": {"type": "STRING", "description": "what"}, "*": {"displayName": "*", "type": "CONVERTIBLE_ANY", "allowDynamicType": true}},
        "outputInterface": {"r": {"type": "ARRAY"}}}"#;
    assert!(problems(stored).is_empty());
    assert!(problems(other).is_empty());
    let flow = read(stored);
    assert_eq!(flow, read(other));
    assert_eq!(flow.nodes[0].config["referencedWorkflowId"], json!("r"));
    assert_eq!(flow.inputs[0].flow, DataFlowType::String);
    assert_eq!(flow.inputs.len(), 1);
}

#[test]
fn own_settings_win_over_old_ones() {
    let text = with(
        r#""nodes": [{"id": "a", "type": "t", "bypassed": false, "configValues": {"referencedWorkflowId": "new", "k": 1},
        "data": {"referencedWorkflowId": "old", "configValues": {"k": 2, "l": 3}, "bypassed": true}}]"#,
    );
    let node = &read(&text).nodes[0];
    assert!(!node.bypassed);
    let config = json!({"referencedWorkflowId": "new", "k": 1, "l": 3});
    assert_eq!(json!(node.config), config);
}

#[test]
fn everything_of_a_node_is_read() {
    let text = with(
        r#""nodes": [{"id": "f", "type": "core:frame"}, {"id": "a", "type": "core:A", "position": {"x": 1.5, "y": -2}, "parentNode": "f", "displayName": "D",
        "inputConnectionOrders": {"m": ["e2", "e1"]}, "execution": {"retry": 2, "retryDelayMs": 5, "timeoutMs": 7, "cache": false}}],
        "edges": [{"id": "e1", "source": "f", "target": "a", "sourceHandle": "o", "targetHandle": "m__0"}, {"id": "e2", "source": "f", "target": "a", "sourceHandle": "o", "targetHandle": "m__1"}]"#,
    );
    let flow = read(&text);
    let node = flow.node("a").unwrap();
    assert_eq!(node.position, Some((1.5, -2.0)));
    assert_eq!(node.parent.as_deref(), Some("f"));
    assert_eq!(node.display_name.as_deref(), Some("D"));
    assert_eq!(node.order("m").unwrap(), ["e2", "e1"]);
    let execution = crate::NodeExecution {
        retry: 2,
        retry_delay_ms: 5,
        timeout_ms: Some(7),
        cache: Some(false),
    };
    assert_eq!(node.execution, execution);
    assert_eq!(flow.edges[1].target_handle.as_deref(), Some("m__1"));
}

#[test]
fn of_repeated_values_the_last_counts_even_where_it_cannot_be_taken() {
    let text = with(
        r#""nodes": [{"id": "a", "type": "t", "inputValues": {"x": 1, "y": 2, "x": 1e400, "y": 3}}]"#,
    );
    let inputs = &read(&text).nodes[0].inputs;
    assert_eq!(json!(inputs), json!({"y": 3}));
}

#[test]
fn only_the_placeholder_is_left_out() {
    let slots = [
        (
            r#""displayName": "*", "dataFlowType": "CONVERTIBLE_ANY", "allowDynamicType": true"#,
            0,
        ),
        (
            r#""displayName": "*", "dataFlowType": "CONVERTIBLE_ANY", "allowDynamicType": false"#,
            1,
        ),
        (
            r#""displayName": "*", "dataFlowType": "CONVERTIBLE_ANY""#,
            1,
        ),
        (
            r#""displayName": "*", "dataFlowType": "STRING", "allowDynamicType": true"#,
            1,
        ),
        (
            r#""displayName": "x", "dataFlowType": "CONVERTIBLE_ANY", "allowDynamicType": true"#,
            1,
        ),
    ];
    for (slot, count) in slots {
        let text = with(&format!(
            r#""nodes": [], "interfaceInputs": {{"k": {{{slot}}}}}"#
        ));
        assert_eq!(read(&text).inputs.len(), count, "{slot}");
    }
}

/// Ids that are made up avoid those that are there.
#[test]
fn edges_without_ids_get_some() {
    let text = with(
        r#""nodes": [{"id": "a", "type": "t"}], "edges": [
        {"source": "a", "sourceHandle": "o", "target": "a", "targetHandle": "i"},
        {"id": "edge_1", "source": "a", "sourceHandle": "o", "target": "a", "targetHandle": "j"},
        {"id": null, "source": "a", "sourceHandle": "o", "target": "a", "targetHandle": "k"}]"#,
    );
    let flow = read(&text);
    let ids: Vec<_> = flow.edges.iter().map(|edge| edge.id.as_str()).collect();
    assert_eq!(ids, ["edge_2", "edge_1", "edge_3"]);
}

#[test]
fn the_limits_hold() {
    let long = "x".repeat(MAX_NAME_CHARS + 1);
    let fits = "ü".repeat(MAX_NAME_CHARS);
    let slots = |count: usize| {
        let slots = (0..count).map(|n| format!(r#""k{n}": {{"dataFlowType": "STRING"}}"#));
        slots.collect::<Vec<_>>().join(",")
    };
    #[rustfmt::skip]
    let rows = [
        (with(&format!(r#""nodes": [{{"id": "{fits}", "type": "{fits}"}}]"#)), None),
        (with(&format!(r#""nodes": [{{"id": "{long}", "type": "t"}}]"#)), Some("E name.too_long: nodes[0].id: is longer than 256 characters")),
        (with(&format!(r#""nodes": [{{"id": "a", "type": "{long}"}}]"#)), Some("E name.too_long: a.type: is longer than 256 characters")),
        (format!(r#"{{"name": "{long}", "nodes": []}}"#), Some("E name.too_long: name: is longer than 256 characters")),
        (with(&format!(r#""nodes": [], "interfaceInputs": {{{}}}"#, slots(MAX_SLOTS))), None),
        (with(&format!(r#""nodes": [], "interfaceInputs": {{{}}}"#, slots(MAX_SLOTS + 1))), Some("E interface.too_many_slots: interfaceInputs: 257 entries are more than 256; those from here on are left out")),
        (with(&format!(r#""nodes": [], "x": {}1{}"#, "[".repeat(126), "]".repeat(126))), None),
        (with(&format!(r#""nodes": [], "x": {}1{}"#, "[".repeat(127), "]".repeat(127))), Some("E file.too_deep: objects and lists are nested deeper than 127 levels here")),
    ];
    for (text, problem) in rows {
        let found = problems(&text);
        assert_eq!(found.first().map(String::as_str), problem, "{text}");
        assert_eq!(read(&text).to_text(), text);
    }
}
