use serde_json::json;

use super::*;

fn redact(parameters: Json, arguments: Json) -> Json {
    let tool = ToolDefinition::new("T", "", parameters);
    Json::Object(redact_arguments(&tool, arguments.as_object().unwrap()))
}

#[test]
fn what_is_called_like_a_secret_is_hidden() {
    for (name, hidden) in [
        ("password", true),
        ("Password", true),
        ("userPassword", true),
        ("passwd", true),
        ("apiKey", true),
        ("X-API-Key", true),
        ("APIKEY", true),
        ("access_token", true),
        ("Authorization", true),
        ("Proxy-Authorization", true),
        ("set-cookie", true),
        ("client_secret", true),
        ("max_tokens", false),
        ("tokenizer", false),
        ("key", false),
        ("keyboard", false),
        ("secretary", false),
        ("path", false),
    ] {
        let expected = match hidden {
            true => json!({"headers": [{name: "[redacted]"}]}),
            false => json!({"headers": [{name: "value"}]}),
        };
        let have = redact(json!({}), json!({"headers": [{name: "value"}]}));
        assert_eq!(have, expected, "{name}");
    }
    assert_eq!(
        redact(
            json!({}),
            json!({"h": [{"name": "Authorization", "value": "Bearer x"}, {"name": "Accept", "value": "y"}]})
        ),
        json!({"h": [{"name": "Authorization", "value": "[redacted]"}, {"name": "Accept", "value": "y"}]})
    );
    assert_eq!(
        redact(json!({}), json!({"credentials": {"user": "a", "pin": 1}})),
        json!({"credentials": "[redacted]"})
    );
}

#[test]
fn what_is_declared_secret_is_hidden() {
    for schema in [
        json!({"properties": {"a": {"x-secret": true}}}),
        json!({"properties": {"a": {"format": "password"}}}),
        json!({"properties": {"a": {"writeOnly": true}}}),
        json!({"properties": {"a": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"x-secret": true}}}),
        json!({"properties": {"a": {"anyOf": [{"type": "null"}, {"writeOnly": true}]}}}),
        json!({"allOf": [{"properties": {"a": {"x-secret": true}}}]}),
        json!({"additionalProperties": {"x-secret": true}, "properties": {"b": {}}}),
    ] {
        let have = redact(schema.clone(), json!({"a": "x", "b": "y"}));
        assert_eq!(have, json!({"a": "[redacted]", "b": "y"}), "{schema}");
        let nested =
            json!({"properties": {"o": {"items": schema}}, "$defs": {"s": {"x-secret": true}}});
        let have = redact(nested.clone(), json!({"o": [{"a": "x", "b": "y"}]}));
        assert_eq!(
            have,
            json!({"o": [{"a": "[redacted]", "b": "y"}]}),
            "{nested}"
        );
    }
}

#[test]
fn a_schema_that_refers_to_itself_comes_to_an_end() {
    let schema = json!({"$ref": "#", "properties": {"a": {"$ref": "#"}, "b": {"x-secret": true}}});
    assert_eq!(
        redact(schema, json!({"a": {"a": {"b": "x"}}})),
        json!({"a": {"a": {"b": "[redacted]"}}})
    );
}

#[test]
fn long_texts_are_cut_with_a_note() {
    let fits = "é".repeat(MAX_AUDIT_TEXT_CHARS);
    assert_eq!(redact(json!({}), json!({"a": fits})), json!({"a": fits}));
    let long = format!("{fits}xyz");
    assert_eq!(
        redact(json!({}), json!({"a": [long]})),
        json!({"a": [format!("{fits}… (3 more characters)")]})
    );
}

#[test]
fn what_is_too_deep_is_left_out() {
    let mut value = json!("bottom");
    for _ in 0..MAX_AUDIT_DEPTH + 10 {
        value = json!([value]);
    }
    let text = redact(json!({}), json!({"a": value})).to_string();
    assert!(text.contains("too deeply") && !text.contains("bottom"));
}

#[test]
fn a_plain_tool_needs_no_search_and_keeps_the_same() {
    let tool = |parameters: Json| ToolDefinition::new("T", "", parameters);
    let of = |properties: Json| {
        tool(json!({"type": "object", "properties": properties, "additionalProperties": false}))
    };
    let plain = of(json!({"city": {"type": "string"}, "days": {"type": "integer"}}));
    assert!(is_plain(&plain));
    let arguments = json!({"city": "x".repeat(MAX_AUDIT_TEXT_CHARS + 1), "days": 3});
    let arguments = arguments.as_object().unwrap();
    assert_eq!(
        cut_arguments(arguments),
        redact_arguments(&plain, arguments)
    );

    for not_plain in [
        of(json!({"token": {"type": "string"}})),
        of(json!({"x": {"type": "string", "x-secret": true}})),
        of(json!({"x": {"type": "string", "format": "password"}})),
        of(json!({"x": {"type": "object"}})),
        of(json!({"x": {}})),
        of(json!({"name": {"type": "string"}})),
        tool(json!({"type": "object", "properties": {"x": {"type": "string"}}})),
        tool(json!({"allOf": [], "properties": {}, "additionalProperties": false})),
        tool(json!(true)),
    ] {
        assert!(!is_plain(&not_plain), "{}", not_plain.parameters);
    }
}
