//! The beginning: who the agent is, what it can call, and what has been said so far.

use innkeeper_protocol::Locale;
use serde_json::{Value as Json, json};

use crate::profile::ContextPolicy;

pub struct Opening<'a> {
    /// Who the agent is and how it works.
    pub system_prompt: &'a str,
    /// The skills that it may read, as text; empty where it has none.
    pub skills: &'a str,
    /// The tools as text; empty where they are offered natively.
    pub manifest: &'a str,
    /// The conversation so far: of a prompt snapshot, or one message of the user.
    pub messages: &'a [Json],
    /// They come from a snapshot, whose author has put them into order.
    pub is_snapshot: bool,
    pub policy: &'a ContextPolicy,
    pub private_state: &'a Json,
    pub locale: Locale,
}

/// The agent's own instructions follow those that the conversation begins with: what comes later weighs more, and the
/// snapshot's beginning stays as it was for providers that keep it.
pub fn opening(parts: &Opening<'_>) -> Vec<Json> {
    let system = system(parts);
    let lead = parts
        .messages
        .iter()
        .take_while(|message| is_instruction(message))
        .count();
    let (before, talk) = parts.messages.split_at(lead);
    let talk = match parts.is_snapshot {
        // The host has kept to it already.
        true => talk,
        false => newest(talk, parts.policy.initial_chat_history_messages),
    };
    let mut messages: Vec<Json> = before.to_vec();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.extend_from_slice(talk);
    messages
}

fn system(parts: &Opening<'_>) -> String {
    let state = match parts.private_state {
        Json::Null => String::new(),
        Json::Object(fields) if fields.is_empty() => String::new(),
        state => {
            let head = match parts.locale {
                Locale::Zh => "你的私有状态：",
                Locale::En => "Your private state:",
            };
            format!("{head}\n{state}")
        }
    };
    [
        parts.system_prompt,
        parts.skills,
        parts.manifest,
        state.as_str(),
    ]
    .map(str::trim)
    .into_iter()
    .filter(|part| !part.is_empty())
    .collect::<Vec<_>>()
    .join("\n\n")
}

fn is_instruction(message: &Json) -> bool {
    let role = message.get("role").and_then(Json::as_str);
    matches!(role, Some("system" | "developer"))
}

/// The last message stays in any case: it is what is asked.
fn newest(talk: &[Json], wanted: i64) -> &[Json] {
    let Ok(wanted) = usize::try_from(wanted) else {
        return talk;
    };
    let from = talk.len().saturating_sub(wanted.saturating_add(1));
    talk.get(from..).unwrap_or_default()
}
