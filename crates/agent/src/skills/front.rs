//! `SKILL.md`: what its front matter says about a skill.

use innkeeper_yaml::{Bounds, Node, Position, Value, Why};
use serde::{Deserialize, Serialize};

use super::error::SkillError;
use super::path::is_skill_name;
use crate::limits::{
    MAX_FRONT_MATTER_BYTES, MAX_SKILL_DESCRIPTION_CHARS, MAX_SKILL_NAME_CHARS,
    MAX_SKILL_WORD_CHARS, MAX_SKILL_WORDS,
};
use crate::workspace::quoted;

pub const SKILL_MD: &str = "SKILL.md";

const BOUNDS: Bounds = Bounds {
    bytes: MAX_FRONT_MATTER_BYTES,
    depth: 16,
    nodes: 4_000,
};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SkillAbout {
    pub name: String,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// Fields that nobody knows are left to whoever does: other programs write their own.
pub(crate) fn read(text: &str) -> Result<SkillAbout, SkillError> {
    let front = front_matter(text)?;
    let node = innkeeper_yaml::read(front, BOUNDS).map_err(|fault| {
        // The line with the three dashes stands before.
        let place = fault.position.map(|at| format!("line {}: ", at.line + 1));
        let why = match fault.why {
            Why::DuplicateKey(key) => format!("'{}' stands there twice", quoted(&key)),
            Why::SecondDocument => "there is a second document".to_owned(),
            Why::NotFinite(number) => format!("{} is no number to work with", quoted(&number)),
            Why::TooLarge => "it is too long or too deep".to_owned(),
            Why::Invalid(what) => what,
        };
        invalid(format!("{}{why}", place.unwrap_or_default()))
    })?;
    if !matches!(node.value, Value::Map(_)) {
        return Err(invalid(format!(
            "it is {}, and has to be fields like 'name: my-skill'",
            node.kind()
        )));
    }
    let none = Node::mark(node.position);
    let metadata = match node.get("metadata") {
        Some(metadata) if matches!(metadata.value, Value::Map(_)) => metadata,
        None => &none,
        Some(other) if matches!(other.value, Value::Null) => &none,
        Some(other) => return Err(invalid(format!("metadata is {}, not fields", other.kind()))),
    };
    Ok(SkillAbout {
        name: name(front, node.get("name"))?,
        description: description(node.get("description"))?,
        license: word(front, "license", node.get("license"))?,
        author: word(front, "metadata.author", metadata.get("author"))?,
        version: word(front, "metadata.version", metadata.get("version"))?,
        tags: tags(front, metadata.get("tags"))?,
    })
}

fn front_matter(text: &str) -> Result<&str, SkillError> {
    let missing = |message: &str| {
        Err(SkillError::package(
            "skill.front_matter_missing",
            format!("{SKILL_MD} {message}"),
        ))
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((first, rest)) = text.split_once('\n') else {
        return missing(
            "has no front matter: begin it with a line '---', fields, and another '---'",
        );
    };
    if first.trim_end() != "---" {
        return missing("has to begin with a line '---' that opens its front matter");
    }
    let mut end = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let front = rest.get(..end).unwrap_or_default();
            return match front.len() <= MAX_FRONT_MATTER_BYTES {
                true => Ok(front),
                false => Err(invalid(format!(
                    "it is longer than {} KiB",
                    MAX_FRONT_MATTER_BYTES >> 10
                ))),
            };
        }
        end += line.len();
    }
    missing("has front matter without an end: close it with a line '---'")
}

fn invalid(why: String) -> SkillError {
    SkillError::package(
        "skill.front_matter_invalid",
        format!("the front matter of {SKILL_MD} cannot be used: {why}"),
    )
}

fn name(front: &str, node: Option<&Node>) -> Result<String, SkillError> {
    let given = word(front, "name", node)?.unwrap_or_default();
    match is_skill_name(&given) {
        true => Ok(given),
        false => Err(SkillError::package(
            "skill.name_invalid",
            format!(
                "the name '{}' in {SKILL_MD} is no name of a skill: use 1 to {MAX_SKILL_NAME_CHARS} lower-case letters, digits, '-' and '_'",
                quoted(&given)
            ),
        )),
    }
}

fn description(node: Option<&Node>) -> Result<String, SkillError> {
    let given = match node.map(|node| &node.value) {
        Some(Value::Text(text)) => text.trim(),
        None | Some(Value::Null) => "",
        Some(_) => return Err(invalid("description has to be a text".to_owned())),
    };
    let wrong = |why: &str| {
        let message = format!("the description in {SKILL_MD} {why}");
        Err(SkillError::package("skill.description_invalid", message))
    };
    if given.is_empty() {
        return wrong("is missing: say what the skill is for and when to use it");
    }
    if given.chars().nth(MAX_SKILL_DESCRIPTION_CHARS).is_some() {
        return wrong(&format!(
            "has more than {MAX_SKILL_DESCRIPTION_CHARS} characters: say it shorter"
        ));
    }
    Ok(given.to_owned())
}

/// Versions are often written as numbers, and are meant as they are written: 1.10 is not 1.1.
fn word(front: &str, field: &str, node: Option<&Node>) -> Result<Option<String>, SkillError> {
    let text = match node.map(|node| (&node.value, node.position)) {
        None | Some((Value::Null, _)) => return Ok(None),
        Some((Value::Text(text), _)) => text.trim().to_owned(),
        Some((Value::Number(number), at)) => {
            written(front, at).unwrap_or_else(|| number.to_string())
        }
        Some(_) => return Err(invalid(format!("{field} has to be a text"))),
    };
    if text.chars().nth(MAX_SKILL_WORD_CHARS).is_some() {
        let message = format!("{field} has more than {MAX_SKILL_WORD_CHARS} characters");
        return Err(invalid(message));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

/// A number as it stands there.
fn written(front: &str, at: Position) -> Option<String> {
    let line = front.lines().nth(at.line.checked_sub(1)?)?;
    let of_number = |c: &char| c.is_ascii_alphanumeric() || "+-._".contains(*c);
    let text: String = line
        .chars()
        .skip(at.column.checked_sub(1)?)
        .take_while(of_number)
        .collect();
    (!text.is_empty()).then_some(text)
}

/// A list, or words with commas between them.
fn tags(front: &str, node: Option<&Node>) -> Result<Vec<String>, SkillError> {
    let mut tags = Vec::new();
    match node.map(|node| &node.value) {
        None | Some(Value::Null) => {}
        Some(Value::List(items)) => {
            for item in items {
                tags.extend(word(front, "metadata.tags", Some(item))?);
            }
        }
        Some(_) => {
            let all = word(front, "metadata.tags", node)?.unwrap_or_default();
            let words = all.split(',').map(str::trim);
            tags.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        }
    }
    match tags.len() <= MAX_SKILL_WORDS {
        true => Ok(tags),
        false => Err(invalid(format!(
            "metadata.tags has more than {MAX_SKILL_WORDS} entries"
        ))),
    }
}
