//! What a run is begun with: a prompt snapshot of a host, in each of its forms, or a message of a person.
//!
//! Pure. A snapshot is somebody else's data: whatever an agent's run cannot begin with is refused by name. Of what the host
//! tells its own provider only the settings of the generation are taken; the rest is not kept anywhere.

use innkeeper_protocol::ErrorCode;
use serde_json::{Map, Value as Json, json};

use super::AgentError;
use crate::limits::{MAX_MARKER_DEPTH, MAX_PROMPT_BYTES, MAX_PROMPT_MESSAGES};
use crate::profile::ContextPolicy;

/// A conversation that can be gone on with.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prompt {
    pub(crate) messages: Vec<Json>,
    /// What of the payload says how the model is to answer.
    pub(crate) parameters: Map<String, Json>,
    pub(crate) model: String,
    pub(crate) world_info: Option<Json>,
    pub(crate) is_snapshot: bool,
}

/// Where hosts have put the payload.
const PAYLOADS: [&str; 4] = [
    "chatCompletionPayload",
    "chat_completion_payload",
    "generateData",
    "generate_data",
];
/// How the model is to answer, in the words of the providers that know them.
const PASSED_ON: [&str; 41] = [
    "assistant_prefill",
    "dry_allowed_length",
    "dry_base",
    "dry_multiplier",
    "dry_penalty_last_n",
    "dry_sequence_breakers",
    "frequency_penalty",
    "grammar",
    "guided_json",
    "include_reasoning",
    "json_schema",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "min_p",
    "min_tokens",
    "mirostat",
    "mirostat_eta",
    "mirostat_tau",
    "n_predict",
    "parallel_tool_calls",
    "presence_penalty",
    "reasoning",
    "reasoning_effort",
    "repeat_penalty",
    "repetition_penalty",
    "response_format",
    "safety_settings",
    "seed",
    "stop",
    "temperature",
    "tfs",
    "thinking",
    "top_a",
    "top_k",
    "top_logprobs",
    "top_p",
    "typical_p",
    "verbosity",
    "xtc_probability",
];
const MARKER: &str = "_tauritavern_agent_prompt_marker";

pub(crate) fn of_message(text: &str) -> Result<Prompt, AgentError> {
    if text.trim().is_empty() {
        return Err(AgentError::new(
            ErrorCode::AgentValidationError,
            "there is nothing to do: the message is empty",
        ));
    }
    sized(Prompt {
        messages: vec![json!({"role": "user", "content": text})],
        parameters: Map::new(),
        model: String::new(),
        world_info: None,
        is_snapshot: false,
    })
}

/// As a person and a model have had it so far.
pub(crate) fn of_conversation(messages: Vec<Json>) -> Result<Prompt, AgentError> {
    check_messages(&messages)?;
    sized(Prompt {
        messages,
        parameters: Map::new(),
        model: String::new(),
        world_info: None,
        is_snapshot: false,
    })
}

pub(crate) fn of_snapshot(snapshot: &Json, policy: &ContextPolicy) -> Result<Prompt, AgentError> {
    let Json::Object(fields) = snapshot else {
        return Err(
            invalid("the prompt snapshot is no object").because("agent.prompt_snapshot_required")
        );
    };
    check_policy(fields, policy)?;
    let payload = PAYLOADS.iter().find_map(|name| fields.get(*name));
    let world_info = fields
        .get("worldInfoActivation")
        .filter(|info| !info.is_null());
    if let Some(info) = world_info
        && !info.get("entries").is_some_and(Json::is_array)
    {
        return Err(invalid("worldInfoActivation has no list 'entries'")
            .because("agent.invalid_worldinfo_activation_snapshot"));
    }
    let (messages, mut parameters) = match payload {
        Some(Json::Object(payload)) => (payload.get("messages"), payload.clone()),
        Some(_) => {
            return Err(invalid("the payload of the prompt snapshot is no object")
                .because("agent.invalid_prompt_snapshot"));
        }
        // The later form, and a payload that stands by itself.
        None if fields.contains_key("messages") || fields.contains_key("prompt") => {
            let parameters = match fields.get("generationParameters") {
                Some(Json::Object(parameters)) => parameters.clone(),
                _ => bare(fields),
            };
            (fields.get("messages"), parameters)
        }
        None => {
            let message = "the prompt snapshot has no chatCompletionPayload";
            return Err(invalid(message).because("agent.prompt_snapshot_required"));
        }
    };
    check_payload(&parameters)?;
    let Some(Json::Array(messages)) = messages else {
        let message = "the prompt snapshot has no list of messages; only chat completions can be gone on with";
        return Err(
            AgentError::new(ErrorCode::AgentChatCompletionRequired, message)
                .because("agent.tool_loop_requires_messages"),
        );
    };
    check_messages(messages)?;
    let model = match parameters.get("model") {
        Some(Json::String(model)) => model.clone(),
        _ => String::new(),
    };
    // The rest is the host's: how it reaches its own provider, keys and passwords among it. Nobody else is to see it.
    parameters.retain(|name, _| PASSED_ON.contains(&name.as_str()));
    sized(Prompt {
        messages: messages.clone(),
        parameters,
        model,
        world_info: world_info.cloned(),
        is_snapshot: true,
    })
}

fn bare(fields: &Map<String, Json>) -> Map<String, Json> {
    let ours = [
        "contextPolicy",
        "worldInfoActivation",
        "generationParameters",
    ];
    let rest = fields
        .iter()
        .filter(|(name, _)| !ours.contains(&name.as_str()));
    rest.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn check_policy(fields: &Map<String, Json>, policy: &ContextPolicy) -> Result<(), AgentError> {
    let Some(written) = fields
        .get("contextPolicy")
        .filter(|policy| !policy.is_null())
    else {
        return Ok(());
    };
    let read: Result<ContextPolicy, _> = serde_json::from_value(written.clone());
    match read {
        Ok(read) if read == *policy => Ok(()),
        Ok(_) => Err(invalid(
            "the snapshot was made under another context policy than the profile's; make it anew",
        )
        .because("agent.context_policy_mismatch")),
        Err(error) => Err(invalid(&format!("contextPolicy cannot be read: {error}"))
            .because("agent.invalid_context_policy_snapshot")),
    }
}

fn check_payload(payload: &Map<String, Json>) -> Result<(), AgentError> {
    let tools = payload.get("tools").and_then(Json::as_array);
    if tools.is_some_and(|tools| !tools.is_empty()) {
        let message =
            "the prompt snapshot brings tools of its own; an agent has those of its profile";
        return Err(AgentError::new(
            ErrorCode::AgentExternalToolsUnsupported,
            message,
        ));
    }
    if payload.contains_key("tool_choice") {
        let message = "the prompt snapshot says which tool is to be chosen (tool_choice); an agent chooses itself";
        return Err(
            AgentError::new(ErrorCode::AgentExternalToolsUnsupported, message)
                .because("agent.external_tool_choice_unsupported_phase2b"),
        );
    }
    match payload.contains_key(MARKER) {
        true => Err(unfinished()),
        false => Ok(()),
    }
}

fn unfinished() -> AgentError {
    let message = format!("the prompt snapshot still holds {MARKER}; it was not finished");
    invalid(&message).because("agent.prompt_marker_unmaterialized")
}

/// Wherever it stands in a message; not deeper than a host would put it.
fn holds_marker(value: &Json, depth: usize) -> bool {
    match value {
        _ if depth == 0 => false,
        Json::Object(fields) => {
            let mut inner = fields.values();
            fields.contains_key(MARKER) || inner.any(|value| holds_marker(value, depth - 1))
        }
        Json::Array(items) => items.iter().any(|value| holds_marker(value, depth - 1)),
        _ => false,
    }
}

fn check_messages(messages: &[Json]) -> Result<(), AgentError> {
    if messages.is_empty() {
        return Err(invalid("the prompt snapshot has no message")
            .because("agent.prompt_snapshot_messages_required"));
    }
    for (at, message) in messages.iter().enumerate() {
        if holds_marker(message, MAX_MARKER_DEPTH) {
            return Err(unfinished());
        }
        let role = message.get("role").and_then(Json::as_str);
        let Some(role) = role.filter(|role| !role.is_empty()) else {
            let text = format!("message {at} of the prompt snapshot has no role");
            return Err(invalid(&text).because("agent.invalid_model_message"));
        };
        let calls = message.get("tool_calls").and_then(Json::as_array);
        if role == "tool" || calls.is_some_and(|calls| !calls.is_empty()) {
            let text = format!(
                "message {at} of the prompt snapshot is a tool's or calls one; an agent's run begins without"
            );
            return Err(AgentError::new(
                ErrorCode::AgentExternalToolTurnsUnsupported,
                text,
            ));
        }
    }
    Ok(())
}

fn sized(prompt: Prompt) -> Result<Prompt, AgentError> {
    let count = prompt.messages.len();
    if count > MAX_PROMPT_MESSAGES {
        let text = format!(
            "the conversation has {count} messages, at most {MAX_PROMPT_MESSAGES} can be taken"
        );
        return Err(invalid(&text));
    }
    let bytes: usize = prompt
        .messages
        .iter()
        .map(|message| message.to_string().len())
        .sum();
    match bytes > MAX_PROMPT_BYTES {
        true => Err(invalid(&format!(
            "the conversation has {bytes} bytes, at most {MAX_PROMPT_BYTES} can be taken"
        ))),
        false => Ok(prompt),
    }
}

fn invalid(message: &str) -> AgentError {
    AgentError::new(ErrorCode::AgentPromptSnapshotInvalid, message)
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
