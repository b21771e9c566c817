//! A secret as servers write it when they quote it: inside JSON, inside an address. Pure.
//!
//! Letters, digits, `-`, `_`, `.` and `~` are written as they are everywhere, so most keys have one spelling. Letter
//! case (`%2F`, `%2f`) is for whoever compares.

use innkeeper_protocol::Secret;

/// What stands for a character; nothing if the character itself does.
type Style = fn(char) -> Option<String>;

/// Few, so that a key has few spellings.
const STYLES: [Style; 10] = [
    // JSON as it must be, and with what some writers add to it: PHP, Go, Gson, .NET.
    |c| short(c, ""),
    |c| short(c, "/"),
    |c| code(c, "<>&").or_else(|| short(c, "")),
    |c| code(c, "<>&='").or_else(|| short(c, "")),
    |c| code(c, "<>&'\"+`").or_else(|| short(c, "")),
    |c| code(c, "/").or_else(|| short(c, "")),
    // A part of an address by the standard, and a whole one.
    |c| percent(c, ""),
    |c| percent(c, "!*'();/?:@&=+$,#"),
    // A path as Python writes it, and one step of a path.
    |c| percent(c, "/"),
    |c| percent(c, "$&+=:@"),
];

/// All spellings of a secret, each once, its own first.
pub(crate) fn spellings(secret: &str) -> Vec<Secret> {
    let mut all = vec![Secret::new(secret)];
    if secret.chars().all(is_plain) {
        return all;
    }
    for style in STYLES {
        let spelled = secret.chars().fold(String::new(), |mut spelled, c| {
            match style(c) {
                Some(stands) => spelled.push_str(&stands),
                None => spelled.push(c),
            }
            spelled
        });
        let spelled = Secret::new(spelled);
        if all.iter().all(|known| known.expose() != spelled.expose()) {
            all.push(spelled);
        }
    }
    all
}

const fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '~')
}

fn short(c: char, also: &str) -> Option<String> {
    (matches!(c, '"' | '\\') || also.contains(c)).then(|| format!("\\{c}"))
}

fn code(c: char, which: &str) -> Option<String> {
    which
        .contains(c)
        .then(|| format!("\\u{:04x}", u32::from(c)))
}

fn percent(c: char, kept: &str) -> Option<String> {
    let written = c.is_ascii() && !is_plain(c) && !kept.contains(c);
    written.then(|| format!("%{:02X}", u32::from(c)))
}

#[cfg(test)]
#[path = "spelled_tests.rs"]
mod tests;
