//! Nodes that make and join chat messages: `{role, content}`.

mod context_builder;
mod create;
mod history;
mod merge;
mod merge_history;

use serde_json::Value as Json;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![
        create::node(),
        merge::node(),
        context_builder::node(),
        history::node(),
        merge_history::node(),
    ]
}

const ROLES: [&str; 3] = ["system", "user", "assistant"];

/// Whether it is a message: an object with a role and content.
fn is_message(json: &Json) -> bool {
    json.get("role").is_some_and(Json::is_string) && json.get("content").is_some()
}

/// The messages in a value: itself, those of a list, or those that a JSON text holds. What is none is left out.
fn messages_of(json: &Json, into: &mut Vec<Json>) {
    match json {
        Json::String(text) => {
            // A text is read once: a text inside of it is no list of messages.
            match serde_json::from_str::<Json>(text) {
                Ok(Json::Array(list)) => into.extend(list.into_iter().filter(is_message)),
                Ok(one) if is_message(&one) => into.push(one),
                Ok(_) | Err(_) => {}
            }
        }
        Json::Array(list) => into.extend(list.iter().filter(|one| is_message(one)).cloned()),
        one if is_message(one) => into.push(one.clone()),
        _ => {}
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
