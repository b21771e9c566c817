use std::sync::Arc;

use serde_json::{Value as Json, json};

use crate::nodes::testing_ports::{ScriptedTools, with_tools};
use crate::testing::{run_node, run_node_with};

fn tools() -> Arc<ScriptedTools> {
    let names = ["File.Read", "File.Write", "Http.Request", "工具.读取"];
    let tools = names.iter().fold(ScriptedTools::default(), |tools, name| {
        tools.with(name, |_| Ok(Json::Null))
    });
    Arc::new(tools)
}

fn names(list: &Json) -> Vec<String> {
    let tools = list.as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn tools_are_chosen_by_name() {
    for (config, inputs, wanted) in [
        (
            json!({}),
            json!({}),
            vec!["File.Read", "File.Write", "Http.Request", "工具.读取"],
        ),
        (
            json!({"allow": ["File.*"]}),
            json!({}),
            vec!["File.Read", "File.Write"],
        ),
        (
            json!({"allow": "File.*, Http.Request", "deny": ["file:w*"]}),
            json!({}),
            vec!["File.Read", "Http.Request"],
        ),
        (
            json!({"allow": ["File.*"]}),
            json!({"allow": ["Http.*"]}),
            vec!["Http.Request"],
        ),
        (json!({"allow": ["nothing"]}), json!({}), vec![]),
    ] {
        let outputs = run_node_with(
            "core:AvailableTools",
            config.clone(),
            inputs,
            with_tools(&tools()),
        )
        .await;
        let outputs = outputs.unwrap();
        assert_eq!(names(&outputs["tools"]), wanted, "{config}");
        let manifest = outputs["manifest"].as_str().unwrap();
        for name in &wanted {
            assert!(manifest.contains(name), "{manifest}");
        }
        let missing = if config["allow"][0] == "nothing" {
            json!(["nothing"])
        } else {
            json!([])
        };
        assert_eq!(outputs["missing"], missing);
    }
}

#[tokio::test]
async fn the_dialect_decides_who_is_told() {
    for (dialect, locale, mark, native) in [
        ("tam", "en", "REQUEST_TOOL", 0),
        ("action", "zh", "ACTION", 0),
        ("native", "en", "", 4),
    ] {
        let config = json!({"dialect": dialect, "locale": locale});
        let outputs = run_node_with(
            "core:AvailableTools",
            config,
            json!({}),
            with_tools(&tools()),
        )
        .await
        .unwrap();
        let manifest = outputs["manifest"].as_str().unwrap();
        assert!(
            manifest.contains(mark) && (native == 0 || manifest.is_empty()),
            "{manifest}"
        );
        assert_eq!(outputs["native_tools"].as_array().unwrap().len(), native);
        assert_eq!(outputs["tools"].as_array().unwrap().len(), 4);
        assert!(outputs["tools"][0]["parameters"].is_object());
    }
    for (config, code) in [
        (json!({"dialect": "smoke"}), "tools.dialect"),
        (json!({"locale": "xx"}), "tools.locale"),
        (json!({"allow": 3}), "tools.patterns"),
    ] {
        let error = run_node_with(
            "core:AvailableTools",
            config,
            json!({}),
            with_tools(&tools()),
        )
        .await;
        assert_eq!(error.unwrap_err().code, code);
    }
    let error = run_node("core:AvailableTools", json!({}), json!({}))
        .await
        .unwrap_err();
    assert_eq!(error.code, "service.missing");
}

async fn parsed(response: Json) -> serde_json::Map<String, Json> {
    let inputs =
        json!({"response": response, "tools": [{"name": "File.Read"}, {"name": "工具.读取"}]});
    run_node_with(
        "core:ParseLlmDecision",
        json!({}),
        inputs,
        with_tools(&tools()),
    )
    .await
    .unwrap()
}

fn native_call(name: &str) -> Json {
    json!([{"id": "c1", "type": "function", "function": {"name": name, "arguments": "{\"file_path\": \"a\"}"}}])
}

const TAM: &str =
    "Look. <|[REQUEST_TOOL]|>command:»»»File.Read«««file_path:»»»b«««<|[END_TOOL]|> done";

#[tokio::test]
async fn calls_in_the_text_come_first_and_native_ones_where_there_are_none() {
    let none: [(&str, &str); 0] = [];
    for (response, calls, is_final) in [
        (json!("Just words."), none.to_vec(), true),
        (json!({"text": "Just words."}), none.to_vec(), true),
        (json!(TAM), vec![("File.Read", "b")], false),
        (
            json!({"text": "", "tool_calls": native_call("File_Read")}),
            vec![("File.Read", "a")],
            false,
        ),
        (
            json!({"choices": [{"message": {"content": "hm", "tool_calls": native_call("File.Read")}}]}),
            vec![("File.Read", "a")],
            false,
        ),
        (
            json!({"text": TAM, "tool_calls": native_call("File_Read")}),
            vec![("File.Read", "b")],
            false,
        ),
    ] {
        let outputs = parsed(response.clone()).await;
        let requests = outputs["tool_call_requests"].as_array().unwrap();
        let found: Vec<_> = requests
            .iter()
            .map(|one| {
                (
                    one["tool"].as_str().unwrap(),
                    one["parameters"]["file_path"].as_str().unwrap(),
                )
            })
            .collect();
        assert_eq!(found, calls, "{response}");
        assert_eq!(outputs["has_calls"], !calls.is_empty(), "{response}");
        assert_eq!(outputs["is_final"], is_final, "{response}");
    }
}

#[tokio::test]
async fn words_calls_and_warnings_are_told_apart() {
    let outputs = parsed(json!({"text": TAM, "tool_calls": native_call("File_Read")})).await;
    assert_eq!(outputs["llm_text_output"], TAM);
    assert_eq!(outputs["response_text"], "Look.");
    assert_eq!(outputs["warnings"][0]["code"], "native_calls_ignored");
    assert_eq!(
        outputs["message"],
        json!({"role": "assistant", "content": TAM})
    );
    let outputs = parsed(json!({"text": "hm", "tool_calls": native_call("File_Read")})).await;
    assert_eq!(outputs["message"]["tool_calls"], native_call("File_Read"));
    assert_eq!(outputs["tool_call_requests"][0]["callId"], "c1");
}

#[tokio::test]
async fn a_call_that_cannot_be_read_is_told_and_is_no_reply() {
    let broken_native =
        json!([{"id": "c1", "type": "function", "function": {"name": "T", "arguments": "{oops"}}]);
    for response in [
        json!("<|[REQUEST_TOOL]|>file_path:»»»b«««<|[END_TOOL]|>"),
        json!({"text": "", "tool_calls": broken_native}),
    ] {
        let outputs = parsed(response.clone()).await;
        assert_eq!(outputs["is_final"], false, "{response}");
        assert_eq!(outputs["has_calls"], false, "{response}");
        let remarks = outputs["remarks"].as_str().unwrap();
        assert!(remarks.starts_with("Observation: Error"), "{remarks}");
        assert!(outputs["message"].get("tool_calls").is_none());
    }
}
