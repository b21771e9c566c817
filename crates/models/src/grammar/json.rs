//! Rules for JSON of a shape, in the spelling that a dialect's values can hold.
//!
//! Compact, with at most one blank behind a comma or colon: a model that may write any white space writes nothing
//! else in the end.

use std::fmt::Write;
use std::rc::Rc;

use serde_json::Value as Json;

use super::rules::{Rules, literal, one_of};
use super::shape::{Field, Shape};
use crate::limits::{MAX_GRAMMAR_ANY_DEPTH, MAX_GRAMMAR_ITEMS};

/// Where the JSON stands, which decides what must be escaped in its strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Between TAM's marks.
    Tam,
    /// The text of an XML element.
    Xml,
}

impl Place {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Tam => "json",
            Self::Xml => "xjson",
        }
    }

    /// One character of a string, as it may stand there.
    const fn plain(self) -> &'static str {
        match self {
            // No `<` that could begin a boundary mark, no guillemet, no corner that could begin a value mark.
            Self::Tam => {
                r#"[^"\\\x00-\x1F\x7F<«»「] | "<" [^"\\\x00-\x1F\x7F<«»「| \t\u00A0\u3000] | "「" [^"\\\x00-\x1F\x7F<«»「始]"#
            }
            Self::Xml => r#"[^"\\\x00-\x1F\x7F<>&]"#,
        }
    }

    const fn escapes(self, c: char) -> bool {
        match self {
            Self::Tam => matches!(c, '<' | '>' | '«' | '»' | '「' | '」' | '|'),
            Self::Xml => matches!(c, '<' | '>' | '&'),
        }
    }

    /// A value as one literal.
    pub(super) fn written(self, value: &Json) -> String {
        let mut out = String::new();
        // What is escaped stands only in strings.
        for c in value.to_string().chars() {
            match self.escapes(c) {
                true => {
                    let _ = write!(out, "\\u{:04x}", u32::from(c));
                }
                false => out.push(c),
            }
        }
        literal(&out)
    }
}

/// The expression for a value of this shape.
pub(super) fn value(rules: &mut Rules, shape: &Rc<Shape<'_>>, place: Place) -> String {
    let key = (Rc::as_ptr(shape).cast::<()>() as usize, place.prefix(), 0);
    if let Some(known) = rules.known(key) {
        return known;
    }
    let written = write(rules, shape, place);
    rules.remember(key, &written);
    written
}

fn write(rules: &mut Rules, shape: &Shape<'_>, place: Place) -> String {
    let named = |name: &str| format!("{}-{name}", place.prefix());
    match shape {
        // Never asked for: whoever holds a shape has left these out.
        Shape::Never => literal("null"),
        Shape::Any => any(rules, place, MAX_GRAMMAR_ANY_DEPTH),
        Shape::Text { filled } => string(rules, place, *filled),
        Shape::Integer { negative } => integer(rules, *negative),
        Shape::Number { negative } => number(rules, *negative),
        Shape::Boolean => boolean(rules),
        Shape::Null => literal("null"),
        Shape::Choices(choices) => {
            let choices: Vec<_> = choices.iter().map(|choice| place.written(choice)).collect();
            rules.add(&named("choice"), choices.join(" | "))
        }
        Shape::Array { item, min, max } => {
            let item = value(rules, item, place);
            let body = array(&item, *min, *max);
            rules.add(&named("array"), body)
        }
        Shape::Tuple(items) => {
            let items: Vec<_> = items.iter().map(|item| value(rules, item, place)).collect();
            rules.add(
                &named("tuple"),
                format!("\"[\" {} \"]\"", items.join(" \",\" \" \"? ")),
            )
        }
        Shape::Map(values) => {
            let values = value(rules, values, place);
            let body = map(rules, &values, place);
            rules.add(&named("map"), body)
        }
        Shape::Object(fields) => {
            let body = object(rules, fields, place);
            rules.add(&named("object"), body)
        }
        Shape::OneOf(shapes) => {
            let mut each: Vec<String> = Vec::new();
            for shape in shapes {
                let written = value(rules, shape, place);
                if !each.contains(&written) {
                    each.push(written);
                }
            }
            rules.add(&named("either"), each.join(" | "))
        }
    }
}

fn array(item: &str, min: usize, max: usize) -> String {
    let more = |least: usize| match max - 1 {
        0 => String::new(),
        most => format!(" (\",\" \" \"? {item}){{{least},{most}}}"),
    };
    match (min, max) {
        (_, 0) => literal("[]"),
        (0, _) => format!("\"[\" ({item}{})? \"]\"", more(0)),
        (min, _) => format!("\"[\" {item}{} \"]\"", more(min - 1)),
    }
}

fn map(rules: &mut Rules, values: &str, place: Place) -> String {
    let name = string(rules, place, true);
    let pair = rules.add(
        &format!("{}-pair", place.prefix()),
        format!("{name} \":\" \" \"? {values}"),
    );
    let most = MAX_GRAMMAR_ITEMS - 1;
    format!("\"{{\" ({pair} (\",\" \" \"? {pair}){{0,{most}}})? \"}}\"")
}

/// Fields in their order, each at most once. What comes first has no comma before it, so each field that may be
/// the first is one alternative.
fn object(rules: &mut Rules, fields: &[Field<'_>], place: Place) -> String {
    let mut tail = String::new();
    let mut firsts: Vec<String> = Vec::new();
    for field in fields.iter().rev() {
        let name = place.written(&Json::from(field.name));
        let shape = value(rules, &field.shape, place);
        let pair = rules.add(
            &format!("{}-field", place.prefix()),
            format!("{name} \":\" \" \"? {shape}"),
        );
        if field.required {
            // Nothing behind a required field can be the first.
            firsts.clear();
        }
        firsts.push(format!("{pair}{tail}"));
        let here = match field.required {
            true => format!("\",\" \" \"? {pair}"),
            false => format!("(\",\" \" \"? {pair})?"),
        };
        tail = format!(" {}", rules.add("rest", format!("{here}{tail}")));
    }
    firsts.reverse();
    match (fields.iter().any(|field| field.required), firsts.as_slice()) {
        (_, []) => literal("{}"),
        (true, firsts) => format!("\"{{\" {} \"}}\"", one_of(firsts)),
        (false, firsts) => format!("\"{{\" ({})? \"}}\"", firsts.join(" | ")),
    }
}

/// A value that no schema speaks of, nested `left` levels at most.
fn any(rules: &mut Rules, place: Place, left: usize) -> String {
    let mut each = vec![
        string(rules, place, false),
        number(rules, true),
        boolean(rules),
        literal("null"),
    ];
    if let Some(left) = left.checked_sub(1) {
        let inner = any(rules, place, left);
        each.push(array(&inner, 0, MAX_GRAMMAR_ITEMS));
        each.push(map(rules, &inner, place));
    }
    rules.add(&format!("{}-any", place.prefix()), each.join(" | "))
}

fn string(rules: &mut Rules, place: Place, filled: bool) -> String {
    let prefix = place.prefix();
    let character = rules.fixed(
        &format!("{prefix}-char"),
        &format!("{} | \"\\\\\" json-escape", place.plain()),
    );
    // Half of a surrogate pair is no character, so the two halves come together.
    rules.fixed(
        "json-escape",
        r#"["\\/bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F]{3} | [dD] [0-7] [0-9a-fA-F]{2} | [dD] [89abAB] [0-9a-fA-F]{2} "\\u" [dD] [c-fC-F] [0-9a-fA-F]{2})"#,
    );
    match filled {
        true => rules.fixed(
            &format!("{prefix}-filled"),
            &format!(r#""\"" {character}+ "\"""#),
        ),
        false => rules.fixed(
            &format!("{prefix}-string"),
            &format!(r#""\"" {character}* "\"""#),
        ),
    }
}

pub(super) fn integer(rules: &mut Rules, negative: bool) -> String {
    match negative {
        true => rules.fixed("integer", r#""0" | "-"? [1-9] [0-9]{0,17}"#),
        false => rules.fixed("natural", r#""0" | [1-9] [0-9]{0,17}"#),
    }
}

pub(super) fn number(rules: &mut Rules, negative: bool) -> String {
    let whole = rules.fixed("natural", r#""0" | [1-9] [0-9]{0,17}"#);
    let positive = rules.fixed(
        "positive",
        &format!(r#"{whole} ("." [0-9]{{1,17}})? ([eE] [+-]? [0-9]{{1,2}})?"#),
    );
    match negative {
        true => rules.fixed("number", &format!(r#""-"? {positive}"#)),
        false => positive,
    }
}

pub(super) fn boolean(rules: &mut Rules) -> String {
    rules.fixed("boolean", r#""true" | "false""#)
}
