//! FormatPrompt: a template as a prompt for a model.

use serde_json::json;

use super::template::{Filling, fill};
use crate::node::{NodeBuilder, array, object, text};
use crate::{NodeError, NodeType};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "FormatPrompt",
        "Text",
        "Format prompt",
        "Fills a template and gives it as a prompt, and as a message if a role is chosen",
    );
    node.alias("core:FormatPromptNode");
    let template = node.input(
        text("template")
            .title("Template")
            .about("Jinja: {{ name }}, {% if … %}, {% for … in … %}, filters")
            .category("Prompt")
            .multiline()
            .required(),
    );
    let variables = node.input(
        object("variables")
            .title("Variables")
            .about("More variables; an input of the same name goes first"),
    );
    let role = node.input(
        text("role")
            .title("Role")
            .about("Who speaks in 'messages'; none leaves that list empty")
            .choice(&["", "system", "user", "assistant"]),
    );
    let prompt = node.output(
        text("prompt")
            .title("Prompt")
            .about("The text, filled in")
            .category("Prompt"),
    );
    let messages = node.output(
        array("messages")
            .title("Messages")
            .about("One message with the prompt, if a role is chosen")
            .category("ChatHistory"),
    );
    node.dynamic();
    let own = role.index() + 1;
    node.task(move |mut io| async move {
        let (template, role) = (io.get(template)?, io.get(role)?);
        if !["", "system", "user", "assistant"].contains(&role.as_str()) {
            let message = format!("the role '{role}' is none of system, user and assistant");
            return Err(NodeError::invalid("prompt.role", message));
        }
        let variables = Filling::of(&io, variables.index(), own);
        let filled = fill(template, variables).await?;
        let list = match role.is_empty() {
            true => vec![],
            false => vec![json!({"role": role, "content": filled})],
        };
        io.set(messages, list);
        io.set(prompt, filled);
        io.done()
    })
}
