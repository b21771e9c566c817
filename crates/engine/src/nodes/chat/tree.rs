//! A chat as a tree: what was said, with every branch that was tried. ComfyTavern's form; what we do not know is kept.

use std::collections::HashSet;

use serde_json::{Map, Value as Json, json};

use crate::NodeError;
use crate::limits::{MAX_CHAT_MESSAGES, MAX_CHAT_NAME_CHARS};

/// A `ChatHistoryTree`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Tree(Map<String, Json>);

/// One message to be added.
pub(super) struct NewMessage {
    pub(super) id: String,
    pub(super) message: Json,
    pub(super) created_at: String,
}

impl Tree {
    pub(super) fn new(session: &str) -> Self {
        let tree = json!({
            "sessionId": session, "version": 0, "nodes": {}, "rootNodeIds": [], "activeLeafId": null, "metadata": {},
        });
        Self(tree.as_object().cloned().unwrap_or_default())
    }

    pub(super) fn read(text: &str, path: &str) -> Result<Self, NodeError> {
        let bad = |why: String| {
            NodeError::invalid("chat.broken", format!("'{path}' is no chat history: {why}"))
        };
        let json: Json = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| bad(error.to_string()))?;
        match json {
            Json::Object(map) if map.get("nodes").is_some_and(Json::is_object) => Ok(Self(map)),
            Json::Object(_) => Err(bad("it has no 'nodes'".to_owned())),
            other => Err(bad(format!("it is {}", crate::flow::kind(&other)))),
        }
    }

    pub(super) fn version(&self) -> u64 {
        self.0
            .get("version")
            .and_then(Json::as_u64)
            .unwrap_or_default()
    }

    fn leaf(&self) -> Option<&str> {
        self.0.get("activeLeafId").and_then(Json::as_str)
    }

    fn node(&self, id: &str) -> Option<&Json> {
        self.0.get("nodes")?.get(id)
    }

    /// From the first message to the one that is active, those left out that a person switched off. Each message
    /// is given once, so that it is never more than the file holds.
    pub(super) fn active(&self) -> Result<Vec<Json>, NodeError> {
        let mut path = Vec::new();
        let mut seen = HashSet::new();
        let mut at = self.leaf();
        while let Some((id, node)) = at.and_then(|id| Some((id, self.node(id)?))) {
            if !seen.insert(id) {
                let id: String = id.chars().take(MAX_CHAT_NAME_CHARS).collect();
                let message = format!(
                    "the chat history leads round in a circle: the message '{id}' comes before itself by 'parentId'; correct that in the file"
                );
                return Err(NodeError::invalid("chat.broken", message));
            }
            path.push(node);
            at = node.get("parentId").and_then(Json::as_str);
        }
        let enabled = path
            .into_iter()
            .rev()
            .filter(|node| node.get("isEnabled").and_then(Json::as_bool) != Some(false));
        Ok(enabled.map(message_of).collect())
    }

    /// Adds messages below the active one, each below the one before; the last is active then.
    pub(super) fn append(&mut self, messages: Vec<NewMessage>) -> Result<(), NodeError> {
        let held = self
            .0
            .get("nodes")
            .and_then(Json::as_object)
            .map_or(0, Map::len);
        if held + messages.len() > MAX_CHAT_MESSAGES {
            let message = format!(
                "the chat would have more than {MAX_CHAT_MESSAGES} messages; begin another session"
            );
            return Err(NodeError::invalid("chat.too_long", message));
        }
        let now = messages.last().map(|last| last.created_at.clone());
        for new in messages {
            let parent = self
                .leaf()
                .filter(|id| self.node(id).is_some())
                .map(str::to_owned);
            let mut node = json!({
                "id": new.id, "parentId": parent, "status": "complete", "isEnabled": true,
                "createdAt": new.created_at, "children": [],
            });
            if let (Some(node), Json::Object(message)) = (node.as_object_mut(), new.message) {
                for (key, value) in message {
                    match key.as_str() {
                        "role" | "content" => drop(node.insert(key, value)),
                        // Fields of a message that the tree does not know go where it keeps such things.
                        _ => {
                            let metadata = node.entry("metadata").or_insert_with(|| json!({}));
                            if let Some(metadata) = metadata.as_object_mut() {
                                metadata.insert(key, value);
                            }
                        }
                    }
                }
            }
            match &parent {
                Some(parent) => self.push(&["nodes", parent, "children"], &new.id),
                None => self.push(&["rootNodeIds"], &new.id),
            }
            if let Some(nodes) = self.0.get_mut("nodes").and_then(Json::as_object_mut) {
                nodes.insert(new.id.clone(), node);
            }
            self.0.insert("activeLeafId".into(), new.id.into());
        }
        if let Some(now) = now {
            let metadata = self.0.entry("metadata").or_insert_with(|| json!({}));
            if let Some(metadata) = metadata.as_object_mut() {
                metadata.insert("updatedAt".into(), now.into());
            }
        }
        let next = self.version().saturating_add(1);
        self.0.insert("version".into(), next.into());
        Ok(())
    }

    fn push(&mut self, path: &[&str], id: &str) {
        let Some((last, way)) = path.split_last() else {
            return;
        };
        let mut map = Some(&mut self.0);
        for key in way {
            map = map.and_then(|map| map.get_mut(*key)?.as_object_mut());
        }
        let Some(map) = map else {
            return;
        };
        let list = map.entry((*last).to_owned()).or_insert_with(|| json!([]));
        if !list.is_array() {
            *list = json!([]);
        }
        if let Some(list) = list.as_array_mut() {
            list.push(id.into());
        }
    }

    pub(super) fn to_json(&self) -> Json {
        Json::Object(self.0.clone())
    }

    /// Indented, so that no line grows beyond what the file tool reads.
    pub(super) fn to_text(&self) -> String {
        let text = serde_json::to_string_pretty(&self.0).unwrap_or_default();
        format!("{text}\n")
    }
}

/// As a model takes it: role and content, and what belongs to native calls.
fn message_of(node: &Json) -> Json {
    let mut message = json!({
        "role": node.get("role").cloned().unwrap_or_else(|| "user".into()),
        "content": node.get("content").cloned().unwrap_or_else(|| "".into()),
    });
    for key in ["tool_calls", "tool_call_id", "name"] {
        if let Some(value) = node.get("metadata").and_then(|metadata| metadata.get(key)) {
            message[key] = value.clone();
        }
    }
    message
}
