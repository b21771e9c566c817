//! What a turn adds: the reply, and what came of its calls.

use std::sync::Arc;

use innkeeper_protocol::{Locale, Observation, render_observation_within};
use serde_json::{Value as Json, json};

use crate::limits::MAX_SHOWN_READ_CHARS;
use crate::run::{CallState, Turn};

pub(super) const GUIDANCE: &str = "<user_guidance>";

/// The reply and its observations. Every native call is answered by a message of its own, in their order, also where it
/// was never run: providers refuse a conversation in which one is left open.
pub fn after_turn(turn: &Turn, arrived: &[Arc<Observation>]) -> Vec<Json> {
    let reply = &turn.reply;
    // Providers refuse a message that says nothing.
    let is_empty = reply.text.trim().is_empty() && reply.tool_calls.is_empty();
    let mut messages = match is_empty {
        true => Vec::new(),
        false => vec![reply.message.clone()],
    };
    let mut texts = Vec::new();
    let native: Vec<&str> = reply.tool_calls.iter().filter_map(id).collect();
    let mut answered = vec![None; native.len()];
    for block in &turn.blocks {
        for call in &block.calls {
            let CallState::Ended { observation, .. } = &call.state else {
                continue;
            };
            let own = call.provider_id.as_deref();
            let at = own.and_then(|own| native.iter().position(|id| *id == own));
            match at.and_then(|at| answered.get_mut(at)) {
                Some(place @ None) => *place = Some(told(observation)),
                _ => texts.push(told(observation)),
            }
        }
        texts.extend(block.notes.iter().map(told));
    }
    texts.extend(turn.notes.iter().map(told));
    texts.extend(arrived.iter().map(|task| told(task)));
    for (id, answer) in native.iter().zip(answered) {
        let content = answer.unwrap_or_else(|| "Observation: this call was not run".to_owned());
        messages.push(json!({"role": "tool", "tool_call_id": id, "content": content}));
    }
    if !texts.is_empty() {
        messages.push(json!({"role": "user", "content": texts.join("\n\n")}));
    }
    messages
}

/// Tools that the model is told of from now on, beside the observations that brought them up: in the same message where there
/// is one that is the house's.
pub fn with_tools(messages: &mut Vec<Json>, tools: &str) {
    if tools.is_empty() {
        return;
    }
    let last = messages.last_mut().filter(|last| last["role"] == "user");
    match last.and_then(|last| last.get_mut("content")) {
        Some(Json::String(content)) => {
            content.push_str("\n\n");
            content.push_str(tools);
        }
        _ => messages.push(json!({"role": "user", "content": tools})),
    }
}

/// What came of the last turn, as the model reads it: all that was said since its reply, but for what a person said.
pub fn observations(sent: &[Arc<Json>]) -> Vec<String> {
    let is_reply = |message: &Arc<Json>| message["role"] == "assistant";
    let Some(reply) = sent.iter().rposition(is_reply) else {
        return Vec::new();
    };
    let since = sent.iter().skip(reply + 1);
    let texts = since.filter_map(|message| message["content"].as_str());
    texts
        .filter(|text| !text.starts_with(GUIDANCE))
        .map(str::to_owned)
        .collect()
}

/// Each tool's results were cut to what it may show, which is more for one that reads files in parts.
fn told(observation: &Observation) -> String {
    render_observation_within(observation, MAX_SHOWN_READ_CHARS)
}

fn id(call: &Json) -> Option<&str> {
    call.get("id").and_then(Json::as_str)
}

/// What a person says while the agent is at work.
pub fn guidance<'t>(texts: impl IntoIterator<Item = &'t str>) -> Json {
    let texts: Vec<&str> = texts.into_iter().collect();
    let content = format!("{GUIDANCE}\n{}\n</user_guidance>", texts.join("\n\n"));
    json!({"role": "user", "content": content})
}

/// For a writer that has answered instead of writing; `path` is where its answer was kept, if there was room for it.
pub fn nudge(path: Option<&str>, locale: Locale) -> Json {
    let kept = match (path, locale) {
        (Some(path), Locale::En) => format!(" It was kept as {path}."),
        (Some(path), Locale::Zh) => format!("它已保存为 {path}。"),
        (None, _) => String::new(),
    };
    let content = match locale {
        Locale::En => format!(
            "Your last message called no tool, so nobody has seen it.{kept} Put what the reader is to see \
             into a file with workspace.write_file, publish it with workspace.commit, and end with workspace.finish."
        ),
        Locale::Zh => format!(
            "你上一条消息没有调用任何工具，所以没有人看到它。{kept}请用 workspace.write_file 把要给读者看的内容写进文件，\
             用 workspace.commit 提交，最后调用 workspace.finish。"
        ),
    };
    json!({"role": "user", "content": content})
}

/// For an agent that works for another, and has answered instead of giving its result.
pub fn return_nudge(path: Option<&str>, locale: Locale) -> Json {
    let kept = match (path, locale) {
        (Some(path), Locale::En) => format!(" It was kept as {path}."),
        (Some(path), Locale::Zh) => format!("它已保存为 {path}。"),
        (None, _) => String::new(),
    };
    let content = match locale {
        Locale::En => format!(
            "Your last message called no tool, so the agent that you work for has not seen it.{kept} Give your result \
             with task.return; if there is more to do, call the tool that comes next."
        ),
        Locale::Zh => format!(
            "你上一条消息没有调用任何工具，所以委派你的智能体没有看到它。{kept}请用 task.return 交回结果；如果还有事要做，请调用下一个工具。"
        ),
    };
    json!({"role": "user", "content": content})
}

/// Ends of what went on in the background, for a conversation that has only begun.
pub fn arrived(ends: &[Arc<Observation>]) -> Option<Json> {
    let texts: Vec<String> = ends.iter().map(|end| told(end)).collect();
    let content = texts.join("\n\n");
    (!texts.is_empty()).then(|| json!({"role": "user", "content": content}))
}

/// For a model that has said nothing at all.
pub fn empty_turn(locale: Locale) -> Json {
    let content = match locale {
        Locale::En => "Your last message was empty. Go on: call a tool, or answer.",
        Locale::Zh => "你上一条消息是空的。请继续：调用工具，或者直接回答。",
    };
    json!({"role": "user", "content": content})
}
