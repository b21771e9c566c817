//! What to look for: plain text or a regular expression. The engine is linear; the sizes keep the factor small.

use regex::{Regex, RegexBuilder};

use super::invalid;
use crate::ToolError;
use crate::limits::{MAX_TEXT_PATTERN_BYTES, MAX_TEXT_PATTERN_CHARS};

pub(super) fn compile(
    pattern: &str,
    is_regex: bool,
    ignore_case: bool,
) -> Result<Regex, ToolError> {
    if pattern.is_empty() {
        return Err(invalid(
            "text.invalid_pattern",
            "There is nothing to look for: the pattern is empty",
        ));
    }
    if pattern.chars().nth(MAX_TEXT_PATTERN_CHARS).is_some() {
        return Err(invalid(
            "text.invalid_pattern",
            format!("The pattern has more than {MAX_TEXT_PATTERN_CHARS} characters"),
        ));
    }
    let source = match is_regex {
        true => pattern.to_owned(),
        false => regex::escape(pattern),
    };
    RegexBuilder::new(&source)
        .case_insensitive(ignore_case)
        .size_limit(MAX_TEXT_PATTERN_BYTES)
        .dfa_size_limit(MAX_TEXT_PATTERN_BYTES)
        .build()
        .map_err(|error| {
            let why = match &error {
                regex::Error::CompiledTooBig(_) => {
                    "it is too large; use fewer counted repetitions like {1000}".to_owned()
                }
                // The last line says why; those before it draw an arrow under the place.
                error => {
                    let text = error.to_string();
                    let last = text.lines().last().unwrap_or_default();
                    last.trim().trim_start_matches("error: ").to_owned()
                }
            };
            let shown: String = pattern.chars().take(200).collect();
            invalid(
                "text.invalid_pattern",
                format!("'{}' is no pattern: {why}", shown.escape_debug()),
            )
        })
}
