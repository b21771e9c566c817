//! Rules for TAM: a block with a command and a line or two for each parameter.
//!
//! A plain value is any text in which the parser sees neither the end of the value nor another field or mark. That
//! takes one character of memory, so it is a small automaton: each rule below is one of its states.

use std::rc::Rc;

use innkeeper_protocol::{Aliases, Call, Protocol, Step, ToolDefinition, TypeHint, render_call};
use serde_json::{Map, Value as Json};

use super::json::{self, Place};
use super::rules::{Rules, literal, one_of};
use super::shape::{Field, Shape};

const REQUEST: &str = "<|[REQUEST_TOOL]|>";
const END: &str = "<|[END_TOOL]|>";

pub(super) fn reply(call: &str, max_calls: usize) -> String {
    match max_calls - 1 {
        0 => call.to_owned(),
        more => format!("{call} (\"\\n\" {call}){{0,{more}}}"),
    }
}

/// A block that calls one tool.
pub(super) fn call(
    rules: &mut Rules,
    tool: &ToolDefinition,
    fields: &[Field<'_>],
    aliases: &Aliases,
) -> String {
    let alias = aliases.alias_of(&tool.id);
    let mut body = literal(&format!("{REQUEST}\ncommand:»»»{alias}«««\n"));
    for field in fields {
        let name = aliases.parameter_alias(&tool.id, field.name);
        let mut forms = Forms {
            rules,
            tool,
            aliases,
            field,
            name,
            typed: only_type(&tool.parameters, field.schema),
            each: Vec::new(),
        };
        forms.add(&field.shape);
        let field_rule = one_of(&forms.each);
        let field_rule = rules.add("field", field_rule);
        body.push(' ');
        body.push_str(&field_rule);
        if !field.required {
            body.push('?');
        }
    }
    body.push(' ');
    body.push_str(&literal(END));
    rules.add("tool", body)
}

/// The ways in which one parameter can be written.
struct Forms<'f, 'r> {
    rules: &'r mut Rules,
    tool: &'f ToolDefinition,
    aliases: &'f Aliases,
    field: &'f Field<'f>,
    name: &'f str,
    /// The one type that its schema names, which then need not be hinted at.
    typed: Option<&'f str>,
    each: Vec<String>,
}

impl Forms<'_, '_> {
    fn add(&mut self, shape: &Rc<Shape<'_>>) {
        match &**shape {
            Shape::Never => {}
            Shape::Any => {
                self.text(false);
                let number = json::number(self.rules, true);
                self.hinted(TypeHint::Number, &number);
                let boolean = json::boolean(self.rules);
                self.hinted(TypeHint::Boolean, &boolean);
                self.json(shape);
            }
            Shape::Text { filled } => {
                self.text(*filled);
                // Among other types, text that looks like one of them needs its quotes.
                if self.typed != Some("string") {
                    self.json(shape);
                }
            }
            Shape::Integer { negative } => {
                let integer = json::integer(self.rules, *negative);
                self.number(&integer);
            }
            Shape::Number { negative } => {
                let number = json::number(self.rules, *negative);
                self.number(&number);
            }
            Shape::Boolean => {
                let boolean = json::boolean(self.rules);
                match self.typed {
                    Some("boolean") => self.plain(&boolean),
                    _ => self.hinted(TypeHint::Boolean, &boolean),
                }
            }
            Shape::Choices(choices) => self.choices(choices),
            Shape::OneOf(shapes) => shapes.iter().for_each(|shape| self.add(shape)),
            Shape::Null
            | Shape::Array { .. }
            | Shape::Tuple(_)
            | Shape::Object(_)
            | Shape::Map(_) => self.json(shape),
        }
    }

    fn text(&mut self, filled: bool) {
        let text = text(self.rules, filled);
        self.plain(&text);
    }

    fn number(&mut self, written: &str) {
        match self.typed {
            Some("number" | "integer") => self.plain(written),
            _ => self.hinted(TypeHint::Number, written),
        }
    }

    fn json(&mut self, shape: &Rc<Shape<'_>>) {
        let value = json::value(self.rules, shape, Place::Tam);
        self.hinted(TypeHint::Json, &value);
    }

    fn plain(&mut self, value: &str) {
        let open = literal(&format!("{}:»»»", self.name));
        self.push(format!("{open} {value} {}", literal("«««\n")));
    }

    fn hinted(&mut self, hint: TypeHint, value: &str) {
        let (name, hint) = (self.name, hint.as_str());
        let open = literal(&format!("type_hint_{name}:»»»{hint}«««\n{name}:»»»"));
        self.push(format!("{open} {value} {}", literal("«««\n")));
    }

    fn push(&mut self, form: String) {
        if !self.each.contains(&form) {
            self.each.push(form);
        }
    }

    /// Listed values stand as they are always written. Those that need no hint share their marks.
    fn choices(&mut self, choices: &[Json]) {
        let (open, close) = (format!("{}:»»»", self.name), "«««\n");
        let mut plain = Vec::new();
        for choice in choices {
            let lines = self.lines(choice).unwrap_or_default();
            let bare = lines.strip_prefix(&open);
            match bare.and_then(|rest| rest.strip_suffix(close)) {
                Some(value) => plain.push(literal(value)),
                None if lines.ends_with(close) => self.push(literal(&lines)),
                // Other marks than the rest of the block has would be a warning.
                None => {
                    let written = Place::Tam.written(choice);
                    self.hinted(TypeHint::Json, &written);
                }
            }
        }
        if !plain.is_empty() {
            self.plain(&one_of(&plain));
        }
    }

    /// The lines of a block that give the parameter this value.
    fn lines(&self, value: &Json) -> Option<String> {
        let arguments = Map::from_iter([(self.field.name.to_owned(), value.clone())]);
        let call = Call {
            steps: vec![Step {
                schema: Some(&self.tool.parameters),
                ..Step::new(&self.tool.id, &arguments)
            }],
            request_id: None,
        };
        let rendered = render_call(&call, Protocol::Tam, self.aliases).ok()?;
        let (_request, rest) = rendered.text()?.split_once('\n')?;
        let (_command, lines) = rest.split_once('\n')?;
        Some(lines.strip_suffix(END)?.to_owned())
    }
}

/// The type that a schema itself names, as whoever writes calls looks at it.
fn only_type<'s>(root: &'s Json, mut schema: &'s Json) -> Option<&'s str> {
    const MAX_HOPS: usize = 8;
    for _ in 0..MAX_HOPS {
        let target = schema
            .get("$ref")
            .and_then(|target| root.pointer(target.as_str()?.strip_prefix('#')?));
        match target {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema.get("type")?.as_str()
}

/// Text between `»»»` and `«««`. `filled` texts begin with something visible, since their ends are trimmed.
fn text(rules: &mut Rules, filled: bool) -> String {
    const SPECIAL: &str = "<«»「:：\\x00-\\x08\\x0B-\\x1F\\x7F";
    const BLANK: &str = " \\t\\u00A0\\u3000";
    // All that a trim takes away.
    const SPACE: &str =
        " \\t\\n\\u0085\\u00A0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F\\u3000";
    let onward = "[:：] text-colon | \"<\" text-less | \"「\" text-corner | \"«\" text-left";
    let anyway = format!("{onward} | \"»\" text-right");
    rules.fixed(
        "text-more",
        &format!("([^{SPECIAL}] text-more | {anyway})?"),
    );
    // No opening mark may follow a colon; two of the three angles that make one are only angles.
    rules.fixed(
        "text-colon",
        &format!(
            "([{BLANK}] text-colon | \">\" text-angle | [^{SPECIAL}{BLANK}>] text-more | {anyway})?"
        ),
    );
    rules.fixed(
        "text-angle",
        &format!("(\">\" text-angles | [^{SPECIAL}>] text-more | {anyway})?"),
    );
    rules.fixed(
        "text-angles",
        &format!("([^{SPECIAL}>] text-more | {anyway})?"),
    );
    // `<` and `|` make a boundary mark, blanks between them or not.
    rules.fixed(
        "text-less",
        &format!("([{BLANK}] text-less | [^{SPECIAL}{BLANK}|] text-more | {anyway})?"),
    );
    rules.fixed(
        "text-corner",
        &format!("([^{SPECIAL}始] text-more | {anyway})?"),
    );
    // One guillemet is a quotation mark, three are a value mark; a left one at the end would join the closing mark.
    let quoted = "[:：] text-colon | \"<\" text-less | \"「\" text-corner";
    rules.fixed("text-left", &format!("[^{SPECIAL}] text-more | {quoted}"));
    rules.fixed(
        "text-right",
        &format!("([^{SPECIAL}] text-more | {quoted})?"),
    );
    // A right guillemet at the beginning would join the opening mark.
    match filled {
        true => rules.fixed(
            "text-filled",
            &format!("\"\\n\"? ([^{SPECIAL}{SPACE}] text-more | {onward})"),
        ),
        false => rules.fixed("text", &format!("([^{SPECIAL}] text-more | {onward})?")),
    }
}
