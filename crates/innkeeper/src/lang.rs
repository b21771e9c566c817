//! The language in which Innkeeper speaks to the person at the terminal.

use std::ffi::OsString;

use clap::ValueEnum;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Lang {
    En,
    Zh,
}

impl Lang {
    /// The text for this language.
    pub(crate) fn pick<T>(self, english: T, chinese: T) -> T {
        match self {
            Self::En => english,
            Self::Zh => chinese,
        }
    }

    /// `--lang` if given, else what the locale says, else English.
    ///
    /// Looks at the bare words, because a command line that cannot be understood is answered in this
    /// language too.
    pub(crate) fn of(words: &[OsString], variable: impl Fn(&str) -> Option<String>) -> Self {
        asked(words).unwrap_or_else(|| from_locale(variable))
    }
}

fn asked(words: &[OsString]) -> Option<Lang> {
    let mut found = None;
    let mut words = words.iter().skip(1).filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        let value = match word {
            "--" => break,
            "--lang" => words.next(),
            _ => word.strip_prefix("--lang="),
        };
        if let Some(lang) = value.and_then(|value| Lang::from_str(value, true).ok()) {
            found = Some(lang);
        }
    }
    found
}

/// The first variable that says anything decides, in the order POSIX gives them.
fn from_locale(variable: impl Fn(&str) -> Option<String>) -> Lang {
    let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .filter_map(variable)
        .find(|value| !value.is_empty())
        .unwrap_or_default();
    match locale.split(['_', '-', '.', '@']).next() {
        Some("zh") => Lang::Zh,
        _ => Lang::En,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lang(line: &str, environment: &[(&str, &str)]) -> Lang {
        let words: Vec<OsString> = line.split_whitespace().map(Into::into).collect();
        Lang::of(&words, |name| {
            environment
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn option_before_locale_before_english() {
        let zh = [("LANG", "zh_CN.UTF-8")];
        for (line, environment, expected) in [
            ("innkeeper parse", &[][..], Lang::En),
            ("innkeeper parse", &zh[..], Lang::Zh),
            ("innkeeper parse", &[("LANG", "zh")][..], Lang::Zh),
            ("innkeeper parse", &[("LANG", "zha_X")][..], Lang::En),
            (
                "innkeeper parse",
                &[("LC_ALL", "C"), ("LANG", "zh_CN")][..],
                Lang::En,
            ),
            (
                "innkeeper parse",
                &[("LC_ALL", ""), ("LC_MESSAGES", "zh_TW")][..],
                Lang::Zh,
            ),
            ("innkeeper parse --lang en", &zh[..], Lang::En),
            ("innkeeper --lang=zh parse", &[][..], Lang::Zh),
            ("innkeeper --lang zh --bogus", &[][..], Lang::Zh),
            ("innkeeper --lang de", &[][..], Lang::En),
            ("innkeeper parse -- --lang=zh", &[][..], Lang::En),
            ("innkeeper --lang zh parse --lang en", &[][..], Lang::En),
        ] {
            assert_eq!(lang(line, environment), expected, "{line} {environment:?}");
        }
    }
}
