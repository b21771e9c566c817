use super::*;

/// All that is told, by field, fed in pieces of every length.
fn told(json: &str) -> Vec<(String, String)> {
    let chars: Vec<char> = json.chars().collect();
    let mut all: Option<Vec<(String, String)>> = None;
    for length in 1..=chars.len().max(1) {
        let mut partial = PartialJson::default();
        let mut fields: Vec<(String, String)> = Vec::new();
        for piece in chars.chunks(length) {
            let piece: String = piece.iter().collect();
            partial.feed(&piece, &mut |field, text| match fields.last_mut() {
                Some((last, so_far)) if last == field => so_far.push_str(text),
                _ => fields.push((field.to_owned(), text.to_owned())),
            });
        }
        match &all {
            Some(first) => assert_eq!(first, &fields, "in pieces of {length}: {json}"),
            None => all = Some(fields),
        }
    }
    all.unwrap_or_default()
}

#[test]
fn texts_are_told_as_they_come_however_they_are_cut() {
    for (json, expected) in [
        (
            r#"{"path": "output/main.md", "content": "a\nb"}"#,
            vec![("path", "output/main.md"), ("content", "a\nb")],
        ),
        (
            r#"{"content": "\u4f60\ud83d\ude00\"\\"}"#,
            vec![("content", "你😀\"\\")],
        ),
        (
            r#"{"n": 1, "list": ["x", {"y": "z"}], "content": "k"}"#,
            vec![("content", "k")],
        ),
        (
            r#"{"a": {"content": "hidden, \"}"}, "b": "shown"}"#,
            vec![("b", "shown")],
        ),
        (
            r#"{"content": "never closed"#,
            vec![("content", "never closed")],
        ),
        ("not JSON", vec![]),
        ("", vec![]),
    ] {
        let told = told(json);
        let told: Vec<_> = told
            .iter()
            .map(|(field, text)| (field.as_str(), text.as_str()))
            .collect();
        assert_eq!(told, expected, "{json}");
    }
}
