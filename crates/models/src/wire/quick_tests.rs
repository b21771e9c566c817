use innkeeper_testkit::Rng;

use super::testing::{both_ways, compared, taken};
use crate::wire::{SseEvent, WireFormat};
use crate::{ModelError, ModelEvent};

/// The first event of a stream, one with words that are escaped, and one with words that are not.
const OPENAI: [&str; 3] = [
    r#"{"id":"r","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#,
    r#"{"id":"r","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":"hä \"\n"},"logprobs":null,"finish_reason":null}]}"#,
    r#"{"id":"r","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":null,"choices":[{"index":0,"delta":{"content":"hä"},"logprobs":null,"finish_reason":null}]}"#,
];
const ANTHROPIC: [&str; 3] = [
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hä \"\n"}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hä"}}"#,
];
const GEMINI: [&str; 3] = [
    r#"{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"modelVersion":"m"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"hä \"\n"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":4,"deep":[{"x":1}]},"modelVersion":"m","responseId":"r"}"#,
    r#"{"candidates":[{"content":{"parts":[{"text":"hä"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":4,"deep":[{"x":1}]},"modelVersion":"m","responseId":"r"}"#,
];
const FORMATS: [(WireFormat, [&str; 3]); 3] = [
    (WireFormat::OpenAi, OPENAI),
    (WireFormat::Anthropic, ANTHROPIC),
    (WireFormat::Gemini, GEMINI),
];

/// What the events make, each way. The first of a stream says more, so that the second is the one to look at.
fn read(format: WireFormat, events: &[&str]) -> (Vec<ModelEvent>, Vec<Result<(), ModelError>>) {
    both_ways(|| {
        let (mut decoder, mut out) = (format.decoder(), Vec::new());
        let read = events.iter().map(|data| {
            let (event, data) = ("".into(), (*data).into());
            decoder.event(&SseEvent { event, data }, &mut out)
        });
        let read = read.collect();
        let _ = decoder.end(&mut out);
        (out, read)
    })
}

#[test]
fn common_events_take_the_quick_way() {
    let from_servers = [
        r#"{"id":"gen-1","provider":"X","model":"m","object":"chat.completion.chunk","created":1,"choices":[{"index":0,"delta":{"role":"assistant","content":"","reasoning":"hm","reasoning_details":null},"finish_reason":null,"native_finish_reason":null,"logprobs":null}]}"#,
        r#"{"choices":[{"finish_reason":null,"index":0,"delta":{"content":" x"}}],"created":1,"id":"c","model":"m","system_fingerprint":"b1","object":"chat.completion.chunk"}"#,
        r#"{"id":"d","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":null,"reasoning_content":"hm"},"logprobs":null,"finish_reason":null}],"usage":null}"#,
    ];
    let openai = from_servers.map(|chunk| (WireFormat::OpenAi, [OPENAI[0], chunk]));
    let formats = FORMATS.map(|(format, [first, common, _])| (format, [first, common]));
    for (format, events) in formats.into_iter().chain(openai) {
        let before = taken();
        let (out, read) = read(format, &events);
        assert_eq!(taken(), before + 1, "{}", events[1]);
        assert!(read.iter().all(Result::is_ok));
        assert!(out.iter().any(|event| matches!(
            event,
            ModelEvent::Text(text) | ModelEvent::Reasoning(text) if !text.is_empty()
        )));
    }
}

#[test]
fn an_event_with_other_words_is_told_by_what_is_around_them() {
    let thought = plain_thought();
    let thoughts = (WireFormat::OpenAi, [OPENAI[0], "", &*thought]);
    for (format, [first, escaped, plain]) in FORMATS.into_iter().chain([thoughts]) {
        let before = compared();
        let other = plain.replace("hä", "ja 🌧");
        let quoted = plain.replace("hä", "\\\"");
        let events = [first, plain, &other, escaped, &quoted, plain, plain];
        let (out, read) = read(format, &events);
        assert_eq!(compared(), before + 3, "{plain}");
        assert!(read.iter().all(Result::is_ok));
        let said: String = out
            .iter()
            .filter_map(|event| match event {
                ModelEvent::Text(text) | ModelEvent::Reasoning(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let escaped = if escaped.is_empty() { "" } else { "hä \"\n" };
        assert!(said.ends_with(&format!("häja 🌧{escaped}\"hähä")), "{said}");
    }
}

fn plain_thought() -> String {
    OPENAI[2].replace("\"content\"", "\"content\":null,\"reasoning\"")
}

/// The format, its first event, a common one to be changed, and one that comes before it and after it.
fn both_kinds() -> impl Iterator<Item = (WireFormat, &'static str, &'static str, &'static str)> {
    FORMATS
        .into_iter()
        .flat_map(|(format, [first, escaped, plain])| {
            [escaped, plain].map(|common| (format, first, common, plain))
        })
}

/// Replaced, doubled and left out: whatever one place of a common event may hold.
#[test]
fn odd_events_mean_the_same_both_ways() {
    let odd = [
        "null",
        "0",
        "1",
        "-1",
        "1.5",
        "1e999",
        "true",
        "false",
        "\"\"",
        "\"error\"",
        "\"x\"",
        "\"\\ud800\"",
        "\"\\u00e4\\ud83d\\ude00\"",
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        "[null]",
        "{\"message\":\"no\"}",
        "[\"text\"]",
        "[0,{\"content\":\"x\"}]",
        "[\"text_delta\",\"x\"]",
        "[{\"text\":\"x\"},{\"text\":\"y\"}]",
        "",
    ];
    let names = [
        "error",
        "usage",
        "object",
        "choices",
        "delta",
        "index",
        "content",
        "text",
        "type",
        "thought",
        "parts",
        "candidates",
        "refusal",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "tool_calls",
        "timings",
        "finish_reason",
        "finishReason",
        "thoughtSignature",
        "usageMetadata",
        "promptFeedback",
        "x_groq",
        "new",
    ];
    for (format, first, common, plain) in both_kinds() {
        for at in value_starts(common) {
            let end = at + value_len(&common[at..]);
            for odd in odd {
                let event = format!("{}{odd}{}", &common[..at], &common[end..]);
                read(format, &[first, plain, &event, plain]);
            }
            if common[at..].starts_with('{') {
                let inner = if common[at..].starts_with("{}") {
                    ""
                } else {
                    ","
                };
                for (name, odd) in names
                    .iter()
                    .flat_map(|name| odd.iter().map(move |odd| (name, odd)))
                {
                    let event = format!(
                        "{}{{\"{name}\":{odd}{inner}{}",
                        &common[..at],
                        &common[at + 1..]
                    );
                    read(format, &[first, plain, &event, plain]);
                }
            }
        }
    }
}

#[test]
fn broken_events_mean_the_same_both_ways() {
    for (format, first, common, plain) in both_kinds() {
        for seed in 0..2_000 {
            let mut rng = Rng::new(seed);
            let mut bytes = common.as_bytes().to_vec();
            for _ in 0..=rng.below(2) {
                let at = rng.below(bytes.len());
                match rng.below(3) {
                    0 => drop(bytes.remove(at)),
                    1 => bytes[at] = *rng.pick(b"{}[]\",:\\0nt ".as_slice()).unwrap(),
                    _ => bytes.insert(at, *rng.pick(b"{}[]\",:\\0nt ".as_slice()).unwrap()),
                }
            }
            let event = String::from_utf8_lossy(&bytes);
            read(format, &[first, plain, &event, plain]);
        }
    }
}

/// Where values begin: at the start, after a colon and in a list. Texts here hold neither.
fn value_starts(json: &str) -> Vec<usize> {
    let after = json.char_indices().filter(|(_, c)| matches!(c, ':' | '['));
    std::iter::once(0)
        .chain(after.map(|(at, _)| at + 1))
        .collect()
}

fn value_len(json: &str) -> usize {
    let mut values = serde_json::Deserializer::from_str(json).into_iter::<serde_json::Value>();
    values.next().unwrap().unwrap();
    values.byte_offset()
}
