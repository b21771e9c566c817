use innkeeper_protocol::{
    Call, Provider, Step, ToolId, bind, check_declaration, parse, render_call,
};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::gbnf::{Gbnf, Random};
use super::*;

const DIALECTS: [Protocol; 2] = [Protocol::Tam, Protocol::Action];

fn tool(id: &str, parameters: Json) -> ToolDefinition {
    ToolDefinition::new(id, "", parameters)
}

/// Tools that between them have every kind of parameter.
fn tools() -> Vec<ToolDefinition> {
    vec![
        tool("Clock.Now", json!({"type": "object", "properties": {}})),
        tool(
            "File.Write",
            json!({"properties": {
                "path": {"type": "string", "minLength": 1},
                "content": {"type": "string", "x-verbatim": true},
                "mode": {"enum": ["append", "replace", "a «««b", "<|[END_TOOL]|>", " x ", "1", ""]},
                "times": {"type": "integer", "minimum": 1, "maximum": 5},
                "sure": {"type": "boolean"},
            }, "required": ["path", "content"]}),
        ),
        tool(
            "workflow:问 候/v1.json",
            json!({"properties": {
                "type": {"type": "number", "minimum": 0},
                "command": {"type": ["string", "null"]},
                "a b<c>": {"type": "string"},
                "uri_x": {"type": ["integer", "boolean"]},
                "123": {"type": ["integer", "boolean"]},
            }, "required": ["command", "a b<c>"]}),
        ),
        tool(
            "Plan",
            json!({"properties": {
                "steps": {"type": "array", "minItems": 1, "maxItems": 3, "items": {"type": "object", "properties": {
                    "title": {"type": "string"},
                    "hours": {"type": "number"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "done": {"type": "boolean"},
                }, "required": ["title"]}},
                "where": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
                          "required": ["x", "y"], "additionalProperties": false},
                "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
                "labels": {"type": "object", "additionalProperties": {"type": "integer"}},
                "anything": {},
                "whatever": {"type": "object"},
                "odd": {"type": "object", "properties": {"not a name": {"type": "string"}, "item": {"const": 3}}},
            }, "required": ["steps"]}),
        ),
        tool(
            "Tree.Grow",
            json!({"properties": {
                "tree": {"$ref": "#/$defs/node"},
                "either": {"anyOf": [{"type": "integer"}, {"type": "array", "items": {"type": "integer"}},
                                     {"type": "object", "properties": {"kind": {"const": "a"}, "n": {"type": "integer"}},
                                      "required": ["kind"]}]},
                "all": {"allOf": [{"type": "object", "properties": {"p": {"type": "string"}}},
                                  {"required": ["p"], "properties": {"q": {"type": "boolean"}}}]},
                "mixed": {"enum": ["a", 1, 2.5, true, null, [1], {"k": "<v>"}]},
            }, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {
                "name": {"type": "string"},
                "left": {"$ref": "#/$defs/node"},
                "right": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                "more": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            }, "required": ["name"]}}}),
        ),
    ]
}

fn read(tools: &[&ToolDefinition], protocol: Protocol, options: GrammarOptions) -> Gbnf {
    let text = grammar(tools, protocol, options).unwrap_or_else(|error| panic!("{error}"));
    Gbnf::read(&text)
}

/// A call as it was bound.
type Bound = (ToolId, Map<String, Json>);

/// What is said of a text of the grammar: its calls, bound and validated.
fn calls(text: &str, tools: &[&ToolDefinition], protocol: Protocol) -> Result<Vec<Bound>, String> {
    let aliases = Aliases::new(tools.iter().copied(), protocol);
    let reply = parse(text);
    if let Some(said) = reply.all_diagnostics().first() {
        return Err(said.message.to_string());
    }
    let mut out = Vec::new();
    for call in reply.calls() {
        let mut call = call.clone();
        if call.protocol != protocol {
            return Err(format!("a call in {}", call.protocol.as_str()));
        }
        aliases.restore(&mut call);
        let known = tools.iter().find(|tool| tool.id.as_str() == call.tool);
        let tool = known.ok_or_else(|| format!("no tool {}", call.tool))?;
        let bound = bind(&call, tool).map_err(|error| error.to_string())?;
        let validator = jsonschema::validator_for(&tool.parameters).unwrap();
        let arguments = Json::Object(bound.arguments.clone());
        if let Err(error) = validator.validate(&arguments) {
            return Err(format!("{arguments}: {error}"));
        }
        out.push((bound.tool, bound.arguments));
    }
    Ok(out)
}

/// Neither numbers whose shortest spelling has more digits than a grammar allows, nor control characters, which only
/// an escape can bring in.
fn is_ordinary(value: &Json) -> bool {
    match value {
        Json::Number(number) => number
            .as_f64()
            .is_some_and(|size| size == 0.0 || (1e-15..1e15).contains(&size.abs())),
        Json::String(text) => text.chars().all(|c| !c.is_control() || "\n\t".contains(c)),
        Json::Array(items) => items.iter().all(is_ordinary),
        Json::Object(fields) => fields.values().all(is_ordinary),
        _ => true,
    }
}

fn rendered(
    tool: &ToolDefinition,
    arguments: &Map<String, Json>,
    protocol: Protocol,
    aliases: &Aliases,
) -> Option<String> {
    let call = Call {
        steps: vec![Step {
            schema: Some(&tool.parameters),
            ..Step::new(&tool.id, arguments)
        }],
        request_id: None,
    };
    let rendered = render_call(&call, protocol, aliases).ok()?;
    Some(rendered.text()?.to_owned())
}

/// The law, for one derivation.
fn check(
    tools: &[&ToolDefinition],
    protocol: Protocol,
    grammar: &Gbnf,
    seed: u64,
) -> Result<(), String> {
    let mut random = Random(seed);
    let length = 50 + random.below(600);
    let text = grammar.derive(&mut random, length);
    let fail = |why: &str| format!("{why}\n--- seed {seed}\n{text}\n---");
    grammar
        .follow(&text)
        .map_err(|read| fail(&format!("not accepted behind {read:?}")))?;
    let calls = calls(&text, tools, protocol).map_err(|why| fail(&why))?;
    let [(id, arguments)] = calls.as_slice() else {
        return Err(fail(&format!("{} calls", calls.len())));
    };
    let aliases = Aliases::new(tools.iter().copied(), protocol);
    let tool = tools.iter().find(|tool| tool.id == *id).unwrap();
    if !arguments.values().all(is_ordinary) {
        return Ok(());
    }
    let Some(canonical) = rendered(tool, arguments, protocol, &aliases) else {
        return Ok(());
    };
    // What elements or plain values cannot say is written in another form, which the grammar does not offer.
    let plain = arguments.iter().all(|(name, value)| {
        let name = aliases.parameter_alias(id, name);
        match protocol {
            Protocol::Action if value.is_array() || value.is_object() => ["{", "[", "<![CDATA["]
                .map(|begin| format!("<{name}>{begin}"))
                .iter()
                .all(|begin| !canonical.contains(begin) && !text.contains(begin)),
            Protocol::Action => true,
            _ => canonical.contains("command:»»»") && !canonical.contains("»»»raw«««"),
        }
    });
    match grammar.follow(&canonical) {
        Err(read) if plain => Err(fail(&format!(
            "canonical form not accepted behind {read:?} of\n{canonical}"
        ))),
        _ => Ok(()),
    }
}

#[test]
fn every_text_of_the_grammar_is_a_call_that_fits_its_tool() {
    let tools = tools();
    let all: Vec<_> = tools.iter().collect();
    for protocol in DIALECTS {
        for tool in &all {
            let one = [*tool];
            let grammar = read(&one, protocol, GrammarOptions::default());
            for seed in 0..60 {
                check(&one, protocol, &grammar, seed).unwrap_or_else(|why| panic!("{why}"));
            }
        }
        let grammar = read(&all, protocol, GrammarOptions::default());
        for seed in 0..60 {
            check(&all, protocol, &grammar, seed).unwrap_or_else(|why| panic!("{why}"));
        }
    }
}

#[test]
fn several_calls_and_free_text_only_where_they_are_allowed() {
    let tools = tools();
    let all: Vec<_> = tools.iter().collect();
    for protocol in DIALECTS {
        let options = GrammarOptions {
            free_text: true,
            max_calls: 3,
        };
        let grammar = read(&all, protocol, options);
        let mut counts = [0; 4];
        for seed in 0..200 {
            let text = grammar.derive(&mut Random(seed), 400);
            assert_eq!(grammar.follow(&text), Ok(()), "{text}");
            let calls = calls(&text, &all, protocol).unwrap_or_else(|why| panic!("{why}\n{text}"));
            counts[calls.len()] += 1;
        }
        assert!(counts.iter().all(|count| *count > 0), "{counts:?}");

        let strict = read(&all, protocol, GrammarOptions::default());
        let call = rendered(
            &tools[0],
            &Map::new(),
            protocol,
            &Aliases::new(&tools, protocol),
        )
        .unwrap();
        for (text, strictly, freely) in [
            (call.clone(), true, true),
            (format!("Let me look.\n{call}"), false, true),
            ("It is noon, a < b.".to_owned(), false, true),
            (String::new(), false, false),
            (format!("{call}\n"), false, false),
            (format!("I write <|[ and {call}"), false, false),
            ("<ACTION>".to_owned(), false, false),
            ("x < tool_call>".to_owned(), false, false),
        ] {
            assert_eq!(strict.accepts(&text), strictly, "{text:?}");
            assert_eq!(grammar.accepts(&text), freely, "{text:?}");
        }
    }
}

/// (parameters, arguments, whether the call may be written)
#[test]
fn what_a_schema_forbids_cannot_be_written() {
    let schema = json!({"properties": {
        "name": {"type": "string", "minLength": 1},
        "mode": {"enum": ["fast", "slow"]},
        "count": {"type": "integer", "minimum": 0},
        "die": {"type": "integer", "minimum": 1, "maximum": 6},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
        "at": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["y"]},
    }, "required": ["name"]});
    let definition = tool("T", schema);
    for protocol in DIALECTS {
        let aliases = Aliases::new([&definition], protocol);
        let grammar = read(&[&definition], protocol, GrammarOptions::default());
        for (arguments, allowed) in [
            (json!({"name": "x"}), true),
            (json!({"name": "two\nlines"}), true),
            (json!({"name": "«un» : c’est <b>ça</b> 「好」"}), true),
            (json!({}), false),
            (json!({"name": ""}), false),
            (json!({"name": "x", "mode": "fast"}), true),
            (json!({"name": "x", "mode": "medium"}), false),
            (json!({"name": "x", "count": 0}), true),
            (json!({"name": "x", "count": -1}), false),
            (json!({"name": "x", "count": 1.5}), false),
            (json!({"name": "x", "die": 6}), true),
            (json!({"name": "x", "die": 7}), false),
            (json!({"name": "x", "tags": ["a", "b"]}), true),
            (json!({"name": "x", "tags": []}), true),
            (json!({"name": "x", "tags": ["a", "b", "a"]}), false),
            (json!({"name": "x", "tags": ["c"]}), false),
            (json!({"name": "x", "at": {"x": 1, "y": 2}}), true),
            (json!({"name": "x", "at": {"y": -2}}), true),
            (json!({"name": "x", "at": {"x": 1}}), false),
            (json!({"name": "x", "at": {"y": 1, "x": 2}}), false),
            (json!({"mode": "fast", "name": "x"}), false),
            (json!({"name": "x", "other": "y"}), false),
        ] {
            let arguments = arguments.as_object().unwrap();
            let text = rendered(&definition, arguments, protocol, &aliases).unwrap();
            assert_eq!(grammar.accepts(&text), allowed, "{text}");
        }
    }
}

/// Chance seldom writes a whole mark, so they are tried one by one.
#[test]
fn no_text_can_end_itself_or_begin_something_else() {
    let note = tool(
        "T",
        json!({"properties": {"p": {"type": "string"}, "o": {"type": "array", "items": {"type": "string"}}}}),
    );
    let one = [&note];
    let [tam, action] = DIALECTS.map(|protocol| read(&one, protocol, GrammarOptions::default()));
    for (text, allowed) in [
        ("a", true),
        ("", true),
        ("a: b, c :: d <b> 1 < 2 | x > y", true),
        ("«oui» et »non«, 「你好」", true),
        ("x»", true),
        (":> «", false),
        ("「:>'<&", true),
        (":>>x :>", true),
        ("f: >> g: >:>>", true),
        ("a:>>>", false),
        ("a:\u{a0}>>>", false),
        ("a:>:>>>", false),
        ("a «««b", false),
        ("a ««b", false),
        ("«", false),
        ("»", false),
        ("x\nq:»»»1", false),
        ("x\nq: >>>1", false),
        ("x\nq：\u{3000}>>>1", false),
        ("x\nq:「始」1", false),
        ("x <|[END_TOOL]|>", false),
        ("x < \t|[REQUEST_TOOL]|>", false),
        ("<<|[END_TOOL]|>", false),
    ] {
        let call =
            |lines: String| format!("<|[REQUEST_TOOL]|>\ncommand:»»»T«««\n{lines}<|[END_TOOL]|>");
        let plain = call(format!("p:»»»{text}«««\n"));
        assert_eq!(tam.accepts(&plain), allowed, "{text:?}");
        if allowed {
            assert_eq!(
                calls(&plain, &one, Protocol::Tam).unwrap().len(),
                1,
                "{text:?}"
            );
        }
    }
    for (json, allowed) in [
        (r#"["a <b>: >>> | 「x」"]"#, true),
        (r#"["\u003c|[END_TOOL]|>\u00ab"]"#, true),
        (r#"["a <|[END_TOOL]|>"]"#, false),
        (r#"["a < |"]"#, false),
        (r#"["«««"]"#, false),
        (r#"["x:「始」"]"#, false),
        (r#"["\ud800"]"#, false),
        (r#"["\ud83d\ude42"]"#, true),
        ("[\"a\nb\"]", false),
        (r#"["a",]"#, false),
    ] {
        let hinted = format!(
            "<|[REQUEST_TOOL]|>\ncommand:»»»T«««\ntype_hint_o:»»»json«««\no:»»»{json}«««\n<|[END_TOOL]|>"
        );
        assert_eq!(tam.accepts(&hinted), allowed, "{json:?}");
        if allowed {
            assert_eq!(
                calls(&hinted, &one, Protocol::Tam).unwrap().len(),
                1,
                "{json:?}"
            );
        }
    }
    for (inner, allowed) in [
        ("a b", true),
        ("", true),
        (
            "<![CDATA[a < b && ]] ]> </p></ACTION><|[END_TOOL]|>]]>",
            true,
        ),
        ("<![CDATA[a]]]]>", true),
        ("<![CDATA[a]]>b]]>", false),
        ("a & b", false),
        ("a</p><p>", false),
        ("a\nb", false),
        ("<!-- -->", false),
    ] {
        let text = format!("<ACTION>\n    <T>\n        <p>{inner}</p>\n    </T>\n</ACTION>");
        assert_eq!(action.accepts(&text), allowed, "{inner:?}");
        if allowed {
            assert_eq!(
                calls(&text, &one, Protocol::Action).unwrap().len(),
                1,
                "{inner:?}"
            );
        }
    }
}

#[test]
fn what_cannot_be_had_is_said() {
    let fine = tool("A", json!({}));
    let deep = (0..MAX_GRAMMAR_DEPTH + 1).fold(
        json!({"type": "string"}),
        |inner, _| json!({"type": "object", "properties": {"x": inner}, "required": ["x"]}),
    );
    let wide: Map<String, Json> = (0..MAX_GRAMMAR_SHAPES + 1)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    let long: Vec<String> = (0..MAX_GRAMMAR_BYTES / 8)
        .map(|n| format!("{n:09}"))
        .collect();
    let many: Vec<_> = (0..=MAX_GRAMMAR_TOOLS)
        .map(|n| tool(&format!("T{n}"), json!({})))
        .collect();
    let many: Vec<_> = many.iter().collect();
    let impossible = |parameter: &str| {
        Err(GrammarError::Impossible {
            tool: "B".into(),
            parameter: parameter.into(),
        })
    };
    let calls = |max_calls| GrammarOptions {
        max_calls,
        ..GrammarOptions::default()
    };
    let one = GrammarOptions::default();
    let native = Protocol::Native(Provider::OpenAi);
    let b = |parameters| tool("B", parameters);
    let ring = json!({"$ref": "#/properties/p"});
    let own = json!({"type": "object", "properties": {"p": {"$ref": "#/properties/p"}}, "required": ["p"]});
    for (tools, protocol, options, wanted) in [
        (vec![&fine], Protocol::Tam, one, Ok(())),
        (vec![], Protocol::Tam, one, Err(GrammarError::NoTools)),
        (vec![&fine], native, one, Err(GrammarError::Native)),
        (
            vec![&fine],
            Protocol::ToolCall,
            one,
            Err(GrammarError::Dialect("tool-call")),
        ),
        (
            many.clone(),
            Protocol::Action,
            one,
            Err(GrammarError::TooManyTools(many.len())),
        ),
        (
            vec![&fine],
            Protocol::Tam,
            calls(0),
            Err(GrammarError::CallCount(0)),
        ),
        (vec![&fine], Protocol::Tam, calls(MAX_GRAMMAR_CALLS), Ok(())),
        (
            vec![&fine],
            Protocol::Tam,
            calls(MAX_GRAMMAR_CALLS + 1),
            Err(GrammarError::CallCount(MAX_GRAMMAR_CALLS + 1)),
        ),
        (
            vec![&b(json!({"properties": {"p": deep}, "required": ["p"]}))],
            Protocol::Tam,
            one,
            impossible("p"),
        ),
        (
            vec![&b(json!({"properties": {"p": deep}}))],
            Protocol::Tam,
            one,
            Ok(()),
        ),
        (
            vec![&b(json!({"properties": {"p": false}, "required": ["p"]}))],
            Protocol::Tam,
            one,
            impossible("p"),
        ),
        (
            vec![&b(json!({"properties": {"p": own}, "required": ["p"]}))],
            Protocol::Action,
            one,
            impossible("p"),
        ),
        (
            vec![&b(json!({"properties": {"p": ring}, "required": ["p"]}))],
            Protocol::Action,
            one,
            Ok(()),
        ),
        (
            vec![&b(json!({"properties": {}, "required": ["q"]}))],
            Protocol::Tam,
            one,
            impossible("q"),
        ),
        (
            vec![&b(
                json!({"properties": {"p": {"$ref": "http://127.0.0.1/x"}}, "required": ["p"]}),
            )],
            Protocol::Tam,
            one,
            Ok(()),
        ),
        (
            vec![&b(json!({"properties": wide}))],
            Protocol::Tam,
            one,
            Err(GrammarError::TooLarge),
        ),
        (
            vec![&b(json!({"properties": {"p": {"enum": long}}}))],
            Protocol::Tam,
            one,
            Err(GrammarError::TooLarge),
        ),
    ] {
        let made = grammar(&tools, protocol, options);
        assert_eq!(made.map(|_| ()), wanted);
    }
}

/// Schemas of parameters, nested a few levels. Without ranges: text that may be a string or a number is read as a
/// number, which a range may then forbid.
fn schema() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"type": "string", "minLength": 1})),
        Just(json!({"type": "string", "x-verbatim": true})),
        Just(json!({"type": "integer"})),
        Just(json!({"type": "number"})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": ["string", "null"]})),
        Just(json!({"type": ["integer", "string"]})),
        Just(json!({"type": ["number", "null"]})),
        Just(json!({"enum": ["one", "two words", "<b>", "»»»", "x:>>>"]})),
        Just(json!({"enum": [1, "1", null, true, "null"]})),
        Just(json!({"const": "fixed"})),
        Just(json!({})),
        Just(json!({"type": "object"})),
        Just(json!({"type": "array"})),
    ];
    let name = prop_oneof![
        3 => "[a-z]{1,4}",
        1 => "[a-zA-Z_<> :中0-9-]{1,6}",
        1 => Just("item".to_owned()),
    ];
    leaf.prop_recursive(3, 24, 4, move |inner| {
        let object = (
            prop::collection::btree_map(name.clone(), inner.clone(), 1..4),
            any::<u8>(),
        )
            .prop_map(|(fields, mask)| {
                let required: Vec<_> = fields
                    .keys()
                    .enumerate()
                    .filter(|(at, _)| mask & (1 << at) != 0)
                    .map(|(_, name)| name.clone())
                    .collect();
                json!({"type": "object", "properties": fields, "required": required})
            });
        prop_oneof![
            2 => object,
            1 => (inner.clone(), 0..3usize).prop_map(|(items, min)| json!({"type": "array", "items": items, "minItems": min})),
            1 => inner.clone().prop_map(|values| json!({"type": "object", "additionalProperties": values})),
            1 => prop::collection::vec(inner, 1..4).prop_map(|branches| json!({"anyOf": branches})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]
    #[test]
    fn the_law_holds_for_any_tool(
        fields in prop::collection::btree_map(
            prop_oneof![5 => "[a-zA-Z_<> :中0-9-]{0,5}[a-z][A-Z0-9]{0,2}", 1 => "[0-9]{1,3}"],
            schema(),
            0..4,
        ),
        mask in any::<u8>(),
        id in "[A-Za-z.:/ 中<>0-9]{1,12}",
        seed in any::<u64>(),
    ) {
        let required: Vec<_> = fields
            .keys()
            .enumerate()
            .filter(|(at, _)| mask & (1 << at) != 0)
            .map(|(_, name)| name.clone())
            .collect();
        let tool = tool(&id, json!({"properties": fields, "required": required}));
        // Names that no key can tell apart are refused long before a model sees the tool.
        prop_assume!(check_declaration(&tool).is_ok());
        for protocol in DIALECTS {
            let grammar = read(&[&tool], protocol, GrammarOptions::default());
            for round in 0..4 {
                if let Err(why) = check(&[&tool], protocol, &grammar, seed.wrapping_add(round)) {
                    return Err(TestCaseError::fail(format!("{why}\n{}", tool.parameters)));
                }
            }
        }
    }
}
