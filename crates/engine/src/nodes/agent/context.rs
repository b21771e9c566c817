//! AgentContext and AppendMessage: what a model is sent, and how a conversation grows.

use serde_json::{Value as Json, json};

use crate::limits::MAX_CONTEXT_MESSAGES;
use crate::node::{NodeBuilder, NodeType, any, array, integer, text};
use crate::nodes::llm::ask::messages;
use crate::{NodeError, Value};

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "AgentContext",
        "Agent",
        "Agent context",
        "Puts together what a model is sent: the system prompt with the tools, what was said before, the question or the last observation",
    );
    let query = node.input(text("user_query").title("Question").multiline());
    let history = node.input(any("chat_history").title("History").category("ChatHistory"));
    let observation = node.input(text("last_observation").title("Last observation").about(
        "What came of the tools. The question is not asked again if the history already has it",
    ));
    let system = node.input(text("system_prompt").title("System prompt").multiline());
    let manifest = node.input(
        text("manifest")
            .title("Manifest")
            .about("What AvailableTools gives"),
    );
    let most = node.input(
        integer("max_messages")
            .title("Most messages")
            .about("Of what was said before, the newest")
            .default(200)
            .range(1, MAX_CONTEXT_MESSAGES),
    );
    let all = node.output(array("messages").title("Messages").category("ChatHistory"));
    let grown = node.output(
        array("history")
            .title("History")
            .about("What was said before, with what is asked now")
            .category("ChatHistory"),
    );
    node.inline(move |io| {
        let mut before = messages(&io.get(history)?, "chat_history")?;
        let most = usize::try_from(io.get(most)?)
            .unwrap_or(1)
            .clamp(1, MAX_CONTEXT_MESSAGES);
        let (query, observation) = (io.get(query)?, io.get(observation)?);
        let is_asked = !observation.is_empty()
            && before.iter().any(|message| {
                is(message, "user") && message.get("content") == Some(&json!(query))
            });
        if !query.is_empty() && !is_asked {
            before.push(json!({"role": "user", "content": query}));
        }
        if !observation.is_empty() {
            let answers = answers(&before, &observation);
            before.extend(answers);
        }
        let parts = [io.get(system)?, io.get(manifest)?];
        let parts: Vec<_> = parts
            .iter()
            .filter(|part| !part.trim().is_empty())
            .collect();
        let mut sent = Vec::new();
        if !parts.is_empty() {
            let whole: Vec<&str> = parts.iter().map(|part| part.as_str()).collect();
            sent.push(json!({"role": "system", "content": whole.join("\n\n")}));
        }
        sent.extend(newest(&before, most).iter().cloned());
        io.set(all, sent);
        io.set(grown, before);
        Ok(())
    })
}

fn is(message: &Json, role: &str) -> bool {
    message.get("role").and_then(Json::as_str) == Some(role)
}

/// An observation answers native calls as tools do, where the model made any; else it is told as the user tells.
fn answers(before: &[Json], observation: &str) -> Vec<Json> {
    let calls = before
        .last()
        .and_then(|last| last.get("tool_calls")?.as_array());
    let ids: Vec<&str> = calls
        .into_iter()
        .flatten()
        .filter_map(|call| call.get("id")?.as_str())
        .collect();
    if ids.is_empty() {
        return vec![json!({"role": "user", "content": observation})];
    }
    let answers = ids.iter().enumerate().map(|(number, id)| {
        // A provider wants an answer to each call; the observations stand together in the first.
        let content = match number {
            0 => observation,
            _ => "See the answer to the first of these calls.",
        };
        json!({"role": "tool", "tool_call_id": id, "content": content})
    });
    answers.collect()
}

/// The end of the list, never beginning with an answer whose call was left out.
fn newest(list: &[Json], most: usize) -> &[Json] {
    let mut rest = list
        .get(list.len().saturating_sub(most)..)
        .unwrap_or_default();
    while let Some((first, behind)) = rest.split_first()
        && is(first, "tool")
        && rest.len() < list.len()
    {
        rest = behind;
    }
    rest
}

pub(super) fn append() -> NodeType {
    let mut node = NodeBuilder::core(
        "AppendMessage",
        "Agent",
        "Append message",
        "Adds a message to a conversation",
    );
    let history = node.input(any("history").title("History").category("ChatHistory"));
    let message = node.input(
        any("message")
            .title("Message")
            .about("A message, a list of messages, or simply the words"),
    );
    let role = node.input(
        text("role")
            .title("Role")
            .about("Whose the words are, if the message does not say")
            .choice(&["assistant", "user", "system"]),
    );
    let grown = node.output(array("history").title("History").category("ChatHistory"));
    node.inline(move |io| {
        let mut list = messages(&io.get(history)?, "history")?;
        let (message, role) = (io.get(message)?, io.get(role)?);
        list.extend(new_messages(&message, &role)?);
        io.set(grown, list);
        Ok(())
    })
}

fn new_messages(message: &Value, role: &str) -> Result<Vec<Json>, NodeError> {
    match message.as_json() {
        Json::String(words) if words.is_empty() => Ok(Vec::new()),
        Json::String(words) => Ok(vec![json!({"role": role, "content": words})]),
        _ => messages(message, "message"),
    }
}

#[cfg(test)]
#[path = "context_tests.rs"]
mod tests;
