use proptest::prelude::*;

use super::*;

fn json_tree(text: &str) -> Node {
    let mut report = Report::default();
    read_json(text, &mut report).unwrap()
}

#[test]
fn every_value_knows_its_position() {
    let node = json_tree("{\"a\": [\n  1,\n  {\"é\":\t{\"b\": \"x\", \"c\": null}}\n]}");
    let Value::List(items) = &node.get("a").unwrap().value else {
        panic!("{node:?}");
    };
    let c = items[1].get("é").unwrap().get("c").unwrap();
    let at = |node: &Node| (node.position.line, node.position.column);
    assert_eq!((at(&items[0]), at(c)), ((2, 3), (3, 25)));
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
