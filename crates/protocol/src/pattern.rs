//! `File.*`: names with stars, as profiles, rules, hooks and subscribers write them.

use serde::{Deserialize, Serialize};

/// A text in which `*` stands for any number of any characters. Nothing else is special.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Pattern(String);

impl Pattern {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// No star: it names one thing.
    pub fn is_exact(&self) -> bool {
        !self.0.contains('*')
    }

    /// Characters that are not stars: the more, the more specific.
    pub fn weight(&self) -> usize {
        self.0.chars().filter(|c| *c != '*').count()
    }

    pub fn matches(&self, text: &str) -> bool {
        matches(&self.0, text)
    }

    /// In any letter case and with `:` and `.` alike: for refusals, where a near miss must not slip through.
    pub fn matches_loosely(&self, text: &str) -> bool {
        matches(&loose(&self.0), &loose(text))
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// The form in which names that look alike are equal.
pub fn loose(name: &str) -> String {
    name.to_lowercase().replace(':', ".")
}

/// Linear: each part between stars is taken at its first place, the last one at the end.
fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<_> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.split_once(part) {
            _ if part.is_empty() => {}
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_is_any_text() {
        for (pattern, text, expected) in [
            ("File.Read", "File.Read", true),
            ("File.Read", "File.ReadX", false),
            ("File.*", "File.Read", true),
            ("File.*", "File.", true),
            ("File.*", "Files", false),
            ("*", "", true),
            ("*", "anything", true),
            ("", "", true),
            ("", "a", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*.Read", "File.Read", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a**c", "abc", true),
            ("*b*", "abc", true),
            ("*ab", "aab", true),
            ("文件*", "文件.读", true),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(text),
                expected,
                "{pattern} {text}"
            );
        }
    }

    #[test]
    fn loosely_is_without_case_and_colon() {
        let pattern = Pattern::new("File:del*");
        assert!(pattern.matches_loosely("file.Delete"));
        assert!(!pattern.matches("file.Delete"));
    }

    #[test]
    fn the_exact_pattern_weighs_most() {
        assert!(Pattern::new("File.Read").weight() > Pattern::new("File.*").weight());
        assert!(Pattern::new("File.Read").is_exact());
        assert!(!Pattern::new("*").is_exact());
    }
}
