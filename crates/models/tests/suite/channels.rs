//! What channels add to a request, and whom they ask in which order.

use innkeeper_models::{
    HeaderText, KeyRef, Message, ModelErrorKind as Kind, ModelRequest, RawPayload,
};
use innkeeper_testkit::model_server::{Answer, Format, ModelServer, Say};
use serde_json::json;

use super::house::{House, channel, config, hello, key};

fn env(name: &str) -> KeyRef {
    KeyRef::Env(name.into())
}

/// The header that shows the key, and what stands before it.
const fn shows_key(format: Format) -> (&'static str, &'static str) {
    match format {
        Format::OpenAi => ("authorization", "Bearer "),
        Format::Anthropic => ("x-api-key", ""),
        Format::Gemini => ("x-goog-api-key", ""),
    }
}

#[tokio::test]
async fn keys_headers_names_and_extras_arrive() {
    for format in Format::ALL {
        let server = ModelServer::start().await;
        let mut config = config("one", &server, format);
        config.keys = vec![KeyRef::Secret("models.one".into())];
        config.rename.insert("tiny".into(), "vendor-tiny-2".into());
        config.stream = false;
        let plain = HeaderText::Plain("innkeeper".into());
        config.headers.insert("X-Title".into(), plain);
        let secret = HeaderText::WithKey {
            before: "Token ".into(),
            key: env("KEY_H"),
            after: String::new(),
        };
        config.headers.insert("X-Gate-Token".into(), secret);
        let house = House::new(vec![channel(config, format)]);
        server.push(Answer::say(Say::text("hi")));
        let mut request = hello();
        request
            .extras
            .insert("top_secret_mode".into(), json!({"deep": [1]}));
        let reply = house.ask(request).await.unwrap();
        assert_eq!(reply.text(), "hi");
        let sent = server.next_request().await;
        let (header, scheme) = shows_key(format);
        assert_eq!(
            sent.header(header),
            Some(format!("{scheme}{}", key("models.one")).as_str())
        );
        assert_eq!(sent.header("x-title"), Some("innkeeper"));
        assert_eq!(
            sent.header("x-gate-token"),
            Some(format!("Token {}", key("KEY_H")).as_str())
        );
        let body = sent.json();
        assert_eq!(body["top_secret_mode"], json!({"deep": [1]}));
        match format {
            Format::Gemini => {
                assert_eq!(sent.path, "/v1beta/models/vendor-tiny-2:generateContent");
            }
            Format::OpenAi | Format::Anthropic => {
                assert_eq!(body["model"], "vendor-tiny-2");
                assert_ne!(body["stream"], true);
            }
        }
        let version = sent.header("anthropic-version");
        assert_eq!(version.is_some(), format == Format::Anthropic);
        let report = house.reports.take().remove(0);
        assert_eq!(report.model.as_deref(), Some("vendor-tiny-2"));
    }
}

#[tokio::test]
async fn a_raw_payload_arrives_byte_for_byte() {
    let raw = "{ \"stream\":true,\n\t\"messages\": [{\"role\":\"user\",\"content\":\"\\u0068i 🌧\"}], \"model\": \"x\" ,\"n\":1.0e0}";
    let server = ModelServer::start().await;
    let house = House::plain(&server, Format::OpenAi);
    server.push(Answer::say(Say::text("hi")));
    let request = ModelRequest {
        raw: Some(RawPayload::new(raw).unwrap()),
        ..hello()
    };
    assert_eq!(house.ask(request.clone()).await.unwrap().text(), "hi");
    assert_eq!(server.next_request().await.text(), raw);
    // Elsewhere the same is said in other words.
    for format in [Format::Anthropic, Format::Gemini] {
        let server = ModelServer::start().await;
        server.push(Answer::say(Say::text("hi")));
        let house = House::plain(&server, format);
        assert_eq!(house.ask(request.clone()).await.unwrap().text(), "hi");
        assert!(server.next_request().await.text().contains("hi 🌧"));
    }
}

#[tokio::test]
async fn the_second_key_is_used_where_the_first_is_not_wanted() {
    for format in Format::ALL {
        let refusals = [
            Answer::error(401, "bad key"),
            Answer::error(402, "no money"),
            // Longer than anybody waits: the key is put aside.
            Answer::error(429, "slow down").header("retry-after", "3000"),
        ];
        for refusal in refusals {
            let what = format!("{format:?} {refusal:?}");
            let server = ModelServer::start().await;
            let mut config = config("one", &server, format);
            config.keys = vec![env("KEY_A"), env("KEY_B")];
            let house = House::new(vec![channel(config, format)]);
            server.push(refusal.clone());
            server.push(Answer::say(Say::text("hi")));
            server.push(Answer::say(Say::text("hi")));
            for _ in 0..2 {
                assert_eq!(house.hello().await.expect(&what).text(), "hi", "{what}");
            }
            let (header, scheme) = shows_key(format);
            let shown: Vec<String> = server
                .requests()
                .iter()
                .map(|sent| sent.header(header).unwrap_or_default().to_owned())
                .collect();
            let keys = ["KEY_A", "KEY_B", "KEY_B"].map(|name| format!("{scheme}{}", key(name)));
            assert_eq!(shown, keys, "{what}");
            // When both are of no use, the last error says so.
            server.push(refusal.clone());
            server.push(refusal);
            let error = house.hello().await.unwrap_err();
            assert!(
                matches!(error.kind, Kind::Unauthorized | Kind::RateLimited),
                "{what}: {error}"
            );
        }
    }
}

#[tokio::test]
async fn a_wait_that_is_asked_for_is_told_and_a_long_one_is_not_sat_out() {
    for format in Format::ALL {
        let (server, other) = (ModelServer::start().await, ModelServer::start().await);
        let first = channel(config("one", &server, format), format);
        let alone = House::new(vec![first.clone()]);
        server.push(Answer::error(503, "busy").header("retry-after", "1000"));
        let error = alone.hello().await.unwrap_err();
        assert_eq!(error.retry_after.unwrap().as_secs(), 1000);
        assert!(error.message.contains("1000 s"), "{error}");
        let second = channel(config("two", &other, format), format);
        let house = House::new(vec![first, second]);
        server.push(Answer::error(429, "slow").header("retry-after", "1000"));
        other.otherwise(|_| Answer::say(Say::text("hi")));
        assert_eq!(house.hello().await.unwrap().text(), "hi");
        // The only key rests; nobody asks with it until then.
        let asked = server.requests().len();
        assert_eq!(house.hello().await.unwrap().text(), "hi");
        assert_eq!(
            (server.requests().len(), other.requests().len()),
            (asked, 2)
        );
    }
}

#[tokio::test]
async fn disabled_channels_and_those_without_keys_are_passed_over() {
    let (server, other) = (ModelServer::start().await, ModelServer::start().await);
    other.otherwise(|_| Answer::say(Say::text("hi")));
    let format = Format::OpenAi;
    let mut disabled = config("off", &server, format);
    disabled.disabled = true;
    let mut headless = config("headless", &server, format);
    let broken = HeaderText::Plain("line\nbreak".into());
    headless.headers.insert("X-Title".into(), broken);
    let house = House::new(vec![
        channel(disabled, format),
        channel(headless, format),
        channel(config("two", &other, format), format),
    ]);
    assert_eq!(house.hello().await.unwrap().text(), "hi");
    assert_eq!(server.connections_opened(), 0);
    let error = house.models.get("off/tiny").err().unwrap();
    assert!(error.message.contains("disabled"), "{error}");
}

#[tokio::test]
async fn the_next_channel_may_speak_another_format() {
    let ways = [
        (Format::OpenAi, Format::Anthropic),
        (Format::Anthropic, Format::Gemini),
        (Format::Gemini, Format::OpenAi),
    ];
    for (one, two) in ways {
        let (server, other) = (ModelServer::start().await, ModelServer::start().await);
        let house = House::new(vec![
            channel(config("one", &server, one), one),
            channel(config("two", &other, two), two),
        ]);
        let called = Say::text("I look").reasoning("hm").signature("c2ln").call(
            "call_a",
            "weather",
            json!({"city": "Rom"}),
        );
        server.push(Answer::say(called));
        let mut request = hello();
        let reply = house.ask(request.clone()).await.unwrap();
        request.messages.push(reply.into_message().into());
        request
            .messages
            .push(Message::tool_result("call_a", "rain").into());
        server.push(Answer::error(500, "gone"));
        other.push(Answer::say(Say::text("Rain.")));
        assert_eq!(house.ask(request).await.unwrap().text(), "Rain.");
        let sent = other.next_request().await.text();
        assert!(sent.contains("call_a") && sent.contains("rain"), "{sent}");
        // Signatures are for whoever made them.
        assert!(!sent.contains("c2ln"), "{sent}");
    }
}
