//! The same reply as a stream, cut anywhere, and whole; and what goes back of it.

use proptest::prelude::*;
use serde_json::json;

use super::super::super::SseReader;
use super::super::encode;
use super::super::test_reading::assemble;
use super::*;
use crate::provider::Quirks;
use crate::{Message, ModelReply, ModelRequest};

/// What a server wants to say, in its own shape.
#[derive(Debug, Clone)]
struct Said {
    reasoning: Option<String>,
    details: Vec<Json>,
    content: Option<String>,
    /// Id, name, arguments, and what belongs to the call.
    calls: Vec<(String, String, String, Option<String>)>,
    usage: Option<(u64, u64)>,
    reason: Option<&'static str>,
    /// Characters of a piece.
    chunk: usize,
    line_end: &'static str,
}

impl Said {
    fn whole(&self) -> Json {
        let mut message = json!({"role": "assistant", "content": self.content});
        if let Some(reasoning) = &self.reasoning {
            message["reasoning"] = json!(reasoning);
        }
        if !self.details.is_empty() {
            message["reasoning_details"] = json!(self.details);
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self
                .calls
                .iter()
                .map(|(id, name, arguments, extra)| {
                    let mut call = json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
                    if let Some(extra) = extra {
                        call["extra_content"] = json!({"signature": extra});
                    }
                    call
                })
                .collect();
        }
        let mut answer = json!({
            "id": "r", "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": self.reason}],
        });
        if let Some(usage) = self.usage() {
            answer["usage"] = usage;
        }
        answer
    }

    fn usage(&self) -> Option<Json> {
        let (sent, received) = self.usage?;
        Some(json!({"prompt_tokens": sent, "completion_tokens": received}))
    }

    fn pieces(&self, text: &str) -> Vec<String> {
        let chars: Vec<char> = text.chars().collect();
        chars
            .chunks(self.chunk)
            .map(|piece| piece.iter().collect())
            .collect()
    }

    fn stream(&self) -> Vec<u8> {
        let mut deltas = vec![json!({"role": "assistant", "content": ""})];
        for piece in self.pieces(self.reasoning.as_deref().unwrap_or_default()) {
            deltas.push(json!({"reasoning": piece, "content": null}));
        }
        for detail in &self.details {
            let mut first = detail.clone();
            let text = first["text"].as_str().unwrap().to_owned();
            first["text"] = json!("");
            let signature = first["signature"].take();
            let [kind, index] = ["type", "index"].map(|name| detail[name].clone());
            deltas.push(json!({"reasoning_details": [first]}));
            for piece in self.pieces(&text) {
                deltas.push(
                    json!({"reasoning_details": [{"type": kind, "index": index, "text": piece}]}),
                );
            }
            deltas.push(json!({"reasoning_details": [{"type": kind, "index": index, "signature": signature}]}));
        }
        for piece in self.pieces(self.content.as_deref().unwrap_or_default()) {
            deltas.push(json!({"content": piece}));
        }
        for (index, (id, name, arguments, extra)) in self.calls.iter().enumerate() {
            deltas.push(json!({"tool_calls": [
                {"index": index, "id": id, "type": "function", "function": {"name": name, "arguments": ""}},
            ]}));
            for piece in self.pieces(arguments) {
                deltas.push(
                    json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
                );
            }
            if let Some(extra) = extra {
                deltas.push(json!({"tool_calls": [{"index": index, "extra_content": {"signature": extra}}]}));
            }
        }
        let chunk = |delta: &Json, reason: Json| json!({"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
        let mut chunks: Vec<Json> = deltas
            .iter()
            .map(|delta| chunk(delta, Json::Null))
            .collect();
        chunks.extend(self.reason.map(|reason| chunk(&json!({}), json!(reason))));
        chunks.extend(
            self.usage()
                .map(|usage| json!({"choices": [], "usage": usage})),
        );
        let end = self.line_end;
        let events = chunks
            .iter()
            .map(|chunk| format!("data: {chunk}{end}{end}"));
        let mut text = format!(": hello{end}{end}");
        text.extend(events);
        text.push_str(&format!("data: [DONE]{end}{end}"));
        text.into_bytes()
    }
}

fn from_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> ModelReply {
    let (mut reader, mut decode) = (SseReader::default(), Decode::default());
    let mut out = Vec::new();
    for mut piece in pieces {
        while let Some(event) = reader.next(&mut piece).unwrap() {
            decode.event(&event, &mut out).unwrap();
        }
    }
    assert!(decode.is_over());
    decode.end(&mut out).unwrap();
    assemble(&out)
}

fn from_whole(answer: &Json) -> ModelReply {
    let mut out = Vec::new();
    let body = serde_json::to_vec_pretty(answer).unwrap();
    Decode::default().whole(&body, &mut out).unwrap();
    assemble(&out)
}

fn two_calls() -> Said {
    Said {
        reasoning: Some("Ich überlege… 想一想".into()),
        details: vec![
            json!({"type": "reasoning.text", "text": "Ich überlege", "signature": "c2ln", "format": "f", "index": 0}),
            json!({"type": "reasoning.text", "text": "😀", "signature": "c2ln2", "id": null, "index": 1}),
        ],
        content: Some("Both at once: 😀\r\n\"done\"".into()),
        calls: vec![
            (
                "a".into(),
                "weather".into(),
                "{\"city\": \"Zürich\"}".into(),
                Some("sig".into()),
            ),
            (
                "b".into(),
                "time".into(),
                "{\"zone\": \"漢\", \"n\": 1.50}".into(),
                None,
            ),
        ],
        usage: Some((12, 34)),
        reason: Some("tool_calls"),
        chunk: 9,
        line_end: "\r\n",
    }
}

#[test]
fn two_parallel_calls_cut_at_every_byte_are_the_same_reply() {
    let said = two_calls();
    let wanted = from_whole(&said.whole());
    assert_eq!(wanted.tool_calls().count(), 2);
    assert_eq!(wanted.finish_reason, FinishReason::ToolCalls);
    assert_eq!(wanted.parts.len(), 6);
    let bytes = said.stream();
    for cut in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(cut);
        assert_eq!(from_pieces([head, tail]), wanted, "cut at {cut}");
    }
    assert_eq!(from_pieces(bytes.chunks(1)), wanted);
}

#[test]
fn what_must_go_back_goes_back_as_it_came() {
    let said = two_calls();
    let quirks = Quirks {
        message_fields: vec!["reasoning_details".into(), "extra_content".into()],
        ..Quirks::default()
    };
    let wanted = json!({
        "role": "assistant", "content": said.content,
        "tool_calls": said.whole()["choices"][0]["message"]["tool_calls"],
        "reasoning_details": said.details,
    });
    for reply in [
        from_whole(&said.whole()),
        from_pieces([said.stream().as_slice()]),
    ] {
        let request = ModelRequest::new("m", vec![Message::user("?"), reply.into_message()]);
        let sent = encode(&request, &quirks).unwrap();
        let sent = String::from_utf8(sent.body).unwrap();
        // The text itself: the order of fields and the digits of numbers are part of what was signed.
        assert!(sent.contains(&wanted.to_string()), "{sent}");
    }
}

fn said() -> impl Strategy<Value = Said> {
    let text = || prop::option::of("[a-z\"\\\\ \r\n:{}ä漢😀]{1,20}");
    let detail = ("[a-zä漢]{0,9}", "[a-z]{1,9}");
    let details = prop::collection::vec(detail, 0..3).prop_map(|details| {
        (0..)
            .zip(details)
            .map(|(index, (text, signature))| {
                json!({"type": "reasoning.text", "text": text, "signature": signature, "index": index as u32})
            })
            .collect::<Vec<Json>>()
    });
    let call = (
        "[a-z]{0,2}",
        "[a-z]{1,9}",
        "[a-z\"{}:, ä漢]{0,20}",
        prop::option::of("[a-z]{1,5}"),
    );
    let calls = prop::collection::vec(call, 0..4);
    let reason = prop::option::of(prop::sample::select(vec![
        "stop",
        "length",
        "tool_calls",
        "odd",
    ]));
    let usage = prop::option::of((0..1000_u64, 0..1000_u64));
    let line_end = prop::sample::select(vec!["\n", "\r\n", "\r"]);
    let rest = (usage, reason, 1..9_usize, line_end);
    (text(), details, text(), calls, rest).prop_map(
        |(reasoning, details, content, calls, (usage, reason, chunk, line_end))| Said {
            reasoning,
            details,
            content,
            calls,
            usage,
            reason,
            chunk,
            line_end,
        },
    )
}

proptest! {
    #[test]
    fn a_stream_however_cut_is_the_whole_answer(
        said in said(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = said.stream();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|cut| &bytes[cut[0]..cut[1]]);
        let wanted = from_whole(&said.whole());
        prop_assert_eq!(from_pieces(pieces), wanted.clone());
        prop_assert_eq!(from_pieces(bytes.chunks(1)), wanted);
    }
}
