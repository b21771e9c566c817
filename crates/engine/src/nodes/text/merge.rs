//! TextMerge: many texts, one text.

use crate::node::{NodeBuilder, text};
use crate::nodes::bound::Bound;
use crate::{NodeType, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "TextMerge",
        "Text",
        "Merge text",
        "Joins texts in the order of their connections",
    );
    let separator = node.input(
        text("separator")
            .title("Separator")
            .about("Stands between the texts; \\n, \\t, \\r, \\\", \\' and \\\\ are understood")
            .default("\\n"),
    );
    let texts = node.input(
        text("text_inputs")
            .title("Texts")
            .about("What is joined")
            .required()
            .default(Vec::<serde_json::Value>::new())
            .multi(),
    );
    let merged = node.output(
        text("merged_text")
            .title("Merged text")
            .about("All texts, with the separator between them"),
    );
    node.inline(move |io| {
        let separator = unescaped(&io.get(separator)?);
        let texts: Vec<Value> = io.take(texts.index())?;
        let mut bound = Bound::default();
        for text in &texts {
            bound.add(text.as_str().map_or(0, str::len) + separator.len())?;
        }
        let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
        io.set(merged, texts.join(&separator));
        Ok(())
    })
}

/// One pass, so that an escaped backslash is never taken for the beginning of another escape.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(quoted @ ('"' | '\'' | '\\')) => out.push(quoted),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
