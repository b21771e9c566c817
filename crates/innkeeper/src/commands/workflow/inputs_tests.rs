use serde_json::json;

use super::*;

fn value(word: &str, flow: DataFlowType) -> Result<Json, InputFault> {
    Assignment::of(word).unwrap().value(flow).unwrap()
}

#[test]
fn a_value_is_read_as_the_type_of_its_input() {
    use DataFlowType::{Array, Boolean, Float, Integer, Object, String, Wildcard};
    for (word, flow, expected) in [
        ("a=x=y", String, Some(json!("x=y"))),
        ("a= 1 ", String, Some(json!(" 1 "))),
        ("a=@@home", String, Some(json!("@home"))),
        ("a=", String, Some(json!(""))),
        ("a=7", Wildcard, Some(json!("7"))),
        ("a:=7", Wildcard, Some(json!(7))),
        ("a:=\"7\"", Integer, Some(json!("7"))),
        ("a=7", Integer, Some(json!(7))),
        ("a=7.0", Integer, Some(json!(7))),
        ("a=7.5", Integer, None),
        ("a=seven", Integer, None),
        ("a=7.5", Float, Some(json!(7.5))),
        ("a=yes", Boolean, Some(json!(true))),
        ("a=false", Boolean, Some(json!(false))),
        ("a=", Boolean, None),
        ("a=maybe", Boolean, None),
        ("a={\"b\": 1}", Object, Some(json!({"b": 1}))),
        ("a=[1]", Object, None),
        ("a=[1, 2]", Array, Some(json!([1, 2]))),
        ("a=[1, 2", Array, None),
        ("a:=[1, 2", String, None),
    ] {
        assert_eq!(value(word, flow).ok(), expected, "{word} {flow}");
    }
}

#[test]
fn an_input_without_a_name_is_no_input() {
    for word in ["", "x", "=x", ":=1"] {
        let failure = Assignment::of(word).unwrap_err();
        assert_eq!(failure.code(), "cli.usage", "{word}");
    }
}
