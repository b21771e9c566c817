//! What may be sent and what not.

use serde_json::json;

use super::*;

fn request(arguments: Json) -> Result<Request, ToolError> {
    Request::new(serde_json::from_value(arguments).unwrap())
}

#[test]
fn urls_get_one_spelling() {
    for (url, expected) in [
        ("http://Example.COM", "http://example.com/"),
        ("http://example.com./a", "http://example.com/a"),
        ("http://example.com:80/#part", "http://example.com/"),
        ("  https://example.com/a b\n", "https://example.com/a%20b"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://017700000001/", "http://127.0.0.1/"),
        ("http://127.0.0.1./", "http://127.0.0.1/"),
        ("http://[::ffff:7f00:1]/", "http://127.0.0.1/"),
        ("http://１２７.0.0.1/", "http://127.0.0.1/"),
        ("http://ex%61mple.com/", "http://example.com/"),
        ("http:\\\\example.com\\x", "http://example.com/x"),
    ] {
        let got = request(json!({"url": url})).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(got.url.as_str(), expected, "{url}");
    }
    for url in [
        "",
        "example.com",
        "/x",
        "file:///etc/passwd",
        "ftp://example.com/",
        "data:,x",
        "javascript:1",
        "http://user@example.com/",
        "http://user:pw@example.com/",
        "http://:pw@example.com/",
        "http://example.com:0/",
        "http://example.com:99999/",
        "http://a..b/",
        "http://./",
        "http://",
        "http://[::1/",
        "http://1.2.3.4.5/",
        "unix:/run/x.sock",
        "gopher://example.com/",
    ] {
        let error = request(json!({"url": url})).expect_err(url);
        assert_eq!(error.reason.as_deref(), Some("http.invalid_url"), "{url}");
    }
    let long = format!("http://a/{}", "x".repeat(MAX_HTTP_URL_CHARS));
    assert!(request(json!({"url": long})).is_err());
    let long = "x".repeat(MAX_HTTP_URL_CHARS);
    assert!(request(json!({"url": "http://a/", "query": {"q": long}})).is_err());
}

#[test]
fn queries_are_escaped_and_added() {
    let url = |query: Json| {
        request(json!({"url": "http://a/?z=0", "query": query})).map(|r| r.url.to_string())
    };
    for (query, expected) in [
        (json!({}), "http://a/?z=0"),
        (json!({"q": "a b&c=ü"}), "http://a/?z=0&q=a+b%26c%3D%C3%BC"),
        (
            json!({"n": 1, "t": true, "no": null, "l": ["x", 2]}),
            "http://a/?z=0&n=1&t=true&l=x&l=2",
        ),
    ] {
        assert_eq!(url(query).unwrap(), expected);
    }
    assert!(
        url(json!({"q": {"deep": 1}}))
            .unwrap_err()
            .message
            .contains("query.q")
    );
}

#[test]
fn framing_headers_are_ours() {
    let headers = |headers: Json| request(json!({"url": "http://a/", "headers": headers}));
    for name in [
        "Host",
        "host",
        "Content-Length",
        "Transfer-Encoding",
        "Connection",
        "Proxy-Authorization",
        "Proxy-Anything",
        "Keep-Alive",
        "TE",
        "Trailer",
        "Upgrade",
        "Expect",
        "Accept-Encoding",
        "User-Agent",
    ] {
        let error = headers(json!({name: "x"})).expect_err(name);
        assert_eq!(
            error.reason.as_deref(),
            Some("http.header_not_allowed"),
            "{name}"
        );
    }
    for wrong in [
        json!({"a b": "x"}),
        json!({"": "x"}),
        json!({"a\r\nHost": "x"}),
        json!({"a": "x\r\nHost: y"}),
        json!({"a": "x\u{0}"}),
        json!({"a": ["x"]}),
        json!({"A": "1", "a": "2"}),
        json!({"a": "x".repeat(MAX_HTTP_HEADER_BYTES)}),
        (0..=MAX_HTTP_HEADERS)
            .map(|n| (format!("h{n}"), json!("x")))
            .collect::<Map<_, _>>()
            .into(),
    ] {
        let error = headers(wrong.clone()).expect_err(&wrong.to_string());
        assert_eq!(
            error.reason.as_deref(),
            Some("http.invalid_header"),
            "{wrong}"
        );
        assert!(!error.message.contains('\n'), "{}", error.message);
    }
    let good = headers(json!({"X-A": "b", "n": 5, "Authorization": "Bearer ü"})).unwrap();
    assert_eq!(good.headers["n"], "5");
}

#[test]
fn bodies_are_text_or_json() {
    for (body, sent, kind) in [
        (json!({"a": 1}), Some("{\"a\":1}"), Some("application/json")),
        (
            json!("{\"a\": 1}"),
            Some("{\"a\": 1}"),
            Some("application/json"),
        ),
        (json!("a=1"), Some("a=1"), Some("text/plain; charset=utf-8")),
        (json!(5), Some("5"), Some("application/json")),
        (json!(""), Some(""), Some("text/plain; charset=utf-8")),
        (json!(null), None, None),
    ] {
        let got = request(json!({"url": "http://a/", "method": "POST", "body": body})).unwrap();
        assert_eq!(got.body.as_deref(), sent);
        assert_eq!(
            got.headers
                .get("content-type")
                .map(|value| value.to_str().unwrap()),
            kind
        );
    }
    let own = json!({"url": "http://a/", "method": "PUT", "body": {}, "headers": {"content-type": "x/y"}});
    assert_eq!(request(own).unwrap().headers["content-type"], "x/y");
    for method in ["GET", "HEAD"] {
        let error =
            request(json!({"url": "http://a/", "method": method, "body": "x"})).unwrap_err();
        assert_eq!(error.reason.as_deref(), Some("http.body_not_allowed"));
    }
    let large =
        json!({"url": "http://a/", "method": "PUT", "body": "x".repeat(MAX_HTTP_BODY_BYTES + 1)});
    assert_eq!(
        request(large).unwrap_err().reason.as_deref(),
        Some("http.body_too_large")
    );
}
