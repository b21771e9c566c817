//! From a tree to a script, with every problem in it.

use std::time::Duration;

use innkeeper_protocol::limits::MAX_CALLS;
use innkeeper_yaml::{Node, Value};
use serde_json::{Map, Value as Json};

use super::fields::{Fields, Reader};
use super::problem::{Problems, ScriptError};
use super::script::{Call, Fault, Reply, Says, Scene, Script, Shape, Speaker, TextTest, When};
use super::template::Template;
use crate::limits::{DEFAULT_CHUNK_CHARS, MAX_DELAY, MAX_RETRY_AFTER, MAX_SCENES, MAX_SCRIPT_LIST};
use crate::{FinishReason, ModelErrorKind, Usage};

const FAULTS: [(&str, ModelErrorKind); 5] = [
    ("rate_limited", ModelErrorKind::RateLimited),
    ("server_error", ModelErrorKind::ServerError),
    ("timeout", ModelErrorKind::Timeout),
    ("broken_stream", ModelErrorKind::BrokenStream),
    ("refused", ModelErrorKind::Refused),
];

const SPEAKERS: [(&str, Speaker); 5] = [
    ("user", Speaker::User),
    ("observation", Speaker::Observation),
    ("tool", Speaker::Observation),
    ("assistant", Speaker::Assistant),
    ("any", Speaker::Any),
];

pub(super) fn read_script(root: &Node) -> Result<Script, ScriptError> {
    let mut problems = Problems::default();
    let mut reader = Reader::new(&mut problems);
    let mut scenes = Vec::new();
    if let Some(fields) = reader.map(root, "", &["name", "scenes"]) {
        reader.text(fields.optional("name"), "name");
        let list = reader.required(fields, "", "scenes");
        for (at, node) in reader.list(list, "scenes", MAX_SCENES) {
            scenes.extend(scene(&mut reader, node, &at));
        }
    }
    problems.into_result(Script { scenes })
}

fn scene(reader: &mut Reader<'_>, node: &Node, at: &str) -> Option<Scene> {
    let fields = reader.map(node, at, &["name", "when", "reply"])?;
    reader.text(fields.optional("name"), &format!("{at}.name"));
    let when = match fields.optional("when") {
        Some(node) => when(reader, node, &format!("{at}.when")),
        None => When::default(),
    };
    let reply = reader.required(fields, at, "reply")?;
    let reply = self::reply(reader, reply, &format!("{at}.reply"), &when)?;
    Some(Scene { when, reply })
}

fn when(reader: &mut Reader<'_>, node: &Node, at: &str) -> When {
    let known = [
        "role", "contains", "equals", "matches", "asked", "system", "tools", "turn", "times",
    ];
    let Some(fields) = reader.map(node, at, &known) else {
        return When::default();
    };
    let role = fields.optional("role");
    let speaker = reader.choice(role, &format!("{at}.role"), &SPEAKERS);
    let message = reader.text_test(fields, at);
    let [asked, system] = ["asked", "system"].map(|key| {
        let node = fields.optional(key);
        node.map_or_else(Default::default, |node| {
            text_or_map(reader, node, &format!("{at}.{key}"))
        })
    });
    let tools = fields.optional("tools").map(|node| {
        let names = reader.texts(node, &format!("{at}.tools"), "a tool has a name; write it");
        names.into_iter().map(str::to_owned).collect()
    });
    let at_turn = format!("{at}.turn");
    let turns = fields.optional("turn").and_then(|node| match &node.value {
        Value::Map(_) => {
            let fields = reader.map(node, &at_turn, &["from", "to"])?;
            let from = fields.optional("from");
            let from = reader.number(from, &format!("{at_turn}.from"), 1..=u64::MAX);
            let to = fields.optional("to");
            let to = reader.number(to, &format!("{at_turn}.to"), 1..=u64::MAX);
            let turns = (from.unwrap_or(1), to.unwrap_or(u64::MAX));
            if turns.0 > turns.1 {
                reader.wrong(
                    node,
                    &at_turn,
                    "`from` is later than `to`; no turn is between them",
                );
            }
            Some(turns)
        }
        _ => {
            let turn = reader.number(Some(node), &at_turn, 1..=u64::MAX)?;
            Some((turn, turn))
        }
    });
    let times = fields.optional("times");
    let times = reader.number(times, &format!("{at}.times"), 1..=u64::MAX);
    When {
        speaker: speaker.unwrap_or_default(),
        message,
        system,
        asked,
        tools: tools.unwrap_or_default(),
        turns,
        times,
    }
}

/// What is contained, or a map that says more.
fn text_or_map(reader: &mut Reader<'_>, node: &Node, at: &str) -> TextTest {
    if !matches!(node.value, Value::Map(_)) {
        return reader.contains(node, at);
    }
    match reader.map(node, at, &["contains", "equals", "matches"]) {
        Some(fields) => reader.text_test(fields, at),
        None => TextTest::default(),
    }
}

fn reply(reader: &mut Reader<'_>, node: &Node, at: &str, when: &When) -> Option<Reply> {
    let mut reply = Reply {
        reasoning: None,
        says: Says::Nothing,
        calls: Vec::new(),
        chunk: DEFAULT_CHUNK_CHARS,
        before_first: Duration::ZERO,
        between: Duration::ZERO,
        usage: None,
        finish_reason: None,
        fault: None,
    };
    if matches!(node.value, Value::Text(_)) {
        reply.says = Says::Text(template(reader, node, at, when)?);
        return Some(reply);
    }
    let known = [
        "text",
        "deltas",
        "reasoning",
        "tool_calls",
        "chunk",
        "delay_ms",
        "usage",
        "finish_reason",
        "fault",
    ];
    let fields = reader.map(node, at, &known)?;
    let text = fields.optional("text");
    if let Some(node) = text
        && let Some(text) = template(reader, node, &format!("{at}.text"), when)
    {
        reply.says = Says::Text(text);
    }
    if let Some(node) = fields.optional("deltas") {
        let at = format!("{at}.deltas");
        if text.is_some() {
            reader.wrong(node, &at, "`text` is given too; write one of the two");
        }
        let deltas = reader.list(Some(node), &at, MAX_SCRIPT_LIST);
        let deltas = deltas
            .into_iter()
            .filter_map(|(at, node)| template(reader, node, &at, when));
        reply.says = Says::Deltas(deltas.collect());
    }
    if let Some(node) = fields.optional("reasoning") {
        reply.reasoning = template(reader, node, &format!("{at}.reasoning"), when);
    }
    for (at, node) in reader.list(
        fields.optional("tool_calls"),
        &format!("{at}.tool_calls"),
        MAX_CALLS,
    ) {
        reply.calls.extend(call(reader, node, &at, when));
    }
    let chunk = reader.number(
        fields.optional("chunk"),
        &format!("{at}.chunk"),
        1..=1_000_000,
    );
    reply.chunk = chunk
        .and_then(|chunk| chunk.try_into().ok())
        .unwrap_or(reply.chunk);
    if let Some(node) = fields.optional("delay_ms") {
        (reply.before_first, reply.between) = delays(reader, node, &format!("{at}.delay_ms"));
    }
    if let Some(node) = fields.optional("usage") {
        reply.usage = usage(reader, node, &format!("{at}.usage"));
    }
    let finish_reason = reader.text(
        fields.optional("finish_reason"),
        &format!("{at}.finish_reason"),
    );
    reply.finish_reason = finish_reason.map(FinishReason::read);
    if let Some(node) = fields.optional("fault") {
        reply.fault = fault(reader, node, &format!("{at}.fault"));
    }
    let says_something = ["text", "deltas", "reasoning", "tool_calls", "fault"]
        .into_iter()
        .any(|key| fields.optional(key).is_some());
    if !says_something {
        reader.wrong(
            node,
            at,
            "says nothing; give it a `text`, `deltas`, `tool_calls` or a `fault`",
        );
    }
    Some(reply)
}

fn template(reader: &mut Reader<'_>, node: &Node, at: &str, when: &When) -> Option<Template> {
    let text = reader.text(Some(node), at)?;
    Template::read(text, when.message.matches.as_ref())
        .map_err(|message| reader.wrong(node, at, message))
        .ok()
}

fn call(reader: &mut Reader<'_>, node: &Node, at: &str, when: &When) -> Option<Call> {
    let fields = reader.map(node, at, &["id", "name", "arguments"])?;
    let name = reader.required(fields, at, "name");
    let name = reader.text(name, &format!("{at}.name"));
    let id = reader.text(fields.optional("id"), &format!("{at}.id"));
    let at = format!("{at}.arguments");
    let arguments = match fields.optional("arguments") {
        None => Shape::Plain(Json::Object(Map::new())),
        Some(node) if matches!(node.value, Value::Map(_)) => shape(reader, node, &at, when),
        Some(node) => {
            reader.wrong(
                node,
                &at,
                format!("{} is no map of arguments; write name: value", node.kind()),
            );
            return None;
        }
    };
    Some(Call {
        id: id.map(str::to_owned),
        name: name?.to_owned(),
        arguments,
    })
}

/// The tree's own depth is bounded, so this is too.
fn shape(reader: &mut Reader<'_>, node: &Node, at: &str, when: &When) -> Shape {
    match &node.value {
        Value::Null => Shape::Plain(Json::Null),
        Value::Bool(value) => Shape::Plain(Json::Bool(*value)),
        Value::Number(value) => Shape::Plain(Json::Number(value.clone())),
        Value::Text(_) => match template(reader, node, at, when) {
            Some(text) => Shape::Text(text),
            None => Shape::Plain(Json::Null),
        },
        Value::List(items) => Shape::List(
            (0..)
                .zip(items)
                .map(|(n, item): (usize, _)| shape(reader, item, &format!("{at}[{n}]"), when))
                .collect(),
        ),
        Value::Map(entries) => Shape::Map(
            entries
                .iter()
                .map(|entry| {
                    let at = format!("{at}.{}", entry.key);
                    (entry.key.clone(), shape(reader, &entry.value, &at, when))
                })
                .collect(),
        ),
    }
}

/// Before the first piece, and between two.
fn delays(reader: &mut Reader<'_>, node: &Node, at: &str) -> (Duration, Duration) {
    if !matches!(node.value, Value::Map(_)) {
        let both = reader.millis(Some(node), at, MAX_DELAY).unwrap_or_default();
        return (both, both);
    }
    let Some(fields) = reader.map(node, at, &["first", "between"]) else {
        return Default::default();
    };
    let first = reader.millis(fields.optional("first"), &format!("{at}.first"), MAX_DELAY);
    let between = reader.millis(
        fields.optional("between"),
        &format!("{at}.between"),
        MAX_DELAY,
    );
    (first.unwrap_or_default(), between.unwrap_or_default())
}

fn usage(reader: &mut Reader<'_>, node: &Node, at: &str) -> Option<Usage> {
    let known = [
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "reasoning_tokens",
    ];
    let fields = reader.map(node, at, &known)?;
    let [
        prompt_tokens,
        completion_tokens,
        cached_tokens,
        reasoning_tokens,
    ] = known.map(|key| reader.number(fields.optional(key), &format!("{at}.{key}"), 0..=u64::MAX));
    Some(Usage {
        prompt_tokens,
        completion_tokens,
        cached_tokens,
        reasoning_tokens,
        cost: None,
    })
}

fn fault(reader: &mut Reader<'_>, node: &Node, at: &str) -> Option<Fault> {
    let short = matches!(node.value, Value::Text(_));
    let fields = match short {
        true => Fields::none(node),
        false => reader.map(
            node,
            at,
            &["kind", "after_deltas", "retry_after_ms", "attempts"],
        )?,
    };
    let kind = match short {
        true => reader.choice(Some(node), at, &FAULTS),
        false => {
            let kind = reader.required(fields, at, "kind");
            reader.choice(kind, &format!("{at}.kind"), &FAULTS)
        }
    };
    let after = fields.optional("after_deltas");
    let after = reader.number(after, &format!("{at}.after_deltas"), 0..=1_000_000);
    let wait = fields.optional("retry_after_ms");
    let retry_after = reader.millis(wait, &format!("{at}.retry_after_ms"), MAX_RETRY_AFTER);
    let attempts = fields.optional("attempts");
    let attempts = reader.number(attempts, &format!("{at}.attempts"), 1..=u64::from(u32::MAX));
    Some(Fault {
        kind: kind?,
        after_deltas: after
            .and_then(|after| after.try_into().ok())
            .unwrap_or_default(),
        retry_after,
        attempts: attempts.and_then(|attempts| attempts.try_into().ok()),
    })
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
