//! History: up to four messages, written by hand.

use serde_json::{Value as Json, json};

use super::ROLES;
use crate::NodeType;
use crate::node::{NodeBuilder, text};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "History",
        "Messages",
        "History",
        "A conversation of up to four messages, as JSON text",
    );
    let slots: Vec<_> = (1..=4)
        .map(|number| {
            let role = node.input(
                text(&format!("role{number}"))
                    .title(&format!("Role {number}"))
                    .about("Who speaks")
                    .choice(&["user", "assistant", "system"]),
            );
            let content = node.input(
                text(&format!("content{number}"))
                    .title(&format!("Content {number}"))
                    .about("What is said; a message without content is left out")
                    .multiline(),
            );
            (role, content)
        })
        .collect();
    let history = node.output(
        text("history")
            .title("History")
            .about("A JSON list of messages")
            .category("ChatHistory")
            .category("Json"),
    );
    node.inline(move |io| {
        let mut messages = Vec::new();
        for (role, content) in &slots {
            let (role, content) = (io.get(*role)?, io.get(*content)?);
            let content = content.trim();
            if !content.is_empty() && ROLES.contains(&role.as_str()) {
                messages.push(json!({"role": role, "content": content}));
            }
        }
        io.set(history, Json::Array(messages).to_string());
        Ok(())
    })
}
