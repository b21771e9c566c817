//! What a host says of the chat that a run belongs to, checked: it is somebody else's data. Pure.

use innkeeper_protocol::ErrorCode;
use serde_json::Value as Json;

use super::AgentError;
use crate::chat::{Role, input_prefix};
use crate::limits::{MAX_GENERATION_TYPE_CHARS, MAX_ID_CHARS};
use crate::workspace::persist;

/// `normal` where nothing is said. Hosts have kinds of their own, so only the form is checked.
pub(super) fn generation_type(given: Option<&str>) -> Result<String, AgentError> {
    let kind = match given.map(str::trim) {
        None | Some("") => return Ok("normal".to_owned()),
        Some(kind) => kind,
    };
    let is_word = kind
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    match is_word && kind.len() <= MAX_GENERATION_TYPE_CHARS {
        true => Ok(kind.to_owned()),
        false => {
            let message = format!(
                "generationType is no kind of generation: write it like 'normal' or 'swipe', in letters and digits, at most {MAX_GENERATION_TYPE_CHARS} of them"
            );
            Err(AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.invalid_generation_type"))
        }
    }
}

/// `{kind: character, characterId, fileName}` or `{kind: group, chatId}`, and nothing else; none for no chat.
pub(super) fn check_chat_ref(chat: &Json) -> Result<(), AgentError> {
    let invalid = |why: String| {
        let message = format!(
            "chatRef {why}; write {{kind: 'character', characterId, fileName}} or {{kind: 'group', chatId}}"
        );
        let error = AgentError::new(ErrorCode::AgentValidationError, message);
        Err(error.because("agent.invalid_chat_ref"))
    };
    let fields = match chat {
        Json::Null => return Ok(()),
        Json::Object(fields) => fields,
        _ => return invalid("is no object".to_owned()),
    };
    let names: &[&str] = match fields.get("kind").and_then(Json::as_str) {
        Some("character") => &["characterId", "fileName"],
        Some("group") => &["chatId"],
        _ => return invalid("has no 'kind' that is known".to_owned()),
    };
    for name in names {
        match fields.get(*name).and_then(Json::as_str).map(str::trim) {
            None | Some("") => return invalid(format!("has no '{name}'")),
            Some(text) if text.len() > MAX_ID_CHARS => {
                return invalid(format!("has a '{name}' that is too long"));
            }
            Some(_) => {}
        }
    }
    let is_known = |name: &str| name == "kind" || names.contains(&name);
    match fields.keys().find(|name| !is_known(name)) {
        Some(name) => {
            let name: String = name.chars().take(40).collect();
            invalid(format!("has '{name}', which is not one of its names"))
        }
        None => Ok(()),
    }
}

/// The memory that a run begins with: what the newest answer that it sees has left. `chat`: as the host keeps it.
pub(super) fn base_of(chat: &[Json], generation_type: &str) -> Result<Option<String>, AgentError> {
    let refused = |message: String, reason| {
        AgentError::new(ErrorCode::AgentValidationError, message).because(reason)
    };
    let is = |message: &Json, name: &str| message.get(name).and_then(Json::as_bool) == Some(true);
    let is_header = |line: &Json| line.get("chat_metadata").is_some() && line.get("mes").is_none();
    let lines = match chat.split_first() {
        Some((first, rest)) if is_header(first) => rest,
        _ => chat,
    };
    let role = |line: &Json| match line.get("role").and_then(Json::as_str) {
        Some("user") => Role::User,
        Some("system" | "developer") => Role::System,
        Some(_) => Role::Assistant,
        None if is(line, "is_user") => Role::User,
        None if is(line, "is_system") => Role::System,
        None => Role::Assistant,
    };
    let roles: Vec<Role> = lines.iter().map(role).collect();
    let seen = input_prefix(&roles, generation_type)
        .map_err(|fault| refused(fault.to_string(), fault.reason()))?;
    let seen = lines.get(..seen).unwrap_or_default();
    persist::base_of(seen).map_err(|fault| refused(fault.to_string(), fault.reason()))
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
