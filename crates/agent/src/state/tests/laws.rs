//! Changes and differences against models that are simpler than the code.

use innkeeper_tools::builtin::state::{Change, StatePath, StateScope};
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::super::decide::decide;
use super::super::document::PrivateDocument;
use super::*;
use crate::limits::{
    MAX_KEPT_VALUE_BYTES, MAX_PRIVATE_HISTORY_BYTES, MAX_PRIVATE_VERSIONS, MAX_STATE_DIFFERENCES,
};

fn values() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3i64..4).prop_map(Json::from),
        "[a-c~/]{0,2}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            proptest::collection::vec(("[a-c~/]{1,2}", inner), 0..4)
                .prop_map(|fields| Json::Object(fields.into_iter().collect())),
        ]
    })
}

fn states() -> impl Strategy<Value = Json> {
    proptest::collection::vec(("[a-c]", values()), 0..4)
        .prop_map(|fields| Json::Object(fields.into_iter().collect()))
}

/// One field after the other, as anybody would do it.
fn put(state: &mut Json, parts: &[String], value: Option<Json>) {
    let Some((first, rest)) = parts.split_first() else {
        *state = value.unwrap_or(Json::Null);
        return;
    };
    match state {
        Json::Object(fields) => match (rest.is_empty(), value) {
            (true, None) => {
                fields.remove(first);
            }
            (true, Some(value)) => {
                fields.insert(first.clone(), value);
            }
            (false, value) => put(fields.get_mut(first).unwrap(), rest, value),
        },
        Json::Array(items) => {
            let at: usize = first.parse().unwrap();
            match (rest.is_empty(), value) {
                (true, Some(value)) if at == items.len() => items.push(value),
                (true, Some(value)) => items[at] = value,
                (true, None) => panic!("items only ever go with their list"),
                (false, value) => put(&mut items[at], rest, value),
            }
        }
        _ => panic!("there is nothing inside of {state}"),
    }
}

fn parts(pointer: &str) -> Vec<String> {
    let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
    pointer.split('/').skip(1).map(unescaped).collect()
}

#[derive(Debug, Clone)]
enum Op {
    Set(String, Json),
    Add(String, i64),
    Push(String, i64),
    Drop(String),
    Merge(Vec<(String, Option<i64>)>),
}

fn ops() -> impl Strategy<Value = Op> {
    let name = || "[a-d]";
    prop_oneof![
        (name(), -2i64..3).prop_map(|(at, value)| Op::Set(at, json!(value))),
        (name(), Just(json!([]))).prop_map(|(at, value)| Op::Set(at, value)),
        (name(), -2i64..3).prop_map(|(at, by)| Op::Add(at, by)),
        (name(), -2i64..3).prop_map(|(at, item)| Op::Push(at, item)),
        name().prop_map(Op::Drop),
        proptest::collection::vec((name(), proptest::option::of(0i64..3)), 0..3)
            .prop_map(Op::Merge),
    ]
}

impl Op {
    fn change(&self) -> Change {
        let at = |text: &str| StatePath::parse(text).unwrap();
        match self.clone() {
            Self::Set(path, value) => Change::Set(at(&path), value),
            Self::Add(path, by) => Change::Increment(at(&path), by.into()),
            Self::Push(path, item) => Change::Append(at(&path), json!(item)),
            Self::Drop(path) => Change::Remove(at(&path)),
            Self::Merge(fields) => {
                let fields = fields.into_iter().map(|(name, value)| (name, json!(value)));
                Change::Merge(at(""), fields.collect::<Map<_, _>>())
            }
        }
    }

    /// Whether it can be done.
    fn naive(&self, state: &mut Map<String, Json>) -> bool {
        match self.clone() {
            Self::Set(name, value) => {
                state.insert(name, value);
            }
            Self::Add(name, by) => {
                let old = state.get(&name).cloned().unwrap_or(json!(0));
                let Some(old) = old.as_i64() else {
                    return false;
                };
                state.insert(name, json!(old + by));
            }
            Self::Push(name, item) => {
                let list = state.entry(name).or_insert_with(|| json!([]));
                let Some(list) = list.as_array_mut() else {
                    return false;
                };
                list.push(json!(item));
            }
            Self::Drop(name) => return state.remove(&name).is_some(),
            Self::Merge(fields) => {
                for (name, value) in fields {
                    match value {
                        Some(value) => state.insert(name, json!(value)),
                        None => state.remove(&name),
                    };
                }
            }
        }
        true
    }
}

proptest! {
    #[test]
    fn what_is_told_as_different_makes_one_state_of_the_other(old in states(), new in states()) {
        let changes = differences(&old, &new);
        prop_assert_eq!(changes.is_empty(), old == new);
        let mut made = old.clone();
        for change in &changes {
            let there = old.pointer(&change.path);
            prop_assert_eq!(there, change.before.as_ref());
            put(&mut made, &parts(&change.path), change.after.clone());
        }
        prop_assert_eq!(made, new);
        // What is kept can be read again, null and all.
        let kept: Vec<StateChange> = serde_json::from_value(json!(changes)).unwrap();
        prop_assert_eq!(kept, changes);
    }

    #[test]
    fn updates_do_what_a_naive_model_does(updates in proptest::collection::vec(proptest::collection::vec(ops(), 1..4), 1..12)) {
        let (mut model, mut version) = (Map::new(), 0);
        let mut document = PrivateDocument::initial(json!({}));
        for ops in updates {
            let changes: Vec<Change> = ops.iter().map(Op::change).collect();
            let mut next = model.clone();
            let fits = ops.iter().all(|op| op.naive(&mut next));
            let decided = decide(StateScope::Private, &document.value, None, &changes);
            prop_assert_eq!(decided.is_ok(), fits, "{:?} on {:?}", ops, model);
            let Ok(decided) = decided else {
                continue;
            };
            if decided.changes.is_empty() {
                prop_assert_eq!(&next, &model);
                continue;
            }
            version += 1;
            let record = StateVersion {
                version,
                at: jiff::Timestamp::UNIX_EPOCH,
                by: Author::Person,
                changes: decided.changes,
            };
            document = document.next(decided.value, record);
            model = next;
            prop_assert_eq!(document.value.as_object(), Some(&model));
            prop_assert_eq!(document.version, version);
            prop_assert_eq!(document.history.len() as u64, version);
        }
        let written = document.write().unwrap();
        prop_assert_eq!(PrivateDocument::read("x", &written).unwrap(), document);
    }
}

#[test]
fn where_too_much_is_different_whole_fields_are_told() {
    let many = |count: usize, value: i64| -> Json {
        let fields = (0..count).map(|at| (format!("f{at}"), json!(value)));
        Json::Object(fields.collect())
    };
    let paths = |old: Json, new: Json| -> Vec<String> {
        let told = differences(&old, &new).into_iter();
        told.map(|change| change.path).collect()
    };
    let most = MAX_STATE_DIFFERENCES;
    let inner = |count, value| json!({"a": many(count, value), "b": 1});
    assert_eq!(paths(inner(most, 1), inner(most, 2)).len(), most);
    assert_eq!(paths(inner(most + 1, 1), inner(most + 1, 2)), ["/a"]);
    assert_eq!(paths(many(most + 1, 1), many(most + 1, 2)), [""]);
    // Names as long as a state lets them be.
    let long = "n".repeat(crate::limits::MAX_STATE_DIFFERENCES_BYTES);
    assert_eq!(paths(json!({}), json!({"a": {long.as_str(): 1}})), ["/a"]);
    assert_eq!(paths(json!({}), json!({long: 1})), [""]);
}

#[test]
fn a_history_has_a_bound() {
    let mut document = PrivateDocument::initial(json!({}));
    for version in 1..=MAX_PRIVATE_VERSIONS as u64 + 7 {
        let value =
            json!({"n": version, "text": "x".repeat(version as usize % 2 * MAX_KEPT_VALUE_BYTES)});
        let changes = differences(&document.value, &value);
        let record = StateVersion {
            version,
            at: jiff::Timestamp::UNIX_EPOCH,
            by: Author::Person,
            changes,
        };
        document = document.next(value, record);
    }
    assert_eq!(document.history.len(), MAX_PRIVATE_VERSIONS);
    let newest = &document.history[0];
    assert_eq!(newest.version, document.version);
    let kept: Vec<_> = newest
        .changes
        .iter()
        .map(|it| (it.path.as_str(), it.cut))
        .collect();
    assert_eq!(kept, [("/n", false), ("/text", true)]);
    // Many places of middling length.
    for version in 0..60 {
        let fields = (0..MAX_STATE_DIFFERENCES)
            .map(|at| (format!("f{at}"), json!(format!("{version:0120}"))));
        let value = Json::Object(fields.collect());
        let record = StateVersion {
            version: document.version + 1,
            at: jiff::Timestamp::UNIX_EPOCH,
            by: Author::Person,
            changes: differences(&document.value, &value),
        };
        document = document.next(value, record);
    }
    assert!(document.history[0].changes.iter().all(|change| change.cut));
    let bytes = serde_json::to_string(&document.history).unwrap().len();
    assert!(bytes <= MAX_PRIVATE_HISTORY_BYTES + 1_000, "{bytes}");
}

#[test]
fn a_state_is_held_to_its_schema() {
    let schema = json!({
        "type": "object",
        "properties": {
            "gold": {"type": "integer", "minimum": 0},
            "tags": {"type": "array", "items": {"type": "integer"}},
            "name": {"type": "string"},
            "open": {"type": "boolean"}
        },
        "required": ["gold"],
        "additionalProperties": false
    });
    let state = json!({"gold": 3, "name": "Ann"});
    let at = |path: &str| StatePath::parse(path).unwrap();
    for (change, outcome) in [
        (
            Change::Set(at("gold"), json!(4)),
            Ok(json!({"gold": 4, "name": "Ann"})),
        ),
        // Models that write text mean what fits.
        (
            Change::Set(at("gold"), json!("4")),
            Ok(json!({"gold": 4, "name": "Ann"})),
        ),
        (
            Change::Set(at("open"), json!("true")),
            Ok(json!({"gold": 3, "name": "Ann", "open": true})),
        ),
        (
            Change::Append(at("tags"), json!("7")),
            Ok(json!({"gold": 3, "name": "Ann", "tags": [7]})),
        ),
        (
            Change::Set(at("name"), json!("4")),
            Ok(json!({"gold": 3, "name": "4"})),
        ),
        (
            Change::Set(at("gold"), json!("much")),
            Err(("'/gold'", "\"integer\"")),
        ),
        (
            Change::Increment(at("gold"), (-4).into()),
            Err(("'/gold'", "minimum")),
        ),
        (
            Change::Append(at("tags"), json!("x")),
            Err(("'/tags/0'", "integer")),
        ),
        (Change::Remove(at("gold")), Err(("''", "required"))),
        (Change::Set(at("silver"), json!(1)), Err(("''", "silver"))),
    ] {
        let decided = decide(
            StateScope::Private,
            &state,
            Some(&schema),
            std::slice::from_ref(&change),
        );
        match outcome {
            Ok(expected) => assert_eq!(decided.unwrap().value, expected, "{change:?}"),
            Err((place, cause)) => {
                let error = decided.unwrap_err();
                assert_eq!(error.reason.as_deref(), Some("state.schema_violation"));
                assert!(
                    error.message.contains(&format!(
                        "private state would not fit its schema at {place}"
                    )),
                    "{}",
                    error.message
                );
                assert!(error.message.contains(cause), "{}", error.message);
                assert!(
                    error.message.contains("nothing was changed"),
                    "{}",
                    error.message
                );
            }
        }
    }
    // Without one, text stays text unless something else stands there.
    let state = json!({"n": 1, "on": false, "list": [1], "s": "x"});
    for (path, given, made) in [
        ("n", json!("2"), json!(2)),
        ("n", json!("two"), json!("two")),
        ("on", json!("true"), json!(true)),
        ("on", json!("1"), json!("1")),
        ("list", json!("[2]"), json!([2])),
        ("s", json!("2"), json!("2")),
        ("new", json!("2"), json!("2")),
    ] {
        let change = [Change::Set(at(path), given)];
        let decided = decide(StateScope::World, &state, None, &change).unwrap();
        assert_eq!(decided.value[path], made, "{path}");
    }
    let whole = [Change::Set(at(""), json!([]))];
    let error = decide(StateScope::World, &state, None, &whole).unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("state.invalid_change"));
    let bad = json!({"type": "objekt"});
    let error = decide(StateScope::World, &state, Some(&bad), &[]).unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("state.schema_invalid"));
}
