//! ContextBuilder: what a model is told, from preset, world book, character and history.

use serde_json::{Map, Value as Json, json};

use super::is_message;
use crate::node::{NodeBuilder, array, object};
use crate::nodes::bound::Bound;
use crate::{NodeType, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "ContextBuilder",
        "Messages",
        "Context builder",
        "Puts a preset, a world book, a character and a history together as messages for a model",
    );
    let preset = node.input(
        object("presetData")
            .title("Preset")
            .about("Its user_prompt is the last message")
            .optional(),
    );
    let world_book = node.input(
        object("worldBookData")
            .title("World book")
            .about("Entries that are constant, or one of whose keys stands in the history, follow the character")
            .optional(),
    );
    let character = node.input(
        object("characterData")
            .title("Character")
            .about("Its system_prompt, else its description, is the first message")
            .category("CharacterProfile")
            .optional(),
    );
    let history = node.input(
        array("historyMessages")
            .title("History")
            .about("Messages; what is none is left out")
            .category("ChatHistory"),
    );
    let messages = node.output(
        array("finalMessages")
            .title("Messages")
            .about("Character, world book, history, preset")
            .category("ChatHistory"),
    );
    node.inline(move |io| {
        let mut bound = Bound::default();
        for index in 0..=history.index() {
            bound.add_value(&io.input(index).as_value())?;
        }
        let history: Vec<Value> = io.get(history)?;
        let history: Vec<Json> = history.into_iter().map(Value::into_json).collect();
        let history: Vec<Json> = history.into_iter().filter(is_message).collect();
        let character = io.get(character)?.unwrap_or_default();
        let world_book = io.get(world_book)?.unwrap_or_default();
        let preset = io.get(preset)?.unwrap_or_default();
        let mut all = Vec::new();
        let system = text_of(&character, "system_prompt").or(text_of(&character, "description"));
        if let Some(system) = system {
            all.push(json!({"role": "system", "content": system}));
        }
        let entries = active(&world_book, &history);
        if !entries.is_empty() {
            all.push(json!({"role": "system", "content": entries.join("\n\n")}));
        }
        all.extend(history);
        if let Some(prompt) = text_of(&preset, "user_prompt") {
            all.push(json!({"role": "user", "content": prompt}));
        }
        io.set(messages, all);
        Ok(())
    })
}

/// A character card of the second version keeps its fields under `data`.
fn text_of<'o>(object: &'o Map<String, Json>, key: &str) -> Option<&'o str> {
    let nested = object.get("data").and_then(|data| data.get(key));
    let found = object.get(key).or(nested)?.as_str()?;
    (!found.is_empty()).then_some(found)
}

/// Entries of the world book that have something to do with the conversation.
fn active<'o>(book: &'o Map<String, Json>, history: &[Json]) -> Vec<&'o str> {
    let entries: Vec<&Json> = match book.get("entries") {
        Some(Json::Array(list)) => list.iter().collect(),
        Some(Json::Object(map)) => map.values().collect(),
        _ => return Vec::new(),
    };
    let said = history
        .iter()
        .filter_map(|one| one.get("content")?.as_str());
    let said: Vec<String> = said.map(str::to_lowercase).collect();
    let is_active = |entry: &Json| {
        let flag = |key: &str| entry.get(key).and_then(Json::as_bool);
        if flag("enabled") == Some(false) || flag("disable") == Some(true) {
            return false;
        }
        let keys = entry.get("keys").or(entry.get("key"));
        let keys = keys.and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
        flag("constant") == Some(true)
            || keys.iter().filter_map(Json::as_str).any(|key| {
                let key = key.to_lowercase();
                !key.is_empty() && said.iter().any(|said| said.contains(&key))
            })
    };
    let active = entries.into_iter().filter(|entry| is_active(entry));
    active
        .filter_map(|entry| entry.get("content")?.as_str())
        .filter(|content| !content.is_empty())
        .collect()
}
