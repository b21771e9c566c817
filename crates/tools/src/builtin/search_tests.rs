use serde_json::json;

use super::super::testing::{call, check_definitions};
use super::*;

fn found(id: &str, description: &str, parameters: Json) -> Found {
    Found {
        tool: Arc::new(ToolDefinition::new(id, description, parameters)),
        score: 1.0,
    }
}

#[test]
fn it_is_declared_like_the_others() {
    check_definitions(&tools());
}

#[tokio::test]
async fn a_question_without_words_and_a_call_without_a_run_are_refused() {
    let tool = &tools()[0];
    let empty = call(tool, json!({"query": "?!"})).await.unwrap_err();
    assert_eq!(empty.reason.as_deref(), Some("tools.query_empty"));
    let nowhere = call(tool, json!({"query": "dice"})).await.unwrap_err();
    assert_eq!(nowhere.code.as_str(), "tool.unavailable");
}

#[test]
fn parameters_are_told_where_nobody_else_tells_them() {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let all = [found("weather.get", "The weather", schema.clone())];
    let whole = told(&all, FoundTools::Whole);
    assert_eq!(whole["tools"][0]["parameters"], schema);
    assert_eq!(whole.get("note"), None);
    let named = told(&all, FoundTools::Named);
    assert_eq!(named["tools"][0].get("parameters"), None);
    assert!(named["note"].as_str().unwrap().contains("next reply"));
    let nothing = told(&[], FoundTools::Named);
    assert!(nothing["note"].as_str().unwrap().contains("No tool fits"));
}

#[test]
fn what_is_told_is_bounded() {
    let huge = json!({"type": "object", "description": "x".repeat(MAX_FOUND_CHARS)});
    let long = "y".repeat(MAX_FOUND_DESCRIPTION_CHARS + 1);
    let all: Vec<_> = (0..MAX_FOUND_TOOLS)
        .map(|number| found(&format!("t{number}"), &long, huge.clone()))
        .collect();
    let told = told(&all, FoundTools::Whole);
    assert_eq!(told["tools"].as_array().unwrap().len(), MAX_FOUND_TOOLS);
    assert_eq!(told["tools"][0].get("parameters"), None);
    assert!(told["note"].as_str().unwrap().contains("ask for fewer"));
    assert!(told.to_string().chars().count() <= Search.most_shown());
}
