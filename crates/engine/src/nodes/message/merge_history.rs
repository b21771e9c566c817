//! MergeHistory: up to four conversations, one after the other.

use serde_json::Value as Json;

use super::messages_of;
use crate::NodeType;
use crate::node::{NodeBuilder, text};
use crate::nodes::bound::Bound;

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "MergeHistory",
        "Messages",
        "Merge history",
        "Joins up to four conversations into one",
    );
    let slots: Vec<_> = (1..=4)
        .map(|number| {
            node.input(
                text(&format!("history{number}"))
                    .title(&format!("History {number}"))
                    .about("A JSON list of messages; nothing, and what is none, is left out")
                    .category("ChatHistory")
                    .category("Json"),
            )
        })
        .collect();
    let history = node.output(
        text("history")
            .title("History")
            .about("A JSON list of all messages")
            .category("ChatHistory")
            .category("Json"),
    );
    node.inline(move |io| {
        let mut messages = Vec::new();
        let mut bound = Bound::default();
        for slot in &slots {
            let given = io.input(slot.index()).as_value();
            bound.add_value(&given)?;
            messages_of(given.as_json(), &mut messages);
        }
        io.set(history, Json::Array(messages).to_string());
        Ok(())
    })
}
