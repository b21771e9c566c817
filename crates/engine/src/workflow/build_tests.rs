use serde_json::json;

use super::*;

fn greeting() -> Workflow {
    let mut flow = Workflow::new("Greeting");
    flow.id = Some("greeting".to_owned());
    flow.description = Some("Says hello".to_owned());
    flow.add_input("name", DataFlowType::String)
        .describe("Who is greeted")
        .required();
    flow.add_input("count", DataFlowType::Integer)
        .default_value(1);
    flow.inputs[1].min = Some(0.0);
    flow.inputs[1].max = Some(2.5);
    flow.add_output("text", DataFlowType::String).stream();
    flow.add_node("core:frame", "box").place(-10.5, 0.0);
    flow.add_node("core:GroupInput", "in");
    flow.add_node("core:TextMerge", "merge")
        .input("separator", ", ")
        .setting("deep", json!({"a": [1, 2.5, null]}))
        .display("Merge")
        .inside("box");
    flow.add_node("core:GroupOutput", "out").bypassed = true;
    flow.nodes[2].description = Some("Joins".to_owned());
    flow.nodes[2].execution = NodeExecution {
        retry: 2,
        retry_delay_ms: 10,
        timeout_ms: Some(100),
        cache: Some(false),
    };
    flow.connect_all([("in", "name"), ("in", "count")], ("merge", "text_inputs"));
    flow.connect_all([("in", "name")], ("merge", "text_inputs"));
    flow.connect(("merge", "merged_text"), ("out", "text"));
    flow
}

#[test]
fn what_is_built_reads_back_the_same() {
    let flow = greeting();
    let text = flow.to_text();
    let reading = Workflow::read(&text);
    assert!(reading.problems.is_empty(), "{}", reading.problems);
    let again = reading.workflow.unwrap();
    assert_eq!(again, flow);
    assert_eq!(again.to_text(), text);
    assert!(
        text.starts_with("{\n  \"id\": \"greeting\",\n  \"name\": \"Greeting\",\n"),
        "{text}"
    );
    assert!(text.ends_with("}\n"));
}

#[test]
fn edges_are_numbered_and_ordered() {
    let flow = greeting();
    let edges: Vec<_> = flow
        .edges
        .iter()
        .map(|edge| (edge.id.as_str(), edge.target_handle.as_deref().unwrap()))
        .collect();
    let expected = [
        ("e1", "text_inputs__0"),
        ("e2", "text_inputs__1"),
        ("e3", "text_inputs__2"),
        ("e4", "text"),
    ];
    assert_eq!(edges, expected);
    assert_eq!(
        flow.node("merge").unwrap().order("text_inputs").unwrap(),
        ["e1", "e2", "e3"]
    );
}

#[test]
fn new_edges_avoid_ids_that_are_taken() {
    let mut flow = greeting();
    flow.edges[0].id = "e41".to_owned();
    flow.remove_edge("e2").unwrap();
    assert_eq!(flow.connect(("in", "name"), ("out", "text")).id, "e42");
    flow.edges.push(WorkflowEdge {
        id: "e77".to_owned(),
        ..flow.edges[0].clone()
    });
    assert_eq!(flow.connect(("in", "name"), ("out", "text")).id, "e78");
    assert_eq!(flow.connect(("in", "name"), ("out", "text")).id, "e79");
}

#[test]
fn removing_leaves_no_loose_ends() {
    let mut flow = greeting();
    assert!(flow.remove_node("box").is_some());
    assert_eq!(flow.node("merge").unwrap().parent, None);
    assert_eq!(flow.remove_edge("e2").unwrap().source, "in");
    assert_eq!(
        flow.node("merge").unwrap().order("text_inputs").unwrap(),
        ["e1", "e3"]
    );
    assert!(flow.remove_node("in").is_some());
    assert!(flow.node("merge").unwrap().orders.is_empty());
    assert_eq!(flow.edges.len(), 1);
    assert!(flow.remove_node("in").is_none());
    assert!(flow.remove_edge("e1").is_none());
    assert!(Workflow::read(&flow.to_text()).problems.is_empty());
}

#[test]
fn a_node_is_renamed_everywhere_or_nowhere() {
    let mut flow = greeting();
    assert!(!flow.rename_node("merge", "in"));
    assert!(!flow.rename_node("gone", "new"));
    assert_eq!(flow, greeting());
    assert!(flow.rename_node("box", "frame"));
    assert!(flow.rename_node("merge", "join"));
    assert_eq!(flow.node("join").unwrap().parent.as_deref(), Some("frame"));
    assert!(Workflow::read(&flow.to_text()).problems.is_empty());
}
