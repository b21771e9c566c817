//! Classes that leave letters beyond ASCII out, written as what they leave in.
//!
//! Both say the same in GBNF. But xgrammar, as older vLLM has it, does not see such letters behind `[^`, and would let a
//! model write the marks that a text must not hold.

use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

const LAST: u32 = char::MAX as u32;

/// A rule's body without such classes.
pub(super) fn listed(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find(['"', '[']) {
        let (before, from) = rest.split_at(at);
        let (piece, after) = from.split_at(end_of(from));
        out.push_str(before);
        let left_out = piece
            .strip_prefix("[^")
            .and_then(|class| class.strip_suffix(']'));
        match left_out.map(members) {
            Some(members) if members.iter().any(|(_, to)| *to > 0x7f) => {
                others(&mut out, members);
            }
            _ => out.push_str(piece),
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where the literal or class that a text begins with is over.
fn end_of(text: &str) -> usize {
    let close = if text.starts_with('[') { ']' } else { '"' };
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == close => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn members(class: &str) -> Vec<(u32, u32)> {
    let mut chars = class.chars().peekable();
    let mut all = Vec::new();
    while let Some(from) = member(&mut chars) {
        let to = match chars.next_if_eq(&'-') {
            Some(_) => member(&mut chars).unwrap_or(from),
            None => from,
        };
        all.push((from, to));
    }
    all.sort_unstable();
    all
}

fn member(chars: &mut Peekable<Chars<'_>>) -> Option<u32> {
    let c = chars.next()?;
    if c != '\\' {
        return Some(c.into());
    }
    let digits = match chars.next()? {
        'n' => return Some('\n'.into()),
        'r' => return Some('\r'.into()),
        't' => return Some('\t'.into()),
        'x' => 2,
        'u' => 4,
        c => return Some(c.into()),
    };
    let digits: String = chars.by_ref().take(digits).collect();
    u32::from_str_radix(&digits, 16).ok()
}

fn others(out: &mut String, members: Vec<(u32, u32)>) {
    out.push('[');
    let mut next = 0;
    for (from, to) in members.into_iter().chain([(LAST + 1, LAST + 1)]) {
        if next < from {
            letter(out, next);
            out.push('-');
            letter(out, from - 1);
        }
        next = next.max(to + 1);
    }
    out.push(']');
}

fn letter(out: &mut String, code: u32) {
    // Writing to a string cannot fail.
    let _ = match code {
        ..=0xffff => write!(out, "\\u{code:04X}"),
        _ => write!(out, "\\U{code:08X}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_leaves_other_letters_out_is_listed() {
        for (body, wanted) in [
            (
                r#""[^«]" [^<\x7F] [«»] "\"" a"#,
                r#""[^«]" [^<\x7F] [«»] "\"" a"#,
            ),
            (r"x [^«]+", r"x [\u0000-\u00AA\u00AC-\U0010FFFF]+"),
            (
                r#"([^"\\\t\u2000-\u200A\]「] y)?"#,
                r"([\u0000-\u0008\u000A-\u0021\u0023-\u005B\u005E-\u1FFF\u200B-\u300B\u300D-\U0010FFFF] y)?",
            ),
        ] {
            assert_eq!(listed(body), wanted);
        }
    }
}
