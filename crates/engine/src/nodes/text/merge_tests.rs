use serde_json::json;

use super::unescaped;
use crate::testing::run_node;

#[test]
fn escapes_of_the_separator() {
    for (written, meant) in [
        ("", ""),
        (", ", ", "),
        (r"\n", "\n"),
        (r"\t\r", "\t\r"),
        (r#"\"\'"#, "\"'"),
        (r"\\n", r"\n"),
        (r"\\\n", "\\\n"),
        (r"\x", r"\x"),
        (r"end\", r"end\"),
        ("、\\n", "、\n"),
    ] {
        assert_eq!(unescaped(written), meant, "{written}");
    }
}

#[tokio::test]
async fn texts_are_joined() {
    for (inputs, merged) in [
        (json!({"text_inputs": ["a", "b"]}), "a\nb"),
        (
            json!({"text_inputs": ["a", 1, true], "separator": ""}),
            "a1true",
        ),
        (
            json!({"text_inputs": ["a", "b"], "separator": "\\\\n"}),
            "a\\nb",
        ),
        (json!({"text_inputs": "alone"}), "alone"),
        (json!({"text_inputs": ["", ""], "separator": "-"}), "-"),
    ] {
        let out = run_node("core:TextMerge", json!({}), inputs.clone()).await;
        assert_eq!(out.unwrap()["merged_text"], merged, "{inputs}");
    }
    let missing = run_node("core:TextMerge", json!({}), json!({})).await;
    assert!(missing.unwrap_err().message.contains("text_inputs"));
}

#[tokio::test]
async fn what_doubles_comes_to_an_end() {
    let large = json!("x".repeat(crate::limits::MAX_VALUE_BYTES / 2));
    let message = json!({"role": "user", "content": large});
    for (node, inputs) in [
        ("core:TextMerge", json!({"text_inputs": [large, large]})),
        ("core:Merge", json!({"inputs": [large, large]})),
        (
            "core:MergeMessages",
            json!({"message_inputs": [message, message]}),
        ),
        (
            "core:MergeHistory",
            json!({"history1": [message], "history2": [message]}),
        ),
        (
            "core:ContextBuilder",
            json!({"historyMessages": [message, message]}),
        ),
    ] {
        let error = run_node(node, json!({}), inputs).await.unwrap_err();
        assert_eq!(error.code, "value.too_large", "{node}");
    }
}
