//! Keys and header values, so that no message repeats one. Pure.

use innkeeper_protocol::Secret;

use super::spelled::spellings;
use super::words::CUT;

/// Shorter ones would be found in ordinary words.
const SHORTEST_KEY: usize = 4;
const SHORTEST_HEADER: usize = 8;

/// What must not be shown, in every [spelling](spellings).
#[derive(Default)]
pub(crate) struct Mask {
    hidden: Vec<(Secret, &'static str)>,
}

impl Mask {
    /// `keys` are secret for sure; `headers` may hold ordinary words.
    pub(crate) fn new<'s>(
        keys: impl IntoIterator<Item = &'s Secret>,
        headers: &'s [Secret],
    ) -> Self {
        let keys = keys.into_iter().map(|key| key.expose().trim());
        let keys = keys.filter(|key| key.len() >= SHORTEST_KEY);
        let headers = headers.iter().flat_map(|value| {
            let value = value.expose().trim();
            // `Bearer abc`: the second word is the secret.
            let last = value.rsplit(' ').next().filter(|last| *last != value);
            [Some(value), last].into_iter().flatten()
        });
        let headers = headers.filter(|value| value.len() >= SHORTEST_HEADER);
        let hidden = keys
            .map(|key| (key, "[key]"))
            .chain(headers.map(|value| (value, "[header]")));
        let spelled = hidden.flat_map(|(secret, mark)| {
            let spelled = spellings(secret).into_iter();
            spelled.map(move |secret| (secret, mark))
        });
        Self {
            hidden: spelled.collect(),
        }
    }

    pub(crate) fn apply(&self, text: String) -> String {
        self.hidden.iter().fold(text, |text, (secret, mark)| {
            let secret = secret.expose();
            without_begun(without(text, secret, mark), secret, mark)
        })
    }

    /// How much at the end of a text that was cut may be the beginning of a secret.
    pub(super) fn longest(&self) -> usize {
        let lengths = self.hidden.iter().map(|(secret, _)| secret.expose().len());
        lengths.max().unwrap_or_default()
    }
}

/// In any letter case: some servers write what they quote in small letters.
fn without(mut text: String, secret: &str, mark: &str) -> String {
    let secret = secret.to_ascii_lowercase();
    // Small letters are as long as large ones in ASCII, so that places are the same.
    let mut small = text.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = small.get(from..).and_then(|rest| rest.find(&secret)) {
        let at = from + at;
        text.replace_range(at..at + secret.len(), mark);
        small.replace_range(at..at + secret.len(), mark);
        from = at + mark.len();
    }
    text
}

/// Words that were cut before anybody knew the secret may end with its beginning.
fn without_begun(mut text: String, secret: &str, mark: &str) -> String {
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| rest.find(CUT)) {
        let at = from + at;
        let before = text.as_bytes().get(..at).unwrap_or_default();
        let begun = (SHORTEST_KEY..secret.len()).rev().find(|length| {
            let start = at.checked_sub(*length);
            let tail = start.and_then(|start| before.get(start..));
            let head = secret.as_bytes().get(..*length);
            tail.zip(head)
                .is_some_and(|(tail, head)| tail.eq_ignore_ascii_case(head))
        });
        from = at;
        if let Some(length) = begun {
            let start = at - length;
            if text.is_char_boundary(start) {
                text.replace_range(start..at, mark);
                from = start + mark.len();
            }
        }
        from += CUT.len_utf8();
    }
    text
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
