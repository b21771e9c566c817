use super::*;

#[test]
fn a_base_url_is_cleaned_or_refused_without_repeating_a_password() {
    let rows = [
        (
            " https://api.example.com/v1/ ",
            Ok("https://api.example.com/v1"),
        ),
        (
            "http://localhost:8080/v1/chat/completions",
            Ok("http://localhost:8080/v1"),
        ),
        ("http://[::1]:8080", Ok("http://[::1]:8080/")),
        (
            "localhost:8080/v1",
            Err("must begin with http:// or https://"),
        ),
        ("example.com/v1", Err("write it like https://")),
        ("", Err("write it like https://")),
        ("ftp://example.com", Err("must begin with http")),
        ("file:///etc/passwd", Err("must begin with http")),
        ("https://me:hunter2@example.com", Err("a name or password")),
        ("https://me@example.com", Err("a name or password")),
        ("https://example.com?key=hunter2", Err("leave that away")),
        ("https://example.com/#hunter2", Err("leave that away")),
        ("https://", Err("cannot be read")),
        ("https://exa mple.com", Err("cannot be read")),
    ];
    for (text, expected) in rows {
        match (base_url(text, WireFormat::OpenAi), expected) {
            (Ok(url), Ok(expected)) => assert_eq!(url.as_str(), expected),
            (Err(what), Err(expected)) => {
                assert!(what.contains(expected), "{text}: {what}");
                assert!(!what.contains("hunter2"), "{what}");
            }
            (found, expected) => panic!("{text}: {found:?} is not {expected:?}"),
        }
    }
    let url = base_url("https://a.example/v1/messages", WireFormat::Anthropic);
    assert_eq!(url.unwrap().as_str(), "https://a.example/v1");
}

#[test]
fn a_path_stays_below_its_base() {
    let rows = [
        (
            "https://a.example/v1",
            "models",
            Some("https://a.example/v1/models"),
        ),
        (
            "https://a.example",
            "models?x=1",
            Some("https://a.example/models?x=1"),
        ),
        (
            "https://a.example",
            "models/a:b?alt=sse",
            Some("https://a.example/models/a:b?alt=sse"),
        ),
        (
            "https://a.example/v1",
            "a/../models",
            Some("https://a.example/v1/models"),
        ),
        ("https://a.example/v1", "../admin", None),
        ("https://a.example/v1", "models/../../admin", None),
        ("https://a.example/v1", "%2e%2e/admin", None),
        ("https://a.example/v1", "", None),
        ("https://a.example/v1", "x#y", None),
        (
            "https://a.example/v1",
            "/evil.example",
            Some("https://a.example/v1//evil.example"),
        ),
        (
            "https://a.example",
            "@evil.example/",
            Some("https://a.example/@evil.example/"),
        ),
    ];
    for (base, path, expected) in rows {
        let base = Url::parse(base).unwrap();
        let url = below(&base, path);
        assert_eq!(url.as_ref().map(Url::as_str), expected, "{base} {path}");
    }
}

#[test]
fn hosts_are_here_near_or_far() {
    use Reach::{Loopback, Private, Public};
    let rows = [
        ("127.0.0.1", Loopback),
        ("127.9.9.9", Loopback),
        ("2130706433", Loopback),
        ("[::1]", Loopback),
        ("[::ffff:127.0.0.1]", Loopback),
        ("localhost", Loopback),
        ("LOCALHOST.", Loopback),
        ("x.localhost", Loopback),
        ("10.1.2.3", Private),
        ("172.16.0.1", Private),
        ("172.32.0.1", Public),
        ("192.168.1.1", Private),
        ("100.64.0.1", Private),
        ("100.128.0.1", Public),
        ("[fd00::1]", Private),
        ("[fe80::1]", Private),
        ("[::ffff:8.8.8.8]", Public),
        ("[2606:4700::1]", Public),
        ("ollama", Private),
        ("host.docker.internal", Private),
        ("box.lan", Private),
        ("box.local", Private),
        ("local.example.com", Public),
        ("notlocal", Private),
        ("evil.notlocal", Public),
        ("localhost.example.com", Public),
        ("0.0.0.0", Public),
        ("8.8.8.8", Public),
        ("api.openai.com", Public),
    ];
    for (host, expected) in rows {
        let url = Url::parse(&format!("http://{host}/v1")).unwrap();
        assert_eq!(reach(&url), expected, "{host}");
    }
}
