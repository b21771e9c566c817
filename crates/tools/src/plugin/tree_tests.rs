use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::plugin::json::read_json;
use crate::plugin::problem::Report;
use crate::plugin::yaml::read_yaml;

fn json_tree(text: &str) -> Node {
    let mut report = Report::default();
    read_json(text, &mut report).unwrap()
}

#[test]
fn every_value_knows_its_place() {
    let yaml = "a:\n  - 1\n  - é: {b: x, c: null}\n";
    let text = "{\"a\": [\n  1,\n  {\"é\":\t{\"b\": \"x\", \"c\": null}}\n]}";
    let mut report = Report::default();
    let yaml = read_yaml(yaml, &mut report).unwrap();
    let json = json_tree(text);
    assert_eq!(yaml.to_json(), json.to_json());
    let place = |node: &Node| {
        let Value::List(items) = &node.get("a").unwrap().value else {
            panic!("{node:?}");
        };
        let c = items[1].get("é").unwrap().get("c").unwrap();
        (items[0].line, items[0].column, c.line, c.column)
    };
    assert_eq!(place(&yaml), (2, 5, 3, 18));
    assert_eq!(place(&json), (2, 3, 3, 25));
}

#[test]
fn aliases_stand_where_they_are_used() {
    let mut report = Report::default();
    let node = read_yaml("a: &x 5\nb: *x\n", &mut report).unwrap();
    assert_eq!(node.to_json(), json!({"a": 5, "b": 5}));
    assert_eq!(node.get("b").unwrap().line, 2);
}

fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        any::<String>().prop_map(Json::from),
        "[\"\\\\{}\\[\\],: \n\t/u]{0,8}".prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Json::from),
            prop::collection::vec((any::<String>(), inner), 0..6)
                .prop_map(|pairs| Json::Object(pairs.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_second_look_sees_what_the_first_saw(value in any_json()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let expected: Json = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(json_tree(&text).to_json(), expected);
        }
    }
}
