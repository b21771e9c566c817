use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::nodes::testing_ports::{ScriptedTools, with_tools};
use crate::testing::run_node_with;
use innkeeper_protocol::{ErrorCode, parse};

use super::*;

fn tools() -> Arc<ScriptedTools> {
    let tools = ScriptedTools::default()
        .with("Good", |arguments| {
            Ok(json!({"said": arguments.get("text"), "list": [1, 2]}))
        })
        .with("Bad", |_| Err((ErrorCode::ToolTimeout, "too slow".into())));
    Arc::new(tools)
}

async fn run(tools: &Arc<ScriptedTools>, inputs: Json) -> serde_json::Map<String, Json> {
    run_node_with("core:ExecuteTool", json!({}), inputs, with_tools(tools))
        .await
        .unwrap()
}

fn call(tool: &str, step: u32, block: u64, on_error: &str) -> Json {
    json!({"tool": tool, "parameters": {"text": "x"}, "step": step, "block": block, "onError": on_error})
}

#[tokio::test]
async fn what_fails_stops_its_block_unless_the_call_says_otherwise() {
    for (calls, ran, success) in [
        (json!([]), vec![], true),
        (json!(call("Good", 1, 0, "stop")), vec!["Good"], true),
        (
            json!([call("Bad", 1, 0, "stop"), call("Good", 2, 0, "stop")]),
            vec!["Bad"],
            false,
        ),
        (
            json!([call("Bad", 1, 0, "continue"), call("Good", 2, 0, "stop")]),
            vec!["Bad", "Good"],
            false,
        ),
        (
            json!([call("Bad", 1, 0, "stop"), call("Good", 1, 1, "stop")]),
            vec!["Bad", "Good"],
            false,
        ),
        (
            json!(json!([call("Good", 1, 0, "stop")]).to_string()),
            vec!["Good"],
            true,
        ),
    ] {
        let tools = tools();
        let outputs = run(&tools, json!({"tool_call_requests": calls})).await;
        assert_eq!(tools.names_called(), ran, "{calls}");
        assert_eq!(outputs["success"], success, "{calls}");
    }
}

#[tokio::test]
async fn results_and_observations_say_what_came_of_each_call() {
    let calls = json!([call("Bad", 1, 0, "stop"), call("Good", 2, 0, "stop")]);
    let outputs = run(
        &tools(),
        json!({"tool_call_requests": calls, "remarks": "Note first"}),
    )
    .await;
    let results = outputs["results"].as_array().unwrap();
    assert_eq!(results[0]["error"]["code"], "tool.timeout");
    assert_eq!(results[0]["success"], false);
    assert_eq!(results[1]["error"]["code"], "tool.skipped");
    assert_eq!(results[1]["step"], 2);
    let observation = outputs["observation"].as_str().unwrap();
    let lines: Vec<_> = observation.lines().collect();
    assert_eq!(lines[0], "Note first");
    assert!(
        lines[1].contains("too slow") && lines[2].contains("step 1 failed"),
        "{observation}"
    );
    // Pieces as they came, then the observations.
    let stream = outputs["stream"].as_str().unwrap();
    assert!(stream.starts_with("Bad is at work"), "{stream}");
    assert!(stream.ends_with(lines[2]), "{stream}");
}

#[tokio::test]
async fn a_tool_that_was_not_offered_is_not_called() {
    let tools = tools();
    let given =
        json!({"tool_call_requests": call("Good", 1, 0, "stop"), "tools": [{"name": "Goods"}]});
    let outputs = run(&tools, given).await;
    assert!(tools.names_called().is_empty());
    let observation = outputs["observation"].as_str().unwrap();
    assert!(observation.contains("Goods"), "{observation}");
    assert_eq!(outputs["results"][0]["error"]["code"], "tool.unknown");
}

#[tokio::test]
async fn later_steps_refer_to_earlier_ones() {
    let reply = "<|[REQUEST_TOOL]|>\nrequest_id:»»»r9«««\ncommand_1:»»»Good«««\ntext_1:»»»one«««\ncommand_2:»»»Good«««\ntext_2:»»»@{step_1.result.said} @{Step1.result.list[1]} @{text_1} @{request_id} @{who} @{step_9.result}«««\ncommand_3:»»»Good«««\ntext_3:»»»@{step_1.result.nothing}«««\n<|[END_TOOL]|>";
    let parsed = parse(reply);
    let calls = parsed.calls().cloned().map(|call| {
        let call = call.into_owned();
        super::Request { call, block: 0 }.to_json()
    });
    let tools = tools();
    let outputs = run(
        &tools,
        json!({"tool_call_requests": calls.collect::<Vec<_>>()}),
    )
    .await;
    let called = tools.called.lock().unwrap().clone();
    assert_eq!(called.len(), 2);
    assert_eq!(called[1].1["text"], "one 2 one r9 @{who} @{step_9.result}");
    assert_eq!(
        outputs["results"][2]["error"]["code"],
        "tool.reference_unresolved"
    );
}

#[tokio::test]
async fn what_is_no_call_and_too_many_of_them_are_errors() {
    let many: Vec<Json> = (0..=MAX_DECISION_CALLS)
        .map(|_| call("Good", 1, 0, "stop"))
        .collect();
    for (given, code) in [
        (json!("no json"), "tool_call.malformed"),
        (json!([{"parameters": {}}]), "tool_call.malformed"),
        (json!(many), "tool_call.too_many"),
    ] {
        let inputs = json!({"tool_call_requests": given});
        let error =
            run_node_with("core:ExecuteTool", json!({}), inputs, with_tools(&tools())).await;
        assert_eq!(error.unwrap_err().code, code);
    }
}

#[tokio::test]
async fn no_piece_of_a_long_result_is_lost() {
    let mut tools = ScriptedTools::default().with("Good", |_| Ok(json!("done")));
    tools.pieces = 5 * crate::limits::TOOL_PIECES;
    let expected: String = (0..tools.pieces)
        .map(|number| format!("<{number}>"))
        .collect();
    let tools = Arc::new(tools);
    let outputs = run(
        &tools,
        json!({"tool_call_requests": [call("Good", 1, 0, "stop")]}),
    )
    .await;
    let stream = outputs["stream"].as_str().unwrap();
    assert!(stream.contains(&expected), "{}", stream.len());
}
