//! Paths, changes, and the four tools over states in memory.

use std::sync::Mutex;

use super::*;
use crate::builtin::testing::{call, check_definitions, named};
use crate::limits::{MAX_STATE_BYTES, MAX_STATE_DEPTH, MAX_STATE_PATH_PARTS};

struct Memory(Mutex<(Json, u64)>);

fn memory(value: Json) -> Arc<Memory> {
    Arc::new(Memory(Mutex::new((value, 3))))
}

impl Memory {
    fn value(&self) -> Json {
        self.0.lock().unwrap().0.clone()
    }
}

#[async_trait]
impl StateHome for Memory {
    async fn read(&self, _: &Invocation) -> Result<Versioned, ToolError> {
        let (value, version) = self.0.lock().unwrap().clone();
        Ok(Versioned {
            value: Arc::new(value),
            version,
        })
    }

    async fn update(
        &self,
        _: &Invocation,
        changes: &[Change],
        expected: Option<u64>,
    ) -> Result<Updated, ToolError> {
        let mut state = self.0.lock().unwrap();
        if let Some(expected) = expected.filter(|expected| *expected != state.1) {
            let changed = ["/door".to_owned()];
            return Err(version_conflict(
                StateScope::World,
                expected,
                state.1,
                &changed,
            ));
        }
        *state = (apply(&state.0, changes)?, state.1 + 1);
        Ok(Updated {
            version: state.1,
            paths: changes
                .iter()
                .map(|change| change.path().to_string())
                .collect(),
            value: None,
        })
    }
}

#[test]
fn the_declarations_are_sound() {
    let mut tools = private_tools(memory(json!({})));
    tools.extend(world_tools(memory(json!({}))));
    let names: Vec<_> = tools
        .iter()
        .map(|(tool, _)| (tool.id.as_str(), tool.aliases[0].as_str()))
        .collect();
    assert_eq!(
        names,
        [
            ("core:ReadPrivateState", "ReadPrivateStateTool"),
            ("core:UpdatePrivateState", "UpdatePrivateStateTool"),
            ("world:ReadState", "ReadWorldStateTool"),
            ("world:RequestStateUpdate", "RequestWorldStateUpdateTool"),
        ]
    );
    for (tool, executor) in tools {
        let mut tool = tool;
        if tool.id.as_str().contains("Update") {
            // Either form will do, which no 'required' can say.
            assert!(tool.required().is_empty());
            tool.parameters["required"] = json!(["path"]);
        }
        check_definitions(&[(tool, executor)]);
    }
}

#[tokio::test]
async fn states_are_read_by_path() {
    let state = memory(
        json!({"mood": {"level": 5, "a.b": 1, "x/y": 2}, "items": ["a", {"n": 1}], "null": null}),
    );
    let tools = private_tools(state);
    let read = named(&tools, "core:ReadPrivateState");
    for (path, value) in [
        ("mood.level", json!(5)),
        ("/mood/level", json!(5)),
        ("/mood/a.b", json!(1)),
        ("/mood/x~1y", json!(2)),
        ("items.0", json!("a")),
        ("/items/1/n", json!(1)),
        ("null", json!(null)),
        (" mood.level ", json!(5)),
    ] {
        assert_eq!(
            call(read, json!({"path": path})).await,
            Ok(json!({"value": value, "version": 3})),
            "{path}"
        );
    }
    for whole in [json!({}), json!({"path": ""})] {
        assert_eq!(
            call(read, whole).await.unwrap()["value"]["mood"]["level"],
            5
        );
    }
    let default = json!({"path": "weather.now", "default_value": null});
    assert_eq!(
        call(read, default).await,
        Ok(json!({"value": null, "version": 3, "missing": true}))
    );
    let long = "a.".repeat(MAX_STATE_PATH_PARTS) + "a";
    for (path, reason, part) in [
        (
            "nope",
            "state.path_not_found",
            "there are mood, items, null",
        ),
        ("items.2", "state.path_not_found", "a list of 2"),
        ("items.00", "state.path_not_found", "a list of 2"),
        ("items.-1", "state.path_not_found", "a list of 2"),
        ("mood.level.x", "state.path_not_found", "single value"),
        ("a..b", "state.invalid_path", "between two dots"),
        (".a", "state.invalid_path", "between two dots"),
        ("/a~2", "state.invalid_path", "'~'"),
        (long.as_str(), "state.invalid_path", "parts"),
    ] {
        let error = call(read, json!({"path": path})).await.expect_err(path);
        assert_eq!(error.reason.as_deref(), Some(reason), "{path}");
        assert!(error.message.contains(part), "{}", error.message);
    }
}

#[tokio::test]
async fn changes_are_made_together_or_not_at_all() {
    let before = json!({"a": {"b": 1}, "list": [1, 2], "s": "x"});
    let deep = (0..MAX_STATE_DEPTH).fold(json!(1), |inner, _| json!([inner]));
    for (arguments, outcome) in [
        (
            json!({"path": "a.b", "value": 2}),
            Ok(json!({"a": {"b": 2}, "list": [1, 2], "s": "x"})),
        ),
        (
            json!({"path": "a.b", "value": null}),
            Ok(json!({"a": {"b": null}, "list": [1, 2], "s": "x"})),
        ),
        (
            json!({"path": "n.e.w", "value": 1}),
            Ok(json!({"a": {"b": 1}, "list": [1, 2], "s": "x", "n": {"e": {"w": 1}}})),
        ),
        (json!({"path": "", "value": {}}), Ok(json!({}))),
        (
            json!({"path": "list.1", "value": 9}),
            Ok(json!({"a": {"b": 1}, "list": [1, 9], "s": "x"})),
        ),
        (
            json!({"operations": [
                {"op": "append", "path": "list", "value": 3},
                {"op": "remove", "path": "list.0"},
                {"op": "remove", "path": "/a/b"},
                {"op": "append", "path": "new", "value": "first"},
                {"op": "set", "path": "s", "value": []},
            ]}),
            Ok(json!({"a": {}, "list": [2, 3], "s": [], "new": ["first"]})),
        ),
        (
            json!({"operations": [{"op": "set", "path": "s", "value": 1}, {"op": "remove", "path": "gone"}]}),
            Err("state.path_not_found"),
        ),
        (
            json!({"key": "s", "value": "y"}),
            Ok(json!({"a": {"b": 1}, "list": [1, 2], "s": "y"})),
        ),
        (
            json!({"path": "a.b", "op": "increment"}),
            Ok(json!({"a": {"b": 2}, "list": [1, 2], "s": "x"})),
        ),
        // As models write it that know no JSON.
        (
            json!({"path": "a.b", "op": "increment", "value": " -2.5 "}),
            Ok(json!({"a": {"b": -1.5}, "list": [1, 2], "s": "x"})),
        ),
        (
            json!({"path": "count", "op": "increment", "value": 3}),
            Ok(json!({"a": {"b": 1}, "list": [1, 2], "s": "x", "count": 3})),
        ),
        (
            json!({"path": "", "op": "merge", "value": {"a": {"b": null, "c": {"d": 1, "e": null}}, "list": null}}),
            Ok(json!({"a": {"c": {"d": 1}}, "s": "x"})),
        ),
        (
            json!({"path": "new", "op": "merge", "value": "{\"x\": [null]}"}),
            Ok(json!({"a": {"b": 1}, "list": [1, 2], "s": "x", "new": {"x": [null]}})),
        ),
        (
            json!({"path": "s", "op": "merge", "value": {}}),
            Err("state.not_an_object"),
        ),
        (
            json!({"path": "a", "op": "merge", "value": 1}),
            Err("state.invalid_change"),
        ),
        (
            json!({"path": "s", "op": "increment"}),
            Err("state.not_a_number"),
        ),
        (
            json!({"operations": [
                {"op": "set", "path": "n", "value": u64::MAX},
                {"op": "increment", "path": "n"},
            ]}),
            Err("state.not_exact"),
        ),
        (
            json!({"path": "s", "op": "increment", "value": "much"}),
            Err("state.invalid_change"),
        ),
        (
            json!({"path": "s", "key": "s", "value": 1}),
            Err("state.invalid_change"),
        ),
        (
            json!({"path": "list.2", "value": 1}),
            Err("state.path_not_found"),
        ),
        (
            json!({"path": "s.x", "value": 1}),
            Err("state.path_not_found"),
        ),
        (
            json!({"operations": [{"op": "append", "path": "s", "value": 1}]}),
            Err("state.not_a_list"),
        ),
        (
            json!({"operations": [{"op": "set", "path": "s"}]}),
            Err("state.invalid_change"),
        ),
        (
            json!({"operations": [{"op": "remove", "path": "s", "value": 1}]}),
            Err("state.invalid_change"),
        ),
        (json!({"path": "s"}), Err("state.invalid_change")),
        (
            json!({"path": "s", "op": "set"}),
            Err("state.invalid_change"),
        ),
        (json!({"value": 1}), Err("state.invalid_change")),
        (json!({}), Err("state.invalid_change")),
        (
            json!({"path": "s", "value": 1, "operations": [{"op": "remove", "path": "s"}]}),
            Err("state.invalid_change"),
        ),
        (
            json!({"path": "s", "value": "x".repeat(MAX_STATE_BYTES)}),
            Err("state.too_large"),
        ),
        (json!({"path": "s", "value": deep}), Err("state.too_large")),
    ] {
        let state = memory(before.clone());
        let tools = private_tools(Arc::clone(&state) as Arc<dyn StateHome>);
        let got = call(named(&tools, "core:UpdatePrivateState"), arguments.clone()).await;
        let after = state.value();
        match outcome {
            Ok(expected) => assert!(
                got.is_ok() && after == expected,
                "{arguments}: {got:?} {after}"
            ),
            Err(reason) => {
                assert_eq!(got.unwrap_err().reason.as_deref(), Some(reason), "{reason}");
                assert_eq!(after, before);
            }
        }
    }
}

#[tokio::test]
async fn the_world_has_versions() {
    let tools = world_tools(memory(json!({"door": "open"})));
    let (read, update) = (
        named(&tools, "world:ReadState"),
        named(&tools, "world:RequestStateUpdate"),
    );
    assert_eq!(
        call(read, json!({"path": "door"})).await,
        Ok(json!({"value": "open", "version": 3}))
    );
    let shut = json!({"path": "door", "value": "shut", "expected_version": 3});
    assert_eq!(
        call(update, shut.clone()).await,
        Ok(json!({"version": 4, "paths": ["/door"]}))
    );
    let error = call(update, shut).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("state.version_conflict"));
    assert!(
        error
            .message
            .contains("version 4, not 3; since then /door changed")
    );
    assert!(!error.may_pass());
    let blind = json!({"operations": [{"op": "remove", "path": "door"}]});
    assert_eq!(
        call(update, blind).await,
        Ok(json!({"version": 5, "paths": ["/door"]}))
    );
}

#[test]
fn integers_keep_all_their_digits_or_are_refused() {
    let at = |text: &str| StatePath::parse(text).unwrap();
    let number = |text: &str| -> serde_json::Number { serde_json::from_str(text).unwrap() };
    for (there, by, sum) in [
        ("9007199254740993", "1", Ok("9007199254740994")),
        ("9223372036854775807", "1", Ok("9223372036854775808")),
        ("18446744073709551614", "1", Ok("18446744073709551615")),
        (
            "18446744073709551615",
            "-18446744073709551615",
            Err("state.not_exact"),
        ),
        (
            "18446744073709551615",
            "-9223372036854775808",
            Ok("9223372036854775807"),
        ),
        ("18446744073709551615", "1", Err("state.not_exact")),
        ("-9223372036854775808", "-1", Err("state.not_exact")),
        ("1", "0.5", Ok("1.5")),
        ("0.1", "0.2", Ok("0.30000000000000004")),
        ("9007199254740993", "0.5", Err("state.not_exact")),
        ("9007199254740992", "0.5", Err("state.not_exact")),
        ("1e16", "1", Err("state.not_exact")),
        ("1", "1e17", Err("state.not_exact")),
        ("1.5", "0", Ok("1.5")),
        ("1e19", "1e19", Err("state.not_exact")),
    ] {
        let state = json!({"n": number(there)});
        let made = match Change::new("increment", "n", Some(Json::String(by.to_owned()))) {
            Ok(change) => apply(&state, &[change]).map(|state| state["n"].to_string()),
            Err(error) => Err(error),
        };
        let made = made.map_err(|error| error.reason.unwrap());
        assert_eq!(
            made,
            sum.map(str::to_owned).map_err(str::to_owned),
            "{there} + {by}"
        );
    }
    for (text, read) in [
        ("18446744073709551615", Ok(true)),
        ("18446744073709551616", Err(())),
        ("-9223372036854775809", Err(())),
        (r#"{"a": [1, -9223372036854775809]}"#, Err(())),
        (
            r#"{"99999999999999999999": "99999999999999999999 \" 99999999999999999999"}"#,
            Ok(true),
        ),
        ("99999999999999999999.5", Ok(true)),
        ("[1,2", Ok(false)),
        ("99999999999999999999x", Ok(false)),
    ] {
        let found = read_json(text).map(|read| read.is_some());
        let found =
            found.map_err(|error| assert_eq!(error.reason.as_deref(), Some("state.not_exact")));
        assert_eq!(found, read, "{text}");
    }
    // What a model wrote as a number has lost its digits before anybody could see them.
    for value in [json!(1e20), json!([{"x": -1e300}])] {
        for change in [
            Change::Set(at("n"), value.clone()),
            Change::Append(at("n"), value.clone()),
            Change::Merge(
                at("n"),
                serde_json::Map::from_iter([("x".to_owned(), value.clone())]),
            ),
        ] {
            let refused = apply(&json!({}), &[change]).unwrap_err();
            assert_eq!(
                refused.reason.as_deref(),
                Some("state.not_exact"),
                "{value}"
            );
        }
    }
}
