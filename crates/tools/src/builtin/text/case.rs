//! `Text.Case`: upper, lower, title, and the ways of writing names in code.

use innkeeper_protocol::ToolDefinition;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{check_size, object, text_output, text_parameter};
use crate::ToolError;
use crate::builtin::Tool;
use crate::builtin::declare::{Stop, compute, declare, example, words};

pub(super) fn tools() -> Vec<Tool> {
    let definition = ToolDefinition {
        tags: words(&["text", "read-only"]),
        examples: example(
            "A name for a file",
            json!({"text": "My new Story", "case": "kebab"}),
        ),
        ..declare(
            "Text.Case",
            "Change case",
            "Write a text in another case. upper: ABC DEF, lower: abc def, title: Abc Def, snake: abc_def, camel: abcDef, kebab: abc-def.",
            object(
                json!({
                    "text": text_parameter(),
                    "case": {
                        "type": "string",
                        "enum": ["upper", "lower", "title", "snake", "camel", "kebab"],
                        "description": "The case to write it in; snake, camel and kebab make one word of each line"
                    }
                }),
                &["text", "case"],
            ),
            text_output(),
        )
    };
    vec![compute(definition, run)]
}

#[derive(Deserialize)]
struct Arguments {
    text: String,
    case: Case,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Case {
    Upper,
    Lower,
    Title,
    Snake,
    Camel,
    Kebab,
}

fn run(Arguments { text, case }: Arguments, _: &Stop) -> Result<Json, ToolError> {
    check_size(&text)?;
    let text = match case {
        Case::Upper => text.to_uppercase(),
        Case::Lower => text.to_lowercase(),
        Case::Title => title(&text),
        Case::Snake => by_line(&text, |words| words.join("_")),
        Case::Kebab => by_line(&text, |words| words.join("-")),
        Case::Camel => by_line(&text, |words| {
            let mut words = words.into_iter();
            let first = words.next().unwrap_or_default();
            words.fold(first, |name, word| name + &title(&word))
        }),
    };
    Ok(json!({"text": text}))
}

/// An apostrophe between letters does not begin a word.
fn title(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut inside = false;
    for character in text.chars() {
        if inside {
            result.extend(character.to_lowercase());
        } else {
            result.extend(character.to_uppercase());
        }
        inside = character.is_alphanumeric() || (inside && matches!(character, '\'' | '’'));
    }
    result
}

fn by_line(text: &str, join: impl Fn(Vec<String>) -> String) -> String {
    text.split_inclusive('\n')
        .map(|line| {
            let content = line.trim_end_matches(['\n', '\r']);
            let end = line.strip_prefix(content).unwrap_or_default();
            join(name_parts(content)) + end
        })
        .collect()
}

/// `HTTPServer two` is http, server, two.
fn name_parts(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let mut parts: Vec<String> = Vec::new();
    let mut open = false;
    for (at, &character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            open &= matches!(character, '\'' | '’');
            continue;
        }
        let before = at.checked_sub(1).and_then(|at| characters.get(at));
        let after = characters.get(at + 1);
        let hump = character.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_numeric()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if !open || hump {
            parts.push(String::new());
        }
        open = true;
        if let Some(part) = parts.last_mut() {
            part.extend(character.to_lowercase());
        }
    }
    parts
}
