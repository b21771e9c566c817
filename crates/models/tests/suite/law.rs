//! A conversation with two calls at once goes through every format, in pieces and whole, and what the provider wants back
//! comes back as it was, however the connection cuts it.

use innkeeper_models::{FinishReason, Message, ModelReply, ModelRequest, ToolSpec};
use innkeeper_testkit::model_server::{
    Answer, Count, Delivery, Fault, Format, ModelServer, Request, Say, render,
};
use serde_json::{Value as Json, json};

use super::house::House;

/// Cuts for each way of delivery; each is a request over a socket.
const CUTS: usize = 40;

fn looks() -> Say {
    Say::deltas(["Grüße, ", "I look 🌧"])
        .reasoning("Two cities 🤔.")
        .signature("c2lnbmVk/+==")
        .call_fragments("call_a", "weather", ["{\"city\":", "\"Zürich\"}"])
        .signature("Y2FsbA==")
        .call("call_b", "weather", json!({"city": "Köln", "days": 2}))
        .count(Count {
            prompt: 40,
            completion: 20,
            cached: 8,
            reasoning: 0,
        })
}

fn asks(stream: bool) -> ModelRequest {
    let mut request = ModelRequest::new("tiny", vec![Message::user("Zürich, Köln?")]);
    request.stream = stream;
    request.tools = vec![ToolSpec {
        name: "weather".into(),
        description: "How it is outside".into(),
        parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}).into(),
    }];
    request
}

/// Format, whether pieces are asked for, and how the answer comes all the same.
fn ways() -> Vec<(Format, bool, Option<Delivery>)> {
    let mut ways = vec![(Format::Gemini, true, Some(Delivery::List))];
    for format in Format::ALL {
        ways.extend([(format, true, None), (format, false, None)]);
    }
    ways
}

fn answer(delivery: Option<Delivery>) -> Answer {
    let answer = Answer::say(looks());
    match delivery {
        Some(delivery) => answer.delivery(delivery),
        None => answer,
    }
}

#[tokio::test]
async fn two_calls_their_results_and_the_end() {
    for (format, stream, delivery) in ways() {
        let server = ModelServer::start().await;
        let house = House::plain(&server, format);
        server.push(answer(delivery));
        server.push(Answer::say(Say::text("Rain, sun.").usage(60, 4)));
        let mut request = asks(stream);
        let reply = house.ask(request.clone()).await.unwrap();
        check(&reply);
        server.next_request().await;
        request.messages.push(reply.into_message().into());
        // In the other order: ids count.
        request
            .messages
            .push(Message::tool_result("call_b", "sun ☀").into());
        request
            .messages
            .push(Message::tool_result("call_a", "rain").into());
        let last = house.ask(request).await.unwrap();
        assert_eq!(
            (last.text().as_str(), &last.finish_reason),
            ("Rain, sun.", &FinishReason::Stop)
        );
        goes_back(format, &server.next_request().await);
    }
}

fn check(reply: &ModelReply) {
    assert_eq!(reply.text(), "Grüße, I look 🌧");
    assert_eq!(reply.reasoning(), "Two cities 🤔.");
    let calls: Vec<(&str, Json)> = reply
        .tool_calls()
        .map(|call| {
            (
                call.id.as_str(),
                serde_json::from_str(&call.arguments).unwrap(),
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("call_a", json!({"city": "Zürich"})),
            ("call_b", json!({"city": "Köln", "days": 2})),
        ]
    );
    assert_eq!(reply.finish_reason, FinishReason::ToolCalls);
    assert_eq!(reply.model, "scripted");
    let usage = reply.usage.unwrap();
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.completion_tokens,
            usage.cached_tokens
        ),
        (Some(40), Some(20), Some(8))
    );
}

/// What the server gets of its own reply, and of the results.
fn goes_back(format: Format, request: &Request) {
    let body = request.json();
    let at = |pointer: &str| body.pointer(pointer).cloned().unwrap_or_default();
    match format {
        Format::OpenAi => {
            let arguments = |at: Json| serde_json::from_str::<Json>(at.as_str().unwrap()).unwrap();
            let detail = at("/messages/1/reasoning_details/0");
            assert_eq!(detail["signature"], "c2lnbmVk/+==");
            assert_eq!(detail["text"], "Two cities 🤔.");
            assert_eq!(detail["type"], "reasoning.text");
            assert_eq!(at("/messages/1/content"), "Grüße, I look 🌧");
            let call = "/messages/1/tool_calls";
            assert_eq!(at(&format!("{call}/0/id")), "call_a");
            assert_eq!(
                arguments(at(&format!("{call}/0/function/arguments"))),
                json!({"city": "Zürich"})
            );
            assert_eq!(
                at(&format!("{call}/0/extra_content")),
                json!({"google": {"thought_signature": "Y2FsbA=="}})
            );
            assert_eq!(at(&format!("{call}/1/id")), "call_b");
            assert_eq!(at(&format!("{call}/1/extra_content")), Json::Null);
            let results = [
                ("/messages/2", "call_b", "sun ☀"),
                ("/messages/3", "call_a", "rain"),
            ];
            for (place, id, content) in results {
                assert_eq!(at(&format!("{place}/role")), "tool");
                assert_eq!(at(&format!("{place}/tool_call_id")), id);
                assert_eq!(at(&format!("{place}/content")), content);
            }
        }
        Format::Anthropic => {
            assert_eq!(
                at("/messages/1/content/0"),
                json!({"type": "thinking", "thinking": "Two cities 🤔.", "signature": "c2lnbmVk/+=="})
            );
            assert_eq!(at("/messages/1/content/1/text"), "Grüße, I look 🌧");
            assert_eq!(
                at("/messages/1/content/2"),
                json!({"type": "tool_use", "id": "call_a", "name": "weather", "input": {"city": "Zürich"}})
            );
            assert_eq!(at("/messages/1/content/3/id"), "call_b");
            let results = [("0", "call_a", "rain"), ("1", "call_b", "sun ☀")];
            for (place, id, content) in results {
                let place = format!("/messages/2/content/{place}");
                assert_eq!(at(&format!("{place}/type")), "tool_result");
                assert_eq!(at(&format!("{place}/tool_use_id")), id);
                assert!(at(&place).to_string().contains(content), "{}", at(&place));
            }
        }
        Format::Gemini => {
            assert_eq!(
                at("/contents/1/parts/0"),
                json!({"text": "Two cities 🤔.", "thought": true, "thoughtSignature": "c2lnbmVk/+=="})
            );
            assert_eq!(at("/contents/1/parts/1/text"), "Grüße, I look 🌧");
            assert_eq!(at("/contents/1/parts/2/thoughtSignature"), "Y2FsbA==");
            let call = at("/contents/1/parts/2/functionCall");
            assert_eq!(
                (&call["id"], &call["args"]),
                (&json!("call_a"), &json!({"city": "Zürich"}))
            );
            assert_eq!(at("/contents/1/parts/3/thoughtSignature"), Json::Null);
            let results = [("0", "call_a", "rain"), ("1", "call_b", "sun ☀")];
            for (place, id, content) in results {
                let result = at(&format!("/contents/2/parts/{place}/functionResponse"));
                assert_eq!(result["id"], id);
                assert_eq!(result["name"], "weather");
                assert!(result.to_string().contains(content), "{result}");
            }
        }
    }
}

/// Places spread over so many bytes, the first and the last among them, and every residue of small numbers.
fn places(length: usize) -> impl Iterator<Item = usize> {
    let stride = (length / CUTS).max(1) | 1;
    (1..length)
        .step_by(stride)
        .chain([length.saturating_sub(1)])
}

#[tokio::test]
async fn how_the_connection_cuts_it_does_not_matter() {
    for (format, stream, delivery) in ways() {
        let server = ModelServer::start().await;
        let house = House::plain(&server, format);
        server.push(answer(delivery));
        let whole = house.ask(asks(stream)).await.unwrap();
        // Longer than the body itself: what frames the chunks is cut too.
        let shape = delivery.unwrap_or(if stream {
            Delivery::Stream
        } else {
            Delivery::Whole
        });
        let length = render(format, shape, &looks()).len() * 11 / 10;
        for place in places(length) {
            server.push(answer(delivery).cuts(vec![place]));
            let cut = house.ask(asks(stream)).await.unwrap();
            assert_eq!(cut, whole, "{format:?} {shape:?} cut at {place}");
        }
        server.push(answer(delivery).cut_every(1));
        assert_eq!(house.ask(asks(stream)).await.unwrap(), whole);
        server.push(answer(delivery).chunk_bytes(7).cut_every(5));
        assert_eq!(house.ask(asks(stream)).await.unwrap(), whole);
        assert_eq!(server.unused(), 0);
    }
}

#[tokio::test]
async fn what_breaks_off_is_told_with_what_had_come() {
    for (format, stream, delivery) in ways() {
        let server = ModelServer::start().await;
        let house = House::plain(&server, format);
        server.push(answer(delivery));
        let whole = house.ask(asks(stream)).await.unwrap();
        let shape = delivery.unwrap_or(if stream {
            Delivery::Stream
        } else {
            Delivery::Whole
        });
        let body = render(format, shape, &looks());
        let mut with_words = 0;
        for place in places(body.len()) {
            server.push(answer(delivery).fault(Fault::CloseAfter(place)));
            let cut = house.ask(asks(stream)).await;
            match cut {
                // The model had said why it ended; only counts can be missing.
                Ok(reply) => {
                    assert_eq!(reply.parts, whole.parts, "{format:?} {shape:?} {place}");
                    assert_eq!(reply.finish_reason, whole.finish_reason);
                    assert_eq!(shape, Delivery::Stream, "{place}");
                }
                Err(error) => {
                    assert_eq!(error.reason(), "model.broken_stream", "{place}: {error}");
                    let text = error
                        .arrived
                        .map(|arrived| arrived.text())
                        .unwrap_or_default();
                    assert!(whole.text().starts_with(&text), "{place}: {text}");
                    with_words += usize::from(!text.is_empty());
                }
            }
        }
        assert_eq!(
            with_words > 0,
            shape == Delivery::Stream,
            "{format:?} {shape:?}"
        );
    }
}
