//! Every tool of `Text.*` as a table, and the limits they share.

use super::*;
use crate::builtin::declare::Stop;
use crate::builtin::testing::{call, check_definitions, named};
use crate::limits::{
    MAX_TEXT_MATCH_CHARS, MAX_TEXT_MATCHES, MAX_TEXT_PARTS, MAX_TEXT_PATTERN_CHARS,
    MAX_TEXT_RESULT_BYTES,
};

async fn run(tool: &str, arguments: Json) -> Result<Json, ToolError> {
    call(named(&tools(), tool), arguments).await
}

async fn reason(tool: &str, arguments: Json) -> String {
    let error = run(tool, arguments).await.expect_err(tool);
    error.reason.unwrap_or_default()
}

#[test]
fn the_declarations_are_sound() {
    check_definitions(&tools());
    for (tool, _) in tools() {
        if let Some((_, text)) = tool.properties().find(|(name, _)| *name == "text") {
            assert_eq!(text["x-verbatim"], true, "{}", tool.id);
        }
    }
}

#[tokio::test]
async fn counting() {
    for (text, chars, words, lines, bytes) in [
        ("", 0, 0, 0, 0),
        ("Two words", 9, 2, 1, 9),
        ("don't 3.14", 10, 4, 1, 10),
        ("a\n", 2, 1, 1, 2),
        ("a\r\n\r\nb", 6, 2, 3, 6),
        ("你好,world", 8, 3, 1, 12),
        ("ひらがなカタカナ", 8, 8, 1, 24),
        ("한국어 text", 8, 4, 1, 14),
        ("ab你cd", 5, 3, 1, 7),
        ("。、！", 3, 0, 1, 9),
        ("e\u{301}", 2, 1, 1, 3),
        ("👩‍👩‍👧", 5, 0, 1, 18),
        ("𠀀𠀁", 2, 2, 1, 8),
    ] {
        let expected = json!({"chars": chars, "words": words, "lines": lines, "bytes": bytes});
        assert_eq!(
            run("Text.Count", json!({"text": text})).await,
            Ok(expected),
            "{text:?}"
        );
    }
}

#[tokio::test]
async fn slicing() {
    for (arguments, text, start, end, total) in [
        (json!({"text": "añb你c"}), "añb你c", 0, 5, 5),
        (
            json!({"text": "añb你c", "start": 1, "end": 3}),
            "ñb",
            1,
            3,
            5,
        ),
        (json!({"text": "añb你c", "start": -2}), "你c", 3, 5, 5),
        (json!({"text": "abc", "end": -1}), "ab", 0, 2, 3),
        (json!({"text": "abc", "start": 2, "end": 1}), "", 2, 2, 3),
        (
            json!({"text": "abc", "start": i64::MIN, "end": i64::MAX}),
            "abc",
            0,
            3,
            3,
        ),
        (json!({"text": "abc", "start": 9}), "", 3, 3, 3),
        (
            json!({"text": "a\nb\r\nc", "unit": "lines", "start": 1, "end": 2}),
            "b\r\n",
            1,
            2,
            3,
        ),
        (
            json!({"text": "a\nb\nc\n", "unit": "lines", "start": -2}),
            "b\nc\n",
            1,
            3,
            3,
        ),
        (json!({"text": "", "unit": "lines"}), "", 0, 0, 0),
    ] {
        let expected = json!({"text": text, "start": start, "end": end, "total": total});
        assert_eq!(
            run("Text.Slice", arguments.clone()).await,
            Ok(expected),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn replacing() {
    for (arguments, text, count) in [
        (
            json!({"text": "a.b.c", "find": ".", "replace": "$1"}),
            "a$1b$1c",
            2,
        ),
        (
            json!({"text": "aXbx", "find": "x", "replace": "", "ignore_case": true}),
            "ab",
            2,
        ),
        (
            json!({"text": "aaa", "find": "a", "replace": "b", "limit": 2}),
            "bba",
            2,
        ),
        (
            json!({"text": "aaa", "find": "z", "replace": "b"}),
            "aaa",
            0,
        ),
        (
            json!({"text": "k=v", "find": r"(?P<k>\w)=(\w)", "replace": "$2=${k}$$", "regex": true}),
            "v=k$",
            1,
        ),
        (
            json!({"text": "a\nb", "find": "(?m)^", "replace": "> ", "regex": true}),
            "> a\n> b",
            2,
        ),
    ] {
        let expected = json!({"text": text, "count": count});
        assert_eq!(
            run("Text.Replace", arguments.clone()).await,
            Ok(expected),
            "{arguments}"
        );
    }
    let bomb = json!({"text": "a".repeat(10_000), "find": "a", "replace": "b".repeat(1_000)});
    assert_eq!(reason("Text.Replace", bomb).await, "text.result_too_large");
    let bomb = json!({"text": "a".repeat(5_000), "find": "(a+)", "replace": "$1".repeat(1_000), "regex": true});
    assert_eq!(reason("Text.Replace", bomb).await, "text.result_too_large");
}

#[tokio::test]
async fn matching() {
    let found = |arguments: Json| async move {
        run("Text.Match", arguments).await.unwrap()["matches"].clone()
    };
    let got = found(json!({"text": "x\n你 k=v", "pattern": r"(?P<key>\w)=(\w)(!)?"})).await;
    let expected = json!([{"line": 2, "column": 3, "start": 4, "length": 3, "text": "k=v",
        "groups": {"key": "k", "2": "v", "3": null}}]);
    assert_eq!(got, expected);
    for (arguments, starts) in [
        (
            json!({"text": "a.a", "pattern": ".", "regex": false}),
            vec![1],
        ),
        (
            json!({"text": "aAa", "pattern": "A", "ignore_case": true}),
            vec![0, 1, 2],
        ),
        (json!({"text": "aAa", "pattern": "b"}), vec![]),
        (json!({"text": "ab", "pattern": "x*"}), vec![0, 1, 2]),
        (
            json!({"text": "aaaa", "pattern": "a", "max_matches": 2}),
            vec![0, 1],
        ),
    ] {
        let got = found(arguments.clone()).await;
        let got: Vec<_> = got
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["start"].as_u64().unwrap())
            .collect();
        assert_eq!(got, starts, "{arguments}");
    }
    for (many, truncated) in [(MAX_TEXT_MATCHES, false), (MAX_TEXT_MATCHES + 1, true)] {
        let asked =
            json!({"text": "a".repeat(many), "pattern": "a", "max_matches": MAX_TEXT_MATCHES});
        let got = run("Text.Match", asked).await.unwrap();
        assert_eq!(
            (&got["count"], &got["truncated"]),
            (&json!(MAX_TEXT_MATCHES), &json!(truncated))
        );
    }
    let long = MAX_TEXT_MATCH_CHARS + 1;
    let got = found(json!({"text": "a".repeat(long), "pattern": "a+"})).await;
    assert_eq!(got[0]["text"].as_str().unwrap().len(), MAX_TEXT_MATCH_CHARS);
    assert_eq!(got[0]["length"], long);
}

#[tokio::test]
async fn patterns_are_bounded_and_their_mistakes_told_in_a_line() {
    let long = "x".repeat(MAX_TEXT_PATTERN_CHARS + 1);
    for (pattern, part) in [
        ("(", "unclosed group"),
        ("a\n(", "unclosed group"),
        ("(?=a)", "look-around"),
        (r"(a)\1", "backreferences"),
        ("[z-a]", "range"),
        (r"(\w{100}){100}", "too large"),
        (long.as_str(), "more than"),
    ] {
        let error = run("Text.Match", json!({"text": "a", "pattern": pattern}))
            .await
            .expect_err(pattern);
        assert_eq!(
            error.reason.as_deref(),
            Some("text.invalid_pattern"),
            "{pattern}"
        );
        assert!(error.message.contains(part), "{}", error.message);
    }
    assert!(pattern::compile("", false, false).is_err());
    // As large as people write them.
    assert!(pattern::compile(&r"\w+\s+".repeat(20), true, true).is_ok());
    assert!(pattern::compile(&"字".repeat(MAX_TEXT_PATTERN_CHARS), false, false).is_ok());
}

#[tokio::test]
async fn splitting_and_joining() {
    for (arguments, parts) in [
        (json!({"text": "a\nb\r\nc\n"}), json!(["a", "b", "c"])),
        (json!({"text": ""}), json!([])),
        (
            json!({"text": "a, b,,c ", "separator": ","}),
            json!(["a", " b", "", "c "]),
        ),
        (
            json!({"text": "a, b,, ", "separator": ",", "trim": true, "skip_empty": true}),
            json!(["a", "b"]),
        ),
        (
            json!({"text": "a b  c", "separator": r"\s+", "regex": true}),
            json!(["a", "b", "c"]),
        ),
        (
            json!({"text": "a=b=c", "separator": "=", "limit": 2}),
            json!(["a", "b=c"]),
        ),
        (json!({"text": "a\nb\nc", "limit": 2}), json!(["a", "b\nc"])),
        (json!({"text": "a.b", "separator": "."}), json!(["a", "b"])),
    ] {
        let got = run("Text.Split", arguments.clone()).await.unwrap();
        assert_eq!(got["parts"], parts, "{arguments}");
        assert_eq!(got["count"], parts.as_array().unwrap().len());
    }
    let many = json!({"text": ",".repeat(MAX_TEXT_PARTS), "separator": ","});
    assert_eq!(reason("Text.Split", many).await, "text.too_many_parts");
    for (arguments, text) in [
        (json!({"parts": ["a", 1, true, "你"]}), "a\n1\ntrue\n你"),
        (json!({"parts": ["a", "b"], "separator": ""}), "ab"),
        (json!({"parts": []}), ""),
    ] {
        assert_eq!(run("Text.Join", arguments).await, Ok(json!({"text": text})));
    }
    let half = "x".repeat(MAX_TEXT_RESULT_BYTES / 2);
    assert_eq!(
        reason("Text.Join", json!({"parts": [half, half]})).await,
        "text.result_too_large"
    );
}

#[tokio::test]
async fn cases() {
    for (text, case, expected) in [
        ("straße İx", "upper", "STRASSE İX"),
        ("ABC", "lower", "abc"),
        ("the INN's don’t-go 3rd", "title", "The Inn's Don’t-Go 3rd"),
        ("HTTPServer two", "snake", "http_server_two"),
        ("myName v2Beta", "snake", "my_name_v2_beta"),
        ("My new  Story!", "kebab", "my-new-story"),
        ("don't stop", "snake", "dont_stop"),
        ("some_snake-name", "camel", "someSnakeName"),
        ("你好 World", "kebab", "你好-world"),
        ("A b\r\nC d\n", "snake", "a_b\r\nc_d\n"),
        ("", "camel", ""),
        ("--", "snake", ""),
    ] {
        let got = run("Text.Case", json!({"text": text, "case": case})).await;
        assert_eq!(got, Ok(json!({"text": expected})), "{text} {case}");
    }
}

#[tokio::test]
async fn trimming() {
    for (arguments, expected) in [
        (json!({"text": " \n a \u{3000}"}), "a"),
        (json!({"text": " a ", "side": "start"}), "a "),
        (json!({"text": " a ", "side": "end"}), " a"),
        (
            json!({"text": " a \r\n b \n", "each_line": true}),
            "a\r\nb\n",
        ),
        (
            json!({"text": " a \n b", "each_line": true, "side": "end"}),
            " a\n b",
        ),
    ] {
        assert_eq!(
            run("Text.Trim", arguments.clone()).await,
            Ok(json!({"text": expected})),
            "{arguments}"
        );
    }
    for (text, expected) in [
        ("    if x:\n        y\n", "if x:\n    y\n"),
        ("  a\n\n   \n  b", "a\n\n\nb"),
        ("\ta\n\t\tb", "a\n\tb"),
        ("\ta\n  b", "\ta\n  b"),
        ("\t a\n\t  b", "a\n b"),
        ("\u{3000}a\n\u{3000}b", "a\nb"),
        ("  a\r\n  b\r\n", "a\r\nb\r\n"),
        ("a\n  b", "a\n  b"),
        ("", ""),
    ] {
        assert_eq!(
            run("Text.Dedent", json!({"text": text})).await,
            Ok(json!({"text": expected})),
            "{text:?}"
        );
    }
}

#[tokio::test]
async fn large_texts_are_refused() {
    let text = "x".repeat(MAX_TEXT_BYTES + 1);
    for (tool, more) in [
        ("Text.Count", json!({})),
        ("Text.Slice", json!({})),
        ("Text.Replace", json!({"find": "a", "replace": "b"})),
        ("Text.Match", json!({"pattern": "a"})),
        ("Text.Split", json!({})),
        ("Text.Case", json!({"case": "upper"})),
        ("Text.Trim", json!({})),
        ("Text.Dedent", json!({})),
    ] {
        let mut arguments = more;
        arguments["text"] = json!(text);
        assert_eq!(reason(tool, arguments).await, "text.too_large", "{tool}");
    }
}

#[test]
fn work_that_nobody_wants_ends() {
    assert!(Stop::never().check().is_ok());
    let error = Stop::now().check().unwrap_err();
    assert_eq!(error.code, innkeeper_protocol::ErrorCode::ToolCancelled);
}
