use super::*;
use crate::http::fake::{KEY, Server, answer, next, provider};
use crate::{Message, ModelEvent};

fn made(
    provider: &Provider,
    url: Option<&str>,
    headers: &[(&str, &str)],
    timeouts: Timeouts,
) -> Result<Endpoint, ModelError> {
    let headers = headers
        .iter()
        .map(|(name, value)| Header {
            name: (*name).to_owned(),
            value: Secret::new(*value),
            key: None,
        })
        .collect();
    Endpoint::new(HttpClient::new().unwrap(), provider, url, headers, timeouts)
}

fn sent(endpoint: &Endpoint, wire: &[(&'static str, String)], key: Option<&str>) -> Vec<String> {
    let key = key.map(Secret::new);
    let headers = endpoint.headers("*/*", wire, key.as_ref()).unwrap();
    assert!(!format!("{headers:?}").contains(KEY), "{headers:?}");
    let ours = ["accept", "accept-encoding", "content-type"];
    let mut lines: Vec<String> = headers
        .iter()
        .filter(|(name, _)| !ours.contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort();
    lines
}

const HERE: Option<&str> = Some("http://127.0.0.1:1/v1");

#[test]
fn the_key_is_shown_as_the_provider_wants_it() {
    use WireFormat::{Anthropic, Gemini, OpenAi};
    let rows = [
        (OpenAi, Auth::Usual, "authorization: Bearer k1"),
        (OpenAi, Auth::None, "authorization: Bearer k1"),
        (OpenAi, Auth::Header("API-Key".into()), "api-key: k1"),
        (Anthropic, Auth::Usual, "x-api-key: k1"),
        (Anthropic, Auth::Bearer, "authorization: Bearer k1"),
        (Gemini, Auth::Usual, "x-goog-api-key: k1"),
        (Gemini, Auth::None, "x-goog-api-key: k1"),
    ];
    for (format, auth, line) in rows {
        let endpoint = made(&provider(format, auth), HERE, &[], Timeouts::default()).unwrap();
        assert_eq!(sent(&endpoint, &[], Some(" k1\n")), [line]);
        assert!(sent(&endpoint, &[], None).is_empty());
    }
}

#[test]
fn a_channels_headers_win_over_all_others() {
    let mut provider = provider(WireFormat::Anthropic, Auth::Usual);
    provider.headers.insert("X-Title".into(), "provider".into());
    provider.headers.insert("X-Other".into(), "provider".into());
    let headers = [
        ("x-title", "channel"),
        ("Anthropic-Version", "channel"),
        ("x-api-key", "mine"),
    ];
    let endpoint = made(&provider, HERE, &headers, Timeouts::default()).unwrap();
    let wire = [("anthropic-version", "format".to_owned())];
    assert_eq!(
        sent(&endpoint, &wire, Some("k1")),
        [
            "anthropic-version: channel",
            "x-api-key: mine",
            "x-other: provider",
            "x-title: channel"
        ]
    );
}

#[test]
fn what_cannot_be_a_header_is_refused_without_its_value() {
    let long = "a".repeat(MAX_HEADER_BYTES + 1);
    let rows = [
        (
            "x-a",
            "secret\r\nx-evil: 1",
            "the value of the header 'x-a'",
        ),
        ("x-a", "secret\nevil", "the value of the header 'x-a'"),
        ("x-a", "secret\0", "the value of the header 'x-a'"),
        ("x-a", "secretä", "letters beyond ASCII"),
        ("x-a", &long, "more than 8192 bytes"),
        ("x a", "secret", "'x a' of Fake is no name of a header"),
        ("x-a: 1\r\nx-b", "secret", "is no name of a header"),
        ("", "secret", "'' of Fake is no name"),
        (
            "Content-Length",
            "secret",
            "'content-length' of Fake belongs to the connection",
        ),
        ("Transfer-Encoding", "secret", "belongs to the connection"),
        ("Connection", "secret", "belongs to the connection"),
        ("Accept-Encoding", "secret", "belongs to the connection"),
    ];
    let provider = provider(WireFormat::OpenAi, Auth::Usual);
    for (name, value, message) in rows {
        let error = made(&provider, HERE, &[(name, value)], Timeouts::default()).unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::Misdirected);
        assert!(error.message.contains(message), "{error}");
        assert!(
            !error.message.contains("secret") && !error.message.contains('\n'),
            "{error}"
        );
    }
    let many = vec![("x", "1"); MAX_HEADERS + 1];
    assert!(made(&provider, HERE, &many, Timeouts::default()).is_err());
    let auth = Auth::Header("no name".into());
    let odd = super::tests::provider(WireFormat::OpenAi, auth);
    assert!(made(&odd, HERE, &[], Timeouts::default()).is_err());
}

#[test]
fn keys_do_not_travel_in_the_open() {
    let rows = [
        ("http://127.0.0.1:1/v1", true),
        ("http://192.168.0.7/v1", true),
        ("http://ollama:11434/v1", true),
        ("https://api.example.com/v1", true),
        ("http://api.example.com/v1", false),
        ("http://8.8.8.8/v1", false),
    ];
    let provider = provider(WireFormat::OpenAi, Auth::Usual);
    let key = Secret::new(KEY);
    for (url, allowed) in rows {
        let endpoint = made(
            &provider,
            Some(url),
            &[("x-title", "a")],
            Timeouts::default(),
        )
        .unwrap();
        assert!(endpoint.headers("*/*", &[], None).is_ok());
        let headers = endpoint.headers("*/*", &[], Some(&key));
        assert_eq!(headers.is_ok(), allowed, "{url}");
        if let Err(error) = headers {
            assert!(
                error.message.contains("write https:// in its base URL"),
                "{error}"
            );
        }
        for name in ["Authorization", "X-Api-Key", "X-Auth-Token", "Cookie"] {
            let made = made(&provider, Some(url), &[(name, KEY)], Timeouts::default());
            assert_eq!(made.is_ok(), allowed, "{url} {name}");
        }
        // Whatever its name, what stands in it is a key.
        let header = Header {
            name: "x-thing".to_owned(),
            value: Secret::new(format!("Token {KEY}")),
            key: Some(Secret::new(KEY)),
        };
        let client = HttpClient::new().unwrap();
        let timeouts = Timeouts::default();
        let made = Endpoint::new(client, &provider, Some(url), vec![header], timeouts);
        assert_eq!(made.is_ok(), allowed, "{url}");
    }
}

#[test]
fn what_is_missing_or_senseless_is_said() {
    let provider = provider(WireFormat::OpenAi, Auth::Usual);
    let error = made(&provider, None, &[], Timeouts::default()).unwrap_err();
    assert!(
        error.message.contains("set the channel's `base_url`"),
        "{error}"
    );
    let error = made(&provider, Some("x"), &[], Timeouts::default()).unwrap_err();
    assert!(
        error
            .message
            .starts_with("the base URL of Fake is not right: "),
        "{error}"
    );
    let timeouts = Timeouts {
        idle_ms: 0,
        ..Timeouts::default()
    };
    let error = made(&provider, HERE, &[], timeouts).unwrap_err();
    assert!(error.message.contains("`idle_ms` of Fake is 0"), "{error}");
    let forever = Timeouts {
        connect_ms: u64::MAX,
        first_byte_ms: u64::MAX,
        idle_ms: u64::MAX,
        total_ms: u64::MAX,
    };
    assert!(made(&provider, HERE, &[], forever).is_ok());
}

#[test]
fn debug_output_tells_no_secret() {
    let mut provider = provider(WireFormat::OpenAi, Auth::Usual);
    provider.base_url = Some("https://api.example.com/v1".into());
    let endpoint = made(&provider, None, &[("x-my-key", KEY)], Timeouts::default()).unwrap();
    let shown = format!("{endpoint:?}");
    assert!(!shown.contains(KEY), "{shown}");
    assert!(
        shown.contains("x-my-key") && shown.contains("https://api.example.com/v1"),
        "{shown}"
    );
}

#[tokio::test]
async fn a_request_is_written_and_its_answer_read_in_the_providers_format() {
    let body = concat!(
        r#"data: {"id":"1","model":"tiny-1","choices":[{"delta":{"content":"hi"}}]}"#,
        "\n\n",
        r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#,
        "\n\ndata: [DONE]\n\n"
    );
    let events = answer("200 OK", "content-type: text/event-stream\r\n", body);
    let server = Server::saying(events).await;
    let request = Arc::new(ModelRequest::new("tiny", vec![Message::user("hello")]));
    let mut attempt = server.endpoint().attempt(Some(Secret::new(KEY)), request);
    let mut text = String::new();
    while let Some(event) = next(&mut attempt).await {
        if let ModelEvent::Text(piece) = event.unwrap() {
            text.push_str(&piece);
        }
    }
    assert_eq!(text, "hi");
}
