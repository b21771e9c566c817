use std::time::Duration;

use innkeeper_protocol::Secret;
use reqwest::header::{HeaderName, HeaderValue};

use super::*;

const KEY: &str = "sk-marker-0123456789";

fn judged(status: u16, headers: &[(&'static str, &'static str)], body: &str) -> ModelError {
    let key = Secret::new(KEY);
    let mask = Mask::new(Some(&key), &[]);
    let headers = headers.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    let asked = Asked {
        label: "Fake",
        base: &Url::parse("https://fake.example/v1").unwrap(),
        model: "tiny",
    };
    let words = Words::read(body.as_bytes(), true, &mask);
    let status = StatusCode::from_u16(status).unwrap();
    failure(
        asked,
        status,
        &headers.collect(),
        &words,
        &mask,
        SystemTime::now(),
    )
}

#[test]
fn every_status_has_its_kind() {
    use ModelErrorKind::*;
    let rows: &[(u16, &str, ModelErrorKind, &str)] = &[
        (
            400,
            "no field 'x'",
            Refused,
            "Fake answered 400: no field 'x'; change the request",
        ),
        (400, "", Refused, "Fake answered 400: Bad Request; change"),
        (
            400,
            "This model's maximum context length is 8192 tokens",
            ContextTooLong,
            "shorten the conversation",
        ),
        (
            400,
            r#"{"error":{"message":"x","code":"context_length_exceeded"}}"#,
            ContextTooLong,
            "shorten",
        ),
        (
            400,
            r#"{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            ContextTooLong,
            "shorten",
        ),
        (
            400,
            "the request exceeds the available context size, try increasing it",
            ContextTooLong,
            "shorten",
        ),
        (
            400,
            "The input token count (1) exceeds the maximum number of tokens allowed (1)",
            ContextTooLong,
            "shorten",
        ),
        (
            400,
            "Your credit balance is too low to access the API",
            Unauthorized,
            "top up the account",
        ),
        (
            400,
            r#"{"error":{"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}"#,
            Unauthorized,
            "check the channel's key",
        ),
        (
            400,
            "tiny is not a valid model ID",
            UnknownModel,
            "there is no model 'tiny'",
        ),
        (
            400,
            "Model Not Exist",
            UnknownModel,
            "there is no model 'tiny'",
        ),
        (
            400,
            r#"{"error":{"message":"registry.ollama.ai/library/tiny does not support tools","type":"api_error"}}"#,
            Misdirected,
            "does not support tools; choose a model or channel that can",
        ),
        (
            400,
            "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
            Misdirected,
            "choose a model or channel that can",
        ),
        (
            404,
            "No endpoints found that support tool use",
            Misdirected,
            "choose a model or channel that can",
        ),
        (
            500,
            "tools param requires --jinja flag",
            Misdirected,
            "choose a model or channel that can",
        ),
        (
            400,
            "Invalid grammar specification.",
            Misdirected,
            "choose a model or channel that can",
        ),
        (
            498,
            r#"{"error":{"message":"at capacity","code":"capacity_exceeded"}}"#,
            ServerError,
            "Fake answered 498: at capacity; try again",
        ),
        (
            401,
            "who are you",
            Unauthorized,
            "Fake answered 401: who are you; check the channel's key",
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient credits"}}"#,
            Unauthorized,
            "Insufficient credits; top up the account, or use another key",
        ),
        (403, "", Unauthorized, "what its account may use"),
        (
            403,
            "Your input was flagged",
            Refused,
            "does not touch this subject",
        ),
        (
            404,
            r#"{"error":{"message":"The model `tiny` does not exist","code":"model_not_found"}}"#,
            UnknownModel,
            "there is no model 'tiny'",
        ),
        (
            404,
            r#"{"error":"model \"tiny\" not found, try pulling it first"}"#,
            UnknownModel,
            "there is no model",
        ),
        (
            404,
            "404 page not found",
            Misdirected,
            "the base URL may be wrong (it is https://fake.example/v1; most end with `/v1`), or there is no model 'tiny'",
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: tiny"}}"#,
            UnknownModel,
            "there is no model 'tiny'",
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"Not found"}}"#,
            Misdirected,
            "the base URL may be wrong",
        ),
        (405, "", Misdirected, "the base URL may be wrong"),
        (408, "", Timeout, "try again"),
        (409, "", ServerError, "try again"),
        (413, "", ContextTooLong, "shorten"),
        (422, "bad field", Refused, "change the request"),
        (422, "prompt is too long", ContextTooLong, "shorten"),
        (425, "", ServerError, "try again"),
        (429, "slow down", RateLimited, "wait a little"),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
            Unauthorized,
            "top up",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan","status":"RESOURCE_EXHAUSTED"}}"#,
            RateLimited,
            "wait",
        ),
        (
            429,
            "Request too large for tiny on tokens per min",
            ContextTooLong,
            "shorten",
        ),
        (418, "", Refused, "Fake answered 418: I'm a teapot; change"),
        (
            500,
            "<html><title>Oops</title><body>stack trace</body></html>",
            ServerError,
            "Fake answered 500: Oops; try again",
        ),
        (502, "", ServerError, "502: Bad Gateway"),
        (
            503,
            r#"{"error":{"message":"Loading model"}}"#,
            ServerError,
            "503: Loading model",
        ),
        (504, "", Timeout, "504"),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ServerError,
            "Fake answered 529: Overloaded; try",
        ),
        (599, "", ServerError, "Fake answered 599; try again"),
        (999, "", ServerError, "Fake answered 999; try again"),
    ];
    for (status, body, kind, message) in rows {
        let error = judged(*status, &[], body);
        assert_eq!(error.kind, *kind, "{status} {body}: {error}");
        assert!(error.message.contains(message), "{status} {body}: {error}");
        assert!(!error.message.ends_with('.'));
    }
}

#[test]
fn a_wait_is_told_only_where_waiting_helps() {
    let wait = &[("retry-after", "3")];
    let three = Some(Duration::from_secs(3));
    for (status, body, expected) in [
        (429, "", three),
        (503, "", three),
        (529, "", three),
        (401, "", None),
        (429, r#"{"error":{"code":"insufficient_quota"}}"#, None),
    ] {
        assert_eq!(
            judged(status, wait, body).retry_after,
            expected,
            "{status} {body}"
        );
    }
}

#[test]
fn a_redirect_is_told_and_not_followed() {
    let rows = [
        (
            "https://other.example/v2?token=hunter2#x",
            "points to https://other.example/v2; redirects are not followed",
        ),
        ("/v2/", "points to https://fake.example/v2/;"),
        (
            "https://me:hunter2@other.example/sk-marker-0123456789",
            "points to https://other.example/[key];",
        ),
        ("//other.example", "points to https://other.example/;"),
        ("", "points to https://fake.example/v1;"),
        ("https://", "without saying where"),
    ];
    for status in [301, 302, 303, 307, 308] {
        for (location, expected) in rows {
            let error = judged(status, &[("location", location)], "moved");
            assert_eq!(error.kind, ModelErrorKind::Misdirected);
            assert!(error.message.contains(expected), "{location}: {error}");
            assert!(!error.message.contains("hunter2") && !error.message.contains(KEY));
        }
    }
    assert!(
        judged(304, &[], "")
            .message
            .contains("without saying where")
    );
}
