//! No key in anything that can be printed, whatever a server does with it.

use std::fmt::{Debug, Display};

use innkeeper_models::{HeaderText, KeyRef, ModelRequest};
use innkeeper_testkit::model_server::{Answer, Format, ModelServer, Request, Say};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::house::{House, PLANTED, channel, config, hello};

/// What the server was shown, all of it.
fn shown(request: &Request) -> String {
    let secret = |(_, value): &&(String, String)| value.contains(PLANTED);
    let values = request.headers.iter().filter(secret);
    values
        .map(|(_, value)| value.as_str())
        .collect::<Vec<_>>()
        .join(" and ")
}

type Echo = fn(&str) -> Answer;

/// Servers that repeat what they were shown, in every place that ends up in a message.
const ECHOES: &[Echo] = &[
    |shown| Answer::error(400, &format!("I got {shown}")),
    |shown| Answer::error(401, &format!("no such key: {shown}")),
    |shown| Answer::error(404, &format!("no model for {shown}")),
    |shown| Answer::error(429, &format!("slow down, {shown}")),
    |shown| Answer::error(500, shown),
    |shown| Answer::error(500, &shown.to_uppercase()),
    |shown| Answer::status(500).body(shown),
    |shown| Answer::status(502).body(format!("<html><title>{shown}</title>")),
    |shown| Answer::status(200).body(format!("<html><title>{shown}</title>")),
    |shown| Answer::status(400).body(format!("{}{shown}", "x ".repeat(190))),
    |shown| Answer::status(400).body(format!("{}{shown}", "x".repeat(16 * 1024 - 9))),
    |shown| {
        Answer::status(400)
            .body(json!({"error": {"code": shown, "type": shown, "message": "no"}}).to_string())
    },
    |shown| {
        Answer::status(307).header(
            "location",
            &format!("http://127.0.0.1/{}", shown.replace(' ', "/")),
        )
    },
    |shown| Answer::status(400).header("x-request-id", shown),
    |shown| Answer::say(Say::text("one").then_error(401, &format!("no such key: {shown}"))),
    |shown| Answer::say(Say::text("one").then_error(400, &format!("what is {shown}"))),
    |shown| Answer::say(Say::nothing().then_error(500, &format!("{}{shown}", "x ".repeat(192)))),
    |shown| Answer::say(Say::text("one").model(shown).id(shown)),
    |shown| {
        let finish = innkeeper_testkit::model_server::Finish::Word(shown.to_owned());
        Answer::say(Say::text("one").finish(finish))
    },
    |shown| Answer::events(format!("event: error\ndata: {shown}\n\n")),
    |shown| Answer::events(format!("data: {shown}\n\n")),
    |shown| {
        Answer::events(format!(
            "data: {{\"error\": {{\"code\": \"{shown}\"}}}}\n\n"
        ))
    },
    |shown| Answer::status(200).body(format!("{{\"{shown}\": 1}}")),
    |shown| Answer::raw(format!("{shown}\r\n\r\n")),
    |shown| {
        Answer::raw(format!(
            "HTTP/1.1 200 {shown}\r\ncontent-length: {shown}\r\n\r\n"
        ))
    },
    |_| Answer::say(Say::text("hi").usage(1, 1)),
];

fn clean(what: &str, shown: impl Debug, said: Option<&dyn Display>) {
    let mut texts = vec![format!("{shown:?}"), format!("{shown:#?}")];
    texts.extend(said.map(|said| said.to_string()));
    for text in texts {
        // Not even a good part of it.
        assert!(
            !text.to_lowercase().contains(&PLANTED[..8]),
            "{what}: {text}"
        );
    }
}

#[tokio::test]
async fn no_key_is_ever_printed() {
    for format in Format::ALL {
        for (number, echo) in ECHOES.iter().enumerate() {
            for stream in [true, false] {
                let what = format!("{format:?} echo {number}, stream {stream}");
                let server = ModelServer::start().await;
                let mut config = config("one", &server, format);
                config.keys = vec![
                    KeyRef::Env("KEY_A".into()),
                    KeyRef::Secret("models.b".into()),
                ];
                let header = HeaderText::WithKey {
                    before: "Token ".into(),
                    key: KeyRef::Env("KEY_H".into()),
                    after: String::new(),
                };
                config.headers.insert("X-Gate-Token".into(), header);
                clean(&what, &config, None);
                let one = channel(config, format);
                let house = House::new(vec![one.clone()]);
                server.otherwise(move |request| echo(&shown(request)));
                let model = house.models.get("tiny").unwrap();
                let request = ModelRequest { stream, ..hello() };
                let mut events = model.stream(request, CancellationToken::new());
                while let Some(event) = events.next().await {
                    match event {
                        Ok(event) => clean(&what, event, None),
                        Err(error) => clean(&what, &error, Some(&error)),
                    }
                }
                match events.collect().await {
                    Ok(reply) => clean(&what, reply, None),
                    Err(error) => clean(&what, &error, Some(&error)),
                }
                match one.list_models().await {
                    Ok(_) => {}
                    Err(error) => clean(&what, &error, Some(&error)),
                }
                assert!(!server.requests().is_empty());
                let seen = server.requests();
                assert!(
                    seen.iter().any(|request| shown(request).contains(PLANTED)),
                    "{what}"
                );
                let router = house.models.router().unwrap();
                clean(&what, router, None);
                clean(&what, &house.models, None);
                clean(&what, &one, None);
                clean(&what, router.candidates("tiny").unwrap(), None);
                clean(&what, router.model("tiny").unwrap(), None);
                clean(&what, house.reports.take(), None);
            }
        }
    }
}
