use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::limits::MAX_ALIAS_BYTES;
use crate::{Argument, Provider, Span, Value};

const ALL: [Protocol; 6] = [
    Protocol::Tam,
    Protocol::Action,
    Protocol::ToolCall,
    Protocol::Native(Provider::OpenAi),
    Protocol::Native(Provider::Anthropic),
    Protocol::Native(Provider::Gemini),
];
const FUNCTION: Protocol = Protocol::Native(Provider::OpenAi);

fn tool(id: &str) -> ToolDefinition {
    ToolDefinition::new(id, "", json!({}))
}

fn aliases_of(ids: &[&str], protocol: Protocol) -> Vec<String> {
    let tools: Vec<_> = ids.iter().map(|id| tool(id)).collect();
    let aliases = Aliases::new(&tools, protocol);
    tools
        .iter()
        .map(|tool| aliases.alias_of(&tool.id).to_owned())
        .collect()
}

#[test]
fn ordinary_ids_get_readable_names() {
    for (protocol, id, expected) in [
        (Protocol::Tam, "File.Write", "File.Write"),
        (Protocol::Tam, "workflow:x", "workflow:x"),
        (Protocol::Tam, "工具.读取", "工具.读取"),
        (Protocol::Tam, "a\nb", "a_b"),
        (Protocol::Action, "File.Write", "File.Write"),
        (Protocol::Action, "workflow:x", "workflow__x"),
        (Protocol::Action, "工具.读取", "工具.读取"),
        (Protocol::Action, "2d.Draw", "_2d.Draw"),
        (Protocol::Action, "ACTION", "_ACTION"),
        (
            Protocol::Action,
            "workflows/skills/x.json",
            "workflows_skills_x.json",
        ),
        (FUNCTION, "File.Write", "File_Write"),
        (FUNCTION, "workflow:x", "workflow__x"),
        (FUNCTION, "2d.Draw", "_2d_Draw"),
        (FUNCTION, "a-b", "a-b"),
    ] {
        assert_eq!(aliases_of(&[id], protocol), [expected], "{protocol:?}");
    }
}

#[test]
fn what_has_no_readable_form_gets_an_opaque_one() {
    for id in ["工具.读取", "", "***", "文"] {
        let alias = aliases_of(&[id], FUNCTION).remove(0);
        assert!(alias.starts_with("tool_"), "{id:?} -> {alias}");
        assert_eq!(alias.len(), 13, "{id:?} -> {alias}");
    }
    assert_eq!(aliases_of(&[&"x".repeat(65)], FUNCTION)[0].len(), 64);
    assert_eq!(aliases_of(&[&"x".repeat(64)], FUNCTION)[0], "x".repeat(64));
    for protocol in [Protocol::Tam, Protocol::Action] {
        let fits = "x".repeat(MAX_ALIAS_BYTES);
        assert_eq!(aliases_of(&[&fits], protocol)[0], fits);
        let alias = aliases_of(&[&format!("{fits}x")], protocol).remove(0);
        assert!(alias.len() == MAX_ALIAS_BYTES && alias != fits, "{alias}");
    }
}

#[test]
fn collisions_are_settled_whatever_the_order() {
    let ids = ["a.b", "a:b", "a_b", "a/b"];
    let mut reversed = ids;
    reversed.reverse();
    let forward = aliases_of(&ids, FUNCTION);
    let mut backward = aliases_of(&reversed, FUNCTION);
    backward.reverse();
    assert_eq!(forward, backward);
    assert_eq!(forward[2], "a_b", "a legal id keeps its name");
    assert_eq!(forward[1], "a__b");
    assert!(forward[0].starts_with("a_b_") && forward[3].starts_with("a_b_"));
    assert_ne!(forward[0], forward[3]);
}

#[test]
fn another_tools_registered_alias_is_left_to_it() {
    let mut own = tool("File.Write");
    own.aliases = vec!["File_Write".into()];
    let aliases = Aliases::new([&own], FUNCTION);
    assert_eq!(aliases.alias_of(&own.id), "File_Write");

    let mut other = tool("Disk");
    other.aliases = vec!["File_Write".into()];
    let plain = tool("File.Write");
    let aliases = Aliases::new([&other, &plain], FUNCTION);
    assert!(aliases.alias_of(&plain.id).starts_with("File_Write_"));
}

#[test]
fn parameters_get_names_too_and_a_call_gets_its_own_back() {
    let names = [
        "path",
        "file path",
        "x:y",
        "命令",
        "command",
        "retry_2",
        "uri_x",
        "***",
    ];
    let mut properties = Map::new();
    for name in names {
        properties.insert(name.into(), json!({"type": "string"}));
    }
    let tool = ToolDefinition::new("Shell:run it", "", json!({"properties": properties}));
    for (protocol, expected) in [
        (
            Protocol::Tam,
            ["path", "file_path", "x_y", "命令", "param_command"],
        ),
        (
            Protocol::Action,
            ["path", "file_path", "x__y", "命令", "command"],
        ),
    ] {
        let aliases = Aliases::new([&tool], protocol);
        for (name, alias) in names.iter().zip(expected) {
            assert_eq!(aliases.parameter_alias(&tool.id, name), alias);
        }
    }
    for protocol in ALL {
        let aliases = Aliases::new([&tool], protocol);
        let mut call = ToolCallRequest::new(protocol, aliases.alias_of(&tool.id).to_owned());
        for name in names {
            let alias = aliases.parameter_alias(&tool.id, name).to_owned();
            assert_eq!(aliases.resolve_parameter(&tool.id, &alias), name);
            let alias = match protocol.normalises_keys() {
                true => key::normalise(&alias).into_owned(),
                false => alias,
            };
            let value = Value::Json(json!(name));
            call.arguments
                .push(Argument::exact(alias, value, Span::default()));
        }
        aliases.restore(&mut call);
        assert_eq!(call.tool, "Shell:run it");
        for (argument, name) in call.arguments.iter().zip(names) {
            // A name without letters or digits cannot be declared for TAM: it has no normalised form.
            let expected = match protocol.normalises_keys() {
                true => key::normalise(name).into_owned(),
                false => name.to_owned(),
            };
            assert_eq!(argument.name, expected, "{protocol:?}");
        }
    }
}

fn legal(protocol: Protocol, alias: &str) -> bool {
    match protocol {
        Protocol::Native(_) => {
            (1..=64).contains(&alias.len())
                && alias
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
        }
        Protocol::Action => {
            let xml = format!("<{alias}/>");
            let mut reader = quick_xml::Reader::from_str(&xml);
            let read = matches!(reader.read_event(), Ok(quick_xml::events::Event::Empty(tag))
                if tag.name().as_ref() == alias);
            read && !alias.contains([':', ' ', '/', '<', '>', '&', '"', '\'', '='])
                && !alias.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.')
        }
        Protocol::Tam | Protocol::ToolCall => {
            !alias.is_empty()
                && alias.trim() == alias
                && !alias.contains(['\n', '\r', '<', '>', '«', '»', '「', '」', '`', '"'])
        }
    }
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ab._:/ -]{0,4}",
        "[a-z]{1,3}[.:_/][a-z]{1,3}",
        "[读写a.]{1,3}",
        "\\PC{0,8}",
        "[a-z:]{60,140}",
        any::<String>().prop_map(|text| text.chars().take(12).collect()),
    ]
}

proptest! {
    #[test]
    fn aliases_are_legal_unique_and_lead_back(ids in prop::collection::hash_set(id(), 1..12)) {
        let tools: Vec<_> = ids.iter().map(|id| tool(id)).collect();
        for protocol in ALL {
            let aliases = Aliases::new(&tools, protocol);
            let mut seen = HashSet::new();
            for tool in &tools {
                let alias = aliases.alias_of(&tool.id);
                prop_assert!(legal(protocol, alias), "{protocol:?} {:?} -> {alias:?}", tool.id);
                prop_assert!(seen.insert(alias.to_owned()), "{alias:?} twice");
                prop_assert_eq!(aliases.resolve(alias), Some(&tool.id));
                prop_assert_eq!(aliases.resolve(tool.id.as_str()), Some(&tool.id));
            }
        }
    }

    #[test]
    fn parameter_aliases_lead_back(names in prop::collection::hash_set(id(), 1..8)) {
        let properties: Map<_, _> = names.iter().map(|name| (name.clone(), json!({}))).collect();
        let tool = ToolDefinition::new("t", "", json!({"properties": properties}));
        for protocol in ALL {
            let aliases = Aliases::new([&tool], protocol);
            let rule = Rule::of_parameters(protocol);
            let mut seen = HashSet::new();
            for name in &names {
                let alias = aliases.parameter_alias(&tool.id, name);
                prop_assert!(rule.is_legal(alias), "{protocol:?} {name:?} -> {alias:?}");
                prop_assert!(seen.insert(rule.compared(alias).into_owned()), "{alias:?} twice");
                prop_assert_eq!(aliases.resolve_parameter(&tool.id, alias), name);
            }
        }
    }
}

#[test]
fn names_a_tool_declares_for_itself_lead_to_it() {
    let mut state = ToolDefinition::new("core:ReadPrivateState", "", serde_json::json!({}));
    state.aliases = vec!["ReadPrivateStateTool".into(), "Other".into()];
    let other = ToolDefinition::new("Other", "", serde_json::json!({}));
    for protocol in [
        Protocol::Tam,
        Protocol::Action,
        Protocol::Native(crate::Provider::OpenAi),
    ] {
        let aliases = Aliases::new([&state, &other], protocol);
        let resolve = |name| aliases.resolve(name).map(ToolId::as_str);
        assert_eq!(
            resolve("ReadPrivateStateTool"),
            Some("core:ReadPrivateState")
        );
        assert_eq!(resolve("Other"), Some("Other"));
        assert_eq!(resolve("Nobody"), None);
    }
}
