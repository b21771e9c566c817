use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use innkeeper_protocol::{ErrorCode, Observation, Outcome, Spilled};
use serde_json::{Map, Value as Json, json};

use super::call::result;
use crate::nodes::testing_ports::{ScriptedBus, ScriptedTools, with_tools};
use crate::port::{BusEvent, Services};
use crate::testing::run_node_with;

type Answer = Result<Json, (ErrorCode, String)>;

fn tool(
    name: &str,
    answer: impl Fn(&Map<String, Json>) -> Answer + Send + Sync + 'static,
) -> Arc<ScriptedTools> {
    Arc::new(ScriptedTools::default().with(name, answer))
}

async fn run(
    tools: &Arc<ScriptedTools>,
    node: &str,
    config: Json,
    inputs: Json,
) -> Map<String, Json> {
    run_node_with(node, config, inputs, with_tools(tools))
        .await
        .unwrap()
}

#[test]
fn whatever_is_no_result_is_an_error_with_the_tools_code() {
    let of = |outcome| result(Observation::new("T", outcome));
    assert_eq!(result(Observation::success("T", 3)), Ok(json!(3)));
    let spilled = Some(Spilled {
        reference: "x.txt".into(),
        chars: 99,
    });
    for (outcome, code, permanent) in [
        (
            Outcome::Success {
                result: json!("a"),
                spilled,
            },
            "tool.result_too_long",
            true,
        ),
        (
            Outcome::Denied {
                reason: "no".into(),
            },
            "tool.approval_denied",
            true,
        ),
        (
            Outcome::Cancelled {
                reason: String::new(),
            },
            "tool.cancelled",
            true,
        ),
        (
            Outcome::OutcomeUnknown {
                message: "?".into(),
            },
            "tool.outcome_unknown",
            true,
        ),
        (
            Outcome::AsyncStarted {
                task_id: "t".into(),
            },
            "tool.in_background",
            true,
        ),
    ] {
        let error = of(outcome).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.permanent),
            (code, permanent),
            "{error}"
        );
    }
    for (code, permanent) in [
        (ErrorCode::ToolTimeout, false),
        (ErrorCode::ToolPolicyDenied, true),
    ] {
        let error = result(Observation::error("T", code, "it says why")).unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.permanent),
            (code.as_str(), permanent)
        );
        assert!(error.message.contains("it says why") && error.message.contains('T'));
    }
}

#[tokio::test]
async fn an_answer_of_a_host_is_taken_apart() {
    for (answer, body, text, ok) in [
        (
            json!({"status": 200, "headers": {"a": "b"}, "json": {"x": 1}}),
            json!({"x": 1}),
            "{\"x\":1}",
            true,
        ),
        (
            json!({"status": 404, "headers": {}, "text": "gone"}),
            json!("gone"),
            "gone",
            false,
        ),
        (
            json!({"status": 200, "headers": {}, "base64": "AA=="}),
            json!("AA=="),
            "AA==",
            true,
        ),
    ] {
        let tools = tool("Http.Request", move |_| Ok(answer.clone()));
        let inputs =
            json!({"url": "http://h", "method": "POST", "body": {"a": 1}, "query": {"q": "x"}});
        let outputs = run(&tools, "core:HttpRequest", json!({}), inputs).await;
        assert_eq!(
            (&outputs["body"], &outputs["text"], &outputs["ok"]),
            (&body, &json!(text), &json!(ok))
        );
        let called = tools.called.lock().unwrap();
        assert_eq!(
            json!(called[0].1),
            json!({"url": "http://h", "method": "POST", "query": {"q": "x"}, "body": {"a": 1}})
        );
    }
}

#[tokio::test]
async fn a_status_can_be_an_error() {
    for (status, permanent) in [(404, true), (429, false), (503, false)] {
        let tools = tool("Http.Request", move |_| Ok(json!({"status": status})));
        let config = json!({"failOnStatus": true});
        let inputs = json!({"url": "http://h"});
        let error = run_node_with("core:HttpRequest", config, inputs, with_tools(&tools))
            .await
            .unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.permanent),
            ("http.status", permanent)
        );
    }
}

#[tokio::test]
async fn long_files_are_read_part_by_part() {
    let pages = |arguments: &Map<String, Json>| {
        Ok(match arguments["start_line"].as_u64().unwrap() {
            1 => {
                json!({"path": "user://f", "content": "one\n", "nextLine": 2, "totalLines": 3, "truncated": true, "sha256": "s"})
            }
            2 => {
                json!({"path": "user://f", "content": "two\nthree", "totalLines": 3, "truncated": false, "sha256": "s"})
            }
            other => panic!("line {other}"),
        })
    };
    let tools = tool("File.Read", pages);
    let outputs = run(&tools, "core:FileRead", json!({}), json!({"path": "f"})).await;
    assert_eq!(
        (&outputs["content"], &outputs["lines"]),
        (&json!("one\ntwo\nthree"), &json!(3))
    );
    assert_eq!(
        (&outputs["path"], &outputs["sha256"]),
        (&json!("user://f"), &json!("s"))
    );
    let tools = tool("File.Read", pages);
    let outputs = run(
        &tools,
        "core:FileRead",
        json!({}),
        json!({"path": "f", "line_count": 1}),
    )
    .await;
    assert_eq!(outputs["content"], "one\n");
    assert_eq!(tools.called.lock().unwrap()[0].1["line_count"], 1);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_whole_is_an_error() {
    let changing = Mutex::new(0);
    for (tools, path, code) in [
        (
            tool("File.Read", |_| {
                Err((ErrorCode::WorkspaceFileNotFound, "none".into()))
            }),
            "f",
            "workspace.file_not_found",
        ),
        (
            tool("File.Read", |_| {
                Ok(json!({"content": "x", "truncated": true, "note": "line 1 is long"}))
            }),
            "f",
            "file.line_too_long",
        ),
        (
            // In the middle of the file: what follows is not the rest of the line.
            tool("File.Read", |_| {
                Ok(
                    json!({"content": "x", "truncated": true, "note": "line 1 is long", "nextLine": 2}),
                )
            }),
            "f",
            "file.line_too_long",
        ),
        (
            tool("File.Read", |_| {
                Ok(json!({"content": "x".repeat(17 << 20), "truncated": false}))
            }),
            "f",
            "file.too_large",
        ),
        (
            tool("File.Read", move |arguments| {
                *changing.lock().unwrap() += 1;
                let next = arguments["start_line"].as_u64().unwrap() + 1;
                Ok(
                    json!({"content": "x", "nextLine": next, "truncated": true, "sha256": changing.lock().unwrap().to_string()}),
                )
            }),
            "f",
            "file.changed",
        ),
        (tool("File.Read", |_| Ok(json!({}))), " ", "file.no_path"),
        (
            tool("File.Read", |arguments| {
                let next = arguments["start_line"].as_u64().unwrap() + 1;
                Ok(json!({"content": "", "nextLine": next, "truncated": true}))
            }),
            "f",
            "file.too_large",
        ),
    ] {
        let inputs = json!({"path": path});
        let error = run_node_with("core:FileRead", json!({}), inputs, with_tools(&tools))
            .await
            .unwrap_err();
        assert_eq!(error.code, code, "{error}");
    }
}

#[tokio::test]
async fn files_are_written_and_added_to() {
    let files = Arc::new(Mutex::new(Map::new()));
    let tools = Arc::new(ScriptedTools::default().with_files(&files));
    for (mode, content, wanted) in [
        ("overwrite", "a", "a"),
        ("append", "b", "ab"),
        ("overwrite", "c", "c"),
    ] {
        let inputs = json!({"path": "f.md", "content": content, "mode": mode});
        let outputs = run(&tools, "core:FileWrite", json!({}), inputs).await;
        assert_eq!(outputs["path"], "f.md");
        assert_eq!(files.lock().unwrap()["f.md"], wanted);
    }
    let inputs = json!({"path": "f.md", "mode": "erase"});
    let error = run_node_with("core:FileWrite", json!({}), inputs, with_tools(&tools)).await;
    assert_eq!(error.unwrap_err().code, "file.mode");
}

#[tokio::test]
async fn code_gets_its_inputs_and_gives_its_result() {
    for (language, asked) in [("python", "python"), ("javascript", "node")] {
        let tools = tool("CodeInterpreter:execute", |_| {
            let told = json!({"result": [1, "x"], "stdout": "hi\n", "error": ""});
            Ok(json!({"exit": 0, "stdout": format!("{told}\n"), "stderr": "", "files": []}))
        });
        let inputs =
            json!({"code": "result = a", "language": language, "a": {"b": 2}, "timeout": 3});
        let outputs = run(&tools, "core:Code", json!({}), inputs).await;
        assert_eq!(outputs["result"], json!([1, "x"]));
        assert_eq!(
            (&outputs["stdout"], &outputs["error"]),
            (&json!("hi\n"), &json!(""))
        );
        let called = tools.called.lock().unwrap();
        assert_eq!(
            (&called[0].1["language"], &called[0].1["timeout"]),
            (&json!(asked), &json!(3))
        );
        let stdin: Json = serde_json::from_str(called[0].1["stdin"].as_str().unwrap()).unwrap();
        assert_eq!(stdin["inputs"], json!({"a": {"b": 2}}));
        assert_eq!(stdin["code"], "result = a");
    }
}

#[tokio::test]
async fn code_that_does_not_end_well_says_so() {
    let tools = tool("CodeInterpreter:execute", |_| {
        Ok(
            json!({"exit": null, "limit": "wall", "note": "stopped after 3 s", "stdout": "half", "stderr": "trace", "files": []}),
        )
    });
    let outputs = run(&tools, "core:Code", json!({}), json!({"code": "x"})).await;
    assert_eq!(
        (&outputs["stdout"], &outputs["error"]),
        (&json!("half"), &json!("stopped after 3 s\ntrace"))
    );
    assert!(outputs.get("result").is_none_or(Json::is_null));
    let tools = tool("CodeInterpreter:execute", |_| {
        Err((ErrorCode::ToolUnavailable, "no sandbox".into()))
    });
    let inputs = json!({"code": "x"});
    let error = run_node_with("core:Code", json!({}), inputs, with_tools(&tools))
        .await
        .unwrap_err();
    assert_eq!(error.code, "tool.unavailable");
    let inputs = json!({"code": "x", "language": "perl"});
    let error = run_node_with("core:Code", json!({}), inputs, with_tools(&tools))
        .await
        .unwrap_err();
    assert_eq!(error.code, "code.language");
}

#[tokio::test]
async fn a_long_result_of_code_comes_through_a_file() {
    let files = Arc::new(Mutex::new(Map::new()));
    files.lock().unwrap().insert(
        "user://kept".into(),
        json!({"result": "long", "stdout": "", "error": ""})
            .to_string()
            .into(),
    );
    let tools = ScriptedTools::default().with_files(&files).with("CodeInterpreter:execute", |_| {
        Ok(json!({"exit": 0, "stdout": "{\"file\": \"code-result.json\"}", "files": [{"name": "code-result.json", "uri": "user://kept"}]}))
    });
    let outputs = run(
        &Arc::new(tools),
        "core:Code",
        json!({}),
        json!({"code": "x"}),
    )
    .await;
    assert_eq!(outputs["result"], "long");
    let tools = tool("CodeInterpreter:execute", |_| {
        Ok(json!({"exit": 0, "stdout": "{\"file\": \"code-result.json\"}", "files": []}))
    });
    let error = run_node_with(
        "core:Code",
        json!({}),
        json!({"code": "x"}),
        with_tools(&tools),
    )
    .await;
    assert_eq!(error.unwrap_err().code, "code.result_lost");
}

#[tokio::test]
async fn no_result_of_code_is_lost_without_a_word() {
    let told = json!({"result": "one long text", "stdout": "", "error": ""}).to_string();
    let whole = STANDARD.encode(&told);
    let cut = json!({"content": "{", "truncated": true, "note": "line 2 is cut", "nextLine": 3});
    let in_file = r#"{"file": "code-result.json"}"#;
    type Read = Box<dyn Fn(bool) -> Answer + Send + Sync>;
    let rows: [(&str, Read, Result<&str, &str>); 6] = [
        (
            in_file,
            Box::new(move |as_base64| match as_base64 {
                true => Ok(json!({ "content": whole })),
                false => Ok(cut.clone()),
            }),
            Ok("one long text"),
        ),
        (
            in_file,
            Box::new(|as_base64| match as_base64 {
                true => Err((ErrorCode::WorkspaceReadTooLarge, "too large".into())),
                false => Ok(json!({"content": "{", "truncated": true})),
            }),
            Err("code.result_lost"),
        ),
        (
            in_file,
            Box::new(|_| Ok(json!({"content": "no JSON"}))),
            Err("code.result_lost"),
        ),
        (
            in_file,
            Box::new(|_| Ok(json!({"content": "7"}))),
            Err("code.result_lost"),
        ),
        (
            in_file,
            Box::new(|_| Err((ErrorCode::ToolPolicyDenied, "no".into()))),
            Err("tool.policy_denied"),
        ),
        (
            "a program wrote here\n{}",
            Box::new(|_| Ok(json!({}))),
            Err("code.result_lost"),
        ),
    ];
    for (stdout, read, expected) in rows {
        let tools = tool("CodeInterpreter:execute", move |_| {
            Ok(
                json!({"exit": 0, "stdout": stdout, "files": [{"name": "code-result.json", "uri": "user://kept"}]}),
            )
        });
        let tools = Arc::into_inner(tools)
            .unwrap()
            .with("File.Read", move |arguments| {
                read(arguments.get("encoding") == Some(&json!("base64")))
            });
        let tools = Arc::new(tools);
        let inputs = json!({"code": "x"});
        let ended = run_node_with("core:Code", json!({}), inputs, with_tools(&tools)).await;
        let ended = ended.map(|outputs| outputs["result"].as_str().unwrap().to_owned());
        let ended = ended.map_err(|error| error.code);
        let ended = ended.as_deref().map_err(String::as_str);
        assert_eq!(ended, expected, "{stdout}");
    }
}

fn with_bus(bus: &Arc<ScriptedBus>) -> Services {
    Services {
        events: Some(bus.clone()),
        ..Services::default()
    }
}

#[tokio::test]
async fn events_are_published_on_the_bus_or_by_the_tool() {
    let bus = Arc::new(ScriptedBus::default());
    let inputs = json!({"type": "npc.greets", "payload": {"a": 1}});
    let outputs = run_node_with(
        "core:PublishEvent",
        json!({}),
        inputs.clone(),
        with_bus(&bus),
    )
    .await
    .unwrap();
    assert_eq!(outputs["id"], "event-1");
    assert_eq!(bus.published.lock().unwrap()[0].kind, "npc.greets");
    let tools = tool("event:Publish", |_| Ok(json!({"id": "by-tool"})));
    let outputs = run(&tools, "core:PublishEvent", json!({}), inputs).await;
    assert_eq!(outputs["id"], "by-tool");
    assert_eq!(tools.called.lock().unwrap()[0].1["type"], "npc.greets");
    let error = run_node_with(
        "core:PublishEvent",
        json!({}),
        json!({"type": " "}),
        with_bus(&bus),
    )
    .await;
    assert_eq!(error.unwrap_err().code, "event.no_type");
}

#[tokio::test(start_paused = true)]
async fn listening_ends_by_number_or_time() {
    let event = |number: u64| BusEvent {
        kind: "a.b".to_owned(),
        payload: json!(number),
    };
    let bus = Arc::new(ScriptedBus {
        events: vec![event(1), event(2), event(3)],
        ..ScriptedBus::default()
    });
    for (inputs, received, timed_out) in [
        (json!({"names": ["a.*", "c"], "count": 2}), 2, false),
        (
            json!({"names": "a.*, c", "count": 5, "timeout_ms": 1000}),
            3,
            true,
        ),
        (
            json!({"names": "a.*,c", "count": 0, "timeout_ms": 1000}),
            3,
            true,
        ),
    ] {
        let outputs = run_node_with(
            "core:SubscribeEvent",
            json!({}),
            inputs.clone(),
            with_bus(&bus),
        )
        .await
        .unwrap();
        assert_eq!(
            (&outputs["received"], &outputs["timed_out"]),
            (&json!(received), &json!(timed_out)),
            "{inputs}"
        );
        assert_eq!(outputs["events"].as_array().unwrap().len(), received);
        assert_eq!(outputs["all"].as_array().unwrap().len(), received);
        assert_eq!(outputs["last"], json!({"type": "a.b", "payload": received}));
        assert_eq!(*bus.names.lock().unwrap(), ["a.*", "c"]);
    }
    let error = run_node_with(
        "core:SubscribeEvent",
        json!({}),
        json!({"names": []}),
        with_bus(&bus),
    )
    .await;
    assert_eq!(error.unwrap_err().code, "event.names");
}
