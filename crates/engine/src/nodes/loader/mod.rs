//! Loaders: presets, world books, character cards, chat histories and regex rules from files, read by the file tool.
//!
//! Cards may be pictures: `png.rs` finds the card in one.

mod png;

use serde_json::{Map, Value as Json};

use super::world::file;
use crate::NodeError;
use crate::node::{NodeBuilder, NodeContext, NodeType, array, object, text};

pub(super) fn all() -> Vec<NodeType> {
    vec![
        objects(
            "PresetLoader",
            "Load preset",
            "presetResource",
            "presetData",
        ),
        objects(
            "WorldBookLoader",
            "Load world book",
            "worldBookResource",
            "worldBookData",
        ),
        card(),
        lists(
            "HistoryLoader",
            "Load history",
            "historyResource",
            "historyMessages",
            "messages",
        ),
        lists(
            "RegexRuleLoader",
            "Load regex rules",
            "ruleResource",
            "regexRules",
            "rules",
        ),
    ]
}

const ABOUT_PATH: &str =
    "A path in the project like library/hero.json, or user://…, shared://…, fam://<project>/…";

fn builder(name: &str, title: &str, about: &str, setting: &str) -> NodeBuilder {
    let mut node = NodeBuilder::core(name, "Load", title, about);
    node.setting(text(setting).title("File").about(ABOUT_PATH).required());
    node.effects();
    node
}

fn objects(name: &str, title: &str, setting: &'static str, output: &str) -> NodeType {
    let mut node = builder(name, title, "Reads a JSON object from a file", setting);
    let out = node.output(object(output).title("Data"));
    node.task(move |mut io| async move {
        let path = io.config_text(setting).to_owned();
        let found = json(io.context(), &path, setting).await?;
        let Json::Object(map) = found else {
            return Err(wrong(&path, "an object", &found));
        };
        io.set(out, map);
        io.done()
    })
}

/// A list, also where it stands in an object under the usual name.
fn lists(
    name: &str,
    title: &str,
    setting: &'static str,
    output: &str,
    key: &'static str,
) -> NodeType {
    let mut node = builder(name, title, "Reads a list from a JSON file", setting);
    let out = node.output(array(output).title("Data"));
    node.task(move |mut io| async move {
        let path = io.config_text(setting).to_owned();
        let found = json(io.context(), &path, setting).await?;
        let list = match found {
            Json::Array(list) => list,
            Json::Object(mut map) => {
                match map.shift_remove(key).or_else(|| map.shift_remove(setting)) {
                    Some(Json::Array(list)) => list,
                    _ => {
                        let message =
                            format!("'{path}' is neither a list nor an object with a list '{key}'");
                        return Err(NodeError::invalid("loader.wrong_type", message));
                    }
                }
            }
            other => return Err(wrong(&path, "a list", &other)),
        };
        io.set(out, list);
        io.done()
    })
}

fn card() -> NodeType {
    const SETTING: &str = "cardResource";
    let mut node = builder(
        "CharacterCardLoader",
        "Load character card",
        "Reads a character card: JSON, or a PNG that carries one",
        SETTING,
    );
    let out = node.output(object("characterData").title("Character"));
    node.task(move |mut io| async move {
        let path = io.config_text(SETTING).to_owned();
        let is_picture = path.to_ascii_lowercase().ends_with(".png");
        let found = match is_picture {
            true => picture(io.context(), &path).await?,
            false => json(io.context(), &path, SETTING).await?,
        };
        let Json::Object(map) = found else {
            return Err(wrong(&path, "a character card", &found));
        };
        io.set(out, plain(map));
        io.done()
    })
}

/// Newer cards keep their fields under `data`; whoever takes a card finds them at the top in either case.
fn plain(mut card: Map<String, Json>) -> Map<String, Json> {
    let is_new = card.get("spec").is_some_and(Json::is_string);
    match card.get("data") {
        Some(Json::Object(data)) if is_new => {
            let mut fields = data.clone();
            for key in ["spec", "spec_version"] {
                if let Some(value) = card.shift_remove(key) {
                    fields.insert(key.to_owned(), value);
                }
            }
            fields
        }
        _ => card,
    }
}

async fn json(context: &NodeContext, path: &str, setting: &str) -> Result<Json, NodeError> {
    check(path, setting)?;
    let read = file::read(context, path, 1, None).await?;
    let text = read.content.trim_start_matches('\u{feff}');
    serde_json::from_str(text).map_err(|error| {
        let message = format!("'{path}' is no JSON: {error}");
        NodeError::invalid("loader.no_json", message)
    })
}

async fn picture(context: &NodeContext, path: &str) -> Result<Json, NodeError> {
    check(path, "cardResource")?;
    let encoded = file::read_base64(context, path).await?;
    png::card(&encoded).map_err(|why| {
        let message = format!("'{path}' holds no character card: {why}");
        NodeError::invalid("loader.no_card", message)
    })
}

fn check(path: &str, setting: &str) -> Result<(), NodeError> {
    match path.trim().is_empty() {
        true => Err(NodeError::invalid(
            "loader.no_file",
            format!(
                "no file is named; set '{setting}' to a path in the project, or user://…, shared://…"
            ),
        )),
        false => Ok(()),
    }
}

fn wrong(path: &str, wanted: &str, found: &Json) -> NodeError {
    let message = format!(
        "'{path}' should hold {wanted}, and holds {}",
        crate::flow::kind(found)
    );
    NodeError::invalid("loader.wrong_type", message)
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
