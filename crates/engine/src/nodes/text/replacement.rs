//! What stands for a match: `$1`, `$&`, `$<name>`, as JavaScript understands them.

use fancy_regex::Captures;

/// A replacement, read once for all matches.
pub(super) struct Replacement(Vec<Part>);

enum Part {
    Text(String),
    /// `$&`
    Match,
    /// `` $` ``
    Before,
    /// `$'`
    After,
    Group(usize),
    Name(String),
}

impl Replacement {
    /// `groups` is how many the pattern has: a number beyond them is text.
    pub(super) fn read(text: &str, groups: usize, has_names: bool) -> Self {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(place) = rest.find('$') {
            let (before, after) = rest.split_at(place);
            plain.push_str(before);
            let after = after.get(1..).unwrap_or_default();
            let (part, taken) = match after.chars().next() {
                Some('$') => (Some(Part::Text("$".to_owned())), 1),
                Some('&') => (Some(Part::Match), 1),
                Some('`') => (Some(Part::Before), 1),
                Some('\'') => (Some(Part::After), 1),
                Some('0'..='9') => group(after, groups),
                Some('<') if has_names => match after.find('>') {
                    Some(end) => {
                        let name = after.get(1..end).unwrap_or_default();
                        (Some(Part::Name(name.to_owned())), end + 1)
                    }
                    None => (None, 0),
                },
                _ => (None, 0),
            };
            match part {
                Some(part) => {
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(part);
                }
                None => plain.push('$'),
            }
            rest = after.get(taken..).unwrap_or_default();
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Self(parts)
    }

    pub(super) fn write(&self, text: &str, found: &Captures<'_, str>, out: &mut String) {
        let whole = found.get(0);
        let (start, end) = whole.map_or((0, 0), |whole| (whole.start(), whole.end()));
        for part in &self.0 {
            out.push_str(match part {
                Part::Text(text) => text,
                Part::Match => text.get(start..end).unwrap_or_default(),
                Part::Before => text.get(..start).unwrap_or_default(),
                Part::After => text.get(end..).unwrap_or_default(),
                Part::Group(number) => found.get(*number).map_or("", |group| group.as_str()),
                Part::Name(name) => found.name(name).map_or("", |group| group.as_str()),
            });
        }
    }
}

/// Two digits if there are as many groups, else one.
fn group(after: &str, groups: usize) -> (Option<Part>, usize) {
    for digits in [2, 1] {
        let number = after.get(..digits).and_then(|text| {
            match text.bytes().all(|byte| byte.is_ascii_digit()) {
                true => text.parse::<usize>().ok(),
                false => None,
            }
        });
        if let Some(number) = number
            && (1..=groups).contains(&number)
        {
            return (Some(Part::Group(number)), digits);
        }
    }
    (None, 0)
}
