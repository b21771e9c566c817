//! Files that want to do harm: an answer, and the place, and no more time or memory than the file is worth. Whatever
//! is worse than linear would not end here.

use std::fmt::Write;

use innkeeper_engine::limits::{
    MAX_EDGES, MAX_FILE_VALUES, MAX_NODES, MAX_PROBLEMS, MAX_WORKFLOW_BYTES,
};
use innkeeper_engine::{Reading, Workflow};

fn list(count: usize, mut item: impl FnMut(usize) -> String) -> String {
    let mut text = String::new();
    for index in 0..count {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma}{}", item(index)).unwrap();
    }
    text
}

fn code(reading: &Reading, code: &str) -> bool {
    let mut problems = reading.problems.list.iter();
    problems.any(|problem| problem.code == code && problem.position.is_some())
}

#[test]
fn too_many_nodes() {
    let node = |index| format!(r#"{{"id":"n{index}","type":"t"}}"#);
    let edge = |index| {
        let last = MAX_NODES + 1 - index;
        format!(r#"{{"source":"n{last}","sourceHandle":"o","target":"n0","targetHandle":"i"}}"#)
    };
    let (nodes, edges) = (list(MAX_NODES + 2, node), list(10, edge));
    let text = format!(r#"{{"name":"n","nodes":[{nodes}],"edges":[{edges}]}}"#);
    let reading = Workflow::read(&text);
    assert!(
        code(&reading, "file.too_many_nodes"),
        "{}",
        reading.problems
    );
    // The edges of those that were left out are not told about one by one.
    assert_eq!(reading.problems.list.len(), 1);
    let flow = reading.workflow.unwrap();
    assert_eq!((flow.nodes.len(), flow.edges.len()), (MAX_NODES, 8));
    assert_eq!(flow.to_text(), text);
}

#[test]
fn too_many_edges() {
    let edges = list(MAX_EDGES + 1, |_| "0".to_owned());
    let text = format!(r#"{{"name":"n","nodes":[{{"id":"a","type":"t"}}],"edges":[{edges}]}}"#);
    let reading = Workflow::read(&text);
    assert!(
        code(&reading, "file.too_many_edges"),
        "{}",
        reading.problems
    );
    // One for each that was looked at, and one for the others.
    assert_eq!(reading.problems.more, MAX_EDGES + 1 - MAX_PROBLEMS);
}

#[test]
fn a_problem_for_each_of_thousands() {
    type Item = fn(usize) -> String;
    let cases: [(&str, Item); 4] = [
        ("node.duplicate_id", |_| {
            r#"{"id":"same","type":"t"}"#.to_owned()
        }),
        ("file.wrong_type", |_| "1".to_owned()),
        ("node.no_id", |_| "{}".to_owned()),
        ("name.control_character", |n| {
            format!(r#"{{"id":"\u0001{n}"}}"#)
        }),
    ];
    for (wanted, item) in cases {
        let text = format!(r#"{{"name":"n","nodes":[{}]}}"#, list(30_000, item));
        let reading = Workflow::read(&text);
        assert!(code(&reading, wanted), "{wanted}: {}", reading.problems);
        assert_eq!(reading.problems.list.len(), MAX_PROBLEMS);
        assert!(reading.problems.more >= 29_000, "{wanted}");
    }
}

#[test]
fn edges_to_nowhere() {
    let nodes = list(1_000, |index| {
        format!(r#"{{"id":"node number {index}","type":"t"}}"#)
    });
    let edge = |index| {
        format!(
            r#"{{"source":"node numbr {index}","sourceHandle":"o","target":"x","targetHandle":"i"}}"#
        )
    };
    let text = format!(
        r#"{{"name":"n","nodes":[{nodes}],"edges":[{}]}}"#,
        list(20_000, edge)
    );
    let reading = Workflow::read(&text);
    assert!(code(&reading, "edge.unknown_node"));
    assert!(
        reading.problems.list[0]
            .message
            .contains("did you mean 'node number 0'?")
    );
}

#[test]
fn megabytes_in_names() {
    let long = "x".repeat(1 << 20);
    let text = format!(
        r#"{{"name":"{long}","id":"{long}","nodes":[{{"id":"{long}","type":"t"}},{{"id":"a","type":"{long}","inputValues":{{"{long}":1e999}},
        "inputConnectionOrders":{{"{long}":["{long}"]}}}}],"edges":[{{"id":"{long}","source":"{long}","target":"a"}},
        {{"id":"e","source":"a","sourceHandle":"{long}","target":"gone{long}"}}],"interfaceInputs":{{"{long}":{{"{long}":1,"{long}":2}}}}}}"#
    );
    let reading = Workflow::read(&text);
    assert!(reading.problems.has_errors());
    let told = reading.problems.to_string();
    assert!(told.len() < 50_000, "{}", told.len());
    assert_eq!(reading.workflow.unwrap().to_text(), text);
}

#[test]
fn nested_without_end() {
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
    let rows = [
        format!(r#"{{"name":"n","nodes":[],"x":{open}{close}}}"#),
        format!(r#"{{"name":"n","nodes":{open}{close}}}"#),
        format!(
            r#"{{"name":"n","nodes":[{{"id":"a","type":"t","configValues":{{"x":{open}{close}}}}}]}}"#
        ),
        format!(r#"{{"name":{open}{close},"nodes":[]}}"#),
    ];
    for text in rows {
        let reading = Workflow::read(&text);
        assert!(code(&reading, "file.too_deep"), "{}", reading.problems);
        assert_eq!(reading.workflow.unwrap().to_text(), text);
    }
    let reading = Workflow::read(&open);
    assert!(code(&reading, "file.not_json"), "{}", reading.problems);
}

#[test]
fn keys_repeated_a_hundred_thousand_times() {
    let keys = list(100_000, |_| r#""nodes":[]"#.to_owned());
    let text = format!(r#"{{"name":"n",{keys}}}"#);
    let reading = Workflow::read(&text);
    assert!(code(&reading, "file.repeated_key"));
    assert_eq!(reading.problems.more, 99_999 - MAX_PROBLEMS);
    let slots = list(100_000, |index| {
        format!(r#""k{}":{{"type":"STRING"}}"#, index % 7)
    });
    let text = format!(r#"{{"name":"n","nodes":[],"interfaceInputs":{{{slots}}}}}"#);
    let reading = Workflow::read(&text);
    assert!(code(&reading, "interface.too_many_slots"));
    assert_eq!(reading.workflow.unwrap().inputs.len(), 7);
}

#[test]
fn more_values_than_a_file_may_hold() {
    let text = format!(r#"{{"nodes":[{}0]}}"#, "0,".repeat(MAX_FILE_VALUES));
    let reading = Workflow::read(&text);
    assert!(
        code(&reading, "file.too_many_values"),
        "{}",
        reading.problems
    );
    assert!(reading.workflow.is_none());
}

#[test]
fn larger_than_a_file_may_be() {
    let reading = Workflow::read(&" ".repeat(MAX_WORKFLOW_BYTES + 1));
    assert!(code(&reading, "file.too_large"));
    assert!(reading.workflow.is_none());
}
