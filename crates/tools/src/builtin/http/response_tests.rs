//! Bodies of every kind.

use reqwest::header::{HeaderName, HeaderValue};

use super::*;

fn shown(content_type: &str, body: &[u8], truncated: bool, more: &[(&str, &str)]) -> Json {
    let mut headers = HeaderMap::new();
    for (name, value) in [("content-type", content_type)].iter().chain(more) {
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    let url = "http://a/".parse().unwrap();
    Answer {
        status: StatusCode::OK,
        url: &url,
        headers: &headers,
        body,
        truncated,
    }
    .to_json()
}

#[test]
fn a_body_is_json_text_or_base64() {
    for (content_type, body, truncated, name, value, lossy) in [
        (
            "application/json",
            &b"{\"a\":1}"[..],
            false,
            "json",
            json!({"a": 1}),
            false,
        ),
        (
            "application/problem+json; charset=utf-8",
            b"[1]",
            false,
            "json",
            json!([1]),
            false,
        ),
        (
            "application/json",
            b"\xef\xbb\xbf1",
            false,
            "json",
            json!(1),
            false,
        ),
        (
            "application/json",
            b"{\"a\":",
            true,
            "text",
            json!("{\"a\":"),
            false,
        ),
        (
            "application/json",
            b"not json",
            false,
            "text",
            json!("not json"),
            false,
        ),
        (
            "text/html",
            "ü".as_bytes(),
            false,
            "text",
            json!("ü"),
            false,
        ),
        ("text/plain", b"", false, "text", json!(""), false),
        // Cut in the middle of a character.
        ("text/plain", b"a\xc3", true, "text", json!("a"), false),
        (
            "text/plain",
            b"a\xc3",
            false,
            "text",
            json!("a\u{fffd}"),
            true,
        ),
        (
            "text/plain; charset=gbk",
            b"\xc4\xe3",
            false,
            "text",
            json!("\u{fffd}\u{fffd}"),
            true,
        ),
        (
            "image/png",
            b"\x89PNG\0",
            false,
            "base64",
            json!("iVBORwA="),
            false,
        ),
        (
            "application/octet-stream",
            b"plain",
            false,
            "text",
            json!("plain"),
            false,
        ),
        (
            "application/octet-stream",
            b"nul\0",
            false,
            "base64",
            json!("bnVsAA=="),
            false,
        ),
        ("", b"plain", false, "text", json!("plain"), false),
        (
            "image/svg+xml",
            b"<svg/>",
            false,
            "text",
            json!("<svg/>"),
            false,
        ),
    ] {
        let got = shown(content_type, body, truncated, &[]);
        assert_eq!(got[name], value, "{content_type} {body:?}");
        assert_eq!(got.get("lossy").is_some(), lossy, "{content_type} {body:?}");
        assert_eq!(got["bytes"], body.len());
        let others = ["json", "text", "base64"]
            .into_iter()
            .filter(|other| *other != name);
        assert_eq!(others.filter(|other| got.get(other).is_some()).count(), 0);
    }
    let packed = shown("text/plain", b"abc", false, &[("content-encoding", "gzip")]);
    assert_eq!(packed["base64"], "YWJj");
}

#[test]
fn headers_are_few_and_short() {
    let long = "x".repeat(MAX_HTTP_ANSWER_HEADER_CHARS + 1);
    let got = shown(
        "text/plain",
        b"",
        false,
        &[
            ("set-cookie", "secret"),
            ("x-a", "1"),
            ("x-a", "2"),
            ("x-long", &long),
            ("connection", "close"),
        ],
    );
    let headers = got["headers"].as_object().unwrap();
    assert_eq!(headers["x-a"], "1, 2");
    assert_eq!(
        headers["x-long"].as_str().unwrap().len(),
        MAX_HTTP_ANSWER_HEADER_CHARS
    );
    assert!(!headers.contains_key("set-cookie") && !headers.contains_key("connection"));
    let names: Vec<String> = (0..100).map(|n| format!("h{n}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "v")).collect();
    let got = shown("text/plain", b"", false, &many);
    assert_eq!(
        got["headers"].as_object().unwrap().len(),
        MAX_HTTP_ANSWER_HEADERS
    );
}
