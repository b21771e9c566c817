//! Names: which parameter an argument means, and what is said when it means none.

use serde_json::{Value as Json, json};

use super::bind_tests::{NATIVE, call, field, outcome, strings, tam, text, tool};
use super::*;
use crate::{Argument, Protocol, Span};

#[test]
fn a_tam_key_finds_its_parameter() {
    // declared names, step, (name, written) of the field, what becomes of it
    for (declared, step, (name, written), expected) in [
        (
            &["filePath"][..],
            1,
            ("file_path", "file_path"),
            "filePath=v",
        ),
        (&["File Path"], 1, ("file_path", "file_path"), "File Path=v"),
        (
            &["file_path"],
            2,
            ("file_path", "file_path_2"),
            "file_path=v",
        ),
        // Only the whole or only the stripped name is declared.
        (&["input_1"], 1, ("input", "input_1"), "input_1=v"),
        (&["input1"], 1, ("input", "input_1"), "input1=v"),
        (&["input_1"], 1, ("input", "input1"), "input_1=v"),
        (
            &["file_path"],
            1,
            ("file_path_1", "file_path_1"),
            "file_path=v",
        ),
        (
            &["file_path"],
            1,
            ("file_path_2", "file_path_2"),
            "unknown_parameter",
        ),
        (&["input_0"], 1, ("input_0", "input_0_1"), "input_0=v"),
        // Both are.
        (&["input", "input_1"], 1, ("input", "input_1"), "input=v"),
        (
            &["input", "input_1"],
            1,
            ("input_1", "input_1"),
            "input_1=v",
        ),
        (&["sha256"], 256, ("sha256", "sha256"), "sha256=v"),
        // References.
        (&["image"], 1, ("image", "uri_image"), "uri:image=v"),
        (&["image"], 2, ("image", "uri_image_2"), "uri:image=v"),
        (&["image_2"], 2, ("image", "uri_image_2"), "uri:image_2=v"),
        (&["image"], 1, ("image", "common_uri_image"), "uri:image=v"),
        // A declared name wins over a prefix.
        (&["uri_image"], 1, ("image", "uri_image"), "uri_image=v"),
        (
            &["uri_image", "image"],
            1,
            ("image", "uri_image"),
            "uri_image=v",
        ),
        (&["uriImage"], 2, ("image", "uri_image_2"), "uriImage=v"),
        (
            &["uri_image_2"],
            2,
            ("image", "uri_image_2"),
            "uri_image_2=v",
        ),
        (&["uri"], 1, ("1", "uri_1"), "uri=v"),
        (&["common_dir"], 1, ("dir", "common_dir"), "common_dir=v"),
        (
            &["common_dir", "dir"],
            1,
            ("dir", "common_dir"),
            "common_dir=v",
        ),
        (&["dir"], 1, ("dir", "common_dir"), "dir=v"),
        (&["uri_x"], 1, ("x", "common_uri_x"), "uri_x=v"),
        (
            &["common_uri_x"],
            1,
            ("x", "common_uri_x"),
            "common_uri_x=v",
        ),
        // Nobody's.
        (&["other"], 1, ("dir", "common_dir"), ""),
        (&["other"], 1, ("dir", "dir"), "unknown_parameter"),
        (&["other"], 1, ("image", "uri_image"), "unknown_parameter"),
        // A tool that was never checked.
        (&["ab", "Ab"], 1, ("ab", "ab"), "ab=v"),
        (&["aB", "a_B"], 1, ("a_b", "a_b"), "ambiguous_parameter"),
    ] {
        let mut request = tam(vec![field(name, written)]);
        request.index = step;
        let got = outcome(&request, &strings(declared));
        assert_eq!(got, expected, "{written} in step {step} for {declared:?}");
    }
}

#[test]
fn a_parameter_is_given_once() {
    let declared = strings(&["image", "file_path"]);
    for (fields, expected) in [
        (
            vec![field("image", "image"), field("image", "uri_image")],
            "conflicting_uri",
        ),
        (
            vec![field("image", "image"), field("image", "common_uri_image")],
            "image=v",
        ),
        (
            vec![field("image", "common_image"), field("image", "uri_image")],
            "uri:image=v",
        ),
        (
            vec![
                field("image", "common_image"),
                field("image", "common_uri_image"),
            ],
            "conflicting_uri",
        ),
        (
            vec![
                field("file_path", "file_path"),
                field("file_path_1", "file_path_1"),
            ],
            "duplicate_parameter",
        ),
    ] {
        assert_eq!(
            outcome(&tam(fields.clone()), &declared),
            expected,
            "{fields:?}"
        );
    }
    // Where both names are declared there is no conflict.
    let both = strings(&["image", "uri_image"]);
    let fields = vec![field("image", "image"), field("image", "uri_image")];
    assert_eq!(outcome(&tam(fields), &both), "image=v uri_image=v");

    let mut action = ToolCallRequest::new(Protocol::Action, "T");
    action.arguments = vec![
        Argument::exact("image", text("a"), Span::default()),
        Argument::exact("image", text("b"), Span::default()),
    ];
    let error = bind(&action, &declared).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Invalid parameters for T: Parameter 'image' is given twice, as 'image' and as 'image'"
    );
}

#[test]
fn other_dialects_are_exact() {
    let player = tool(json!({
        "type": "object",
        "properties": {"player_id": {"type": "string"}, "a:b": {"type": "string"}},
        "required": ["player_id"],
    }));
    for protocol in [Protocol::Action, Protocol::ToolCall, NATIVE] {
        let bound = bind(&call(protocol, json!({"player_id": "p"})), &player).unwrap();
        assert_eq!(Json::from(bound.arguments), json!({"player_id": "p"}));
        let error = bind(&call(protocol, json!({"playerId": "p"})), &player).unwrap_err();
        assert_eq!(
            error.to_string(),
            "Invalid parameters for T: Unknown parameter 'playerId', did you mean 'player_id'?"
        );
        assert_eq!(
            serde_json::to_value(&error).unwrap(),
            json!({"tool": "T", "problems": [{
                "code": "unknown_parameter",
                "path": "/playerId",
                "expected": "'player_id', 'a:b'",
                "received": "'playerId'",
                "suggestion": "player_id",
                "message": "Unknown parameter 'playerId', did you mean 'player_id'?",
            }]})
        );
    }
    // A tag cannot hold a colon.
    let aliased = call(Protocol::Action, json!({"player_id": "p", "a__b": "x"}));
    let bound = bind(&aliased, &player).unwrap();
    assert_eq!(
        Json::from(bound.arguments),
        json!({"player_id": "p", "a:b": "x"})
    );
    let aliased = call(NATIVE, json!({"player_id": "p", "a__b": "x"}));
    assert_eq!(outcome(&aliased, &player), "unknown_parameter");
}

#[test]
fn a_wrong_name_is_answered_with_the_right_one() {
    let declared = ["path", "content", "max_results", "file_encoding"];
    for (wrong, expected) in [
        ("Path", "did you mean 'path'?"),
        ("maxresults", "did you mean 'max_results'?"),
        ("contents", "did you mean 'content'?"),
        ("conetnt", "did you mean 'content'?"),
        ("encoding", "did you mean 'file_encoding'?"),
        ("the_path", "did you mean 'path'?"),
        (
            "zzz",
            "declared are 'path', 'content', 'max_results', 'file_encoding'",
        ),
        (
            "",
            "declared are 'path', 'content', 'max_results', 'file_encoding'",
        ),
    ] {
        let request = call(NATIVE, json!({wrong: "x"}));
        let error = bind(&request, &strings(&declared)).unwrap_err();
        assert_eq!(
            error.problems[0].message,
            format!("Unknown parameter '{wrong}', {expected}")
        );
    }
    let none = bind(&call(NATIVE, json!({"x": 1})), &strings(&[])).unwrap_err();
    assert_eq!(
        none.problems[0].message,
        "Unknown parameter 'x', none are declared"
    );

    let reference = bind(&tam(vec![field("imge", "uri_imge")]), &strings(&["image"])).unwrap_err();
    assert_eq!(
        reference.problems[0].message,
        "Unknown parameter 'uri_imge', did you mean 'uri_image'?"
    );
}

#[test]
fn unknown_names_pass_only_where_the_schema_lets_them() {
    let a = json!({"a": {"type": "string"}});
    let sent = json!({"extra": "5"});
    for (schema, expected) in [
        (json!({"type": "object", "properties": a}), None),
        (json!({"type": "object", "properties": {}}), None),
        (
            json!({"properties": a, "additionalProperties": false}),
            None,
        ),
        (json!({"additionalProperties": false}), None),
        (
            json!({"properties": a, "additionalProperties": true}),
            Some(json!("5")),
        ),
        (
            json!({"properties": a, "additionalProperties": {}}),
            Some(json!("5")),
        ),
        (
            json!({"properties": a, "additionalProperties": {"type": "integer"}}),
            Some(json!(5)),
        ),
        (
            json!({"properties": a, "patternProperties": {"^x_": {}}}),
            None,
        ),
        (
            json!({"properties": a, "patternProperties": {"^ext": {"type": "number"}}}),
            Some(json!(5)),
        ),
        (
            json!({"properties": a, "patternProperties": {"^e.t+ra$": {}}}),
            Some(json!("5")),
        ),
        (
            json!({"properties": a, "patternProperties": {"^e.t+ra$": {"type": "integer"}}}),
            Some(json!("5")),
        ),
        (json!({"type": "object"}), Some(json!("5"))),
        (json!({}), Some(json!("5"))),
        (json!(true), Some(json!("5"))),
        (json!(false), None),
    ] {
        for protocol in [Protocol::Tam, Protocol::Action, NATIVE] {
            let bound = bind(&call(protocol, sent.clone()), &tool(schema.clone()));
            let got = bound
                .ok()
                .and_then(|mut bound| bound.arguments.remove("extra"));
            assert_eq!(got, expected, "{protocol:?} {schema}");
        }
    }
}
