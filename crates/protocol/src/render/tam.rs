//! TAM: values are never escaped, so a value decides which marks may stand around it.
//!
//! Two families are used, `»»» «««` and `「始」 「末」` (the third gives a warning), one for the whole block.
//! A string is written as it is unless it holds something that the parser could take for structure: the
//! family's closing mark, a colon followed by any opening mark, or the beginning of a boundary mark. Such a
//! string is written as JSON with `\u` escapes under `type_hint_x: json`, in which none of these can occur;
//! so there is no value that cannot be written.
//!
//! Keys stand at the beginning of a line, so the block has no common indentation and none is taken from
//! values. `@{…}` in a value keeps its meaning.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::Value as Json;

use super::{
    Named, NamedArgument, RenderError, is_one_clean_line, looks_like_json, only_type, padded,
};
use crate::alias::Rule;
use crate::{OnError, TypeHint};

const REQUEST: &str = "<|[REQUEST_TOOL]|>";
const END: &str = "<|[END_TOOL]|>";

#[derive(Clone, Copy)]
struct Family {
    open: &'static str,
    close: &'static str,
}

const STANDARD: Family = Family {
    open: "»»»",
    close: "«««",
};
const SECOND: Family = Family {
    open: "「始」",
    close: "「末」",
};
const OPENINGS: [&str; 4] = [STANDARD.open, SECOND.open, ">>>", "「始ESCAPE」"];

impl Family {
    /// No closing mark inside, and none that would arise where the value meets its own marks.
    fn can_hold(self, text: &str) -> bool {
        let touches = |mark: &str, end: Option<char>| mark.chars().next() == end;
        !text.contains(self.close)
            && !touches(self.open, text.chars().next())
            && !touches(self.close, text.chars().next_back())
    }
}

pub(super) fn render(steps: &[Named<'_>], request_id: Option<&str>) -> Result<String, RenderError> {
    let strings = || {
        steps
            .iter()
            .flat_map(|step| &step.arguments)
            .filter_map(|argument| argument.value.as_str())
            .filter(|text| !has_structure(text))
    };
    let family = [STANDARD, SECOND]
        .into_iter()
        .find(|family| strings().all(|text| family.can_hold(text)))
        .unwrap_or(STANDARD);

    let mut block = Block {
        out: format!("{REQUEST}\n"),
        family,
    };
    if let Some(id) = request_id {
        if !Rule::Plain.is_legal(id) {
            return Err(RenderError::IllegalRequestId(id.to_owned()));
        }
        block.field("request_id", "", id);
    }
    for (at, step) in steps.iter().enumerate() {
        let number = match steps.len() {
            1 => String::new(),
            _ => format!("_{}", at + 1),
        };
        block.step(step, &number);
    }
    block.out.push_str(END);
    Ok(block.out)
}

struct Block {
    out: String,
    family: Family,
}

impl Block {
    fn step(&mut self, step: &Named<'_>, number: &str) {
        self.field("command", number, step.tool);
        if step.step.on_error == OnError::Continue {
            self.field("on_error", number, "continue");
        }
        if step.step.retry > 0 {
            self.field("retry", number, &step.step.retry.to_string());
        }
        for argument in &step.arguments {
            let (hint, text) = self.written(argument);
            if let Some(hint) = hint {
                self.field(
                    &format!("type_hint_{}", argument.name),
                    number,
                    hint.as_str(),
                );
            }
            self.field(argument.name, number, &text);
        }
    }

    fn field(&mut self, name: &str, number: &str, value: &str) {
        let Family { open, close } = self.family;
        // Writing to a string cannot fail.
        let _ = writeln!(self.out, "{name}{number}:{open}{value}{close}");
    }

    fn written<'v>(&self, argument: &NamedArgument<'v>) -> (Option<TypeHint>, Cow<'v, str>) {
        let kind = only_type(argument.schema);
        match argument.value {
            Json::String(text) => self.string(text, argument.schema),
            Json::Number(number) => {
                let known = matches!(kind, Some("number" | "integer"));
                let hint = (!known).then_some(TypeHint::Number);
                (hint, number.to_string().into())
            }
            Json::Bool(yes) => {
                let hint = (kind != Some("boolean")).then_some(TypeHint::Boolean);
                (hint, yes.to_string().into())
            }
            value => (Some(TypeHint::Json), escaped(value).into()),
        }
    }

    fn string<'v>(&self, text: &'v str, schema: Option<&Json>) -> (Option<TypeHint>, Cow<'v, str>) {
        let vague = schema.is_some() && only_type(schema) != Some("string");
        if has_structure(text) || !self.family.can_hold(text) || (vague && looks_like_json(text)) {
            let json = escaped(&Json::String(text.to_owned()));
            return (Some(TypeHint::Json), json.into());
        }
        if is_one_clean_line(text) {
            return (None, text.into());
        }
        let verbatim = schema
            .and_then(|schema| schema.get("x-verbatim"))
            .is_some_and(|verbatim| verbatim == true);
        let hint = (text.trim() != text && !verbatim).then_some(TypeHint::Raw);
        (hint, padded(text).into())
    }
}

/// What the parser could take for a field or for the edge of a block, wherever it stands: cautious on
/// purpose, the JSON form is always there.
fn has_structure(text: &str) -> bool {
    let after = |c: char| {
        text.split(c)
            .skip(1)
            .map(|rest| rest.trim_start_matches([' ', '\t', '\u{a0}', '\u{3000}']))
    };
    after(':')
        .chain(after('：'))
        .any(|rest| OPENINGS.iter().any(|open| rest.starts_with(open)))
        || after('<').any(|rest| rest.starts_with('|'))
}

/// JSON in which no mark can occur: the characters that marks are made of stand only in strings there.
fn escaped(value: &Json) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '«' | '»' | '「' | '」' | '|' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}
