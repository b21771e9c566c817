//! Places in texts that a search found, the best first; for the files of a workspace and of skills alike.

use std::cmp::Ordering;

use super::find::{Query, cut_around, folded};
use super::lines::Lines;
use crate::limits::MAX_FILE_SNIPPET_CHARS;

/// What is looked for, how many places of it, and how many lines around each.
#[derive(Clone)]
pub(crate) struct Sought {
    pub(crate) query: Query,
    pub(crate) limit: usize,
    pub(crate) context: usize,
}

pub(crate) struct Hit {
    pub(crate) path: String,
    pub(crate) sha256: String,
    pub(crate) score: f64,
    /// Lines, counted from 1, both included.
    pub(crate) first: usize,
    pub(crate) last: usize,
    pub(crate) snippet: String,
}

impl Hit {
    fn order(&self, other: &Self) -> Ordering {
        let by_score = other.score.total_cmp(&self.score);
        by_score
            .then_with(|| self.path.cmp(&other.path))
            .then_with(|| self.first.cmp(&other.first))
    }
}

/// The best hits.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) hits: Vec<Hit>,
    /// There are others.
    pub(crate) more: bool,
}

impl Found {
    pub(crate) fn add(&mut self, other: Self, limit: usize) {
        self.more |= other.more;
        self.hits.extend(other.hits);
        self.hits.sort_by(Hit::order);
        self.more |= self.hits.len() > limit;
        self.hits.truncate(limit);
    }
}

/// The best places of one file, none of which overlaps another.
pub(crate) fn look(asked: &Sought, path: &str, sha256: &str, text: &str) -> Found {
    let mut places: Vec<(f64, usize)> = text
        .lines()
        .enumerate()
        .map(|(index, line)| (asked.query.score(&folded(line)), index + 1))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    places.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let lines = Lines::of(text);
    let mut found = Found::default();
    for (score, line) in places {
        let first = line.saturating_sub(asked.context).max(1);
        let last = (line + asked.context).min(lines.count());
        let is_apart = |hit: &Hit| hit.last < first || last < hit.first;
        if !found.hits.iter().all(is_apart) {
            continue;
        }
        if found.hits.len() == asked.limit {
            found.more = true;
            break;
        }
        let (first, last, snippet) = shown(asked, text, &lines, line, (first, last));
        found.hits.push(Hit {
            path: path.to_owned(),
            sha256: sha256.to_owned(),
            score,
            first,
            last,
            snippet,
        });
    }
    found
}

/// The lines around a hit, or where they are too long the hit alone.
fn shown(
    asked: &Sought,
    text: &str,
    lines: &Lines,
    line: usize,
    (first, last): (usize, usize),
) -> (usize, usize, String) {
    let piece = |first: usize, last: usize| {
        let bytes = lines.bytes(first, last + 1 - first);
        text.get(bytes)
            .unwrap_or_default()
            .trim_end_matches(['\r', '\n'])
    };
    let around = piece(first, last);
    if around.chars().nth(MAX_FILE_SNIPPET_CHARS).is_none() {
        return (first, last, around.to_owned());
    }
    let alone = piece(line, line);
    let place = asked.query.place(alone);
    (line, line, cut_around(alone, place, MAX_FILE_SNIPPET_CHARS))
}
