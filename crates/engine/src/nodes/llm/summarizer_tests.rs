use serde_json::json;

use super::*;
use crate::nodes::testing_ports::{ScriptedModel, with_model};
use crate::testing::{run_node, run_node_with};

#[test]
fn the_first_sentences_are_taken() {
    for (text, most, wanted) in [
        ("Short.", 10, "Short."),
        (
            "One is 1.5 long. Two is here. Three.",
            30,
            "One is 1.5 long. Two is here.",
        ),
        ("One is here. Two is longer than that", 14, "One is here."),
        ("One is here. Two.", 12, "One is here."),
        (
            "没有空格。第二句话。第三句话很长。",
            11,
            "没有空格。第二句话。",
        ),
        ("word without any end at all", 10, "word with…"),
        (
            "I. A very long sentence follows here and goes on",
            30,
            "I. A very long sentence follo…",
        ),
    ] {
        let short = extract(text, most);
        assert_eq!(short, wanted);
        assert!(short.chars().count() <= most, "{short}");
    }
}

#[tokio::test]
async fn a_model_does_it_if_it_is_asked_to_and_there() {
    let long = "Sentence. ".repeat(50);
    for (mode, has_model, method) in [
        ("extract", true, "extract"),
        ("model", true, "model"),
        ("model", false, "extract"),
    ] {
        let model =
            ScriptedModel::saying(&["The gist of it, and far too long for what was asked."]);
        let services = match has_model {
            true => with_model(&model),
            false => crate::port::Services::default(),
        };
        let inputs = json!({"text": long, "max_chars": 20, "mode": mode});
        let outputs = run_node_with("core:TextSummarizer", json!({}), inputs, services)
            .await
            .unwrap();
        assert_eq!(outputs["method"], method);
        assert!(outputs["summary"].as_str().unwrap().chars().count() <= 20);
        assert_eq!(
            outputs["summary"].as_str().unwrap().starts_with("The gist"),
            method == "model"
        );
    }
    let inputs = json!({"text": "Short.", "mode": "model"});
    let outputs = run_node("core:TextSummarizer", json!({}), inputs)
        .await
        .unwrap();
    assert_eq!(
        (&outputs["summary"], &outputs["shortened"]),
        (&json!("Short."), &json!(false))
    );
    let bad = run_node("core:TextSummarizer", json!({}), json!({"mode": "magic"})).await;
    assert_eq!(bad.unwrap_err().code, "summary.mode");
}

#[tokio::test]
async fn no_summary_has_no_characters() {
    for most in [0, -4] {
        let inputs = json!({"text": "Long enough.", "max_chars": most});
        let error = run_node("core:TextSummarizer", json!({}), inputs).await;
        assert_eq!(error.unwrap_err().code, "summary.max_chars", "{most}");
    }
}
