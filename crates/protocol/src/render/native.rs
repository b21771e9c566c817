//! Calls as the assistant's message of a provider.

use serde_json::{Map, Value as Json, json};

use super::Named;
use crate::Provider;

pub(super) fn message(steps: &[Named<'_>], provider: Provider) -> Json {
    let calls = steps.iter().enumerate().map(|(at, step)| {
        let id = match step.step.call_id {
            Some(id) => id.to_owned(),
            None => format!("call_{}", at + 1),
        };
        let arguments: Map<String, Json> = step
            .arguments
            .iter()
            .map(|argument| (argument.name.to_owned(), argument.value.clone()))
            .collect();
        one(
            step.tool,
            &id,
            step.step.call_id.is_some(),
            arguments,
            provider,
        )
    });
    let calls: Vec<Json> = calls.collect();
    match provider {
        Provider::OpenAi => json!({"role": "assistant", "content": null, "tool_calls": calls}),
        Provider::Anthropic => json!({"role": "assistant", "content": calls}),
        Provider::Gemini => json!({"role": "model", "parts": calls}),
    }
}

fn one(
    name: &str,
    id: &str,
    id_is_given: bool,
    arguments: Map<String, Json>,
    provider: Provider,
) -> Json {
    match provider {
        // The arguments are a string of JSON there.
        Provider::OpenAi => json!({
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": Json::Object(arguments).to_string()},
        }),
        Provider::Anthropic => json!({
            "type": "tool_use", "id": id, "name": name, "input": arguments,
        }),
        // Gemini knows calls without an id.
        Provider::Gemini if id_is_given => {
            json!({"functionCall": {"id": id, "name": name, "args": arguments}})
        }
        Provider::Gemini => json!({"functionCall": {"name": name, "args": arguments}}),
    }
}
