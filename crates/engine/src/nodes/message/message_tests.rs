use serde_json::{Value as Json, json};

use crate::testing::run_node;

async fn run(name: &str, output: &str, inputs: Json) -> Json {
    let out = run_node(name, json!({}), inputs).await.unwrap();
    match &out[output] {
        Json::String(text) => serde_json::from_str(text).unwrap(),
        other => other.clone(),
    }
}

#[tokio::test]
async fn one_message() {
    for (inputs, expected) in [
        (json!({}), json!([])),
        (json!({"role": "system"}), json!([])),
        (
            json!({"content": "hi"}),
            json!([{"role": "user", "content": "hi"}]),
        ),
        (
            json!({"role": "assistant", "content": "\"q\"\n"}),
            json!([{"role": "assistant", "content": "\"q\"\n"}]),
        ),
    ] {
        let found = run("core:CreateMessage", "messages", inputs.clone()).await;
        assert_eq!(found, expected, "{inputs}");
    }
}

#[tokio::test]
async fn messages_of_all_sorts_are_merged() {
    let (a, b) = (
        json!({"role": "user", "content": "a"}),
        json!({"role": "assistant", "content": "b"}),
    );
    for (given, expected) in [
        (json!([a.to_string(), b.to_string()]), json!([a, b])),
        (
            json!([json!([a, b]).to_string(), a.to_string()]),
            json!([a, b, a]),
        ),
        (json!([a, b]), json!([a, b])),
        (json!([[a], [b, a]]), json!([a, b, a])),
        (
            json!(["no json", a.to_string(), "{\"role\":1}", "[1,null]", "", 5]),
            json!([a]),
        ),
        (json!([[[a]]]), json!([])),
        (json!([json!([a]).to_string()]), json!([a])),
    ] {
        let inputs = json!({"message_inputs": given});
        let found = run("core:MergeMessages", "messages", inputs).await;
        assert_eq!(found, expected, "{given}");
    }
}

#[tokio::test]
async fn histories() {
    let inputs = json!({
        "content1": "  hi ", "role2": "assistant", "content2": "hello",
        "role3": "system", "content3": "   ", "role4": "nobody", "content4": "x",
    });
    let first =
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]);
    assert_eq!(run("core:History", "history", inputs).await, first);
    let second = json!([{"role": "user", "content": "bye"}]);
    let inputs = json!({"history1": first.to_string(), "history2": "broken", "history4": second});
    let both = run("core:MergeHistory", "history", inputs).await;
    assert_eq!(both.as_array().unwrap().len(), 3);
    assert_eq!(
        run("core:MergeHistory", "history", json!({})).await,
        json!([])
    );
}

#[tokio::test]
async fn a_context() {
    let said = json!({"role": "user", "content": "Where is the Owl?"});
    let system = |content: &str| json!({"role": "system", "content": content});
    for (inputs, expected) in [
        (json!({}), json!([])),
        (
            json!({"characterData": {"system_prompt": "s", "description": "d"}}),
            json!([system("s")]),
        ),
        (
            json!({"characterData": {"description": "d"}}),
            json!([system("d")]),
        ),
        (
            json!({"characterData": {"data": {"description": "d"}}}),
            json!([system("d")]),
        ),
        (
            json!({"historyMessages": [said, "no", {"role": "user"}], "presetData": {"user_prompt": "p"}}),
            json!([said, {"role": "user", "content": "p"}]),
        ),
        (
            json!({"historyMessages": [said], "worldBookData": {"entries": [
                {"keys": ["owl"], "content": "It sleeps."},
                {"keys": ["fox"], "content": "It hunts."},
                {"keys": ["owl"], "content": "off", "enabled": false},
                {"keys": [""], "content": "empty key"},
                {"keys": [], "constant": true, "content": "Always."},
            ]}}),
            json!([system("It sleeps.\n\nAlways."), said]),
        ),
    ] {
        let found = run("core:ContextBuilder", "finalMessages", inputs.clone()).await;
        assert_eq!(found, expected, "{inputs}");
    }
}
