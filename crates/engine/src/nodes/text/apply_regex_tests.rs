use serde_json::{Value as Json, json};

use crate::testing::run_node;

async fn run(text: &str, inline: Json, rules: Json) -> Result<String, String> {
    let inputs = json!({"inputText": text, "inlineRegexRules": inline, "regexRules": rules});
    let out = run_node("core:ApplyRegex", json!({}), inputs).await;
    let out = out.map_err(|error| format!("{}: {}", error.code, error.message))?;
    Ok(out["outputText"].as_str().unwrap().to_owned())
}

fn rule(name: &str, pattern: &str, replacement: &str, flags: &str) -> Json {
    json!({"name": name, "pattern": pattern, "replacement": replacement, "flags": flags})
}

#[tokio::test]
async fn rules_in_their_order() {
    let a = rule("a", "a", "b", "g");
    let off = |mut rule: Json| {
        rule["enabled"] = json!(false);
        rule
    };
    for (inline, rules, expected) in [
        (json!([]), json!([]), "aab"),
        (json!([a]), json!([]), "bbb"),
        (json!([a]), json!([rule("b", "b", "c", "g")]), "ccc"),
        // The inline rule of a name counts, the other does not.
        (json!([a]), json!([rule("a", "b", "c", "g")]), "bbb"),
        (json!([off(a.clone())]), json!([]), "aab"),
        (
            json!([off(a.clone())]),
            json!([rule("a", "a", "x", "g")]),
            "aab",
        ),
        (
            json!([]),
            json!([rule("", "a", "x", ""), rule("", "a", "y", "")]),
            "xyb",
        ),
        (
            json!([{"pattern": "a", "replacement": "x"}]),
            json!([]),
            "xab",
        ),
        (json!([{"pattern": "a"}]), json!([]), "ab"),
    ] {
        let found = run("aab", inline.clone(), rules.clone()).await;
        assert_eq!(found.as_deref(), Ok(expected), "{inline} {rules}");
    }
}

#[tokio::test]
async fn flags_and_replacements() {
    for (text, pattern, flags, replacement, expected) in [
        ("aAa", "a", "", "x", "xAa"),
        ("aAa", "a", "g", "x", "xAx"),
        ("aAa", "a", "gi", "x", "xxx"),
        ("a\nb", "^b", "", "x", "a\nb"),
        ("a\nb", "^b", "m", "x", "a\nx"),
        ("a\r\nb", "a$", "m", "x", "x\r\nb"),
        ("a\nb", "a.b", "", "x", "a\nb"),
        ("a\nb", "a.b", "s", "x", "x"),
        ("aab", "a", "y", "x", "xab"),
        ("baa", "a", "y", "x", "baa"),
        ("aaba", "a", "gy", "x", "xxba"),
        ("2024-05", r"(\d+)-(\d+)", "", "$2/$1", "05/2024"),
        ("ab", "(a)(b)", "", "[$&|$0|$3|$10|$01]", "[ab|$0|$3|a0|a]"),
        ("ab", "b", "", "$$1", "a$1"),
        ("abc", "b", "", "<$`|$'>", "a<a|c>c"),
        ("ab", "(?<first>a)", "", "$<first>$<none>!", "a!b"),
        ("ab", "(a)", "", "$<first>", "$<first>b"),
        ("ab", "(a)|(x)", "", "[$2]", "[]b"),
        ("aaa", "a*", "g", "-", "--"),
        ("abc", "x*", "g", "-", "-a-b-c-"),
        ("价格 12 元", r"\d+", "", "N", "价格 N 元"),
        ("中foo中", r"\bfoo\b", "", "x", "中x中"),
        ("é1", r"\w", "", "x", "éx"),
        ("１", r"\d", "", "x", "１"),
        ("a\u{a0}b", r"\s", "", "_", "a_b"),
        ("x", "", "g", "-", "-x-"),
        ("$", "", "", "$", "$$"),
    ] {
        let found = run(
            text,
            json!([rule("r", pattern, replacement, flags)]),
            json!([]),
        )
        .await;
        assert_eq!(
            found.as_deref(),
            Ok(expected),
            "{text} /{pattern}/{flags} {replacement}"
        );
    }
}

#[tokio::test]
async fn what_goes_wrong_names_the_rule() {
    for (rule, code) in [
        (rule("r", "(", "", ""), "regex.syntax"),
        (rule("r", "a", "", "gg"), "regex.syntax"),
        (rule("r", "a", "", "z"), "regex.syntax"),
        (json!({"name": "r"}), "regex.rule"),
        (json!("r"), "regex.rule"),
        (
            rule(
                "r",
                &"a".repeat(crate::limits::MAX_PATTERN_BYTES + 1),
                "",
                "",
            ),
            "regex.too_long",
        ),
    ] {
        let error = run(&"ab".repeat(30), json!([rule]), json!([])).await;
        let error = error.unwrap_err();
        assert!(error.starts_with(code), "{rule}: {error}");
        assert!(error.contains('r'), "{error}");
    }
    let many = vec![rule("", "a", "b", ""); crate::limits::MAX_REGEX_RULES + 1];
    assert!(run("", json!(many), json!([])).await.is_err());
}
