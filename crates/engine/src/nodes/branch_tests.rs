use serde_json::json;

use crate::testing::run_node;

#[tokio::test]
async fn if_sends_the_value_one_way() {
    let out = run_node("core:If", json!({}), json!({"condition": true, "value": 5})).await;
    assert_eq!(json!(out.unwrap()), json!({"true": 5, "result": 5}));
    let out = run_node("core:If", json!({}), json!({"condition": "", "value": 5})).await;
    assert_eq!(json!(out.unwrap()), json!({"false": 5, "result": 5}));
    let out = run_node(
        "core:If",
        json!({}),
        json!({"condition": 0, "then": "a", "else": "b"}),
    )
    .await;
    assert_eq!(json!(out.unwrap()), json!({"false": false, "result": "b"}));
}
