//! A reply in whatever form somebody hands it over: a model's text, or the response of a provider as it came.

use super::{Dialect, parse_response, parse_with};
use crate::Reply;

/// Keys by which a provider's native response gives itself away.
const NATIVE_KEYS: [&str; 5] = [
    "\"tool_calls\"",
    "\"function_call\"",
    "\"functionCall\"",
    "\"tool_use\"",
    "\"function\"",
];

/// A native response where it is one and any dialect will do; the model's text otherwise.
pub fn understand(text: &str, dialect: Dialect) -> Reply<'_> {
    if dialect == Dialect::Auto && may_be_native(text) {
        let response = serde_json::from_str(text.trim_matches(is_margin)).ok();
        if let Some(reply) = response.as_ref().and_then(parse_response) {
            return reply;
        }
    }
    parse_with(text, dialect)
}

fn may_be_native(text: &str) -> bool {
    text.trim_start_matches(is_margin).starts_with(['{', '['])
        && NATIVE_KEYS.iter().any(|key| text.contains(key))
}

/// Blanks, and the byte order mark some editors put first.
fn is_margin(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_json_with_a_telling_key_may_be_native() {
        for (text, expected) in [
            (r#"{"tool_calls":[]}"#, true),
            ("\u{feff} \n[{\"type\":\"tool_use\"}]", true),
            (r#"{"candidates":[{"functionCall":{}}]}"#, true),
            (r#"{"type":"function_call"}"#, true),
            (r#"{"tool":"calls"}"#, false),
            (r#"Here: {"tool_calls":[]}"#, false),
            ("", false),
        ] {
            assert_eq!(may_be_native(text), expected, "{text}");
        }
    }

    #[test]
    fn json_that_is_no_response_is_text() {
        for text in [r#"{"tool_calls": oops"#, r#"["tool_calls""#] {
            assert_eq!(understand(text, Dialect::Auto).response_text, text);
        }
    }

    #[test]
    fn a_bare_list_of_native_calls_is_one() {
        let text =
            r#"[{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]"#;
        let reply = understand(text, Dialect::Auto);
        assert_eq!(
            reply.calls().next().map(|call| call.tool.to_string()),
            Some("f".to_owned())
        );
    }
}
