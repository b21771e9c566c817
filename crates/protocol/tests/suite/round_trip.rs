//! A call rendered in any dialect parses back to the same call.
//!
//! What a text dialect cannot say by itself (that `3` is a number in XML) is `bind`'s business; here a value
//! is read back the way its hint, or the text form of the value, says.

use innkeeper_protocol::{
    Aliases, Argument, Call, OnError, Protocol, Provider, Reply, Step, ToolCallRequest,
    ToolDefinition, TypeHint, parse, parse_response, render_call, render_manifest,
};
use innkeeper_protocol::{Locale, key};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

const TEXT: [Protocol; 3] = [Protocol::Tam, Protocol::Action, Protocol::ToolCall];
const NATIVE: [Provider; 3] = [Provider::OpenAi, Provider::Anthropic, Provider::Gemini];

/// Pieces that mean something to one dialect or another.
const PIECES: &[&str] = &[
    "»»»",
    "«««",
    "»",
    "«",
    "「始」",
    "「末」",
    ">>>",
    "<<<",
    "<<<<<<< ",
    "=======",
    "\n",
    "\r\n",
    "\r",
    " ",
    "\t",
    "  ",
    "a",
    "x:»»»",
    "\nkey:»»»v«««\n",
    "\nk: >>>",
    "\nk:\u{a0}»»»",
    "\nk:「始ESCAPE」",
    "：「始」",
    "<|[REQUEST_TOOL]|>",
    "<|[END_TOOL]|>",
    "< | [end tool] | >",
    "<|",
    "|>",
    "<ACTION>",
    "</ACTION>",
    "<action",
    "<tool_call>",
    "</tool_call>",
    "<![CDATA[",
    "]]>",
    "]]",
    "]",
    "&amp;",
    "&",
    "<",
    ">",
    "<x>",
    "</x>",
    "<item>",
    "#",
    "# note",
    "```",
    "`",
    "command",
    "command_1:»»»Y«««",
    "\"",
    "\\",
    "\\n",
    "{",
    "}",
    "[",
    "0",
    "true",
    "null",
    "@{timestamp}",
    "文",
    "🦀",
    "\u{0}",
    "\u{a0}",
    "\u{3000}",
    "\u{2028}",
    ",",
    "type_hint_x",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::collection::vec(prop::sample::select(PIECES), 0..8).prop_map(|parts| parts.concat()),
        1 => any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        6 => text().prop_map(Json::from),
        1 => any::<i64>().prop_map(Json::from),
        1 => prop::num::f64::NORMAL.prop_map(Json::from),
        1 => any::<bool>().prop_map(Json::from),
        1 => Just(Json::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::vec((name(), inner), 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,6}",
        "[a-z]{1,4}_?[0-9]{1,3}",
        "[0-9]{1,3}",
        prop::sample::select(
            &[
                "path",
                "item",
                "command",
                "command_2",
                "comment",
                "retry",
                "on_error",
                "request_id",
                "uri",
                "uri_x",
                "common",
                "common_x",
                "type_hint",
                "type_hint_x",
                "filePath",
                "参数",
                "a b",
                "x:y",
                "sha256",
                "input_0",
                "role1",
                "name",
                "id",
            ][..]
        )
        .prop_map(str::to_owned),
    ]
}

fn tool_id() -> impl Strategy<Value = String> {
    prop::sample::select(
        &[
            "File.Write",
            "workflow:x",
            "workflows/skills/x.json",
            "工具.读取",
            "2d.Draw",
            "ACTION",
            "a b",
            "Plugin:tool",
            "T",
        ][..],
    )
    .prop_map(str::to_owned)
}

fn arguments() -> impl Strategy<Value = Map<String, Json>> {
    prop::collection::vec((name(), value()), 0..5).prop_map(|fields| {
        let mut seen = std::collections::HashSet::new();
        fields
            .into_iter()
            // Two spellings of one name are refused at registration.
            .filter(|(name, _)| seen.insert(key::normalise(name).into_owned()))
            .collect()
    })
}

fn definition(id: &str, arguments: &Map<String, Json>) -> ToolDefinition {
    let properties: Map<String, Json> = arguments
        .keys()
        .map(|name| (name.clone(), json!({})))
        .collect();
    ToolDefinition::new(id, "", json!({"type": "object", "properties": properties}))
}

/// The value as far as the dialect can tell; nothing where it does not fit its own hint.
fn read_back(argument: &Argument<'_>) -> Option<Json> {
    let read = argument.to_json();
    match argument.hint {
        Some(TypeHint::Json | TypeHint::Number | TypeHint::Boolean) => {
            serde_json::from_str(read.as_str()?).ok()
        }
        _ => Some(read),
    }
}

/// What XML keeps of a value: the text of a scalar, JSON text of what cannot be elements.
fn as_xml(value: &Json, read: &Json) -> bool {
    match (value, read) {
        (Json::String(value), Json::String(read)) => value == read,
        (value, Json::String(read)) => {
            serde_json::from_str::<Json>(read).is_ok_and(|read| read == *value)
        }
        (Json::Array(values), Json::Array(reads)) => {
            values.len() == reads.len() && values.iter().zip(reads).all(|(a, b)| as_xml(a, b))
        }
        (Json::Object(values), Json::Object(reads)) => {
            values.len() == reads.len()
                && values
                    .iter()
                    .all(|(name, value)| reads.get(name).is_some_and(|read| as_xml(value, read)))
        }
        _ => false,
    }
}

fn check(
    protocol: Protocol,
    call: &ToolCallRequest<'_>,
    tool: &ToolDefinition,
    arguments: &Map<String, Json>,
    source: &str,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(&call.tool, tool.id.as_str(), "{}", source);
    prop_assert_eq!(call.arguments.len(), arguments.len(), "{}", source);
    for (name, value) in arguments {
        let name = match protocol.normalises_keys() {
            true => key::normalise(name).into_owned(),
            false => name.clone(),
        };
        let found = call.arguments.iter().find(|argument| argument.name == name);
        let Some(found) = found else {
            return Err(TestCaseError::fail(format!(
                "no {name} in {call:?} from {source}"
            )));
        };
        let Some(read) = read_back(found) else {
            return Err(TestCaseError::fail(format!("{found:?} from {source}")));
        };
        let same = match protocol {
            Protocol::Action | Protocol::ToolCall => as_xml(value, &read),
            Protocol::Tam | Protocol::Native(_) => read == *value,
        };
        prop_assert!(same, "{name}: {value} was read as {read} in {source}");
    }
    Ok(())
}

fn quiet(reply: &Reply<'_>, source: &str) -> Result<(), TestCaseError> {
    let all = reply.all_diagnostics();
    prop_assert!(all.is_empty(), "{all:?} for {source}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_call_in_text_comes_back(id in tool_id(), arguments in arguments()) {
        let tool = definition(&id, &arguments);
        for protocol in TEXT {
            let aliases = Aliases::new([&tool], protocol);
            let call = Call::one(&tool.id, &arguments);
            let rendered = render_call(&call, protocol, &aliases).unwrap();
            let source = format!("I will do it.\n{}\n", rendered.text().unwrap());
            let reply = parse(&source);
            quiet(&reply, &source)?;
            prop_assert_eq!(&reply.response_text, "I will do it.", "{}", source);
            let mut calls: Vec<_> = reply.calls().cloned().collect();
            prop_assert_eq!(calls.len(), 1, "{}", source);
            aliases.restore(&mut calls[0]);
            check(protocol, &calls[0], &tool, &arguments, &source)?;
        }
    }

    #[test]
    fn a_native_call_comes_back(id in tool_id(), arguments in arguments()) {
        let tool = definition(&id, &arguments);
        for provider in NATIVE {
            let protocol = Protocol::Native(provider);
            let aliases = Aliases::new([&tool], protocol);
            let rendered = render_call(&Call::one(&tool.id, &arguments), protocol, &aliases).unwrap();
            let json = rendered.native().unwrap();
            let reply = parse_response(json).expect("a response");
            let source = json.to_string();
            quiet(&reply, &source)?;
            let mut calls: Vec<_> = reply.calls().cloned().collect();
            prop_assert_eq!(calls.len(), 1, "{}", source);
            aliases.restore(&mut calls[0]);
            check(protocol, &calls[0], &tool, &arguments, &source)?;
        }
    }

    #[test]
    fn several_steps_come_back(
        steps in prop::collection::vec((tool_id(), arguments(), any::<bool>(), 0u8..=10), 1..4),
    ) {
        let tools: Vec<_> = steps.iter().map(|(id, arguments, ..)| definition(id, arguments)).collect();
        for protocol in TEXT {
            let plain = protocol != Protocol::Tam;
            // One id is one tool.
            let distinct = tools.iter().map(|tool| &tool.id).collect::<std::collections::HashSet<_>>();
            prop_assume!(distinct.len() == tools.len());
            let all = Aliases::new(&tools, protocol);
            let call = Call {
                request_id: (!plain).then_some("req-1"),
                steps: tools
                    .iter()
                    .zip(&steps)
                    .map(|(tool, (_, arguments, go_on, retry))| Step {
                        on_error: if *go_on && !plain { OnError::Continue } else { OnError::Stop },
                        retry: if plain { 0 } else { *retry },
                        ..Step::new(&tool.id, arguments)
                    })
                    .collect(),
            };
            let rendered = render_call(&call, protocol, &all).unwrap();
            let source = rendered.text().unwrap();
            let reply = parse(source);
            quiet(&reply, source)?;
            let calls: Vec<_> = reply.calls().cloned().collect();
            prop_assert_eq!(calls.len(), tools.len(), "{}", source);
            for (((mut read, tool), (_, arguments, ..)), step) in
                calls.into_iter().zip(&tools).zip(&steps).zip(&call.steps)
            {
                prop_assert_eq!(read.on_error, step.on_error);
                prop_assert_eq!(read.retry, step.retry);
                all.restore(&mut read);
                check(protocol, &read, tool, arguments, source)?;
            }
        }
    }

    /// Whatever a description says, the list of tools holds no call.
    #[test]
    fn descriptions_cannot_forge_a_call(description in text(), name in name(), shown in text()) {
        let mut tool = ToolDefinition::new("T", description.clone(), json!({
            "type": "object",
            "properties": {name: {"type": "string", "description": description, "enum": [shown]}},
        }));
        tool.kind = innkeeper_protocol::ToolKind::Skill;
        for protocol in TEXT {
            for locale in [Locale::En, Locale::Zh] {
                let manifest = render_manifest([&tool], protocol, locale);
                let reply = parse(manifest.list());
                prop_assert!(reply.blocks.is_empty(), "{}", manifest.list());
            }
        }
    }
}

/// Every example that a manifest shows is a call that the parser takes.
#[test]
fn examples_in_a_manifest_are_calls() {
    let tool = ToolDefinition::new(
        "File.Write",
        "Writes a file.",
        json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "content": {"type": "string", "x-verbatim": true}},
            "required": ["path", "content"],
        }),
    );
    for protocol in TEXT {
        for locale in [Locale::En, Locale::Zh] {
            let manifest = render_manifest([&tool], protocol, locale);
            assert!(!manifest.examples().is_empty());
            for example in manifest.examples() {
                let reply = parse(example);
                assert!(
                    reply.all_diagnostics().is_empty(),
                    "{:?}",
                    reply.all_diagnostics()
                );
                for call in reply.calls() {
                    assert_eq!(call.tool, "File.Write");
                }
            }
        }
    }
}
