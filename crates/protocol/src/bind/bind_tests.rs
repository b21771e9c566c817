//! Whole calls: modifiers, defaults, references, reports, declarations.

use serde_json::{Value as Json, json};

use super::*;
use crate::limits::{MAX_LISTED_NAMES, MAX_PROBLEMS, MAX_QUOTE_CHARS};
use crate::{Argument, Protocol, Provider, Source, Span, Text};

pub(super) const NATIVE: Protocol = Protocol::Native(Provider::OpenAi);

pub(super) fn tool(parameters: Json) -> ToolDefinition {
    ToolDefinition::new("T", "", parameters)
}

/// A closed tool whose parameters are all optional strings.
pub(super) fn strings(names: &[&str]) -> ToolDefinition {
    let properties: Map<String, Json> = names
        .iter()
        .map(|name| ((*name).to_owned(), json!({"type": "string"})))
        .collect();
    tool(json!({"type": "object", "properties": properties}))
}

pub(super) fn text(value: &str) -> Value<'_> {
    Value::Text(Text::new(value, ""))
}

/// A TAM field as the parser hands it on: the key without prefix and number, the key as written.
pub(super) fn field(name: &'static str, written: &'static str) -> Argument<'static> {
    let rest = written.strip_prefix("common_");
    Argument {
        name: name.into(),
        written: written.into(),
        source: match rest.unwrap_or(written).strip_prefix("uri_") {
            Some(rest) if rest.starts_with(name) => Source::Uri,
            _ => Source::Inline,
        },
        value: text("v"),
        hint: None,
        shared: rest.is_some() && !name.starts_with("common_"),
        span: Span::default(),
    }
}

pub(super) fn tam(arguments: Vec<Argument<'static>>) -> ToolCallRequest<'static> {
    let mut request = ToolCallRequest::new(Protocol::Tam, "T");
    request.arguments = arguments;
    request
}

pub(super) fn call(protocol: Protocol, arguments: Json) -> ToolCallRequest<'static> {
    let mut request = ToolCallRequest::new(protocol, "T");
    if let Json::Object(arguments) = arguments {
        request.arguments = arguments
            .into_iter()
            .map(|(name, value)| Argument::exact(name, Value::Json(value), Span::default()))
            .collect();
    }
    request
}

fn saying<'a>(text: &'a str, mut field: Argument<'a>) -> Argument<'a> {
    field.value = Value::Text(Text::new(text, ""));
    field
}

/// `a=v uri:b=v` for a bound call, the codes of the problems otherwise.
pub(super) fn outcome(request: &ToolCallRequest<'_>, definition: &ToolDefinition) -> String {
    match bind(request, definition) {
        Ok(bound) => {
            let inline = bound
                .arguments
                .iter()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or("?")));
            let uris = bound
                .uris
                .iter()
                .map(|(name, uri)| format!("uri:{name}={}", uri.uri));
            inline.chain(uris).collect::<Vec<_>>().join(" ")
        }
        Err(error) => error
            .problems
            .iter()
            .map(|problem| problem.code.as_str())
            .collect::<Vec<_>>()
            .join(" "),
    }
}

#[test]
fn a_declared_modifier_is_a_parameter_and_no_modifier() {
    let mut request = tam(vec![field("x", "x_1")]);
    request.modifiers = vec![
        saying("continue", field("on_error", "on_error_1")),
        saying("3", field("retry", "retry_1")),
        saying("json", field("type_hint_x", "type_hint_x_1")),
    ];
    request.on_error = OnError::Continue;
    request.retry = 3;
    request.arguments[0].hint = Some(TypeHint::Json);

    let declared = strings(&["onError", "x", "type_hint_x"]);
    let bound = bind(&request, &declared).unwrap();
    assert_eq!(
        Json::from(bound.arguments),
        json!({"onError": "continue", "x": "v", "type_hint_x": "json"})
    );
    assert_eq!((bound.on_error, bound.retry), (OnError::Stop, 3));

    // "v" is no JSON, so the hint counts where it is a hint.
    let plain = strings(&["x", "retry"]);
    assert_eq!(outcome(&request, &plain), "invalid_json");
    request.arguments.clear();
    let bound = bind(&request, &plain).unwrap();
    assert_eq!((bound.on_error, bound.retry), (OnError::Continue, 0));
}

/// What the parser calls an error is one only where the tool does not declare that name.
#[test]
fn the_tool_settles_what_the_parser_could_not() {
    for (fields, declared, expected) in [
        ("retry:»»»often«««", "retry", "retry=often"),
        ("retry:»»»often«««", "x", "invalid_value"),
        ("on_error:»»»ask«««", "on_error", "on_error=ask"),
        ("on_error:»»»ask«««", "x", "invalid_value"),
        ("x:»»»1«««\ntype_hint_x:»»»yaml«««", "x", "invalid_value"),
        ("x:»»»1«««\nuri_x:»»»fam://a«««", "x", "conflicting_uri"),
    ] {
        let text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»T«««\n{fields}\n<|[END_TOOL]|>");
        let reply = crate::parse(&text);
        let call = reply.calls().next().expect(fields);
        assert_eq!(
            outcome(call, &strings(&[declared])),
            expected,
            "{fields} for {declared}"
        );
    }
}

#[test]
fn a_bound_call_can_be_written_down_and_read_again() {
    let text = "<|[REQUEST_TOOL]|>\nrequest_id:»»»r«««\ncommand:»»»T«««\nx:»»»1«««\nuri_y:»»»fam://a«««\n\
                type_hint_y:»»»json«««\nretry:»»»2«««\n<|[END_TOOL]|>";
    let reply = crate::parse(text);
    let bound = bind(reply.calls().next().unwrap(), &strings(&["x", "y"])).unwrap();
    let written = serde_json::to_string(&bound).unwrap();
    assert_eq!(
        serde_json::from_str::<BoundCall>(&written).unwrap(),
        bound,
        "{written}"
    );
}

#[test]
fn a_declared_request_id_is_filled_in() {
    let mut request = tam(vec![]);
    request.request_id = Some("r-1".into());
    assert_eq!(outcome(&request, &strings(&["requestId"])), "requestId=r-1");
    assert_eq!(outcome(&request, &strings(&["id"])), "");
    let bound = bind(&request, &strings(&[])).unwrap();
    assert_eq!(bound.request_id.as_deref(), Some("r-1"));

    request.arguments = vec![field("request_id", "common_request_id")];
    assert_eq!(outcome(&request, &strings(&["request_id"])), "request_id=v");
}

#[test]
fn document_3_gets_its_very_sentence() {
    let definition = ToolDefinition::new(
        "GetPlayerInfo",
        "",
        json!({"type": "object", "properties": {"player_id": {"type": "string"}},
               "required": ["player_id"]}),
    );
    let request = call(Protocol::Action, json!({"playerId": "player123"}));
    assert_eq!(
        bind(&request, &definition).unwrap_err().to_string(),
        "Invalid parameters for GetPlayerInfo: \
         Unknown parameter 'playerId', did you mean 'player_id'?"
    );
}

#[test]
fn what_is_left_out_is_filled_in_or_missed() {
    let definition = tool(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "depth": {"type": "integer", "default": 3},
            "mode": {"$ref": "#/$defs/mode"},
            "broken": {"type": "integer", "default": "many"},
            "note": {"type": "string"},
        },
        "required": ["path", "depth", "unlisted"],
        "additionalProperties": true,
        "$defs": {"mode": {"enum": ["fast", "slow"], "default": "fast"}},
    }));
    let bound = bind(
        &call(NATIVE, json!({"path": "p", "unlisted": 1})),
        &definition,
    )
    .unwrap();
    assert_eq!(
        Json::from(bound.arguments),
        json!({"path": "p", "depth": 3, "mode": "fast", "unlisted": 1})
    );
    let error = bind(&call(NATIVE, json!({"paht": "p"})), &definition).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid parameters for T: Missing required parameter 'path'; \
         Missing required parameter 'unlisted'"
    );
    assert_eq!(error.problems[0].expected, "a string");

    // null is "not given", except where something must be given.
    let nulls = json!({"path": "p", "depth": null, "note": null, "unlisted": null});
    let bound = bind(&call(NATIVE, nulls), &definition).unwrap();
    assert_eq!(
        Json::from(bound.arguments),
        json!({"path": "p", "depth": 3, "mode": "fast", "unlisted": null})
    );
    let error = bind(
        &call(NATIVE, json!({"path": null, "unlisted": 1})),
        &definition,
    )
    .unwrap_err();
    assert_eq!(
        error.problems[0].message,
        "Parameter 'path' must be a string, received null"
    );
}

#[test]
fn a_reference_supplies_a_required_parameter() {
    let definition = tool(json!({"properties": {"n": {"type": "integer"}}, "required": ["n"]}));
    let mut request = tam(vec![field("n", "uri_n")]);
    request.arguments[0].hint = Some(TypeHint::Number);
    let bound = bind(&request, &definition).unwrap();
    let reference = bound.uris.get("n").unwrap();
    assert_eq!(
        (reference.uri.as_str(), reference.hint),
        ("v", Some(TypeHint::Number))
    );
    assert!(bound.arguments.is_empty());
    assert_eq!(
        bind_value(&definition, "n", &text(" 5 "), reference.hint),
        Ok(json!(5))
    );
    let error = bind_value(&definition, "n", &text("five"), None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid parameters for T: Parameter 'n' must be an integer, received \"five\""
    );

    request.arguments[0].value = text("  ");
    let error = bind(&request, &definition).unwrap_err();
    assert_eq!(
        error.problems[0].message,
        "Parameter 'n' must be a URI, received an empty text"
    );
}

#[test]
fn all_problems_come_at_once_and_no_message_grows() {
    let definition = tool(json!({
        "properties": {"age": {"type": "integer"}, "path": {"type": "string"}},
        "required": ["path"],
    }));
    let error = bind(&call(NATIVE, json!({"age": "abc", "zzz": 1})), &definition).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid parameters for T: Unknown parameter 'zzz', declared are 'age', 'path'; \
         Parameter 'age' must be an integer, received \"abc\"; Missing required parameter 'path'"
    );

    let many: Map<String, Json> = (0..MAX_PROBLEMS + 5)
        .map(|n| (format!("unknown{n}"), json!(1)))
        .collect();
    let error = bind(&call(NATIVE, many.into()), &strings(&["q"])).unwrap_err();
    assert_eq!((error.problems.len(), error.omitted), (MAX_PROBLEMS, 5));
    assert!(error.to_string().ends_with("; and 5 more"));

    let long = "é\n".repeat(10_000);
    let error = bind(&call(NATIVE, json!({&long: 1, "age": &long})), &definition).unwrap_err();
    for problem in &error.problems {
        assert!(
            problem.message.chars().count() < 3 * MAX_QUOTE_CHARS,
            "{}",
            problem.message
        );
        assert!(!problem.message.contains('\n'));
        assert!(problem.path.len() < 1_000 && problem.received.len() < 300);
    }

    let names: Vec<String> = (0..MAX_LISTED_NAMES + 2)
        .map(|n| format!("name{n}"))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let error = bind(&call(NATIVE, json!({"zzz": 1})), &strings(&names)).unwrap_err();
    assert!(error.to_string().ends_with("'name7' and 2 more"), "{error}");
}

#[test]
fn thousands_of_arguments_are_no_burden() {
    let names: Vec<String> = (0..2_000).map(|n| format!("someParameter{n}x")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let definition = strings(&names);
    let mut request = ToolCallRequest::new(Protocol::Tam, "T");
    request.arguments = names
        .iter()
        .map(|name| Argument::exact(crate::key::normalise(name), text("v"), Span::default()))
        .collect();
    assert_eq!(bind(&request, &definition).unwrap().arguments.len(), 2_000);
    for argument in &mut request.arguments {
        argument.name = format!("{}{}", argument.name, "y".repeat(8)).into();
        argument.written = argument.name.clone();
    }
    let error = bind(&request, &definition).unwrap_err();
    assert_eq!(error.problems.len() + error.omitted, 2_000);
}

#[test]
fn a_declaration_is_checked() {
    let code = |schema: Json| check_declaration(&tool(schema)).map_err(|error| error.code());
    for (schema, expected) in [
        (json!({}), Ok(())),
        (json!({"type": "object"}), Ok(())),
        (json!({"type": ["object", "null"]}), Ok(())),
        (json!({"properties": {"a": true, "b": {}}}), Ok(())),
        (
            json!({"$ref": "#/$defs/p", "$defs": {"p": {"properties": {"a": {}}}}}),
            Ok(()),
        ),
        (
            json!({"properties": {"input": {}, "input_1": {}, "command": {}}}),
            Ok(()),
        ),
        (json!({"type": "string"}), Err("tool.not_an_object_schema")),
        (json!([]), Err("tool.not_an_object_schema")),
        (Json::Null, Err("tool.not_an_object_schema")),
        (json!({"properties": []}), Err("tool.not_an_object_schema")),
        (json!({"properties": {"a": 1}}), Err("tool.invalid_schema")),
        (
            json!({"properties": {"***": {}}}),
            Err("tool.unusable_name"),
        ),
        (
            json!({"properties": {"filePath": {}, "file_path": {}}}),
            Err("tool.name_collision"),
        ),
        (
            json!({"properties": {"role1": {}, "role_1": {}}}),
            Err("tool.name_collision"),
        ),
        (
            json!({"properties": {"a_b": {}}, "allOf": [{"properties": {"aB": {}}}]}),
            Err("tool.name_collision"),
        ),
    ] {
        assert_eq!(code(schema.clone()), expected, "{schema}");
    }
    let error = check_declaration(&strings(&["x", "filePath", "file-path"])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Tool T: the parameter names 'filePath' and 'file-path' are both read as 'file_path'"
    );
}

#[test]
fn every_code_is_written_as_it_is_named() {
    for code in [
        ProblemCode::UnknownParameter,
        ProblemCode::MissingParameter,
        ProblemCode::DuplicateParameter,
        ProblemCode::AmbiguousParameter,
        ProblemCode::ConflictingUri,
        ProblemCode::WrongType,
        ProblemCode::InvalidValue,
        ProblemCode::OutOfRange,
        ProblemCode::InvalidJson,
        ProblemCode::InvalidBase64,
        ProblemCode::TooComplex,
    ] {
        assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
    }
}
