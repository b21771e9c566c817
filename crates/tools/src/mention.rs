//! Whether a value mentions a file: as a whole text that names it, or as a URI somewhere inside a text.

use serde_json::Value as Json;

use crate::limits::{MAX_MENTION_BYTES, MAX_MENTIONS};

/// `is_meant` is asked about every text that could be the name of a file.
pub(crate) fn any(value: &Json, is_meant: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Json::String(text) => in_text(text, is_meant),
        Json::Array(items) => items.iter().any(|item| any(item, is_meant)),
        Json::Object(fields) => fields.values().any(|field| any(field, is_meant)),
        Json::Null | Json::Bool(_) | Json::Number(_) => false,
    }
}

fn in_text(text: &str, is_meant: &dyn Fn(&str) -> bool) -> bool {
    let whole = text.trim();
    if whole.len() <= MAX_MENTION_BYTES && !whole.is_empty() && is_meant(whole) {
        return true;
    }
    uris(text).any(is_meant)
}

/// Everything that looks like `scheme://path`, up to a blank, a quote or a bracket.
fn uris(text: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '"' | '\''
                    | '`'
                    | '<'
                    | '>'
                    | '('
                    | ')'
                    | '['
                    | ']'
                    | '{'
                    | '}'
                    | '|'
                    | '«'
                    | '»'
                    | '「'
                    | '」'
                    | '，'
                    | '。'
            )
    };
    text.match_indices("://")
        .take(MAX_MENTIONS)
        .filter_map(move |(at, _)| {
            let (before, behind) = text.split_at_checked(at)?;
            let start = before
                .rfind(|c: char| !c.is_ascii_alphanumeric())
                .and_then(|last| {
                    before
                        .get(last..)?
                        .chars()
                        .next()
                        .map(|c| last + c.len_utf8())
                })
                .unwrap_or(0);
            // No further than a name can reach: a text full of beginnings without an end is read once, not once for each.
            let near = behind.floor_char_boundary(MAX_MENTION_BYTES + 1);
            let behind = behind.get(..near)?;
            let length = behind.find(ends).unwrap_or(behind.len());
            let uri = text.get(start..at + length)?;
            // What ends a sentence does not end a name.
            let uri = uri.trim_end_matches(['.', ',', ';', ':', '!', '?']);
            (uri.len() <= MAX_MENTION_BYTES).then_some(uri)
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_uri_is_found_where_it_stands() {
        for (value, expected) in [
            (json!("fam://p/a.png"), true),
            (json!("see fam://p/a.png."), true),
            (json!({"x": [{"y": "![](fam://p/a.png)"}]}), true),
            (json!("{\"uri\":\"fam://p/a.png\"}"), true),
            (json!("图fam://p/a.png。好"), true),
            (json!("fam://p/a.png2"), false),
            (json!("xfam://p/a.png"), false),
            (json!("://"), false),
            (json!(1), false),
        ] {
            assert_eq!(
                any(&value, &|text| text == "fam://p/a.png"),
                expected,
                "{value}"
            );
        }
    }

    /// Were each beginning followed to the end of the text, this would not end.
    #[test]
    fn a_text_full_of_beginnings_is_read_once() {
        let text = "a://".repeat(1 << 20);
        assert!(!any(&json!(text), &|_| false));
    }
}
