//! BM25 over the words of tools, each field with a weight and a length of its own (BM25F). Made once for a snapshot; what does
//! not depend on the question is settled then.
//!
//! A word's part in the score of a tool is `idf · x / (K1 + x)`, where `x` is the sum over the fields of
//! `weight · count / (1 − b + b · length / average length)`. Where several terms stand for the word, the best counts, and how
//! rare it is (`idf`) is told by all tools that have any of them: what is described in the rarer language is not rarer.

use std::collections::HashMap;
use std::sync::Arc;

use innkeeper_protocol::ToolDefinition;
use serde_json::Value as Json;

use super::query::Query;
use super::words::each_term;
use crate::limits::{MAX_INDEXED_FIELD_CHARS, MAX_INDEXED_PARAMETERS};

/// How soon more of the same word stops to count.
pub const K1: f32 = 1.2;
/// Added for a tool whose id stands in the question as it is, or whose name is all of it: more than words can come to.
const BY_NAME: f32 = 100.0;

/// Where a word stands.
#[derive(Debug, Clone, Copy)]
enum Field {
    Name,
    Title,
    Tags,
    Description,
    Parameter,
    /// What is said of parameters, and in which situations the tool is called.
    Details,
}

const FIELDS: usize = 6;

impl Field {
    /// What a word counts there.
    const fn weight(self) -> f32 {
        match self {
            Self::Name => 3.0,
            Self::Title => 2.5,
            Self::Tags => 1.5,
            Self::Description => 1.5,
            Self::Parameter => 0.6,
            Self::Details => 0.3,
        }
    }

    /// How far a long field makes each of its words count less (`b`). Names have no length to speak of.
    const fn length(self) -> f32 {
        match self {
            Self::Name | Self::Title | Self::Tags => 0.3,
            Self::Description | Self::Parameter | Self::Details => 0.75,
        }
    }
}

/// The words of many tools.
#[derive(Debug, Default)]
pub struct Index {
    tools: Vec<Arc<ToolDefinition>>,
    terms: HashMap<Box<str>, Postings>,
    /// By every name in small letters.
    names: HashMap<Box<str>, Named>,
}

/// Whom a name means.
#[derive(Debug, Clone, Copy)]
struct Named {
    tool: usize,
    /// Nobody writes it without meaning the tool: an id with a seam. Other names are also words, and whoever makes a tool may
    /// give it any of them.
    is_plain: bool,
}

/// Where a term stands, and how strongly (`x / (K1 + x)`).
type Postings = Vec<(u32, f32)>;

/// How often a term stands in each field of a tool.
type Counts = [u16; FIELDS];

/// A tool that fits, by its place in [`Index::tools`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hit {
    pub tool: usize,
    /// Above 0; comparable within one answer alone.
    pub score: f32,
}

impl Index {
    pub fn of<'t>(tools: impl IntoIterator<Item = &'t Arc<ToolDefinition>>) -> Self {
        let tools: Vec<_> = tools.into_iter().cloned().collect();
        let mut counts: HashMap<Box<str>, Vec<(u32, Counts)>> = HashMap::new();
        let mut lengths: Vec<[u32; FIELDS]> = Vec::with_capacity(tools.len());
        let mut names = HashMap::new();
        for (at, tool) in (0_u32..).zip(&tools) {
            let mut length = [0; FIELDS];
            each_text(tool, |field, text| {
                each_term(beginning(text), |term| {
                    if let Some(length) = length.get_mut(field as usize) {
                        *length += 1;
                    }
                    let places = match counts.get_mut(term) {
                        Some(places) => places,
                        None => counts.entry(term.into()).or_default(),
                    };
                    if places.last().is_none_or(|(last, _)| *last != at) {
                        places.push((at, [0; FIELDS]));
                    }
                    let count = places.last_mut();
                    if let Some(count) = count.and_then(|(_, all)| all.get_mut(field as usize)) {
                        *count = count.saturating_add(1);
                    }
                });
            });
            lengths.push(length);
            let mut name = |name: &str, is_plain| {
                let named = Named {
                    tool: at as usize,
                    is_plain,
                };
                names
                    .entry(name.to_lowercase().into_boxed_str())
                    .or_insert(named);
            };
            name(tool.id.as_str(), has_seam(tool.id.as_str()));
            for alias in &tool.aliases {
                name(alias.as_str(), false);
            }
        }
        let averages = averages(&lengths);
        let terms = counts.into_iter().map(|(term, places)| {
            let score = |(at, counts): (u32, Counts)| {
                let length = lengths.get(at as usize).copied().unwrap_or_default();
                let x = strength(&counts, &length, &averages);
                (at, x / (K1 + x))
            };
            (term, places.into_iter().map(score).collect())
        });
        Self {
            terms: terms.collect(),
            names,
            tools,
        }
    }

    /// In the order in which they were given.
    pub fn tools(&self) -> &[Arc<ToolDefinition>] {
        &self.tools
    }

    /// All that share a word with the question, best first; of equals the earlier ones.
    pub fn rank(&self, query: &Query) -> Vec<Hit> {
        let mut scores = vec![0.0_f32; self.tools.len()];
        let mut best = vec![0.0_f32; self.tools.len()];
        let mut touched: Vec<usize> = Vec::new();
        for word in query.words() {
            for (term, weight) in word {
                for (at, score) in self.terms.get(term).into_iter().flatten() {
                    let at = *at as usize;
                    if let Some(best) = best.get_mut(at) {
                        if *best == 0.0 {
                            touched.push(at);
                        }
                        *best = best.max(weight * score);
                    }
                }
            }
            let rarity = idf(self.tools.len(), touched.len());
            for at in touched.drain(..) {
                if let (Some(sum), Some(best)) = (scores.get_mut(at), best.get_mut(at)) {
                    *sum += rarity * std::mem::take(best);
                }
            }
        }
        let named = query.names();
        let is_all = named.len() == 1 && query.is_one_word();
        let named = named.iter().filter_map(|name| self.names.get(*name));
        for named in named.filter(|named| named.is_plain || is_all) {
            if let Some(sum) = scores.get_mut(named.tool) {
                *sum += BY_NAME;
            }
        }
        order(&scores)
    }
}

/// `File.Read`, `weather:today`, `get_time`, `GetTime`; not `weather`.
fn has_seam(name: &str) -> bool {
    let is_seam = |c: char| matches!(c, '.' | ':' | '_' | '/');
    let inner = name.chars().skip(1);
    let mut pairs = name.chars().zip(inner);
    name.contains(is_seam) || pairs.any(|(one, next)| one.is_lowercase() && next.is_uppercase())
}

/// How much a word tells that `with` of `all` tools have.
fn idf(all: usize, with: usize) -> f32 {
    let (all, with) = (all as f32, with as f32);
    (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
}

/// What has a score above 0, best first.
pub(super) fn order(scores: &[f32]) -> Vec<Hit> {
    let hits = scores.iter().enumerate();
    let hits = hits.filter(|(_, score)| score.is_finite() && **score > 0.0);
    let hits = hits.map(|(tool, score)| Hit {
        tool,
        score: *score,
    });
    let mut hits: Vec<Hit> = hits.collect();
    sort(&mut hits);
    hits
}

/// Best first; of equals the earlier ones.
pub(super) fn sort(hits: &mut [Hit]) {
    hits.sort_unstable_by(|one, other| {
        let by_score = other.score.total_cmp(&one.score);
        by_score.then(one.tool.cmp(&other.tool))
    });
}

fn strength(counts: &Counts, lengths: &[u32; FIELDS], averages: &[f32; FIELDS]) -> f32 {
    let fields = [
        Field::Name,
        Field::Title,
        Field::Tags,
        Field::Description,
        Field::Parameter,
        Field::Details,
    ];
    let each = fields.iter().zip(counts).zip(lengths).zip(averages);
    each.map(|(((field, count), length), average)| {
        let b = field.length();
        let relative = *length as f32 / average.max(1.0);
        field.weight() * f32::from(*count) / (1.0 - b + b * relative).max(0.05)
    })
    .sum()
}

fn averages(lengths: &[[u32; FIELDS]]) -> [f32; FIELDS] {
    let mut sums = [0.0_f32; FIELDS];
    for length in lengths {
        for (sum, length) in sums.iter_mut().zip(length) {
            *sum += *length as f32;
        }
    }
    sums.map(|sum| sum / (lengths.len().max(1) as f32))
}

/// Every text that says what a tool is for.
fn each_text<'t>(tool: &'t ToolDefinition, mut found: impl FnMut(Field, &'t str)) {
    found(Field::Name, tool.id.as_str());
    // What else it is called is what its maker says of it.
    for alias in &tool.aliases {
        found(Field::Tags, alias.as_str());
    }
    found(Field::Title, &tool.display_name);
    for tag in &tool.tags {
        found(Field::Tags, tag);
    }
    found(Field::Description, &tool.description);
    for (name, schema) in tool.properties().take(MAX_INDEXED_PARAMETERS) {
        found(Field::Parameter, name);
        if let Some(text) = schema.get("description").and_then(Json::as_str) {
            found(Field::Details, text);
        }
    }
    for example in tool.examples.iter().take(MAX_INDEXED_PARAMETERS) {
        found(Field::Details, &example.situation);
    }
}

fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_INDEXED_FIELD_CHARS);
    end.and_then(|(end, _)| text.get(..end)).unwrap_or(text)
}

#[cfg(test)]
#[path = "index_tests.rs"]
mod tests;
