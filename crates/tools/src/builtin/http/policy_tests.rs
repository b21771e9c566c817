//! Rules against URLs.

use serde_json::json;

use super::*;

fn policy(rules: serde_json::Value) -> HttpPolicy {
    serde_json::from_value(json!({"allow": rules})).unwrap()
}

#[test]
fn the_list_decides() {
    let policy = policy(json!([
        {"host": "api.example.com"},
        {"host": "*.wild.org", "methods": ["get"]},
        {"host": "bücher.de"},
        {"host": "box.lan", "ports": [8080, 443], "private": true},
        {"host": "box.lan", "ports": [9090], "methods": ["GET"]},
        {"host": "127.1", "ports": [80], "private": true},
        {"host": "::1", "private": true},
        {"host": "[2606:4700::1]"},
    ]));
    for (method, url, expected) in [
        ("GET", "http://api.example.com/x", Ok(false)),
        ("POST", "https://API.Example.COM/x", Ok(false)),
        ("GET", "https://api.example.com./x", Ok(false)),
        ("GET", "https://api.example.com:443/x", Ok(false)),
        (
            "GET",
            "https://api.example.com:8443/",
            Err("http.port_not_allowed"),
        ),
        ("GET", "https://example.com/", Err("http.host_not_allowed")),
        (
            "GET",
            "https://api.example.com.evil.net/",
            Err("http.host_not_allowed"),
        ),
        (
            "GET",
            "https://xapi.example.com/",
            Err("http.host_not_allowed"),
        ),
        ("GET", "https://a.wild.org/", Ok(false)),
        ("GET", "https://a.b.wild.org/", Ok(false)),
        ("GET", "https://wild.org/", Err("http.host_not_allowed")),
        ("GET", "https://evilwild.org/", Err("http.host_not_allowed")),
        (
            "POST",
            "https://a.wild.org/",
            Err("http.method_not_allowed"),
        ),
        ("GET", "https://xn--bcher-kva.de/", Ok(false)),
        ("GET", "https://BÜCHER.de/", Ok(false)),
        ("GET", "http://box.lan:8080/", Ok(true)),
        ("GET", "http://box.lan:9090/", Ok(false)),
        ("GET", "http://box.lan/", Err("http.port_not_allowed")),
        ("GET", "http://127.0.0.1/", Ok(true)),
        ("GET", "http://0x7f.1/", Ok(true)),
        ("GET", "http://2130706433/", Ok(true)),
        ("GET", "http://[::ffff:127.0.0.1]/", Ok(true)),
        ("GET", "http://127.0.0.2/", Err("http.host_not_allowed")),
        ("GET", "http://[0:0::1]/", Ok(true)),
        ("GET", "http://[2606:4700::1]/", Ok(false)),
        ("GET", "http://localhost/", Err("http.host_not_allowed")),
    ] {
        let got = policy.grant(&url.parse().unwrap(), method);
        let got = got.as_ref().map(|grant| grant.private);
        let got = got.map_err(|error| error.reason.as_deref().unwrap());
        assert_eq!(got, expected, "{method} {url}");
    }
}

#[test]
fn nothing_is_allowed_by_default() {
    let url = "https://example.com/".parse().unwrap();
    let error = HttpPolicy::default().grant(&url, "GET").unwrap_err();
    assert_eq!(error.code, ErrorCode::ToolPolicyDenied);
    assert!(error.permanent);
    for part in ["example.com", "[http]", "innkeeper.toml"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert!(policy(json!([{"host": "*"}])).grant(&url, "GET").is_ok());
    assert!(
        policy(json!([{"host": "*", "ports": []}]))
            .grant(&url, "GET")
            .is_err()
    );
}

#[test]
fn rules_are_checked_when_they_are_read() {
    for (rule, part) in [
        (json!({"host": ""}), "no host"),
        (json!({"host": "https://example.com"}), "no host"),
        (json!({"host": "example.com:80"}), "no host"),
        (json!({"host": "example.com/x"}), "no host"),
        (json!({"host": "a b"}), "no host"),
        (json!({"host": "*.*.com"}), "no host"),
        (json!({"host": "a.*.com"}), "no host"),
        (json!({"host": "*example.com"}), "no host"),
        (json!({"host": "*."}), "no host"),
        (json!({"host": "*.127.0.0.1"}), "no host"),
        (json!({"host": "a..b"}), "no host"),
        (json!({"host": "*", "private": true}), "private"),
        (json!({"host": "a", "methods": ["CONNECT"]}), "no method"),
        (json!({"host": "a", "port": 1}), "unknown field"),
        (json!({}), "missing field"),
    ] {
        let error = serde_json::from_value::<HostRule>(rule.clone()).expect_err(&rule.to_string());
        assert!(error.to_string().contains(part), "{rule}: {error}");
    }
    assert!(serde_json::from_value::<HttpPolicy>(json!({"alow": []})).is_err());
}

#[test]
fn settings_survive_a_save() {
    let text =
        "max_bytes = 5\n[[allow]]\nhost = \"*.Example.com\"\nports = [1]\nmethods = [\"get\"]\n";
    let policy: HttpPolicy = toml::from_str(text).unwrap();
    let saved = toml::to_string(&policy).unwrap();
    assert!(
        saved.contains("*.example.com") && saved.contains("GET"),
        "{saved}"
    );
    assert_eq!(toml::from_str::<HttpPolicy>(&saved).unwrap(), policy);
}

#[test]
fn a_request_may_ask_for_less_but_not_for_more() {
    let policy = HttpPolicy {
        timeout_ms: 50,
        max_timeout_ms: 100,
        max_bytes: 10,
        ..HttpPolicy::default()
    };
    for (asked, expected) in [(None, 50), (Some(7), 7), (Some(1_000), 100)] {
        assert_eq!(policy.timeout_ms(asked), expected);
    }
    for (asked, expected) in [(None, 10), (Some(7), 7), (Some(1_000), 10)] {
        assert_eq!(policy.max_bytes(asked), expected);
    }
    let greedy = HttpPolicy {
        max_timeout_ms: u64::MAX,
        max_bytes: u64::MAX,
        ..policy
    };
    assert_eq!(
        u128::from(greedy.timeout_ms(Some(u64::MAX))),
        MAX_HTTP_TIMEOUT.as_millis()
    );
    assert_eq!(greedy.max_bytes(None), MAX_HTTP_BYTES);
}
