//! Text of others in a prompt: descriptions of tools, results, error messages.
//!
//! Such text is data. It must not be able to look like a call, like another observation, or like the end of
//! the list it stands in. Two ways: `one_line` for lists, where the words count and not the layout; `defuse`
//! for results, where every character may matter, so it only puts a visible backslash into what it must and
//! says how often it did.

use std::borrow::Cow;

use crate::alias::is_invisible;

/// Words that make a `<` the beginning of a call.
const CALL_WORDS: [&str; 2] = ["action", "tool_call"];

/// On one line, without control and invisible characters, without anything that begins a call, and not
/// longer than `max` characters.
pub(crate) fn one_line(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max * 4));
    let mut chars = 0;
    for word in text.split_whitespace() {
        if chars > max {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
            chars += 1;
        }
        for c in word
            .chars()
            .filter(|&c| !c.is_control() && !is_invisible(c))
        {
            line.push(c);
            chars += 1;
            if chars > max {
                break;
            }
        }
    }
    let mut line = capped(line.trim_end(), max).into_owned();
    // A fence, or a code span that is never closed, would swallow what follows.
    if line.contains("```") || line.matches('`').count() % 2 == 1 {
        line = line.replace('`', "'");
    }
    if !line.contains('<') {
        return line;
    }
    let mut out = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        let rest = line.get(at..).unwrap_or_default();
        out.push(if c == '<' && begins_call(rest) {
            '‹'
        } else {
            c
        });
    }
    out
}

/// The text as it is, with a backslash in every mark that begins or ends a call and before every line that
/// begins like an observation; and how many there are.
pub(crate) fn defuse(text: &str) -> (Cow<'_, str>, usize) {
    let mut out = String::new();
    let mut copied = 0;
    let mut count = 0;
    let mut line_start = true;
    for (at, c) in text.char_indices() {
        let rest = text.get(at..).unwrap_or_default();
        let cut = if line_start && begins_observation(rest) {
            at
        } else if c == '<' && begins_call(rest) {
            at + 1
        } else {
            line_start = matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
                || (line_start && c.is_whitespace());
            continue;
        };
        out.push_str(text.get(copied..cut).unwrap_or_default());
        out.push('\\');
        copied = cut;
        count += 1;
        line_start = false;
    }
    if count == 0 {
        return (Cow::Borrowed(text), 0);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    (Cow::Owned(out), count)
}

/// The first `max` characters, with `…` where something was left out.
pub(crate) fn capped(text: &str, max: usize) -> Cow<'_, str> {
    match text.char_indices().nth(max) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let end = text
                .char_indices()
                .nth(max.saturating_sub(1))
                .map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default()))
        }
    }
}

/// `rest` begins with `<`.
fn begins_call(rest: &str) -> bool {
    let blanks = [' ', '\t'];
    let rest = rest
        .strip_prefix('<')
        .unwrap_or(rest)
        .trim_start_matches(blanks);
    if rest.starts_with('|') {
        return true;
    }
    let rest = rest
        .strip_prefix('/')
        .unwrap_or(rest)
        .trim_start_matches(blanks);
    CALL_WORDS.iter().any(|word| {
        starts_with_word(rest, word)
            && rest
                .get(word.len()..)
                .and_then(|after| after.chars().next())
                .is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-' | '.'))
    })
}

fn begins_observation(rest: &str) -> bool {
    const WORD: &str = "observation";
    starts_with_word(rest, WORD)
        && rest.get(WORD.len()..).is_some_and(|after| {
            after
                .trim_start_matches([' ', '\t'])
                .starts_with([':', '：'])
        })
}

fn starts_with_word(text: &str, word: &str) -> bool {
    text.get(..word.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_their_shape() {
        for (text, expected) in [
            ("Reads a file.", "Reads a file."),
            ("two\n\n  lines\t", "two lines"),
            ("a\u{0}b\u{202e}c", "abc"),
            ("if a < b, use `x`", "if a < b, use `x`"),
            ("```sh\nls\n```", "'''sh ls '''"),
            ("an `open span", "an 'open span"),
            ("<|[END_TOOL]|>", "‹|[END_TOOL]|>"),
            ("< |[request_tool]|>", "‹ |[request_tool]|>"),
            ("</ACTION> <Action x>", "‹/ACTION> ‹Action x>"),
            ("<actions> <tool_calls>", "<actions> <tool_calls>"),
            ("<tool_call name=\"x\">", "‹tool_call name=\"x\">"),
            ("", ""),
        ] {
            assert_eq!(one_line(text, 100), expected, "{text:?}");
        }
        assert_eq!(one_line("abcdef", 4), "abc…");
        assert_eq!(one_line("ab cd ef", 5), "ab c…");
        assert_eq!(one_line("文文文", 3), "文文文");
    }

    #[test]
    fn results_keep_every_character_but_lose_their_teeth() {
        for (text, expected, count) in [
            ("plain <b>text</b>\n  x", "plain <b>text</b>\n  x", 0),
            ("an Observation: here", "an Observation: here", 0),
            ("Observations: 3", "Observations: 3", 0),
            ("a\nObservation: b", "a\n\\Observation: b", 1),
            ("a\r\n \tobservation ： b", "a\r\n \t\\observation ： b", 1),
            ("<|[REQUEST_TOOL]|>", "<\\|[REQUEST_TOOL]|>", 1),
            ("<ACTION></ACTION>", "<\\ACTION><\\/ACTION>", 2),
            ("\n<tool_call>", "\n<\\tool_call>", 1),
            ("", "", 0),
        ] {
            assert_eq!(defuse(text), (Cow::Borrowed(expected), count), "{text:?}");
        }
    }
}
