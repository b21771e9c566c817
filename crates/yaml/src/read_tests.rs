use std::fmt::Write as _;

use serde_json::json;

use super::*;
use crate::Why;

const BOUNDS: Bounds = Bounds {
    bytes: 1_000,
    depth: 8,
    nodes: 100,
};

fn at(node: &Node) -> (usize, usize) {
    (node.position.line, node.position.column)
}

#[test]
fn every_value_knows_its_position() {
    let node = read("a:\n  - 1\n  - é: {b: x, c: null}\n", BOUNDS).unwrap();
    assert_eq!(
        node.to_json(),
        json!({"a": [1, {"é": {"b": "x", "c": null}}]})
    );
    let Value::List(items) = &node.get("a").unwrap().value else {
        panic!("{node:?}");
    };
    assert_eq!(at(&items[0]), (2, 5));
    let inner = items[1].get("é").unwrap();
    assert_eq!(at(inner.get("c").unwrap()), (3, 18));
    let Value::Map(entries) = &inner.value else {
        panic!("{inner:?}");
    };
    assert_eq!(
        entries[1].position,
        Position {
            line: 3,
            column: 15
        }
    );
}

#[test]
fn aliases_stand_where_they_are_used() {
    let node = read("a: &x 5\nb: *x\n", BOUNDS).unwrap();
    assert_eq!(node.to_json(), json!({"a": 5, "b": 5}));
    assert_eq!(node.get("b").unwrap().position.line, 2);
}

#[test]
fn only_true_and_false_are_true_and_false() {
    let node = read("[yes, on, 'true', true, ~, 1.5, -3, 0x10]", BOUNDS).unwrap();
    assert_eq!(
        node.to_json(),
        json!(["yes", "on", "true", true, null, 1.5, -3, 16])
    );
}

#[test]
fn a_fault_says_why_and_where() {
    let invalid = |what: &str| Why::Invalid(what.to_owned());
    for (text, (line, column), why) in [
        ("a: 1\na: 2", (2, 1), Why::DuplicateKey("a".to_owned())),
        ("a: 1\n---\nb: 2", (2, 1), Why::SecondDocument),
        ("a: .nan", (1, 4), Why::NotFinite(".nan".to_owned())),
        ("a: -.inf", (1, 4), Why::NotFinite("-.inf".to_owned())),
        ("a: [", (1, 4), invalid("unclosed bracket '['")),
        ("a: *x", (1, 4), invalid("alias references unknown anchor")),
    ] {
        let position = Some(Position { line, column });
        let expected = Err(Fault { position, why });
        assert_eq!(read(text, BOUNDS), expected, "{text}");
    }
}

#[test]
fn each_bound_holds() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let items = |count: usize| format!("[{}]", "1,".repeat(count));
    let long = |bytes: usize| "x".repeat(bytes);
    for (within, beyond) in [
        (nested(BOUNDS.depth), nested(BOUNDS.depth + 1)),
        (items(BOUNDS.nodes - 1), items(BOUNDS.nodes)),
        (long(BOUNDS.bytes), long(BOUNDS.bytes + 1)),
    ] {
        assert!(read(&within, BOUNDS).is_ok(), "{within}");
        let fault = read(&beyond, BOUNDS).unwrap_err();
        assert_eq!(fault.why, Why::TooLarge, "{beyond}");
    }
}

#[test]
fn a_bomb_of_aliases_is_too_large() {
    let mut bomb = String::from("a0: &a0 [x, x]\n");
    for n in 1..12 {
        let _ = writeln!(bomb, "a{n}: &a{n} [*a{0}, *a{0}]", n - 1);
    }
    assert_eq!(read(&bomb, BOUNDS).unwrap_err().why, Why::TooLarge);
}
