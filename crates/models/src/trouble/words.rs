//! The server's own words about a failure: found, cleaned, cut, and never with a key in them. Pure.

use std::time::Duration;

use serde_json::Value as Json;

use super::mask::Mask;
use crate::limits::{MAX_QUOTED_CHARS, MAX_RETRY_AFTER, MAX_SERVER_WORDS};

/// Stands for what was left out.
pub(super) const CUT: char = '…';

/// What a body says about why.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Words {
    /// For people; one line, empty where it says nothing.
    pub(crate) text: String,
    /// For us: codes, types and states, in small letters.
    pub(crate) codes: Vec<String>,
    /// The status that the words themselves name, which is the only one where they stand inside an answer.
    pub(crate) status: Option<u16>,
    /// How long to wait.
    pub(crate) wait: Option<Duration>,
}

impl Words {
    /// `whole` is false where the body was longer than what was read of it.
    pub(crate) fn read(body: &[u8], whole: bool, mask: &Mask) -> Self {
        let text = String::from_utf8_lossy(body);
        let mut text = text.trim_start_matches('\u{feff}').trim();
        if !whole {
            let end = text.len().saturating_sub(mask.longest());
            text = text.get(..text.floor_char_boundary(end)).unwrap_or(text);
        }
        // A stream that begins with its failure.
        let json = text.strip_prefix("data:").unwrap_or(text);
        if let Ok(json) = serde_json::from_str::<Json>(json) {
            return Self::of_json(&json, mask);
        }
        let text = match text.starts_with('<') {
            true => title(text).unwrap_or_default(),
            false => text.to_owned(),
        };
        Self {
            text: clean(&mask.apply(text)),
            ..Self::default()
        }
    }

    /// `{"error": …}`, what stands in it, or something else altogether.
    pub(crate) fn of_json(json: &Json, mask: &Mask) -> Self {
        let json = match json {
            Json::Array(list) => list.first().unwrap_or(json),
            json => json,
        };
        let error = match json.get("error") {
            Some(error) if !error.is_null() => error,
            _ => json,
        };
        let said = [
            error.as_str(),
            text_of(error, "message"),
            text_of(json, "message"),
            text_of(error, "detail"),
            json.pointer("/detail/0/msg").and_then(Json::as_str),
            json.pointer("/errors/0/message").and_then(Json::as_str),
            text_of(error, "msg"),
        ];
        let mut text = said
            .into_iter()
            .flatten()
            .find(|text| !text.trim().is_empty())
            .unwrap_or_default()
            .to_owned();
        // A broker's own words are often no more than "Provider returned error".
        if let Some(inner) = error.pointer("/metadata/raw").and_then(Json::as_str) {
            text = format!("{text}: {inner}");
        }
        let details = error.get("details").and_then(Json::as_array);
        let reasons = details.into_iter().flatten().take(16);
        let wait = reasons
            .clone()
            .find_map(|detail| text_of(detail, "retryDelay"))
            .and_then(|wait| seconds(wait.strip_suffix('s')?.parse().ok()?));
        let mut codes: Vec<String> = ["code", "type", "status"]
            .into_iter()
            .flat_map(|name| [text_of(error, name), text_of(json, name)])
            .chain(reasons.map(|detail| text_of(detail, "reason")))
            .flatten()
            .filter(|code| code.len() <= MAX_QUOTED_CHARS)
            .map(|code| mask.apply(code.to_owned()).to_ascii_lowercase())
            .collect();
        codes.dedup();
        let status = ["code", "status"]
            .into_iter()
            .filter_map(|name| error.get(name).or_else(|| json.get(name)))
            .find_map(status);
        Self {
            text: clean(&mask.apply(text)),
            codes,
            status,
            wait,
        }
    }

    /// Whether one of these is in a code; codes come with many endings.
    pub(super) fn has_code(&self, parts: &[&str]) -> bool {
        let has = |code: &String| parts.iter().any(|part| code.contains(part));
        self.codes.iter().any(has)
    }

    /// Whether it says one of these; letter case does not matter.
    pub(super) fn says(&self, wordings: &[&str]) -> bool {
        let text = self.text.to_lowercase();
        wordings.iter().any(|wording| text.contains(wording))
    }
}

/// Of HTTP, and not a number that somebody counts in his own way.
fn status(said: &Json) -> Option<u16> {
    let status = match said {
        Json::Number(number) => u16::try_from(number.as_u64()?).ok()?,
        Json::String(text) => text.parse().ok()?,
        _ => return None,
    };
    (400..=599).contains(&status).then_some(status)
}

/// A wait, bounded.
pub(crate) fn seconds(seconds: f64) -> Option<Duration> {
    // `min` would take NaN for the larger one.
    let seconds = (!seconds.is_nan()).then_some(seconds)?;
    Duration::try_from_secs_f64(seconds.min(MAX_RETRY_AFTER.as_secs_f64())).ok()
}

fn text_of<'j>(json: &'j Json, name: &str) -> Option<&'j str> {
    json.get(name).and_then(Json::as_str)
}

/// What a web page calls itself.
fn title(page: &str) -> Option<String> {
    let lower = page.to_ascii_lowercase();
    let from = lower.find("<title")?;
    let from = from + lower.get(from..)?.find('>')? + 1;
    let to = from + lower.get(from..)?.find("</title")?;
    page.get(from..to).map(str::to_owned)
}

/// One line of at most [`MAX_SERVER_WORDS`] characters that neither moves the cursor nor turns the writing round, and
/// without the full stop at its end.
pub(crate) fn clean(text: &str) -> String {
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut line = String::new();
    let mut chars = 0;
    for word in text.split(|c: char| c.is_whitespace() || invisible(c)) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
            chars += 1;
        }
        for c in word.chars() {
            if chars == MAX_SERVER_WORDS {
                line.push(CUT);
                return line;
            }
            line.push(c);
            chars += 1;
        }
    }
    line.truncate(line.trim_end_matches('.').len());
    line
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
