//! The laws that all formats keep: how an answer is cut never matters, what is cut off is never taken for a whole, and the
//! same words mean the same in each. The answers are written by the test server, which shares no code with the readers.

use innkeeper_testkit::Rng;
use innkeeper_testkit::model_server::{
    Count, Delivery, Finish, Format, Piece, PieceKind, Quirks, Say, render,
};
use serde_json::{Value as Json, json};

use super::pieces::assemble;
use super::quick::testing::both_ways;
use super::*;
use crate::{FinishReason, ModelReply};

const FORMATS: [(Format, WireFormat); 3] = [
    (Format::OpenAi, WireFormat::OpenAi),
    (Format::Anthropic, WireFormat::Anthropic),
    (Format::Gemini, WireFormat::Gemini),
];

/// Short, since every test reads it once for each of its bytes.
fn two_calls() -> Say {
    Say::text("Grüße 🌧\n")
        .reasoning("Hm 🤔")
        .signature("c2ln/+==")
        .call_fragments("a", "sky", ["{\"at\":", "\"Ulm ü\"}"])
        .signature("Y2FsbA==")
        .call("b", "sky", json!({"n": 2}))
        .id("r")
        .model("m")
        .count(Count {
            prompt: 40,
            completion: 20,
            cached: 8,
            reasoning: 5,
        })
}

/// What a stream in these pieces makes, and how it ended.
fn streamed(format: WireFormat, pieces: &[&[u8]]) -> (ModelReply, Result<(), ModelError>) {
    let (out, ended) = both_ways(|| {
        let mut out = Vec::new();
        let ended = read(format, pieces, &mut out);
        (out, ended)
    });
    (assemble(&out), ended)
}

fn read(format: WireFormat, pieces: &[&[u8]], out: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
    let mut reader = SseReader::default();
    let mut decoder = format.decoder();
    for mut piece in pieces.iter().copied() {
        while let Some(event) = reader.next(&mut piece)? {
            decoder.event(&event, out)?;
        }
    }
    end_of_stream(&mut reader, &mut *decoder, out)
}

fn whole(format: WireFormat, body: &[u8]) -> (ModelReply, Result<(), ModelError>) {
    let mut decoder = format.decoder();
    let mut out = Vec::new();
    let ended = decoder.whole(body, &mut out);
    (assemble(&out), ended)
}

fn styles() -> Vec<Say> {
    let quirky = Quirks {
        crlf: true,
        tight: true,
        ..Quirks::default()
    };
    let short = Say::text("ä🌧").call("c", "t", json!({})).id("r").model("m");
    vec![two_calls(), short.quirks(quirky)]
}

#[test]
fn a_cut_at_any_byte_changes_nothing() {
    for say in styles() {
        for (served, format) in FORMATS {
            let body = render(served, Delivery::Stream, &say);
            let (reply, ended) = streamed(format, &[&body]);
            assert_eq!(ended, Ok(()), "{format:?}");
            assert!(reply.text().contains('🌧'));
            assert!(reply.tool_calls().count() > 0);
            for at in 0..=body.len() {
                let (left, right) = body.split_at(at);
                let cut = streamed(format, &[left, right]);
                assert_eq!(cut, (reply.clone(), Ok(())), "{format:?} cut at {at}");
            }
            let bytes: Vec<&[u8]> = body.chunks(1).collect();
            assert_eq!(streamed(format, &bytes), (reply, Ok(())), "{format:?}");
        }
    }
}

#[test]
fn pieces_and_whole_are_the_same_reply() {
    for (served, format) in FORMATS {
        let body = render(served, Delivery::Stream, &two_calls());
        let (reply, ended) = streamed(format, &[&body]);
        assert_eq!(ended, Ok(()));
        for delivery in [Delivery::Whole, Delivery::List] {
            let body = render(served, delivery, &two_calls());
            let (other, ended) = whole(format, &body);
            assert_eq!(ended, Ok(()), "{format:?} {delivery:?}");
            assert_eq!(said(&other), said(&reply), "{format:?} {delivery:?}");
            assert_eq!(other.usage, reply.usage, "{format:?} {delivery:?}");
        }
    }
}

#[test]
fn what_breaks_off_at_any_byte_is_no_whole_reply() {
    for say in styles() {
        for (served, format) in FORMATS {
            let body = render(served, Delivery::Stream, &say);
            let (full, _) = streamed(format, &[&body]);
            let mut broken = 0;
            for at in 0..body.len() {
                let (reply, ended) = streamed(format, &[&body[..at]]);
                match ended {
                    // Only counts may be missing.
                    Ok(()) => assert_eq!(said(&reply), said(&full), "{format:?} {at}"),
                    Err(error) => {
                        broken += 1;
                        assert_eq!(error.kind, ModelErrorKind::BrokenStream, "{at}: {error}");
                        assert!(full.text().starts_with(&reply.text()), "{format:?} {at}");
                        assert!(full.reasoning().starts_with(&reply.reasoning()));
                    }
                }
            }
            assert!(broken > body.len() / 2, "{format:?}: {broken}");
            for delivery in [Delivery::Whole, Delivery::List] {
                let body = render(served, delivery, &say);
                for at in 1..body.len() {
                    let (_, ended) = whole(format, &body[..at]);
                    let kind = ended.map_err(|error| error.kind);
                    let broken = Err(ModelErrorKind::BrokenStream);
                    assert_eq!(kind, broken, "{format:?} {delivery:?} {at}");
                }
            }
        }
    }
}

type Said = (String, String, Vec<(String, String, Json)>, FinishReason);

/// Text, thoughts, calls and why it ended: what all formats have a word for.
fn said(reply: &ModelReply) -> Said {
    let calls = reply.tool_calls().map(|call| {
        let arguments = serde_json::from_str(&call.arguments).unwrap();
        (call.id.clone(), call.name.clone(), arguments)
    });
    (
        reply.text(),
        reply.reasoning(),
        calls.collect(),
        reply.finish_reason.clone(),
    )
}

#[test]
fn the_same_words_mean_the_same_in_every_format() {
    let words = [
        "a",
        " ",
        "\n",
        "Grüße",
        "🌧",
        "\\",
        "\"",
        "{",
        "data: x\n\n",
        "\u{2028}",
        "<b>",
        "\r\n",
        "[DONE]",
        "\u{7f}",
    ];
    for seed in 0..100 {
        let mut rng = Rng::new(seed);
        let say = any_say(&mut rng, &words);
        let expected: Vec<_> = FORMATS
            .iter()
            .flat_map(|(served, format)| {
                let stream = render(*served, Delivery::Stream, &say);
                let at = rng.below(stream.len());
                let (left, right) = stream.split_at(at);
                [Delivery::Whole, Delivery::List]
                    .map(|delivery| whole(*format, &render(*served, delivery, &say)))
                    .into_iter()
                    .chain([streamed(*format, &[left, right])])
            })
            .map(|(reply, ended)| {
                assert_eq!(ended, Ok(()), "seed {seed}: {say:?}");
                (
                    said(&reply),
                    reply
                        .usage
                        .map(|usage| (usage.prompt_tokens, usage.completion_tokens)),
                )
            })
            .collect();
        for other in &expected {
            assert_eq!(other, &expected[0], "seed {seed}: {say:?}");
        }
        let text: String = say
            .pieces
            .iter()
            .filter(|piece| is_text(piece))
            .map(|piece| piece.whole())
            .collect();
        assert_eq!(expected[0].0.0, text, "seed {seed}");
    }
}

fn is_text(piece: &Piece) -> bool {
    piece.kind == PieceKind::Text
}

fn any_say(rng: &mut Rng, words: &[&str]) -> Say {
    let text = |rng: &mut Rng| -> String {
        (0..rng.below(6))
            .filter_map(|_| rng.pick(words))
            .copied()
            .collect()
    };
    let mut say = Say::nothing();
    for _ in 0..rng.below(3) {
        let deltas: Vec<String> = (0..=rng.below(4)).map(|_| text(rng)).collect();
        say = say.piece(PieceKind::Text, deltas);
    }
    if rng.below(3) == 0 {
        say = say.reasoning(format!("hm {}", text(rng)));
    }
    let calls = rng.below(4);
    for number in 0..calls {
        let arguments =
            json!({"a": text(rng), "n": rng.below(1_000), "deep": [{"x": null}, text(rng)]});
        say = say.call(&format!("call_{number}"), "do_it", arguments);
    }
    if rng.below(2) == 0 {
        say = say.chop(1 + rng.below(5));
    }
    // Gemini has no word for calls; a reply with calls that ended for another reason is told by it alone.
    if calls == 0 {
        let finish = [Finish::Stop, Finish::Length, Finish::Filter];
        say = say.finish(rng.pick(&finish).cloned().unwrap_or(Finish::Stop));
    }
    say.usage(1 + rng.below(99) as u64, 1 + rng.below(99) as u64)
        .quirks(Quirks {
            crlf: rng.below(2) == 0,
            tight: rng.below(2) == 0,
            pings: rng.below(2) == 0,
            ..Quirks::default()
        })
}
