//! CreateMessage: one message.

use serde_json::json;

use super::ROLES;
use crate::NodeType;
use crate::node::{NodeBuilder, text};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "CreateMessage",
        "Messages",
        "Create message",
        "Makes a list with one chat message, as JSON text",
    );
    let role = node.input(
        text("role")
            .title("Role")
            .about("Who speaks")
            .choice(&ROLES)
            .default("user"),
    );
    let content = node.input(
        text("content")
            .title("Content")
            .about("What is said; nothing makes an empty list")
            .category("CanPreview")
            .multiline()
            .default(""),
    );
    let messages = node.output(
        text("messages")
            .title("Messages")
            .about("A JSON list of messages")
            .category("ChatHistory"),
    );
    node.inline(move |io| {
        let (role, content) = (io.get(role)?, io.get(content)?);
        let list = match content.is_empty() {
            true => json!([]),
            false => json!([{"role": role, "content": content}]),
        };
        io.set(messages, list.to_string());
        Ok(())
    })
}
