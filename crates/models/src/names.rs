//! Names: how they are quoted, what a channel may be called, what looks like a secret, and what was probably meant.

use crate::limits::MAX_QUOTED_CHARS;

/// As much of somebody else's name as fits into a message.
pub(crate) fn quoted(name: &str) -> String {
    name.chars().take(MAX_QUOTED_CHARS).collect()
}

/// Letters, digits, dots, dashes and underlines. A slash or a colon would end the channel's part of a model's name.
pub(crate) fn is_channel_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= MAX_QUOTED_CHARS
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'))
}

/// Whether the value under such a name must never be seen.
pub(crate) fn looks_secret(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "auth",
        "key",
        "token",
        "secret",
        "cookie",
        "passw",
        "credential",
        "signature",
        "session",
        "bearer",
    ];
    let name = name.to_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

/// The nearest of some names, if it is near enough.
pub(crate) fn nearest<'n>(
    given: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> Option<&'n str> {
    nearest_few(given, names, 1).into_iter().next()
}

/// Up to `most` of them, the nearest first.
pub(crate) fn nearest_few<'n>(
    given: &str,
    names: impl IntoIterator<Item = &'n str>,
    most: usize,
) -> Vec<&'n str> {
    let given = quoted(given).to_lowercase();
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .map(|name| (strsim::osa_distance(&given, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= name.chars().count().max(3) / 3)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(most).map(|(_, name)| name).collect()
}
