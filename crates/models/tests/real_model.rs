//! What only a real model can show: that a stream from a real server is read, and that a grammar makes even a tiny
//! model call a tool.
//!
//! `scripts/real-model.sh` starts the server and runs these with `INNKEEPER_REAL_MODEL` set to its address. Everybody
//! else sees them as ignored; run without an address they fail, so that nothing is taken for tested that was not.

#![allow(clippy::expect_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_models::exam::{self, ExamOptions};
use innkeeper_models::provider::Providers;
use innkeeper_models::{
    Channel, ChannelConfig, Constraint, GrammarOptions, HttpClient, KeyLookup, KeySource, Message,
    Model, ModelEvent, ModelRequest, Routed, Router, Sampling, grammar,
};
use innkeeper_protocol::{Locale, Protocol, Secret, ToolDefinition, bind, parse, render_manifest};
use serde_json::json;
use tokio_util::sync::CancellationToken;

const WHY: &str = "INNKEEPER_REAL_MODEL is not set: run scripts/real-model.sh";

/// The model behind the address.
fn connect() -> Routed {
    struct Nowhere;
    impl KeySource for Nowhere {
        fn secret(&self, _name: &str) -> Result<Option<Secret>, String> {
            Ok(None)
        }
    }
    let url = std::env::var("INNKEEPER_REAL_MODEL").expect(WHY);
    let providers = Providers::shipped();
    let config = ChannelConfig {
        base_url: Some(format!("{url}/v1")),
        ..ChannelConfig::new("real", "llamacpp")
    };
    let keys = KeyLookup {
        secrets: &Nowhere,
        env: &|_| None,
    };
    let client = HttpClient::new().expect("a client");
    let provider = providers.get("llamacpp").expect("llamacpp").clone();
    let channel = Channel::new(provider, config, &keys, client);
    let router = Router::new(vec![Arc::new(channel)], Vec::new(), BTreeMap::new());
    let model = router.expect("a router").model("real/real-model");
    model.expect("a model")
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        sampling: Sampling {
            temperature: Some(0.0),
            max_tokens: Some(120),
            seed: Some(1),
            ..Sampling::default()
        },
        ..ModelRequest::new("real-model", messages)
    }
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh"]
async fn a_reply_streams_in_pieces() {
    let model = connect();
    let ask = request(vec![Message::user("Count from one to five.")]);
    let mut stream = model.stream(ask, CancellationToken::new());
    let mut pieces = 0;
    while let Some(event) = stream.next().await {
        pieces += usize::from(matches!(event.unwrap(), ModelEvent::Text(text) if !text.is_empty()));
    }
    let reply = stream.collect().await.unwrap();
    assert!(pieces > 1 && !reply.text().is_empty(), "{reply:?}");
    let usage = reply.usage.unwrap();
    assert!(
        usage.prompt_tokens > Some(0) && usage.completion_tokens > Some(0),
        "{usage:?}"
    );
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh"]
async fn a_grammar_makes_a_tiny_model_call_a_tool() {
    let model = connect();
    let tool = ToolDefinition::new(
        "Lamp.Set",
        "Sets the lamp.",
        json!({"type": "object", "properties": {
            "colour": {"enum": ["red", "green", "blue"]},
            "brightness": {"type": "integer", "minimum": 1, "maximum": 10},
            "at": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                   "required": ["x", "y"]},
            "slowly": {"type": "boolean"},
        }, "required": ["colour", "brightness", "at"]}),
    );
    for protocol in [Protocol::Tam, Protocol::Action] {
        let manifest = render_manifest([&tool], protocol, Locale::En);
        let mut ask = request(vec![
            Message::system(manifest.text().unwrap()),
            Message::user("Make the lamp at 3, 4 blue, with brightness 7."),
        ]);
        let form = grammar(&[&tool], protocol, GrammarOptions::default()).unwrap();
        ask.constraint = Some(Constraint::Grammar(form));
        let reply = model
            .stream(ask, CancellationToken::new())
            .collect()
            .await
            .unwrap();
        let text = reply.text();
        let parsed = parse(&text);
        assert!(parsed.all_diagnostics().is_empty(), "{text}");
        let calls: Vec<_> = parsed.calls().collect();
        let [call] = calls.as_slice() else {
            panic!("{} calls in {text}", calls.len())
        };
        let mut call = (*call).clone();
        manifest.aliases.restore(&mut call);
        bind(&call, &tool).unwrap_or_else(|error| panic!("{error} in {text}"));
    }
}

#[tokio::test]
#[ignore = "needs a real model: scripts/real-model.sh"]
async fn under_a_grammar_every_call_of_the_exam_fits() {
    let model = connect();
    let easy = ["one-text", "one-of-a-list", "two-tools"];
    let options = ExamOptions {
        tasks: exam::tasks()
            .into_iter()
            .filter(|task| easy.contains(&task.name))
            .collect(),
        grammar: true,
        ..ExamOptions::default()
    };
    let result = exam::take(
        &model,
        request(Vec::new()),
        Protocol::Action,
        options,
        &|_, _| Ok(()),
        &CancellationToken::new(),
        &mut |_| {},
    )
    .await;
    assert_eq!(result.score.provider_errors, 0, "{:?}", result.results);
    assert_eq!(result.score.bound, easy.len(), "{:?}", result.results);
}
