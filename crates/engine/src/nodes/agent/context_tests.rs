use serde_json::json;

use crate::testing::run_node;

#[tokio::test]
async fn the_context_is_put_together() {
    let user = |text: &str| json!({"role": "user", "content": text});
    let assistant = json!({"role": "assistant", "content": "a"});
    let native =
        json!({"role": "assistant", "content": "", "tool_calls": [{"id": "c1"}, {"id": "c2"}]});
    for (given, wanted) in [
        // The first question.
        (
            json!({"user_query": "q", "system_prompt": "S", "manifest": "M"}),
            json!([{"role": "system", "content": "S\n\nM"}, user("q")]),
        ),
        // The same words once more are another question.
        (
            json!({"user_query": "q", "chat_history": [user("q"), assistant]}),
            json!([user("q"), assistant, user("q")]),
        ),
        // In the next round the question was asked already.
        (
            json!({"user_query": "q", "chat_history": [user("q"), assistant], "last_observation": "O"}),
            json!([user("q"), assistant, user("O")]),
        ),
        // An observation whose question nobody wrote down.
        (
            json!({"user_query": "q", "chat_history": [], "last_observation": "O"}),
            json!([user("q"), user("O")]),
        ),
        (
            json!({"user_query": "q", "chat_history": [user("q"), native], "last_observation": "O"}),
            json!([user("q"), native, {"role": "tool", "tool_call_id": "c1", "content": "O"},
                {"role": "tool", "tool_call_id": "c2", "content": "See the answer to the first of these calls."}]),
        ),
        (
            json!({"user_query": "q", "chat_history": "[{\"role\": \"user\", \"content\": \"old\"}]"}),
            json!([user("old"), user("q")]),
        ),
        // The newest, and no answer without its call.
        (
            json!({"chat_history": [user("1"), native, {"role": "tool", "tool_call_id": "c1", "content": "x"}, user("2")], "max_messages": 2}),
            json!([user("2")]),
        ),
    ] {
        let outputs = run_node("core:AgentContext", json!({}), given.clone())
            .await
            .unwrap();
        assert_eq!(outputs["messages"], wanted, "{given}");
    }
}

#[tokio::test]
async fn the_history_keeps_what_is_not_sent() {
    let old: Vec<_> = (0..5)
        .map(|n| json!({"role": "user", "content": n.to_string()}))
        .collect();
    let given =
        json!({"user_query": "q", "chat_history": old, "max_messages": 2, "system_prompt": "S"});
    let outputs = run_node("core:AgentContext", json!({}), given)
        .await
        .unwrap();
    assert_eq!(outputs["messages"].as_array().unwrap().len(), 3);
    assert_eq!(outputs["history"].as_array().unwrap().len(), 6);
}

#[tokio::test]
async fn messages_are_added() {
    for (given, wanted) in [
        (
            json!({"history": [], "message": "hi", "role": "user"}),
            json!([{"role": "user", "content": "hi"}]),
        ),
        (
            json!({"history": "[]", "message": {"role": "assistant", "content": "x"}}),
            json!([{"role": "assistant", "content": "x"}]),
        ),
        (
            json!({"message": [{"role": "system", "content": "x"}]}),
            json!([{"role": "system", "content": "x"}]),
        ),
        (json!({"message": ""}), json!([])),
    ] {
        let outputs = run_node("core:AppendMessage", json!({}), given.clone())
            .await
            .unwrap();
        assert_eq!(outputs["history"], wanted, "{given}");
    }
    let bad = run_node(
        "core:AppendMessage",
        json!({}),
        json!({"message": {"content": "x"}}),
    )
    .await;
    assert_eq!(bad.unwrap_err().code, "llm.message");
}
