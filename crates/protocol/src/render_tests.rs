use serde_json::json;

use super::*;
use crate::{Provider, ToolDefinition};

fn text(tool: &str, arguments: Json, protocol: Protocol) -> String {
    let arguments = arguments.as_object().unwrap();
    let tool = ToolId::new(tool);
    let call = Call::one(&tool, arguments);
    match render_call(&call, protocol, &Aliases::default()).unwrap() {
        RenderedCall::Text(text) => text,
        RenderedCall::Native(json) => json.to_string(),
    }
}

fn tam_fields(arguments: Json) -> Vec<String> {
    let text = text("T", arguments, Protocol::Tam);
    let inner = text
        .strip_prefix("<|[REQUEST_TOOL]|>\n")
        .and_then(|text| text.strip_suffix("\n<|[END_TOOL]|>"))
        .unwrap();
    inner.lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn tam_is_written_by_the_book() {
    assert_eq!(
        text(
            "File.Write",
            json!({"file_path": "/a.txt", "content": "one\ntwo"}),
            Protocol::Tam
        ),
        "<|[REQUEST_TOOL]|>\ncommand:»»»File.Write«««\nfile_path:»»»/a.txt«««\n\
         content:»»»\none\ntwo\n«««\n<|[END_TOOL]|>"
    );
}

#[test]
fn tam_values_choose_their_form() {
    for (value, expected) in [
        (json!("a"), "x:»»»a«««"),
        (json!(""), "x:»»»«««"),
        (json!("a«««b"), "x:「始」a«««b「末」"),
        (json!("a«"), "x:「始」a«「末」"),
        (json!("»a"), "x:「始」»a「末」"),
        (json!("a >>> b <<<"), "x:»»»a >>> b <<<«««"),
        (json!(3), "type_hint_x:»»»number«««/x:»»»3«««"),
        (json!(true), "type_hint_x:»»»boolean«««/x:»»»true«««"),
        (json!(null), "type_hint_x:»»»json«««/x:»»»null«««"),
        (
            json!([1, "«"]),
            r#"type_hint_x:»»»json«««/x:»»»[1,"\u00ab"]«««"#,
        ),
        (json!("  a"), "type_hint_x:»»»raw«««/x:»»»/  a/«««"),
        (json!("a\r"), "type_hint_x:»»»raw«««/x:»»»/a\r/«««"),
        (
            json!("k: »»»v"),
            r#"type_hint_x:»»»json«««/x:»»»"k: \u00bb\u00bb\u00bbv"«««"#,
        ),
        (
            json!("k:\u{a0}»»»v"),
            "type_hint_x:»»»json«««/x:»»»\"k:\u{a0}\\u00bb\\u00bb\\u00bbv\"«««",
        ),
        (
            json!("k:「始ESCAPE」v"),
            r#"type_hint_x:»»»json«««/x:»»»"k:\u300c始ESCAPE\u300dv"«««"#,
        ),
        (
            json!("< |[end_tool]|>"),
            r#"type_hint_x:»»»json«««/x:»»»"\u003c \u007c[end_tool]\u007c\u003e"«««"#,
        ),
        (
            json!("a«««「末」"),
            r#"type_hint_x:»»»json«««/x:»»»"a\u00ab\u00ab\u00ab\u300c末\u300d"«««"#,
        ),
    ] {
        let fields = tam_fields(json!({"x": value})).join("/");
        assert_eq!(fields, expected, "{value}");
    }
}

#[test]
fn a_known_type_needs_no_hint() {
    let tool = ToolDefinition::new(
        "T",
        "",
        json!({"properties": {
            "n": {"type": "integer"}, "b": {"type": "boolean"}, "any": {},
            "v": {"type": "string", "x-verbatim": true},
        }}),
    );
    let arguments = json!({"n": 1, "b": false, "any": "12", "v": " a\n"});
    let mut call = Call::one(&tool.id, arguments.as_object().unwrap());
    call.steps[0].schema = Some(&tool.parameters);
    let rendered = render_call(&call, Protocol::Tam, &Aliases::default()).unwrap();
    assert_eq!(
        rendered.text().unwrap(),
        "<|[REQUEST_TOOL]|>\ncommand:»»»T«««\nn:»»»1«««\nb:»»»false«««\n\
         type_hint_any:»»»json«««\nany:»»»\"12\"«««\nv:»»»\n a\n\n«««\n<|[END_TOOL]|>"
    );
}

#[test]
fn several_steps_are_numbered_and_carry_their_modifiers() {
    let (one, two) = (ToolId::new("One"), ToolId::new("Two"));
    let arguments = json!({"a": "1"});
    let arguments = arguments.as_object().unwrap();
    let mut call = Call {
        steps: vec![Step::new(&one, arguments), Step::new(&two, arguments)],
        request_id: Some("req-1"),
    };
    call.steps[0].on_error = OnError::Continue;
    call.steps[1].retry = 3;
    let rendered = render_call(&call, Protocol::Tam, &Aliases::default()).unwrap();
    assert_eq!(
        rendered.text().unwrap(),
        "<|[REQUEST_TOOL]|>\nrequest_id:»»»req-1«««\ncommand_1:»»»One«««\non_error_1:»»»continue«««\n\
         a_1:»»»1«««\ncommand_2:»»»Two«««\nretry_2:»»»3«««\na_2:»»»1«««\n<|[END_TOOL]|>"
    );
    for protocol in [Protocol::Action, Protocol::ToolCall] {
        let refused = render_call(&call, protocol, &Aliases::default());
        assert_eq!(refused, Err(RenderError::Unsupported("request_id")));
    }
    call.request_id = None;
    let refused = render_call(&call, Protocol::Action, &Aliases::default());
    assert_eq!(refused, Err(RenderError::Unsupported("on_error")));
    call.steps[0].on_error = OnError::Stop;
    let refused = render_call(&call, Protocol::Action, &Aliases::default());
    assert_eq!(refused, Err(RenderError::Unsupported("retry")));
    call.steps[1].retry = 11;
    let refused = render_call(&call, Protocol::Tam, &Aliases::default());
    assert_eq!(refused, Err(RenderError::RetryTooHigh));
}

#[test]
fn action_values_choose_their_form() {
    for (value, expected) in [
        (json!("a"), "<x>a</x>"),
        (json!(""), "<x></x>"),
        (json!(3), "<x>3</x>"),
        (json!("a & b"), "<x><![CDATA[a & b]]></x>"),
        (json!("a\nb"), "<x><![CDATA[\na\nb\n]]></x>"),
        (json!(" a"), "<x><![CDATA[\n a\n]]></x>"),
        (json!("a\r"), "<x><![CDATA[\na\r\r\n]]></x>"),
        (json!("]]>"), "<x><![CDATA[]]]]><![CDATA[>]]></x>"),
        (
            json!(["a", "b"]),
            "<x>\n            <item>a</item>\n            <item>b</item>\n        </x>",
        ),
        (json!({"k": "v"}), "<x>\n            <k>v</k>\n        </x>"),
        (json!([1, 2]), "<x>[1,2]</x>"),
        (json!([]), "<x>[]</x>"),
        (json!({"item": "a"}), r#"<x>{"item":"a"}</x>"#),
        (json!({"no name": "a"}), r#"<x>{"no name":"a"}</x>"#),
        (json!({"k": null}), r#"<x>{"k":null}</x>"#),
    ] {
        assert_eq!(
            text("T", json!({"x": value}), Protocol::Action),
            format!("<ACTION>\n    <T>\n        {expected}\n    </T>\n</ACTION>"),
            "{value}"
        );
    }
    assert_eq!(
        text("T", json!({}), Protocol::Action),
        "<ACTION>\n    <T/>\n</ACTION>"
    );
}

#[test]
fn action_writes_elements_for_what_the_schema_gives_a_type() {
    let tool = ToolDefinition::new(
        "T",
        "",
        json!({"properties": {"x": {"type": "array", "items": {"type": "integer"}}}}),
    );
    let arguments = json!({"x": [1]});
    let mut call = Call::one(&tool.id, arguments.as_object().unwrap());
    call.steps[0].schema = Some(&tool.parameters);
    let rendered = render_call(&call, Protocol::Action, &Aliases::default()).unwrap();
    assert!(rendered.text().unwrap().contains("<item>1</item>"));
}

#[test]
fn xml_refuses_what_it_would_misstate() {
    for (schema, value, clear) in [
        (json!({"type": "string"}), json!("12"), true),
        (json!({"type": ["string", "integer"]}), json!("a"), true),
        (json!({"type": ["string", "integer"]}), json!("12"), false),
        (json!({"type": ["string", "integer"]}), json!(12), false),
        (json!({"type": ["integer", "null"]}), json!(null), true),
        (json!({"type": ["string", "null"]}), json!(null), false),
        (json!({"type": "array"}), json!([1]), true),
        (json!({}), json!("a"), true),
        (json!({}), json!(1), false),
        (json!({}), json!([1]), false),
        (json!({}), json!(["a"]), true),
        (json!({"$ref": "#/$defs/n"}), json!(1), true),
    ] {
        let tool = ToolDefinition::new(
            "T",
            "",
            json!({"properties": {"x": schema}, "$defs": {"n": {"type": "integer"}}}),
        );
        let arguments = json!({"x": value});
        let mut call = Call::one(&tool.id, arguments.as_object().unwrap());
        call.steps[0].schema = Some(&tool.parameters);
        let rendered = render_call(&call, Protocol::Action, &Aliases::default());
        assert_eq!(rendered.is_ok(), clear, "{value} for {schema}");
        if !clear {
            assert_eq!(rendered, Err(RenderError::Ambiguous("x".into())));
        }
        assert!(render_call(&call, Protocol::Tam, &Aliases::default()).is_ok());
    }
}

#[test]
fn tool_calls_are_one_element_each() {
    assert_eq!(
        text("a:b", json!({"p q": "x<y", "n": [1]}), Protocol::ToolCall),
        "<tool_call name=\"a:b\">\n<param name=\"p q\"><![CDATA[x<y]]></param>\n\
         <param name=\"n\">[1]</param>\n</tool_call>"
    );
}

#[test]
fn native_calls_have_the_shape_of_their_provider() {
    for (provider, expected) in [
        (
            Provider::OpenAi,
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "T", "arguments": "{\"x\":1}"}}]}),
        ),
        (
            Provider::Anthropic,
            json!({"role": "assistant",
                "content": [{"type": "tool_use", "id": "call_1", "name": "T", "input": {"x": 1}}]}),
        ),
        (
            Provider::Gemini,
            json!({"role": "model", "parts": [{"functionCall": {"name": "T", "args": {"x": 1}}}]}),
        ),
    ] {
        let rendered = text("T", json!({"x": 1}), Protocol::Native(provider));
        assert_eq!(serde_json::from_str::<Json>(&rendered).unwrap(), expected);
    }
}

#[test]
fn what_cannot_be_written_is_refused() {
    let deep = (0..=MAX_JSON_DEPTH).fold(json!(1), |inner, _| json!([inner]));
    for (tool, arguments, protocol, expected) in [
        (
            "a:b",
            json!({}),
            Protocol::Action,
            RenderError::IllegalName("a:b".into()),
        ),
        (
            "T",
            json!({"a b": "1"}),
            Protocol::Action,
            RenderError::IllegalName("a b".into()),
        ),
        (
            "T",
            json!({"command": "ls"}),
            Protocol::Tam,
            RenderError::IllegalName("command".into()),
        ),
        (
            "T",
            json!({"aB": "1", "a_b": "2"}),
            Protocol::Tam,
            RenderError::SameName("a_b".into()),
        ),
        (
            "T",
            json!({"x": deep}),
            Protocol::Tam,
            RenderError::TooDeep("x".into()),
        ),
    ] {
        let tool = ToolId::new(tool);
        let call = Call::one(&tool, arguments.as_object().unwrap());
        let refused = render_call(&call, protocol, &Aliases::default());
        assert_eq!(refused, Err(expected));
    }
    let none = Call {
        steps: Vec::new(),
        request_id: None,
    };
    let refused = render_call(&none, Protocol::Tam, &Aliases::default());
    assert_eq!(refused, Err(RenderError::StepCount));
}

#[test]
fn aliases_stand_in_for_ids() {
    let tool = ToolDefinition::new(
        "workflow:x",
        "",
        json!({"properties": {"a b": {"type": "string"}}}),
    );
    let arguments = json!({"a b": "1"});
    let call = Call::one(&tool.id, arguments.as_object().unwrap());
    let aliases = Aliases::new([&tool], Protocol::Action);
    let rendered = render_call(&call, Protocol::Action, &aliases).unwrap();
    assert_eq!(
        rendered.text().unwrap(),
        "<ACTION>\n    <workflow__x>\n        <a_b>1</a_b>\n    </workflow__x>\n</ACTION>"
    );
}
