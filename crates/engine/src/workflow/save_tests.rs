use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::DataFlowType;

fn read(text: &str) -> Workflow {
    Workflow::read(text).workflow.unwrap()
}

/// Reads, changes, saves; what was saved must also say what was meant.
fn saved(text: &str, change: impl FnOnce(&mut Workflow)) -> String {
    let mut flow = read(text);
    change(&mut flow);
    let saved = flow.to_text();
    assert_eq!(read(&saved), flow, "{saved}");
    saved
}

const FLOW: &str = r#"{
  "name": "a",
  "nodes": [
    {"id": "x", "type": "t", "theirs": 1.00, "inputValues": {"n": 1.0, "deep": {"a": [1.0, 2.00, {"b": 3.000}], "c": "\u0041"}}},
    {"id": "y", "type": "t"},
    {"id": "z", "type": "t", "data": {"configValues": {"old": 1}, "bypassed": true, "keep": 1.10}}
  ],
  "edges": [
    {"id": "e1", "source": "x", "sourceHandle": "o", "target": "y", "targetHandle": "i", "w": 1.50},
    {"id": "e2", "source": "y", "sourceHandle": "o", "target": "z", "targetHandle": "i"}
  ],
  "interfaceInputs": {
    "q": {"dataFlowType": "STRING", "theirs": 2.0, "config": {"default": "d", "rows": 3.0}},
    "*": {"dataFlowType": "CONVERTIBLE_ANY", "displayName": "*", "allowDynamicType": true}
  }
}
"#;

#[test]
fn only_what_changed_is_written() {
    type Edit = fn(&mut Workflow);
    // What is done, the text that it replaces, and what stands there instead.
    #[rustfmt::skip]
    let rows: &[(Edit, &str, &str)] = &[
        (|flow| flow.name = "b\n".to_owned(), r#""name": "a""#, r#""name": "b\n""#),
        (|flow| flow.description = Some("d".to_owned()), "    \"*\": {\"dataFlowType\": \"CONVERTIBLE_ANY\", \"displayName\": \"*\", \"allowDynamicType\": true}\n  }\n}",
            "    \"*\": {\"dataFlowType\": \"CONVERTIBLE_ANY\", \"displayName\": \"*\", \"allowDynamicType\": true}\n  },\n  \"description\": \"d\"\n}"),
        (|flow| { flow.nodes[0].input("n", 2); }, r#""n": 1.0"#, r#""n": 2"#),
        (|flow| { flow.nodes[0].input("deep", json!({"a": [1.0, 2.0, {"b": 4}, 5], "c": "A"})); }, "[1.0, 2.00, {\"b\": 3.000}]", "[1.0, 2.00, {\"b\": 4}, 5]"),
        (|flow| { flow.nodes[0].input("deep", json!({"a": [1.0], "d": null})); }, "{\"a\": [1.0, 2.00, {\"b\": 3.000}], \"c\": \"\\u0041\"}", "{\"a\": [1.0], \"d\": null}"),
        (|flow| { flow.nodes[0].inputs.shift_remove("n"); }, r#"{"n": 1.0, "deep""#, r#"{"deep""#),
        (|flow| flow.nodes[1].position = Some((1.0, 2.5)), r#"{"id": "y", "type": "t"}"#, r#"{"id": "y", "type": "t", "position": {"x":1,"y":2.5}}"#),
        (|flow| flow.nodes[2].bypassed = false, r#""bypassed": true"#, r#""bypassed": false"#),
        (|flow| { flow.nodes[2].setting("old", "new"); }, r#"{"old": 1}"#, r#"{"old": "new"}"#),
        (|flow| { flow.nodes[2].config.clear(); }, r#"{"old": 1}"#, "{}"),
        (|flow| { flow.rename_node("x", "xx"); }, r#"{"id": "x", "type""#, r#"{"id": "xx", "type""#),
        (|flow| flow.edges[0].target_handle = None, r#""targetHandle": "i", "w""#, r#""targetHandle": null, "w""#),
        (|flow| { flow.remove_edge("e1"); }, "{\"id\": \"e1\", \"source\": \"x\", \"sourceHandle\": \"o\", \"target\": \"y\", \"targetHandle\": \"i\", \"w\": 1.50},\n    ", ""),
        (|flow| { flow.remove_edge("e2"); }, ",\n    {\"id\": \"e2\", \"source\": \"y\", \"sourceHandle\": \"o\", \"target\": \"z\", \"targetHandle\": \"i\"}", ""),
        (|flow| flow.edges.swap(0, 1), "{\"id\": \"e1\", \"source\": \"x\", \"sourceHandle\": \"o\", \"target\": \"y\", \"targetHandle\": \"i\", \"w\": 1.50},\n    {\"id\": \"e2\", \"source\": \"y\", \"sourceHandle\": \"o\", \"target\": \"z\", \"targetHandle\": \"i\"}",
            "{\"id\": \"e2\", \"source\": \"y\", \"sourceHandle\": \"o\", \"target\": \"z\", \"targetHandle\": \"i\"},\n    {\"id\": \"e1\", \"source\": \"x\", \"sourceHandle\": \"o\", \"target\": \"y\", \"targetHandle\": \"i\", \"w\": 1.50}"),
        (|flow| flow.inputs[0].flow = DataFlowType::Integer, r#""STRING""#, r#""INTEGER""#),
        (|flow| { flow.inputs[0].default_value("e"); }, r#""default": "d""#, r#""default": "e""#),
        (|flow| { flow.inputs.clear(); }, "    \"q\": {\"dataFlowType\": \"STRING\", \"theirs\": 2.0, \"config\": {\"default\": \"d\", \"rows\": 3.0}},\n", ""),
        (|flow| { flow.add_input("r", DataFlowType::Float); }, "    \"*\"", "    \"r\": {\n      \"key\": \"r\",\n      \"dataFlowType\": \"FLOAT\"\n    },\n    \"*\""),
    ];
    for (edit, old, new) in rows {
        assert_eq!(FLOW.matches(old).count(), 1, "{old}");
        let text = saved(FLOW, edit);
        // A renamed node is named by its edges too.
        let text = text.replace(r#""source": "xx""#, r#""source": "x""#);
        assert_eq!(text, FLOW.replace(old, new));
    }
}

#[test]
fn a_removed_node_takes_its_edges_along() {
    let text = saved(FLOW, |flow| {
        flow.remove_node("y").unwrap();
    });
    assert!(
        !text.contains(r#""id": "y""#) && !text.contains(r#""id": "e"#),
        "{text}"
    );
    assert!(text.contains("\"edges\": []"), "{text}");
    assert!(text.contains("\"theirs\": 1.00"), "{text}");
}

/// A node that comes after one that went is another node.
#[test]
fn what_was_removed_leaves_nothing_to_its_successor() {
    let text = saved(FLOW, |flow| {
        assert!(flow.rename_node("x", "w"));
        flow.remove_node("w").unwrap();
        flow.add_node("t", "w");
    });
    assert!(!text.contains("1.00"), "{text}");
}

#[test]
fn old_groups_are_changed_where_they_keep_things() {
    let text = r#"{"name": "a", "nodes": [{"id": "g", "type": "core:NodeGroup", "data": {"referencedWorkflowId": "r", "configValues": {"k": 1.0}, "label": "L"}}]}"#;
    let after = saved(text, |flow| {
        let node = &mut flow.nodes[0];
        node.setting("referencedWorkflowId", "s").bypassed = true;
    });
    let expected = text
        .replace(r#""r""#, r#""s""#)
        .replace(r#""L"}"#, r#""L"}, "bypassed": true"#);
    assert_eq!(after, expected);
    let after = saved(text, |flow| {
        let node = &mut flow.nodes[0];
        node.config.shift_remove("referencedWorkflowId");
        node.setting("k", 2).setting("new", 3);
    });
    let expected = r#"{"name": "a", "nodes": [{"id": "g", "type": "core:NodeGroup", "data": {"configValues": {"k": 2}, "label": "L"}, "configValues": {"new":3}}]}"#;
    assert_eq!(after, expected);
}

/// Indentation, line ends and colons are those of the file.
#[test]
fn new_lines_look_like_old_ones() {
    let rows = [
        (
            "{\r\n\t\"name\" : \"a\",\r\n\t\"nodes\" : []\r\n}",
            "{\r\n\t\"name\" : \"a\",\r\n\t\"nodes\" : [\r\n\t\t{\r\n\t\t\t\"id\": \"x\",\r\n\t\t\t\"type\": \"t\"\r\n\t\t}\r\n\t],\r\n\t\"id\" : \"i\"\r\n}",
        ),
        (
            "{\"name\":\"a\",\"nodes\":[]}",
            "{\"name\":\"a\",\"nodes\":[{\"id\":\"x\",\"type\":\"t\"}],\"id\":\"i\"}",
        ),
        (
            "{\"name\": \"a\", \"nodes\": []}",
            "{\"name\": \"a\", \"nodes\": [{\"id\":\"x\",\"type\":\"t\"}], \"id\": \"i\"}",
        ),
        (
            "\n{\"nodes\": [\n]}\n",
            "\n{\"nodes\": [{\"id\":\"x\",\"type\":\"t\"}], \"id\": \"i\", \"name\": \"a\"}\n",
        ),
    ];
    for (text, expected) in rows {
        let after = saved(text, |flow| {
            flow.id = Some("i".to_owned());
            flow.name = "a".to_owned();
            flow.add_node("t", "x").position = None;
        });
        assert_eq!(after, expected);
    }
}

#[test]
fn what_stands_beside_a_change_stays() {
    let text = r#"{"name": "a", "nodes": [{"id": "a", "type": "t", "position": {"x": 1.0, "y": 2.0, "z": 3.0}, "inputConnectionOrders": {"bad": 1.0, "m": ["e1"]}, "execution": {"retry": 1, "theirs": 1.0}}]}"#;
    let after = saved(text, |flow| {
        let node = &mut flow.nodes[0];
        node.place(1.0, 5.5);
        node.orders[0].1.insert(0, "e2".to_owned());
        node.execution.retry = 0;
        node.execution.cache = Some(true);
    });
    let expected = text
        .replace(r#""y": 2.0"#, r#""y": 5.5"#)
        .replace(r#"["e1"]"#, r#"["e2", "e1"]"#)
        .replace(
            r#"{"retry": 1, "theirs": 1.0}"#,
            r#"{"theirs": 1.0, "cache": true}"#,
        );
    assert_eq!(after, expected);
}

/// What could not be understood is not ours to throw away.
#[test]
fn broken_parts_stay_where_they_are() {
    let text = r#"{"name": "a", "nodes": [7, {"id": "a", "type": "t", "inputValues": {"x": 1e400, "y": 1}}, {"no": "id"}, {"id": "b", "type": "t"}], "edges": [{"source": "gone"}]}"#;
    let text_after = saved(text, |flow| {
        flow.remove_node("b").unwrap();
        flow.nodes[0].input("y", 2);
        flow.add_node("t", "c").position = None;
        flow.connect(("a", "o"), ("c", "i"));
    });
    let expected = r#"{"name": "a", "nodes": [7, {"id": "a", "type": "t", "inputValues": {"x": 1e400, "y": 2}}, {"id":"c","type":"t"}, {"no": "id"}], "edges": [{"id":"e1","source":"a","sourceHandle":"o","target":"c","targetHandle":"i"}, {"source": "gone"}]}"#;
    assert_eq!(text_after, expected);
}

/// The last of several members with one name is the one that counts.
#[test]
fn of_repeated_keys_the_last_is_changed() {
    let text = r#"{"name": "a", "name": "b", "nodes": []}"#;
    let after = saved(text, |flow| flow.name = "c".to_owned());
    assert_eq!(after, r#"{"name": "a", "name": "c", "nodes": []}"#);
}

/// JSON text with everything that is allowed and nobody writes.
fn odd_json() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "null",
        "true",
        "1",
        "1.00",
        "-0",
        "-0.0",
        "1e400",
        "1E+2",
        "0.1e-7",
        "12345678901234567890123",
        r#""""#,
        r#""\u0041\/\ud83c\udf75""#,
        r#""\ud800""#,
        r#""é\n""#,
        "[]",
        "{ }",
        r#""}],""#,
    ]);
    let leaf = leaf.prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 4, |inner| {
        let list = prop::collection::vec((blank(), inner.clone(), blank()), 0..4);
        let list = list.prop_map(|items| {
            let items = items
                .into_iter()
                .map(|(a, item, b)| format!("{a}{item}{b}"));
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        });
        prop_oneof![
            list,
            extras(inner).prop_map(|items| format!("{{{}}}", items.join(",")))
        ]
    })
}

fn blank() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["", "", " ", "\n", "\r\n\t", "   "])
}

/// Members that nobody knows, some of them twice.
fn extras(value: impl Strategy<Value = String>) -> impl Strategy<Value = Vec<String>> {
    let key = prop::sample::select(vec!["x-a", "x-b", "", "x\\u0041", "\\ud800", "名"]);
    let member = (blank(), key, blank(), blank(), value, blank());
    let member =
        member.prop_map(|(a, key, b, c, value, d)| format!("{a}\"{key}\"{b}:{c}{value}{d}"));
    prop::collection::vec(member, 0..3)
}

/// An object of known members and others, in any order.
fn object(known: Vec<String>) -> impl Strategy<Value = String> {
    (extras(odd_json()), blank())
        .prop_map(move |(extras, blank)| {
            let known = known.iter().map(|member| format!("{blank}{member}"));
            known.chain(extras).collect::<Vec<_>>()
        })
        .prop_shuffle()
        .prop_map(|members| format!("{{{}}}", members.join(",")))
}

/// A workflow with `@NAME@` and `@VALUE@` where a name and the value of an input stand.
fn template() -> impl Strategy<Value = String> {
    let position = object(vec![r#""x": 1.0"#.to_owned(), r#""y":2"#.to_owned()]);
    let inputs = object(vec![r#""in" :@VALUE@"#.to_owned()]);
    let node = (position, inputs, object(vec![])).prop_flat_map(|(position, inputs, config)| {
        object(vec![
            r#""id": "a""#.to_owned(),
            r#""type":"core:A""#.to_owned(),
            format!(r#""position": {position}"#),
            format!(r#""inputValues" : {inputs}"#),
            format!(r#""configValues":{config}"#),
        ])
    });
    let other = object(vec![
        r#""id": "b""#.to_owned(),
        r#""type":"core:B""#.to_owned(),
    ]);
    let edge = object(
        [
            "\"source\":\"a\"",
            "\"target\": \"b\"",
            "\"sourceHandle\":\"o\"",
            "\"targetHandle\" :\"i\"",
            "\"id\":\"e\"",
        ]
        .map(str::to_owned)
        .to_vec(),
    );
    let slot = object(vec![r#""dataFlowType":"STRING""#.to_owned()]);
    (node, other, edge, slot, blank(), blank()).prop_flat_map(|(node, other, edge, slot, a, b)| {
        let top = object(vec![
            r#""name": @NAME@"#.to_owned(),
            format!(r#""nodes": [{a}{node}{b},{other}]"#),
            format!(r#""edges":[{edge}{a}]"#),
            format!(r#""interfaceInputs":{{"q":{slot}}}"#),
        ]);
        top.prop_map(move |top| format!("{b}{top}{a}"))
    })
}

proptest! {
    #[test]
    fn every_byte_survives(template in template()) {
        let fill = |name: &str, value: &str| template.replace("@NAME@", name).replace("@VALUE@", value);
        let text = fill("\"old\"", "{\"n\":1.00}");
        let mut flow = read(&text);
        prop_assert_eq!((flow.nodes.len(), flow.edges.len(), flow.inputs.len()), (2, 1, 1));
        prop_assert_eq!(flow.to_text(), text);
        flow.name = "new".to_owned();
        prop_assert_eq!(flow.to_text(), fill("\"new\"", "{\"n\":1.00}"));
        flow.nodes[0].input("in", json!({"n": 1.0, "m": [true]}));
        let style = read(&flow.to_text());
        prop_assert_eq!(&style, &flow);
        flow.nodes[0].input("in", json!("é"));
        prop_assert_eq!(flow.to_text(), fill("\"new\"", "\"é\""));
    }
}
