//! A conversation as chat-completions servers take it.
//!
//! `chat` knows the shape; here it is narrowed to what servers accept of it. Files may hold more than may be sent.

use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::plain::{Plain, Sent, takes_plain};
use crate::provider::{CallIds, Quirks};
use crate::{Message, messages_to_chat};

/// What every server of this shape knows.
pub(super) const OF_MESSAGE: [&str; 6] = [
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "reasoning_content",
];
pub(super) const OF_CALL: [&str; 3] = ["id", "type", "function"];

pub(super) fn encode<'m>(messages: &'m [Arc<Message>], quirks: &Quirks) -> Vec<Sent<'m>> {
    let takes_plain = takes_plain(quirks);
    let mut sent = Vec::with_capacity(messages.len());
    // What results show besides text. Nothing may stand between the results of one turn, so it waits for their end.
    let mut shown = Vec::new();
    for message in messages {
        match Plain::of(message, quirks).filter(|_| takes_plain) {
            Some(plain) => {
                if !matches!(plain, Plain::Result(_)) {
                    sent.extend(tell(&mut shown).map(Sent::Tree));
                }
                sent.push(Sent::Plain(plain));
            }
            None => {
                let trees = trees(message, quirks, &mut shown);
                sent.extend(trees.into_iter().map(Sent::Tree));
            }
        }
    }
    sent.extend(tell(&mut shown).map(Sent::Tree));
    sent
}

/// Any message, over a tree.
pub(super) fn trees(message: &Message, quirks: &Quirks, shown: &mut Vec<Json>) -> Vec<Json> {
    let Json::Array(written) = messages_to_chat(std::slice::from_ref(message)) else {
        return Vec::new();
    };
    let mut sent = Vec::with_capacity(written.len());
    for message in written {
        let Json::Object(mut message) = message else {
            continue;
        };
        keep_known(&mut message, &OF_MESSAGE, quirks);
        rename_calls(&mut message, quirks.call_ids);
        let role = message
            .get("role")
            .and_then(Json::as_str)
            .unwrap_or_default();
        match role {
            "tool" => {
                show_apart(&mut message, shown);
                sent.push(Json::Object(message));
                continue;
            }
            "assistant" => of_assistant(&mut message, quirks),
            "developer" if !quirks.developer_role => {
                message.insert("role".into(), "system".into());
                join_texts(&mut message, "\n");
            }
            _ => join_texts(&mut message, "\n"),
        }
        sent.extend(tell(shown));
        sent.push(Json::Object(message));
    }
    sent
}

/// What only another vendor can read stays here.
fn keep_known(fields: &mut Map<String, Json>, known: &[&str], quirks: &Quirks) {
    let is_in = |list: &[String], name: &str| list.iter().any(|one| one == name);
    fields.retain(|name, _| {
        let name = name.as_str();
        !is_in(&quirks.not_sent, name)
            && (known.contains(&name) || is_in(&quirks.message_fields, name))
    });
}

/// Ids of calls, and of what they are answered with.
fn rename_calls(message: &mut Map<String, Json>, call_ids: CallIds) {
    if call_ids == CallIds::Any {
        return;
    }
    let rename = |id: Option<&mut Json>| {
        if let Some(Json::String(id)) = id {
            *id = in_nine(id);
        }
    };
    rename(message.get_mut("tool_call_id"));
    let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
    for call in calls.into_iter().flatten() {
        rename(call.get_mut("id"));
    }
}

/// One that fits already is not touched: its own server made it.
fn in_nine(id: &str) -> String {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    if id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return id.to_owned();
    }
    // FNV-1a: the same id must become the same in every process, and nobody gains by making two meet.
    let mut left = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut letter = || {
        let at = usize::try_from(left % 62).unwrap_or_default();
        left /= 62;
        LETTERS.get(at).map_or('0', |letter| char::from(*letter))
    };
    (0..9).map(|_| letter()).collect()
}

fn of_assistant(message: &mut Map<String, Json>, quirks: &Quirks) {
    if !quirks.reasoning_back {
        message.shift_remove("reasoning_content");
    }
    keep_words(message);
    // Words before and after a call are one text.
    join_texts(message, "");
    let calls = message.get_mut("tool_calls").and_then(Json::as_array_mut);
    for call in calls.into_iter().flatten() {
        if let Json::Object(call) = &mut *call {
            keep_known(call, &OF_CALL, quirks);
        }
        // Chat templates read arguments as JSON and fall over nothing at all.
        let arguments = call.pointer_mut("/function/arguments");
        if let Some(Json::String(arguments)) = arguments
            && arguments.trim().is_empty()
        {
            *arguments = "{}".into();
        }
    }
    if !message.contains_key("tool_calls")
        && let Some(content @ Json::Null) = message.get_mut("content")
    {
        *content = "".into();
    }
}

/// In the role of the assistant only words are taken, so that of a picture its address is told.
fn keep_words(message: &mut Map<String, Json>) {
    let Some(Json::Array(parts)) = message.get_mut("content") else {
        return;
    };
    for part in parts {
        let Some(url) = part.pointer("/image_url/url").and_then(Json::as_str) else {
            continue;
        };
        let told = match url.starts_with("data:") {
            true => "[image]".to_owned(),
            false => format!("[image: {url}]"),
        };
        *part = json!({"type": "text", "text": told});
    }
}

/// Servers that know only one text per message are more than those that know lists of them.
fn join_texts(message: &mut Map<String, Json>, between: &str) {
    let Some(Json::Array(parts)) = message.get("content") else {
        return;
    };
    let texts: Option<Vec<&str>> = parts.iter().map(only_text).collect();
    if let Some(texts) = texts {
        let joined = texts.join(between);
        message.insert("content".into(), joined.into());
    }
}

fn only_text(part: &Json) -> Option<&str> {
    let fields = part.as_object().filter(|fields| fields.len() == 2)?;
    let is_text = fields.get("type").is_some_and(|kind| kind == "text");
    is_text.then(|| fields.get("text")?.as_str()).flatten()
}

/// Takes out of a result what is no text, for results can hold nothing else.
fn show_apart(message: &mut Map<String, Json>, shown: &mut Vec<Json>) {
    let Some(Json::Array(parts)) = message.get_mut("content") else {
        return;
    };
    let (texts, others): (Vec<Json>, Vec<Json>) = std::mem::take(parts)
        .into_iter()
        .partition(|part| only_text(part).is_some());
    let text = |name| message.get(name).and_then(Json::as_str);
    if !others.is_empty() {
        let id = text("tool_call_id").unwrap_or_default();
        let whose = match text("name") {
            Some(name) => format!("This belongs to the result of {name} ({id}):"),
            None => format!("This belongs to the result of {id}:"),
        };
        shown.push(json!({"type": "text", "text": whose}));
        shown.extend(others);
    }
    let texts: Vec<&str> = texts.iter().filter_map(only_text).collect();
    let texts = texts.join("\n");
    message.insert("content".into(), texts.into());
}

fn tell(shown: &mut Vec<Json>) -> Option<Json> {
    let parts = std::mem::take(shown);
    (!parts.is_empty()).then(|| json!({"role": "user", "content": parts}))
}
