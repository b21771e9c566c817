//! MergeMessages: many lists of messages, one list.

use serde_json::Value as Json;

use super::messages_of;
use crate::node::{NodeBuilder, text};
use crate::nodes::bound::Bound;
use crate::{NodeType, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "MergeMessages",
        "Messages",
        "Merge messages",
        "Joins messages and lists of messages into one JSON list, in the order of their connections",
    );
    let inputs = node.input(
        text("message_inputs")
            .title("Messages")
            .about("Messages, lists of them, or either as JSON text; what is neither is left out")
            .category("ChatHistory")
            .required()
            .default(Vec::<serde_json::Value>::new())
            .multi(),
    );
    let messages = node.output(
        text("messages")
            .title("Messages")
            .about("A JSON list of all of them")
            .category("ChatHistory"),
    );
    node.inline(move |io| {
        let mut all = Vec::new();
        let given: Vec<Value> = io.take(inputs.index())?;
        let mut bound = Bound::default();
        for one in given {
            bound.add_value(&one)?;
            messages_of(one.as_json(), &mut all);
        }
        io.set(messages, Json::Array(all).to_string());
        Ok(())
    })
}
