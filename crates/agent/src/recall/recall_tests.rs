use std::sync::Arc;

use innkeeper_protocol::ErrorCode as Code;
use serde_json::{Value as Json, json};

use super::*;
use crate::workspace::testing::House;

fn house(messages: &[Json]) -> House {
    let house = House::new(&[]);
    *house.door.dropped.lock().unwrap() = Arc::new(messages.to_vec());
    house
}

fn talk() -> Vec<Json> {
    vec![
        json!({"role": "user", "content": "Where is the silver key?\n"}),
        json!({"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "1", "function": {"name": "chat.search", "arguments": "{\"query\":\"key\"}"}}]}),
        json!({"role": "tool", "tool_call_id": "1", "content": "  The silver key lies\n\tunder the mat.  "}),
    ]
}

#[tokio::test]
async fn what_was_left_out_is_read_word_for_word() {
    let house = house(&talk());
    let asked = json!({"messages": [{"index": 2}, {"index": 1}, {"index": 0, "start_char": 6, "max_chars": 2}]});
    let read = house.call(READ, asked).await.unwrap();
    assert_eq!(read["totalMessages"], 3);
    let texts: Vec<_> = read["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        texts,
        [
            "  The silver key lies\n\tunder the mat.  ",
            "I look.\n→ chat.search {\"query\":\"key\"}",
            "is"
        ]
    );
    assert_eq!(read["messages"][0]["role"], "tool");
    for (asked, code, reason) in [
        (
            json!({"index": 3}),
            Code::ChatMessageNotFound,
            "context.message_not_found",
        ),
        (
            json!({"index": 0, "start_char": 99}),
            Code::ChatInvalidMessageRange,
            "context.invalid_message_range",
        ),
        (
            json!({"index": 0, "max_chars": 1_000_000}),
            Code::ChatReadTooLarge,
            "context.read_too_large",
        ),
    ] {
        let refused = house.refused(READ, json!({"messages": [asked]})).await;
        assert_eq!(refused, (code, reason.to_owned()));
    }
}

#[tokio::test]
async fn what_was_left_out_is_found() {
    let house = house(&talk());
    let found = house
        .call(SEARCH, json!({"query": "UNDER the mat"}))
        .await
        .unwrap();
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits[0]["index"], 2, "the best comes first");
    let found = house
        .call(SEARCH, json!({"query": "key", "limit": 1}))
        .await
        .unwrap();
    assert_eq!(found["hits"].as_array().unwrap().len(), 1);
    for (asked, reason) in [
        (json!({"query": " "}), "context.search_query_empty"),
        (
            json!({"query": "x".repeat(10_000)}),
            "context.search_query_too_long",
        ),
        (
            json!({"query": "x", "limit": 0}),
            "context.search_limit_invalid",
        ),
    ] {
        let refused = house.refused(SEARCH, asked).await;
        assert_eq!(refused, (Code::ToolInvalidArguments, reason.to_owned()));
    }
}

#[tokio::test]
async fn where_nothing_was_left_out_there_is_nothing() {
    let house = house(&[]);
    let found = house.call(SEARCH, json!({"query": "key"})).await.unwrap();
    assert_eq!(found["hits"], json!([]));
    let refused = house.call(READ, json!({"messages": [{"index": 0}]})).await;
    assert!(
        refused
            .unwrap_err()
            .message
            .contains("nothing was left out")
    );
}
