use std::collections::BTreeMap;

use super::super::fake::{Fake, channel};
use super::*;
use crate::{ListedModel, Message};

fn request(words: usize, max_tokens: Option<u32>) -> ModelRequest {
    let mut request = ModelRequest::new("", vec![Message::user("hello, world! ".repeat(words))]);
    request.sampling.max_tokens = max_tokens;
    request
}

#[test]
fn what_surely_does_not_fit_is_not_sent() {
    let fake = Fake::new([]);
    let table = ModelTable::shipped();
    // Words, what the request asks for, the channel's own settings, and what is sent: an error, or `max_tokens`.
    let rows = [
        (10, None, "", Ok(None)),
        (10, Some(500), "context = 1_000", Ok(Some(500))),
        // What is asked for is lowered to what is left; the conversation alone may be refused.
        (10, Some(1_000), "context = 1_000", Ok(Some(958))),
        (10, Some(4_096), "context = 4_096", Ok(Some(4_054))),
        (200, Some(5_000), "context = 500", Ok(Some(219))),
        (200, None, "context = 282", Ok(None)),
        (200, Some(9), "context = 282", Ok(Some(1))),
        (
            200,
            Some(9),
            "context = 281",
            Err("at least 281, and the model holds 281"),
        ),
        (
            2_000,
            None,
            "context = 1_000",
            Err("the model holds 1000; shorten it"),
        ),
        (2_000, None, "", Ok(None)),
        (10, None, "max_tokens = 700", Ok(Some(700))),
        (10, Some(9), "max_tokens = 700", Ok(Some(9))),
        (
            10,
            None,
            "max_tokens = 5_000\ncontext = 1_000",
            Ok(Some(958)),
        ),
        // Too long by the likely count, not by the low one: it may fit.
        (
            200,
            None,
            "max_tokens = 5_000\ncontext = 500",
            Ok(Some(219)),
        ),
    ];
    for (words, wanted, settings, expected) in rows {
        let channel = channel(
            &format!("name = 'c'\nprovider = 'custom'\n{settings}"),
            &fake,
        );
        let prepared = prepare(&channel, "m", &table, request(words, wanted));
        match (prepared, expected) {
            (Ok((request, _)), Ok(expected)) => {
                assert_eq!(request.sampling.max_tokens, expected, "{words} {settings}");
                assert_eq!(request.model, "m");
            }
            (Err(error), Err(expected)) => {
                assert_eq!(error.kind, ModelErrorKind::ContextTooLong);
                assert!(error.message.contains(expected), "{error}");
                assert!(error.message.contains("too long for m: about"), "{error}");
            }
            (found, expected) => {
                panic!("{words} {wanted:?} {settings}: {found:?}, not {expected:?}")
            }
        }
    }
}

#[tokio::test]
async fn the_nearest_source_tells_the_window() {
    let listed = ["m", "gpt-4"].map(|id| ListedModel {
        id: id.into(),
        context: Some(300),
    });
    let listed = Vec::from(listed);
    let fake = Fake::listing(listed);
    let own: BTreeMap<String, ModelInfo> =
        BTreeMap::from([("c/*".to_owned(), toml::from_str("context = 200").unwrap())]);
    let window = |channel: &Channel, table: &ModelTable, model: &str| {
        prepare(channel, model, table, request(1, None))
            .unwrap()
            .1
            .context
    };
    let (shipped, with_own) = (ModelTable::shipped(), ModelTable::shipped().with(own));
    let openai = channel("name = 'c'\nprovider = 'openai'\nkeys = '${KEY_A}'", &fake);
    assert_eq!(window(&openai, &shipped, "gpt-4"), Some(8_192));
    assert_eq!(window(&openai, &shipped, "m"), None);
    openai.list_models().await.unwrap();
    assert_eq!(window(&openai, &shipped, "m"), Some(300));
    assert_eq!(window(&openai, &shipped, "gpt-4"), Some(300));
    assert_eq!(window(&openai, &with_own, "m"), Some(200));
    let said = channel("name = 'c'\nprovider = 'openai'\ncontext = 100", &fake);
    assert_eq!(window(&said, &with_own, "m"), Some(100));
}

#[test]
fn a_provider_that_insists_gets_what_the_model_can_give() {
    let fake = Fake::new([]);
    let anthropic = channel(
        "name = 'anthropic'\nstream = false\nkeys = '${KEY_A}'",
        &fake,
    );
    let table = ModelTable::shipped();
    for (model, expected) in [
        ("claude-sonnet-4-5", 8_192),
        ("claude-3-opus-latest", 4_096),
        ("claude-9", 8_192),
    ] {
        let (request, _) = prepare(&anthropic, model, &table, request(1, None)).unwrap();
        assert_eq!(request.sampling.max_tokens, Some(expected), "{model}");
        assert!(!request.stream);
    }
}

#[test]
fn gemini_counts_the_answer_apart() {
    let fake = Fake::new([]);
    let settings = |context| format!("name = 'gemini'\nkeys = '${{KEY_A}}'\ncontext = {context}");
    let table = ModelTable::shipped();
    for (context, fits) in [(281, true), (280, false)] {
        let gemini = channel(&settings(context), &fake);
        let prepared = prepare(&gemini, "m", &table, request(200, Some(5_000)));
        let sent = prepared
            .ok()
            .map(|(request, _)| request.sampling.max_tokens);
        assert_eq!(sent, fits.then_some(Some(5_000)), "{context}");
    }
}
