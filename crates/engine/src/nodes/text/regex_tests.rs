use serde_json::{Value as Json, json};

use tokio_util::sync::CancellationToken;

use super::super::pattern::{Pace, Pattern, searched};
use crate::testing::run_node;

async fn run(inputs: Json) -> Result<Json, String> {
    let out = run_node("core:Regex", json!({}), inputs).await;
    out.map(Json::Object).map_err(|error| error.code)
}

#[tokio::test]
async fn modes() {
    let text = "k=v, key=value";
    let pattern = r"(?<key>\w+)=(\w+)(!)?";
    for (mode, expected) in [
        (
            "match",
            json!({"found": true, "result": "k=v", "matches": ["k=v"], "groups": {"1": "k", "2": "v", "key": "k"}, "count": 1}),
        ),
        (
            "findAll",
            json!({"found": true, "result": "k=v", "matches": ["k=v", "key=value"], "groups": {"1": "k", "2": "v", "key": "k"}, "count": 2}),
        ),
        (
            "replace",
            json!({"found": true, "result": "v:k, value:key", "matches": [], "groups": {"1": "k", "2": "v", "key": "k"}, "count": 2}),
        ),
        (
            "split",
            json!({"found": true, "result": "", "matches": ["", ", ", ""], "groups": {}, "count": 2}),
        ),
        (
            "test",
            json!({"found": true, "result": "", "matches": [], "groups": {}, "count": 1}),
        ),
    ] {
        let inputs =
            json!({"text": text, "pattern": pattern, "mode": mode, "replacement": "$2:$<key>"});
        assert_eq!(run(inputs).await, Ok(expected), "{mode}");
        let inputs = json!({"text": "none", "pattern": pattern, "mode": mode});
        let out = run(inputs).await.unwrap();
        assert_eq!(out["found"], false, "{mode}");
        assert_eq!(out["count"], 0, "{mode}");
    }
    let default = json!({"text": "ab", "pattern": "B", "flags": "i"});
    assert_eq!(run(default).await.unwrap()["matches"], json!(["b"]));
    let unknown = json!({"text": "ab", "pattern": "b", "mode": "find"});
    assert_eq!(run(unknown).await, Err("regex.mode".to_owned()));
}

#[tokio::test]
async fn splitting() {
    for (text, pattern, expected) in [
        ("a, b;c", r"[,;]\s*", json!(["a", "b", "c"])),
        ("abc", "", json!(["a", "b", "c"])),
        ("", "x", json!([""])),
        ("axxb", "x", json!(["a", "", "b"])),
        ("xa", "x", json!(["", "a"])),
        ("你好", "", json!(["你", "好"])),
    ] {
        let inputs = json!({"text": text, "pattern": pattern, "mode": "split"});
        assert_eq!(
            run(inputs).await.unwrap()["matches"],
            expected,
            "{text} {pattern}"
        );
    }
}

#[tokio::test]
async fn bounds() {
    let hostile = json!({"text": "ab".repeat(30), "pattern": r"(a|b|ab)*(?!x)c", "mode": "test"});
    assert_eq!(run(hostile).await, Err("regex.too_slow".to_owned()));
    let many = json!({"text": "a".repeat(crate::limits::MAX_LISTED_MATCHES + 1), "pattern": "a", "mode": "findAll"});
    assert_eq!(run(many).await, Err("regex.too_many".to_owned()));
    let long = json!({"text": "a".repeat(crate::limits::MAX_PATTERN_TEXT_BYTES + 1), "pattern": "a", "mode": "test"});
    assert_eq!(run(long).await, Err("regex.text_too_long".to_owned()));
    let growing = json!({"text": "a".repeat(100_000), "pattern": "a", "mode": "replace", "replacement": "$`"});
    assert_eq!(run(growing).await, Err("regex.result_too_long".to_owned()));
    // Counts inside of counts: either refused, or run within the bounds.
    for pattern in [
        "(?:(?=a)(?:(?=a)(?:(?=a)a){1000}){1000}){1000}",
        r"(?:\b(?:\b(?:\ba|b){1000}){1000}){1000}",
        "(?<=(?:a{1000}){1000})b",
    ] {
        let inputs = json!({"text": "ab".repeat(2_000), "pattern": pattern, "mode": "test"});
        let found = run(inputs).await;
        assert!(
            found.as_ref().is_err() || found.unwrap()["found"] == false,
            "{pattern}"
        );
    }
    let large = json!({"text": "", "pattern": "(?:[一-龥]{1000}){1000}", "mode": "test"});
    assert_eq!(run(large).await, Err("regex.syntax".to_owned()));
}

/// Each place alone is quick, and there are many: the time is looked at between them.
#[test]
fn searching_ends_in_the_middle_of_a_text() {
    let text = "a".repeat(100_000);
    let pattern = Pattern::get(r"(?=(a+))\1b", "").unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    let found = pattern.each(&text, true, Pace::Away(&stop), |_| {
        Ok(std::ops::ControlFlow::Continue(()))
    });
    assert!(found.unwrap_err().is_cancelled());
}

#[tokio::test]
async fn a_pattern_that_goes_back_and_forth_is_searched_elsewhere() {
    for (pattern, text, is_in_place) in [
        ("b(?=a)", "ab", true),
        (r"(\w)\1", "abcc", true),
        (r"(a|b|ab)*(?!x)c", &"ab".repeat(30), false),
    ] {
        let (bytes, text) = (text.len(), text.to_owned());
        let mut search = std::pin::pin!(searched(bytes, move |pace| {
            super::run(&text, pattern, "", "test", "", pace).map(drop)
        }));
        let first = futures_util::poll!(search.as_mut());
        assert_eq!(first.is_ready(), is_in_place, "{pattern}");
        if first.is_pending() {
            assert_eq!(search.await.unwrap_err().code, "regex.too_slow");
        }
    }
}
