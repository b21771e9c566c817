use serde_json::json;

use super::*;
use crate::{FinishReason, Usage};

const KEY: &str = "sk-Secret-0123456789";
const OTHER: &str = "sk-Secret-0123456789-and-more";

fn veil(keys: &[&str]) -> Veil {
    let keys: Vec<Secret> = keys.iter().map(|key| Secret::new(*key)).collect();
    *Veil::new(&keys).unwrap()
}

fn text(piece: &str) -> ModelEvent {
    ModelEvent::Text(piece.to_owned())
}

fn call(index: u32, arguments: &str) -> ModelEvent {
    ModelEvent::ToolCall {
        index,
        id: None,
        name: None,
        arguments_delta: arguments.to_owned(),
    }
}

fn all(veil: &mut Veil, events: impl IntoIterator<Item = ModelEvent>) -> Vec<ModelEvent> {
    let mut out = Vec::new();
    for event in events {
        if veil.is_clear(&event) {
            out.push(event);
            continue;
        }
        let (before, event) = veil.pass(event);
        out.extend(before.into_iter().chain(event));
    }
    out.extend(veil.flush());
    out
}

fn said(events: &[ModelEvent]) -> String {
    let pieces = events.iter().map(|event| match event {
        ModelEvent::Text(piece) | ModelEvent::Reasoning(piece) => piece.as_str(),
        ModelEvent::ToolCall {
            arguments_delta, ..
        } => arguments_delta,
        _ => "",
    });
    pieces.collect()
}

/// Every kind of event, and every length of its pieces.
fn in_all_pieces(whole: &str, check: impl Fn(&str)) {
    let letters: Vec<char> = whole.chars().collect();
    let reasoning = |piece: &str| ModelEvent::Reasoning(piece.to_owned());
    let makes: [&dyn Fn(&str) -> ModelEvent; 3] = [&text, &reasoning, &|piece| call(7, piece)];
    for make in makes {
        for length in 1..=letters.len() {
            let pieces = letters.chunks(length);
            let pieces = pieces.map(|piece| make(&piece.iter().collect::<String>()));
            check(&said(&all(&mut veil(&[KEY]), pieces)));
        }
    }
}

#[test]
fn however_a_reply_is_cut_no_key_comes_through() {
    let loud = KEY.to_uppercase();
    for (before, key, after) in [
        ("you sent ", KEY, " äh"),
        ("sk-Ssk-sk-", KEY, ""),
        ("", &loud, "s"),
        ("sk-Secret-", KEY, "sk-Sec"),
        // The end of a reply that was cut short.
        ("ä", &KEY[..SHORTEST_HIDDEN], ""),
    ] {
        in_all_pieces(&format!("{before}{key}{after}"), |said| {
            // A few bytes of it may be out before it looks like a key.
            let mut shown = (0..HOLD_FROM).map(|n| format!("{before}{}[key]{after}", &key[..n]));
            assert!(shown.any(|shown| shown == said), "{said}");
        });
    }
    let near = "all the sk-Secret-012345678 and sk-Sec";
    in_all_pieces(near, |said| assert_eq!(said, near));
}

#[test]
fn a_key_that_is_escaped_does_not_come_through_either() {
    const ODD: &str = "sk-Se/cr+et==01";
    for spelled in [
        ODD,
        "sk-Se\\/cr+et==01",
        "sk-Se%2Fcr%2Bet%3D%3D01",
        "sk-Se%2fcr%2bet%3d%3d01",
        "sk-Se/cr\\u002Bet==01",
        "sk-Se/cr+et\\u003d\\u003d01",
    ] {
        let letters: Vec<char> = format!("you sent {spelled}!").chars().collect();
        for length in 1..=letters.len() {
            let pieces = letters
                .chunks(length)
                .map(|piece| text(&String::from_iter(piece)));
            let said = said(&all(&mut veil(&[ODD]), pieces));
            let mut shown = (0..HOLD_FROM).map(|n| format!("you sent {}[key]!", &spelled[..n]));
            assert!(shown.any(|shown| shown == said), "{said}");
        }
    }
}

#[test]
fn ordinary_pieces_pass_as_they_are_and_at_once() {
    let mut veil = veil(&[KEY]);
    for piece in [
        "yes", "s", " sk-", "", "ecret", "ä", "sks", "sk-", "Sunday", "\n",
    ] {
        let before = piece.to_owned();
        let place = before.as_ptr();
        let (flushed, event) = veil.pass(ModelEvent::Text(before));
        assert_eq!(flushed, None);
        let Some(ModelEvent::Text(after)) = event else {
            panic!("{piece} waits");
        };
        assert_eq!(after, piece);
        // The very same memory, except where a key might have gone on.
        assert!(
            after.as_ptr() == place || piece == "Sunday" || piece == "s",
            "{piece}"
        );
    }
}

#[test]
fn what_waits_goes_out_before_what_others_say() {
    let mut veil = veil(&[KEY]);
    assert_eq!(veil.pass(text("a sk-Sec")), (None, Some(text("a "))));
    // Counts may come after every piece.
    let count = ModelEvent::Usage(Usage::default());
    assert_eq!(veil.pass(count.clone()), (None, Some(count)));
    assert_eq!(veil.pass(text("r")), (None, None));
    let finish = ModelEvent::Finish(FinishReason::Stop);
    assert_eq!(
        veil.pass(finish.clone()),
        (Some(text("sk-Secr")), Some(finish))
    );
    assert_eq!(veil.flush(), None);
}

#[test]
fn calls_side_by_side_are_told_apart() {
    let (one, two) = KEY.split_at(6);
    let mut veil = veil(&[KEY]);
    let out = all(
        &mut veil,
        [call(0, one), call(1, one), call(0, two), call(1, two)],
    );
    let of = |wanted: u32| {
        let pieces = out.iter().filter(
            |event| matches!(event, ModelEvent::ToolCall { index, .. } if *index == wanted),
        );
        said(&pieces.cloned().collect::<Vec<_>>())
    };
    assert_eq!(
        (of(0).as_str(), of(1).as_str()),
        ("sk-Sec[key]", "sk-Sec[key]")
    );
}

#[test]
fn names_and_opaque_values_are_searched_and_others_stay_as_they_are() {
    let mut veil = veil(&[KEY, OTHER]);
    let named = ModelEvent::ToolCall {
        index: 0,
        id: Some(format!("id-{KEY}")),
        name: Some(format!("{OTHER}-x")),
        arguments_delta: String::new(),
    };
    let opaque = |value| ModelEvent::Opaque {
        provider: "openai".to_owned(),
        value,
    };
    let plain = json!({"b": [1, "sk-Secret"], "a": null});
    let out = all(
        &mut veil,
        [
            named,
            opaque(json!({KEY: [{"x": format!("{OTHER} {KEY}")}], "n": 1.5})),
            opaque(plain.clone()),
        ],
    );
    assert_eq!(
        out,
        [
            ModelEvent::ToolCall {
                index: 0,
                id: Some("id-[key]".to_owned()),
                name: Some("[key]-x".to_owned()),
                arguments_delta: String::new(),
            },
            opaque(json!({"[key]": [{"x": "[key] [key]"}], "n": 1.5})),
            opaque(plain),
        ]
    );
}

#[test]
fn one_key_may_begin_like_another() {
    for keys in [[KEY, OTHER], [OTHER, KEY]] {
        for (pieces, shown) in [
            (&["x sk-Secret-0123456789", "-and-more."][..], "x [key]."),
            (
                &["x sk-Secret-0123456789", "-and-less."],
                "x [key]-and-less.",
            ),
            (&["x sk-Secret-0123456789"], "x [key]"),
        ] {
            let events = pieces.iter().map(|piece| text(piece));
            assert_eq!(said(&all(&mut veil(&keys), events)), shown);
        }
    }
}

#[test]
fn what_is_short_or_cannot_be_sent_is_not_looked_for() {
    for key in ["ollama", "EMPTY", "", "schlüssel-der-lang-ist"] {
        assert!(Veil::new(&[Secret::new(key)]).is_none(), "{key}");
    }
}
