use std::sync::Arc;

use innkeeper_protocol::Protocol;
use serde_json::{Map, Value as Json, json};

use crate::nodes::testing_ports::{ScriptedModel, Turn, with_model};
use crate::stream::{Chunk, ChunkKind};
use crate::testing::{run_node, run_node_with};

const HELLO: &str = r#"[{"role":"user","content":"Hello"}]"#;

fn reasoning(text: &str) -> Chunk {
    let mut chunk = Chunk::new(ChunkKind::Custom, text);
    chunk.extra = Some(Arc::new(Map::from_iter([(
        "role".to_owned(),
        json!("reasoning"),
    )])));
    chunk
}

async fn ask(model: &Arc<ScriptedModel>, node: &str, inputs: Json) -> Map<String, Json> {
    run_node_with(node, json!({}), inputs, with_model(model))
        .await
        .unwrap()
}

#[tokio::test]
async fn batch_outputs_come_in_both_modes() {
    for node in ["core:LlmApiRequest", "core:GenericLlmRequest"] {
        for stream in [true, false] {
            let model = ScriptedModel::saying(&["Good morning to you"]);
            let inputs = json!({"messages": HELLO, "stream": stream});
            let outputs = ask(&model, node, inputs).await;
            assert_eq!(outputs["responseText"], "Good morning to you");
            assert_eq!(outputs["stream_output"], "Good morning to you");
            assert_eq!(outputs["usage"], json!({"total_tokens": 3}));
            let response = &outputs["response"];
            assert_eq!(response["text"], "Good morning to you");
            assert_eq!(response["finish_reason"], "stop");
            assert_eq!(
                response["choices"][0]["message"]["content"],
                "Good morning to you"
            );
            assert_eq!(response["usage"]["total_tokens"], 3);
        }
    }
}

#[tokio::test]
async fn what_is_asked_is_what_the_inputs_say() {
    let message = json!([{"role": "user", "content": "Hello"}]);
    for (node, inputs, parameters) in [
        ("core:LlmApiRequest", json!({"messages": HELLO}), json!({})),
        (
            "core:LlmApiRequest",
            json!({"messages": message, "temperature": 0.5, "seed": 7}),
            json!({"temperature": 0.5, "seed": 7}),
        ),
        (
            "core:LlmApiRequest",
            json!({"messages": "Hello", "temperature": 0.5, "parameters": {"temperature": 1, "stop": ["x"]}}),
            json!({"temperature": 1, "stop": ["x"]}),
        ),
        (
            "core:GenericLlmRequest",
            json!({"messages": HELLO}),
            json!({"temperature": 0.7, "max_tokens": 2048, "top_p": 1.0}),
        ),
        (
            "core:GenericLlmRequest",
            json!({"messages": message, "seed": 5, "parameters": "{\"top_p\": 0.1}"}),
            json!({"temperature": 0.7, "max_tokens": 2048, "top_p": 0.1, "seed": 5}),
        ),
    ] {
        let model = ScriptedModel::saying(&["x"]);
        ask(&model, node, inputs.clone()).await;
        let asked = model.asked(0);
        assert_eq!(json!(asked.messages), message, "{inputs}");
        assert_eq!(json!(asked.parameters), parameters, "{inputs}");
    }
}

#[tokio::test]
async fn a_grammar_is_asked_for_with_the_tools_of_the_prompt() {
    let tool = json!({"name": "one", "description": "d", "parameters": {"type": "object"}});
    let rows = [
        (json!({}), None),
        (json!({"grammar": "off"}), None),
        (json!({"grammar": "auto"}), Some((Protocol::Tam, false))),
        (
            json!({"grammar": "on", "dialect": "action"}),
            Some((Protocol::Action, true)),
        ),
    ];
    for (mut inputs, expected) in rows {
        inputs["messages"] = json!(HELLO);
        inputs["told_tools"] = json!([tool]);
        let model = ScriptedModel::saying(&["x"]);
        ask(&model, "core:LlmApiRequest", inputs.clone()).await;
        let asked = model.asked(0);
        assert_eq!(asked.tools, [], "{inputs}");
        assert_eq!(asked.told_tools.len(), 1, "{inputs}");
        let held = asked
            .grammar
            .as_ref()
            .map(|held| (held.dialect, held.required));
        assert_eq!(held, expected, "{inputs}");
        if let Some(held) = asked.grammar {
            assert_eq!(held.tools[0].id.as_str(), "one");
        }
    }
    for wrong in [
        json!({"grammar": "maybe"}),
        json!({"grammar": "on", "dialect": "x"}),
    ] {
        let mut inputs = wrong.clone();
        inputs["messages"] = json!(HELLO);
        let model = ScriptedModel::saying(&["x"]);
        let ran = run_node_with("core:LlmApiRequest", json!({}), inputs, with_model(&model)).await;
        assert!(ran.is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn native_calls_are_put_together_and_reasoning_stays_apart() {
    let piece = |json: Json| Chunk::new(ChunkKind::ToolCall, json);
    let model = ScriptedModel::new([Turn::Chunks(vec![
        reasoning("hm, "),
        Chunk::text("Wait."),
        piece(json!({"index": 1, "id": "b", "name": "two"})),
        piece(json!({"index": 0, "id": "a", "name": "one", "arguments": "{\"x\""})),
        piece(json!({"index": 0, "arguments": ":1}"})),
        reasoning("yes"),
    ])]);
    let inputs = json!({"messages": HELLO, "tools": [{"name": "one", "description": "d", "parameters": {"type": "object"}}]});
    let outputs = ask(&model, "core:LlmApiRequest", inputs).await;
    assert_eq!(
        outputs["tool_calls"][0]["function"],
        json!({"name": "one", "arguments": "{\"x\":1}"})
    );
    assert_eq!(
        outputs["tool_calls"][1]["function"],
        json!({"name": "two", "arguments": "{}"})
    );
    assert_eq!(outputs["responseText"], "Wait.");
    // The next turn begins on a line of its own.
    assert_eq!(outputs["stream_output"], "Wait.\n\n");
    assert_eq!(outputs["reasoning_stream"], "hm, yes");
    assert_eq!(outputs["response"]["reasoning"], "hm, yes");
    let tools = model.asked(0).tools;
    assert_eq!(
        (tools[0].id.as_str(), tools[0].description.as_str()),
        ("one", "d")
    );
}

#[tokio::test]
async fn words_before_a_native_call_end_with_a_blank_line() {
    for (said, streamed) in [
        ("", ""),
        ("Wait.", "Wait.\n\n"),
        ("Wait.\n", "Wait.\n\n"),
        ("Wait.\n\n", "Wait.\n\n"),
    ] {
        for stream in [true, false] {
            let call = Chunk::new(ChunkKind::ToolCall, json!({"index": 0, "name": "one"}));
            let model =
                ScriptedModel::new([Turn::Chunks(vec![Chunk::text(said), call.clone(), call])]);
            let inputs = json!({"messages": HELLO, "stream": stream});
            let outputs = ask(&model, "core:LlmApiRequest", inputs).await;
            assert_eq!(outputs["stream_output"], streamed, "{stream}");
            assert_eq!(outputs["responseText"], said);
        }
    }
}

#[tokio::test]
async fn a_response_says_who_answered_and_what_it_cost() {
    let mut named = Chunk::new(ChunkKind::Custom, "real-name");
    named.extra = Some(Arc::new(Map::from_iter([(
        "role".to_owned(),
        json!(crate::port::MODEL_ROLE),
    )])));
    let usage = json!({"prompt_tokens": 2, "cost": 0.5});
    let paid = Chunk::new(ChunkKind::Usage, usage.clone());
    let model = ScriptedModel::new([
        Turn::Chunks(vec![named, Chunk::text("Hi"), paid]),
        Turn::Chunks(vec![Chunk::text("Hi")]),
    ]);
    let inputs = json!({"messages": HELLO, "model": "asked"});
    let outputs = ask(&model, "core:LlmApiRequest", inputs.clone()).await;
    let response = &outputs["response"];
    assert_eq!(response["model"], "real-name");
    assert_eq!(response["cost"], 0.5);
    assert_eq!(response["usage"], usage);
    // Where nobody says, it is the one that was asked.
    let outputs = ask(&model, "core:LlmApiRequest", inputs).await;
    assert_eq!(outputs["response"]["model"], "asked");
    assert_eq!(outputs["response"].get("cost"), None);
}

#[tokio::test]
async fn what_the_provider_wants_back_stays_with_the_message() {
    let parts = json!([{"type": "text", "text": "Hi"}, {"type": "opaque", "provider": "p", "value": {"s": 1}}]);
    let mut chunk = Chunk::new(ChunkKind::Custom, parts.clone());
    chunk.extra = Some(Arc::new(Map::from_iter([(
        "role".to_owned(),
        json!(crate::port::PARTS_ROLE),
    )])));
    let turn = || Turn::Chunks(vec![Chunk::text("Hi"), chunk.clone()]);
    let model = ScriptedModel::new([turn(), turn()]);
    let outputs = ask(&model, "core:LlmApiRequest", json!({"messages": HELLO})).await;
    let message = &outputs["response"]["choices"][0]["message"];
    assert_eq!(message["innkeeper_parts"], parts);
    assert_eq!(outputs["stream_output"], "Hi");
    let decided = ask(
        &model,
        "core:ParseLlmDecision",
        json!({"response": outputs["response"]}),
    )
    .await;
    assert_eq!(&decided["message"], message);
    let outputs = ask(&model, "core:OpenAIChat", json!({"user_input": "u"})).await;
    let list: Json = serde_json::from_str(outputs["history"].as_str().unwrap()).unwrap();
    assert_eq!(&list[1], message);
}

#[tokio::test]
async fn what_cannot_be_asked_says_why() {
    for (inputs, code) in [
        (json!({"messages": "[]"}), "llm.no_messages"),
        (json!({"messages": [{"content": "x"}]}), "llm.message"),
        (json!({"messages": HELLO, "parameters": 3}), "llm.object"),
        (
            json!({"messages": HELLO, "tools": [{"description": "x"}]}),
            "tools.list",
        ),
    ] {
        let model = ScriptedModel::saying(&["x"]);
        let error = run_node_with(
            "core:LlmApiRequest",
            json!({}),
            inputs.clone(),
            with_model(&model),
        )
        .await;
        assert_eq!(error.unwrap_err().code, code, "{inputs}");
        assert!(model.asked.lock().unwrap().is_empty());
    }
    let chunk = Chunk::new(ChunkKind::Error, json!({"message": "over capacity"}));
    let model = ScriptedModel::new([Turn::Chunks(vec![Chunk::text("a"), chunk])]);
    let inputs = json!({"messages": HELLO});
    let error = run_node_with("core:LlmApiRequest", json!({}), inputs, with_model(&model))
        .await
        .unwrap_err();
    assert!(
        error.message.contains("over capacity") && !error.permanent,
        "{error}"
    );
    let error = run_node("core:LlmApiRequest", json!({}), json!({"messages": HELLO}))
        .await
        .unwrap_err();
    assert_eq!(error.code, "service.missing");
}

#[tokio::test]
async fn a_key_never_travels() {
    for (inputs, wanted) in [
        (
            json!({}),
            json!({"base_url": "", "secret": "OPENAI_API_KEY", "use_env_vars": true}),
        ),
        (
            json!({"use_env_vars": false, "base_url": "https://host.example", "api_key": "MY_KEY"}),
            json!({"base_url": "https://host.example/v1", "secret": "MY_KEY", "use_env_vars": false}),
        ),
        (
            json!({"use_env_vars": false, "base_url": "http://localhost:1/api/", "api_key": ""}),
            json!({"base_url": "http://localhost:1/api", "secret": "", "use_env_vars": false}),
        ),
    ] {
        let outputs = run_node("core:APISettings", json!({}), inputs)
            .await
            .unwrap();
        assert_eq!(outputs["api_settings"], wanted);
    }
    for key in ["sk-abcdef", "a key with blanks", &"x".repeat(65)] {
        let inputs = json!({"use_env_vars": false, "api_key": key});
        let error = run_node("core:APISettings", json!({}), inputs)
            .await
            .unwrap_err();
        assert_eq!(error.code, "llm.key_in_workflow");
        assert!(!error.message.contains(key));
    }
}

#[tokio::test]
async fn the_older_nodes_ask_through_the_same_door() {
    let model = ScriptedModel::saying(&["Hi.", "Hi again."]);
    let history = json!([{"role": "user", "content": "before"}]);
    let inputs = json!({"prompt": "p", "system_prompt": "S", "history": history, "image": "data:image/png;base64,AA",
        "model": "m", "api_settings": {"base_url": "u", "secret": "K"}, "stream": true});
    let outputs = ask(&model, "core:OpenAI", inputs).await;
    assert_eq!(
        (&outputs["response"], &outputs["stream_output"]),
        (&json!("Hi."), &json!("Hi."))
    );
    let asked = model.asked(0);
    assert_eq!(asked.model, "m");
    assert!(!asked.parameters.contains_key("api_settings"));
    assert_eq!(asked.messages[0]["role"], "system");
    assert_eq!(
        asked.messages[2]["content"][1]["image_url"]["url"],
        "data:image/png;base64,AA"
    );

    let inputs = json!({"user_input": "u", "external_history": history});
    let outputs = ask(&model, "core:OpenAIChat", inputs).await;
    assert_eq!(outputs["current_output"], "Hi again.");
    assert_eq!(
        outputs["full_conversation"],
        "user: before\n\nuser: u\n\nassistant: Hi again."
    );
    let list: Json = serde_json::from_str(outputs["history"].as_str().unwrap()).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 3);

    let model = ScriptedModel::saying(&["x"]);
    let inputs = json!({"user_input": "u", "external_history": history, "clear_history": true});
    ask(&model, "core:OpenAIChat", inputs).await;
    assert_eq!(model.asked(0).messages.len(), 1);

    let settings =
        json!({"messages": "x", "user_input": "u", "api_settings": {"api_key": "sk-secret"}});
    let error = run_node_with("core:OpenAIChat", json!({}), settings, with_model(&model)).await;
    assert!(error.is_err());
}
