use std::time::Duration;

use serde_json::json;

use super::*;
use crate::limits::{MAX_RETRY_AFTER, MAX_SERVER_WORDS};

#[test]
fn every_word_has_its_kind() {
    use ModelErrorKind as K;
    let anthropic = |kind: &str, message: &str| json!({"type": kind, "message": message});
    let gemini = |status: &str, code: u16, message: &str| json!({"status": status, "code": code, "message": message});
    let rows = [
        (anthropic("overloaded_error", "Overloaded"), K::ServerError),
        (anthropic("api_error", "?"), K::ServerError),
        (anthropic("rate_limit_error", "slow"), K::RateLimited),
        (anthropic("authentication_error", "bad"), K::Unauthorized),
        (anthropic("permission_error", "no"), K::Unauthorized),
        (anthropic("not_found_error", "model: x"), K::UnknownModel),
        (anthropic("request_too_large", "32 MB"), K::ContextTooLong),
        (
            anthropic(
                "invalid_request_error",
                "prompt is too long: 210000 tokens > 200000 maximum",
            ),
            K::ContextTooLong,
        ),
        (
            anthropic("invalid_request_error", "max_tokens: required"),
            K::Refused,
        ),
        (anthropic("billing_error", "credit"), K::Unauthorized),
        (anthropic("timeout_error", ""), K::Timeout),
        (anthropic("something_new", ""), K::ServerError),
        (
            gemini("INVALID_ARGUMENT", 400, "Unknown name \"x\""),
            K::Refused,
        ),
        (
            gemini(
                "INVALID_ARGUMENT",
                400,
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ),
            K::ContextTooLong,
        ),
        (
            gemini(
                "INVALID_ARGUMENT",
                400,
                "API key not valid. Please pass a valid API key.",
            ),
            K::Unauthorized,
        ),
        (gemini("PERMISSION_DENIED", 403, ""), K::Unauthorized),
        (gemini("UNAUTHENTICATED", 401, ""), K::Unauthorized),
        (gemini("NOT_FOUND", 404, ""), K::UnknownModel),
        (gemini("RESOURCE_EXHAUSTED", 429, "quota"), K::RateLimited),
        (gemini("UNAVAILABLE", 503, "overloaded"), K::ServerError),
        (gemini("INTERNAL", 500, ""), K::ServerError),
        (gemini("DEADLINE_EXCEEDED", 504, ""), K::Timeout),
        (gemini("FAILED_PRECONDITION", 400, "location"), K::Refused),
        (json!({"code": "capacity_exceeded"}), K::ServerError),
        (json!("tiny does not support tools"), K::Misdirected),
        (json!({"code": 429}), K::RateLimited),
        (json!("gone"), K::ServerError),
        (json!(null), K::ServerError),
    ];
    for (error, kind) in rows {
        assert_eq!(told(&error).kind, kind, "{error}");
    }
}

#[test]
fn messages_are_short_name_a_remedy_and_quote_no_key() {
    let error = told(&json!({"type": "overloaded_error", "message": "Over\nloaded."}));
    assert_eq!(
        error.message,
        "the server broke off its reply (overloaded_error): Over loaded; try again, or use another channel"
    );
    let error = told(&json!({"type": "authentication_error", "message": "no such key: sk-marker"}));
    assert!(!error.message.contains("sk-marker"), "{error}");
    let long = "x".repeat(10 * MAX_SERVER_WORDS);
    let error = told(&json!({"type": "api_error", "message": long}));
    assert!(error.message.chars().count() < MAX_SERVER_WORDS + 200);
}

#[test]
fn how_long_to_wait_is_read_and_bounded() {
    let rows = [
        ("34.5s", Some(Duration::from_millis(34_500))),
        ("99999999s", Some(MAX_RETRY_AFTER)),
        ("-1s", None),
        ("soon", None),
    ];
    for (delay, expected) in rows {
        let error = told(&json!({"status": "RESOURCE_EXHAUSTED", "details": [
            {"@type": "type.googleapis.com/google.rpc.Help"},
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay},
        ]}));
        assert_eq!(error.retry_after, expected, "{delay}");
    }
}
