use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Image, ToolCall};

/// No ordinary text: it is what `low` has to stay below.
const LONG_WORDS: &str = "The administration announced comprehensive environmental regulations concerning transportation.";

/// Of its first message.
fn parts(request: &mut ModelRequest) -> &mut Vec<Part> {
    &mut Arc::make_mut(&mut request.messages[0]).parts
}

/// Counts of real tokenizers for texts of each kind, roughly: what matters is the order of size.
#[test]
fn it_is_in_the_right_order_of_size() {
    let dashes = "-".repeat(64);
    let rows: [(&str, u64, u64); 9] = [
        (&dashes, 1, 4),
        ("The quick brown fox jumps over the lazy dog.", 10, 10),
        (LONG_WORDS, 9, 14),
        ("fn main() { println!(\"{}\", 1 + 2); }", 14, 18),
        (
            "{\"name\": \"Ada\", \"age\": 36, \"tags\": [\"a\", \"b\"]}",
            21,
            26,
        ),
        ("今天天气很好，我们去公园散步吧。", 11, 20),
        ("Сегодня хорошая погода, пойдём гулять в парк.", 12, 25),
        ("1234567890", 4, 10),
        ("                                        ", 1, 2),
    ];
    for (text, fewest, most) in rows {
        let Estimate { low, likely, high } = Estimate::of_text(text);
        assert!(low <= fewest, "{text}: at least {low} > {fewest}");
        assert!(high >= most, "{text}: at most {high} < {most}");
        if text == LONG_WORDS {
            continue;
        }
        let (likely, fewest, most) = (likely * 3, fewest * 2, most * 4);
        assert!((fewest..=most + 6).contains(&likely), "{text}: {likely}/3");
    }
}

#[test]
fn everything_that_is_sent_counts() {
    let plain = ModelRequest::new("m", vec![Message::user("hi")]);
    let base = Estimate::of_request(&plain);
    let with = |change: fn(&mut ModelRequest)| {
        let mut request = plain.clone();
        change(&mut request);
        Estimate::of_request(&request)
    };
    let tool = with(|request| {
        request.tools.push(ToolSpec {
            name: "roll".into(),
            description: "Rolls some dice.".into(),
            parameters: json!({"type": "object", "properties": {"dice": {"type": "string"}}})
                .into(),
        });
    });
    let message = with(|request| {
        request
            .messages
            .push(Message::assistant("hello there").into())
    });
    let call = with(|request| {
        parts(request).push(Part::ToolCall(ToolCall {
            id: "1".into(),
            name: "roll".into(),
            arguments: "{\"dice\": \"2d6\"}".into(),
        }));
    });
    let result = with(|request| {
        request
            .messages
            .push(Message::tool_result("1", "you rolled 7").into())
    });
    let image = with(|request| {
        let url = format!("data:image/png;base64,{}", "A".repeat(1_000_000));
        parts(request).push(Part::Image(Image { url, detail: None }));
    });
    for more in [tool, message, call, result, image] {
        assert!(
            more.low > base.low && more.likely > base.likely + 3,
            "{more:?} {base:?}"
        );
    }
    assert!(
        image.high < 5_000,
        "the picture's letters are no text: {image:?}"
    );
    // What a provider may throw away raises the likely count and never refuses anything.
    let thought = with(|request| {
        parts(request).push(Part::reasoning("let me think about it"));
    });
    let form =
        with(|request| request.constraint = Some(Constraint::Json(json!({"type": "object"}))));
    for more in [thought, form] {
        assert!(
            more.low == base.low && more.likely > base.likely,
            "{more:?}"
        );
    }
}

proptest! {
    #[test]
    fn low_is_never_above_likely_nor_likely_above_high(text in any::<String>(), more in any::<String>()) {
        let a = Estimate::of_text(&text);
        prop_assert!(a.low <= a.likely && a.likely <= a.high);
        let both = Estimate::of_text(&format!("{text}{more}"));
        prop_assert!(both.low >= a.low && both.high >= a.high);
    }

    /// Whoever goes by the lengths alone must never take a request for shorter than it is.
    #[test]
    fn lengths_never_promise_less_than_is_likely(
        texts in prop::collection::vec(any::<String>(), 5),
        odd in "[0-9\"\\\\\u{0}\u{1b}\n\u{7f}\u{a4d0}\u{1f600}猫]{0,40}",
        number in any::<f64>(),
    ) {
        let [name, said, content, key, value] = texts.as_slice() else {
            return Ok(());
        };
        let tree = json!({key: [value, odd, number, null, true], "more": {odd.clone(): {}}});
        let mut request = ModelRequest::new(
            "m",
            vec![
                Message { name: Some(name.clone()), ..Message::user(said) },
                Message::assistant(&odd),
                Message::tool_result("1", content),
            ],
        );
        let more = [
            Part::reasoning(said),
            Part::ToolCall(ToolCall { id: "1".into(), name: name.clone(), arguments: odd.clone() }),
            Part::Opaque { provider: "p".into(), value: tree.clone() },
            Part::Image(Image { url: odd.clone(), detail: None }),
        ];
        parts(&mut request).extend(more);
        request.tools.push(ToolSpec {
            name: name.clone(),
            description: content.clone(),
            parameters: tree.clone().into(),
        });
        request.constraint = Some(Constraint::Json(tree));
        prop_assert!(at_most(&request) >= Estimate::of_request(&request).likely);
    }
}
