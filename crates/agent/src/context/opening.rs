//! The beginning: who the agent is, what it can call, and what has been said so far.

use std::sync::Arc;

use innkeeper_protocol::Locale;
use serde_json::{Map, Value as Json, json};

use crate::limits::{MAX_TOLD_STATE_CHARS, MAX_TOLD_STATE_NAME_CHARS, MAX_TOLD_STATE_NAMES};
use crate::profile::ContextPolicy;

pub struct Opening<'a> {
    /// Who the agent is and how it works.
    pub system_prompt: &'a str,
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
    let (before, _) = parts.messages.split_at(lead);
    let talk = talk(parts.messages, parts.is_snapshot, parts.policy);
    let mut messages: Vec<Json> = before.to_vec();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system}));
    }
    messages.extend_from_slice(talk);
    messages
}

/// A conversation that another agent has begun, with the instructions of this one (`opening`) in the place of that one's:
/// how many of its messages stay, and what follows them.
pub fn renewed(
    sent: &[Arc<Json>],
    opening: &[Json],
    messages: &[Json],
) -> (usize, impl Iterator<Item = Json>) {
    let lead = messages
        .iter()
        .take_while(|message| is_instruction(message))
        .count();
    let own = opening.get(lead).filter(|message| is_instruction(message));
    let has_own = sent
        .get(lead)
        .is_some_and(|message| is_instruction(message));
    let rest = sent.iter().skip(lead + usize::from(has_own));
    let rest = rest.map(|message| Json::clone(message));
    let others: Vec<Json> = own.cloned().into_iter().chain(rest).collect();
    (lead.min(sent.len()), others.into_iter())
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
            format!("{head}\n{}", told(state, parts.locale))
        }
    };
    [parts.system_prompt, parts.manifest, state.as_str()]
        .map(str::trim)
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n")
}

/// All of it, or the fields that there is room for and the names of the others.
fn told(state: &Json, locale: Locale) -> String {
    let whole = state.to_string();
    let Json::Object(fields) = state else {
        return whole;
    };
    if whole.chars().count() <= MAX_TOLD_STATE_CHARS {
        return whole;
    }
    let (mut shown, mut left) = (Map::new(), MAX_TOLD_STATE_CHARS);
    let mut others = Vec::new();
    for (name, value) in fields {
        let chars = name.chars().count() + value.to_string().chars().count() + 4;
        match left.checked_sub(chars) {
            Some(rest) => {
                left = rest;
                shown.insert(name.clone(), value.clone());
            }
            None => others.push(name),
        }
    }
    let named: Vec<String> = others
        .iter()
        .take(MAX_TOLD_STATE_NAMES)
        .map(|name| name.chars().take(MAX_TOLD_STATE_NAME_CHARS).collect())
        .collect();
    let (count, named) = (others.len(), named.join(", "));
    let rest = match locale {
        Locale::Zh => {
            format!("另有 {count} 项太长，没有列出：{named}。用 core:ReadPrivateState 读取。")
        }
        Locale::En => format!(
            "{count} more are too long to be shown here: {named}. Read them with core:ReadPrivateState."
        ),
    };
    format!("{}\n{rest}", Json::Object(shown))
}

/// What follows on the instructions that a conversation begins with, as much of it as is sent.
pub(super) fn talk<'m>(
    messages: &'m [Json],
    is_snapshot: bool,
    policy: &ContextPolicy,
) -> &'m [Json] {
    let lead = messages
        .iter()
        .take_while(|message| is_instruction(message))
        .count();
    let talk = messages.get(lead..).unwrap_or_default();
    match is_snapshot {
        // The host has kept to it already.
        true => talk,
        false => newest(talk, policy.initial_chat_history_messages),
    }
}

pub(super) fn is_instruction(message: &Json) -> bool {
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
