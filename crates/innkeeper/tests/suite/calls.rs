//! `innkeeper parse` on replies with calls in them: each dialect once, as a user would try it first. What each dialect
//! means in detail is tested in the protocol crate.

use serde_json::{Value, json};

use super::process::{Run, fed, innkeeper, run};

#[track_caller]
fn result(run: &Run) -> Value {
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&run.stdout).unwrap()
}

/// Protocol, tool and parameters of every call.
fn calls(result: &Value) -> Value {
    let blocks = result["blocks"].as_array().unwrap();
    let calls = blocks.iter().flat_map(|block| {
        let commands = block["commands"].as_array().unwrap();
        commands
            .iter()
            .map(|call| json!([block["protocol"], call["toolId"], call["params"]]))
    });
    calls.collect()
}

const TAM: &str =
    "Hi!\n<|[REQUEST_TOOL]|>\ncommand:»»»Rooms.Book«««\nguest:»»»Mei«««\n<|[END_TOOL]|>\nBye!";
const ACTION: &str = "Hi!\n<ACTION><Rooms.Book><guest>Mei</guest></Rooms.Book></ACTION>\nBye!";
const TOOL_CALL: &str =
    "Hi!\n<tool_call name=\"Rooms.Book\"><param name=\"guest\">Mei</param></tool_call>\nBye!";
const NATIVE: &str = r#"{"choices":[{"message":{"content":"Hi!","tool_calls":[{"id":"c1","type":"function",
    "function":{"name":"Rooms.Book","arguments":"{\"guest\":\"Mei\"}"}}]}}]}"#;

#[test]
fn auto_finds_every_dialect() {
    for (protocol, text) in [
        ("tam", TAM),
        ("action", ACTION),
        ("tool-call", TOOL_CALL),
        ("native", NATIVE),
    ] {
        let result = result(&run("parse", text.as_bytes()));
        let expected = json!([[protocol, "Rooms.Book", { "guest": "Mei" }]]);
        assert_eq!(calls(&result), expected, "{protocol}");
        assert_eq!(result["responseText"], "Hi!", "{protocol}");
    }
}

#[test]
fn a_chosen_dialect_leaves_the_others_alone() {
    for (own, text) in [("tam", TAM), ("action", ACTION), ("tool-call", TOOL_CALL)] {
        for chosen in ["tam", "action", "tool-call"] {
            let line = format!("parse --protocol {chosen}");
            let found = calls(&result(&run(&line, text.as_bytes())));
            let count = found.as_array().map(Vec::len);
            assert_eq!(count, Some(usize::from(own == chosen)), "{own} {chosen}");
        }
    }
}

#[test]
fn a_batch_may_mix_dialects() {
    let input: String = [TAM, ACTION, TOOL_CALL, NATIVE]
        .iter()
        .map(|text| format!("{}\n", json!(text)))
        .collect();
    let run = run("parse --jsonl", input.as_bytes());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let protocols: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["blocks"][0]["protocol"].clone())
        .collect();
    assert_eq!(protocols, ["tam", "action", "tool-call", "native"]);
}

#[test]
fn mistakes_of_the_model_are_in_the_result() {
    let result = result(&run("parse", b"<ACTION><a><b></a></ACTION>"));
    let error = result["errors"][0].as_str().unwrap();
    assert!(
        error.starts_with("Malformed XML in ACTION block"),
        "{error}"
    );
}

#[test]
fn the_example_of_make_run_is_read_without_complaint() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello.txt");
    let result = result(&fed(innkeeper(&["parse", example]), b""));
    assert_eq!(result["diagnostics"], json!([]));
    let tools: Vec<&Value> = result["blocks"][0]["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| &call["toolId"])
        .collect();
    assert_eq!(tools, ["Rooms.Book", "File.Append"]);
    assert_eq!(
        result["trailingText"],
        "Your key is on the hook by the stairs. Sleep well!"
    );
}
