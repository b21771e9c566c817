//! Regex: whether, where and how often a pattern is found in a text.

use std::ops::ControlFlow;

use fancy_regex::Captures;
use serde_json::{Map, Value as Json, json};

use super::pattern::{Pace, Pattern, searched};
use crate::limits::MAX_LISTED_MATCHES;
use crate::node::{NodeBuilder, array, boolean, integer, text};
use crate::nodes::bound::Bound;
use crate::{NodeError, NodeType};

/// What one run gives.
#[derive(Default)]
struct Found {
    result: String,
    matches: Vec<Json>,
    groups: Map<String, Json>,
    count: usize,
}

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "Regex",
        "Text",
        "Regex",
        "Looks for a pattern in a text: match, findAll, replace, split or test",
    );
    let input = node.input(
        text("text")
            .title("Text")
            .about("Where to look")
            .multiline()
            .required(),
    );
    let pattern = node.input(
        text("pattern")
            .title("Pattern")
            .about("A regular expression in JavaScript's syntax, without slashes")
            .category("Code")
            .required(),
    );
    let flags = node.input(
        text("flags")
            .title("Flags")
            .about("Any of i, m, s, u and y; g is known from the mode"),
    );
    let mode = node.input(
        text("mode")
            .title("Mode")
            .about("match: the first match. findAll: all of them. replace: a text for each match. split: the text between matches. test: only whether there is one")
            .choice(&["match", "findAll", "replace", "split", "test"]),
    );
    let replacement = node.input(
        text("replacement")
            .title("Replacement")
            .about("For replace; $1, $<name>, $& and $$ are understood"),
    );
    let found = node.output(
        boolean("found")
            .title("Found")
            .about("Whether there is a match"),
    );
    let result = node.output(text("result").title("Result").about(
        "replace: the new text. match and findAll: the first match. split: the first piece",
    ));
    let matches = node.output(
        array("matches")
            .title("Matches")
            .about("findAll and match: the matches. split: the pieces"),
    );
    let groups =
        node.output(crate::node::object("groups").title("Groups").about(
            "Of the first match, by number and by name; a group that took no part is left out",
        ));
    let count = node.output(
        integer("count")
            .title("Count")
            .about("How many matches there are, the first alone where the mode needs no more"),
    );
    node.task(move |mut io| async move {
        let (text, pattern, flags) = (io.get(input)?, io.get(pattern)?, io.get(flags)?);
        let (mode, replacement) = (io.get(mode)?, io.get(replacement)?);
        let made = searched(text.len(), move |pace| {
            run(&text, &pattern, &flags, &mode, &replacement, pace)
        })
        .await?;
        io.set(found, made.count > 0);
        io.set(result, made.result);
        io.set(matches, made.matches);
        io.set(groups, made.groups);
        io.set(count, made.count);
        io.done()
    })
}

fn run(
    text: &str,
    pattern: &str,
    flags: &str,
    mode: &str,
    replacement: &str,
    pace: Pace<'_>,
) -> Result<Found, NodeError> {
    let pattern = Pattern::get(pattern, flags)?;
    let mut made = Found::default();
    match mode {
        "test" => pattern.each(text, false, pace, |_| {
            made.count = 1;
            Ok(ControlFlow::Break(()))
        })?,
        "match" | "findAll" => {
            pattern.each(text, mode == "findAll", pace, |found| {
                let whole = found.get(0).map_or("", |whole| whole.as_str());
                if made.count == 0 {
                    made.groups = groups(&pattern, found)?;
                    made.result = whole.to_owned();
                }
                made.count += 1;
                list(&mut made.matches, whole)
            })?;
        }
        "replace" => {
            pattern.each(text, false, pace, |found| {
                made.groups = groups(&pattern, found)?;
                Ok(ControlFlow::Break(()))
            })?;
            (made.result, made.count) = pattern.replace(text, replacement, true, pace)?;
        }
        "split" => split(text, &pattern, pace, &mut made)?,
        other => {
            let message = format!(
                "the mode '{other}' is unknown; there are match, findAll, replace, split and test"
            );
            return Err(NodeError::invalid("regex.mode", message));
        }
    }
    Ok(made)
}

fn list(matches: &mut Vec<Json>, piece: &str) -> Result<ControlFlow<()>, NodeError> {
    if matches.len() >= MAX_LISTED_MATCHES {
        let message = format!(
            "there are more than {MAX_LISTED_MATCHES} matches; use test or replace, or a pattern that finds less"
        );
        return Err(NodeError::invalid("regex.too_many", message));
    }
    matches.push(piece.into());
    Ok(ControlFlow::Continue(()))
}

fn groups(pattern: &Pattern, found: &Captures<'_, str>) -> Result<Map<String, Json>, NodeError> {
    let mut groups = Map::new();
    // Groups lie in each other, and each is a copy.
    let mut bound = Bound::default();
    let numbers = (1..=pattern.groups()).map(|number| (number, number.to_string()));
    let names = pattern
        .names()
        .map(|(number, name)| (number, name.to_owned()));
    for (number, name) in numbers.chain(names) {
        if let Some(group) = found.get(number) {
            bound.add(group.as_str().len())?;
            groups.insert(name, json!(group.as_str()));
        }
    }
    Ok(groups)
}

/// Pieces between matches; an empty match cuts between two characters, never at the ends.
fn split(text: &str, pattern: &Pattern, pace: Pace<'_>, made: &mut Found) -> Result<(), NodeError> {
    let mut place = 0;
    pattern.each(text, true, pace, |found| {
        let Some(whole) = found.get(0) else {
            return Ok(ControlFlow::Break(()));
        };
        let is_empty = whole.start() == whole.end();
        if is_empty && (whole.start() <= place || whole.end() == text.len()) {
            return Ok(ControlFlow::Continue(()));
        }
        made.count += 1;
        let piece = text.get(place..whole.start()).unwrap_or_default();
        place = whole.end();
        list(&mut made.matches, piece)
    })?;
    let _goes_on = list(&mut made.matches, text.get(place..).unwrap_or_default())?;
    made.result = made
        .matches
        .first()
        .and_then(Json::as_str)
        .unwrap_or_default()
        .to_owned();
    Ok(())
}

#[cfg(test)]
#[path = "regex_tests.rs"]
mod tests;
