//! `innkeeper state`: what agents keep and share, seen and corrected by a person.

use serde_json::json;

use super::home::House;

const NOTE: &str = "name: keeper\nscenes:\n  - name: done\n    when: {role: observation}\n    reply: Noted.\n  - name: call\n    when: {matches: '\\S'}\n    \
     reply: |\n      <|[REQUEST_TOOL]|>\n      command:»»»UpdatePrivateStateTool«««\n      path:»»»visits«««\n      op:»»»increment«««\n      <|[END_TOOL]|>\n      \
     <|[REQUEST_TOOL]|>\n      command:»»»RequestWorldStateUpdateTool«««\n      path:»»»door.open«««\n      value:»»»true«««\n      <|[END_TOOL]|>\n";

fn house() -> House {
    let house = House::new();
    house.settings("[models]\nrehearsal = \"script.yaml\"\n");
    house.write("script.yaml", NOTE);
    house
}

#[test]
fn a_chat_remembers_and_a_person_corrects_it() {
    let house = house();
    for _ in 0..2 {
        let run = house.run(&["run", "--chat", "evening", "--yes", "A guest"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let chat = ["--chat", "evening"];
    let with = |words: &[&'static str]| -> Vec<&'static str> {
        let (command, rest) = words.split_first().unwrap();
        [&["state", *command], &chat[..], rest].concat()
    };
    let shown = house.json(&with(&["show"]));
    assert_eq!(
        shown["world"],
        json!({"version": 1, "value": {"door": {"open": "true"}}})
    );
    assert_eq!(
        shown["private"],
        json!([{"profileId": "innkeeper", "version": 2, "value": {"visits": 2}}])
    );
    house.run(&["state", "show", "--run", "last"]).shows(&[
        "World, version 1",
        "Private state of innkeeper, version 2",
        "\"visits\": 2",
    ]);
    let part = with(&["show", "--private", "innkeeper", "--path", "visits"]);
    assert_eq!(house.json(&part)["private"][0]["value"], 2);

    // The world, at once.
    let set = house.json(&with(&[
        "set",
        "door.open",
        "false",
        "--expected-version",
        "1",
    ]));
    assert_eq!(
        set,
        json!({"version": 2, "paths": ["/door/open"], "value": false})
    );
    house
        .run(&with(&[
            "set",
            "door.open",
            "true",
            "--expected-version",
            "1",
        ]))
        .is_refused(
            1,
            &["is at version 2, not 1; since then /door/open changed"],
        );
    house.run(&with(&["history"])).shows(&[
        "a person",
        "/door/open: \"true\" → false",
        "/door: - → ",
    ]);

    // The private state, in what the last run has left: the next one goes on from there.
    let set = house.json(&with(&["set", "--private", "innkeeper", "visits", "10"]));
    assert_eq!(
        set,
        json!({"version": 3, "paths": ["/visits"], "value": 10})
    );
    let run = house.run(&["run", "--chat", "evening", "--yes", "Another guest"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let shown = house.json(&with(&["show", "--private", "innkeeper"]));
    assert_eq!(shown["private"][0]["value"], json!({"visits": 11}));
    let history = house.json(&with(&[
        "history",
        "--private",
        "innkeeper",
        "--limit",
        "2",
    ]));
    let by: Vec<_> = history["versions"].as_array().unwrap().iter().collect();
    assert_eq!(
        (&by[0]["by"]["profileId"], &by[1]["by"]),
        (&json!("innkeeper"), &json!({"kind": "person"}))
    );
    house
        .run(&["runs", "events", "last"])
        .shows(&["private state, version 4: /visits"]);
    house
        .run(&["runs", "checkpoints", "last"])
        .shows(&["private state"]);
    // A rollback names it as the change did.
    let back = house.run(&["runs", "rollback", "last", "start", "--yes"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    let kept = house.run(&["runs", "checkpoints", "last"]).stdout;
    assert!(!kept.contains(".state"), "{kept}");
    let row = kept.lines().find(|line| line.contains("  rolled back  "));
    assert!(
        row.is_some_and(|row| row.contains("private state")),
        "{kept}"
    );
    house
        .run(&["--lang", "zh", "runs", "checkpoints", "last"])
        .shows(&["私有状态"]);
}

#[test]
fn what_nobody_would_see_in_a_state_is_shown_by_its_number() {
    let house = House::new();
    let set = |path: &str, value: &str| {
        let set = house.run(&["state", "set", "--chat", "c", path, value]);
        assert_eq!(set.code, Some(0), "{}", set.stderr);
        set.stderr
    };
    set("s", "\u{202e}abc");
    let said = set("k\u{200b}", "1");
    assert!(said.contains("/k\\u{200b}"), "{said}");
    let shown = house.run(&["state", "show", "--chat", "c"]);
    shown.shows(&["\"s\": \"\\u202eabc\"", "\"k\\u200b\": 1"]);
    let history = house.run(&["state", "history", "--chat", "c"]);
    history.shows(&["/s: - → \"\\u202eabc\"", "/k\\u{200b}: - → 1"]);
    for out in [shown.stdout, history.stdout] {
        assert!(!out.contains(['\u{202e}', '\u{200b}']), "{out}");
    }
    // A program gets what it is.
    let told = house.json(&["state", "show", "--chat", "c"]);
    assert_eq!(told["world"]["value"]["s"], "\u{202e}abc");
    house
        .run(&["--lang", "zh", "state", "set", "--chat", "c", "..", "1"])
        .is_refused(1, &["“..”不是路径：两个点之间或末尾没有内容"]);
}

#[test]
fn a_world_is_held_to_the_schema_that_a_person_gave_it() {
    let house = House::new();
    let schema = r#"{"properties": {"guests": {"type": "integer", "minimum": 0}}}"#;
    let schema = house.write("world.json", schema);
    let schema = schema.to_str().unwrap();
    let show = ["state", "schema", "--chat", "evening"];
    assert_eq!(house.json(&show)["schema"], json!(null));
    house.json(&["state", "schema", "--chat", "evening", schema]);
    assert_eq!(
        house.json(&show)["schema"]["properties"]["guests"]["minimum"],
        0
    );
    house.run(&show).shows(&["\"minimum\": 0"]);
    let set = |words: &[&str]| house.run(&[&["state", "set", "--chat", "evening"], words].concat());
    assert_eq!(set(&["--op", "increment", "guests", "2"]).code, Some(0));
    set(&["guests", "-1"]).is_refused(1, &["would not fit its schema at '/guests'", "minimum"]);
    set(&["--lang", "zh", "guests", "-1"]).is_refused(1, &["世界状态在“/guests”处会不符合 schema"]);
    house.json(&["state", "schema", "--chat", "evening", "--remove"]);
    assert_eq!(set(&["guests", "-1"]).code, Some(0));
    assert_eq!(house.json(&show)["schema"], json!(null));
}

#[test]
fn large_integers_keep_their_digits() {
    let house = House::new();
    let set = |words: &[&str]| house.run(&[&["state", "set", "--chat", "x"], words].concat());
    assert_eq!(set(&["n", "9007199254740993"]).code, Some(0));
    assert_eq!(set(&["--op", "increment", "n"]).code, Some(0));
    let shown = house.run(&["state", "show", "--chat", "x", "--path", "n", "--json"]);
    assert!(
        shown.stdout.contains("9007199254740994"),
        "{}",
        shown.stdout
    );
    set(&["--op", "increment", "n", "0.5"]).is_refused(1, &["digits would be lost"]);
    set(&["--lang", "zh", "--op", "increment", "n", "0.5"]).is_refused(1, &["会丢失数位"]);
    assert_eq!(set(&["n", "18446744073709551615"]).code, Some(0));
    set(&["--op", "increment", "n"]).is_refused(1, &["too large"]);
}

#[test]
fn what_is_not_there_is_said_in_one_line() {
    let house = House::new();
    for (words, code, said) in [
        (&["show"][..], 2, "--chat"),
        (&["show", "--run", "last"], 2, "there are no runs yet"),
        (
            &["show", "--chat", "x", "--private", "nobody"],
            1,
            "'nobody' has no private state in this chat",
        ),
        (
            &["show", "--chat", "x", "--world", "--path", "a.b"],
            1,
            "The state has no 'a'",
        ),
        (&["set", "--chat", "x", "a"], 1, "needs a value"),
        (
            &["set", "--chat", "x", "--private", "innkeeper", "a", "1"],
            1,
            "no run of this chat is complete",
        ),
        (
            &["set", "--chat", "x", "--private", "nobody", "a", "1"],
            1,
            "there is no profile 'nobody'",
        ),
        (
            &["show", "--chat", "x", "--path", "a.b"],
            1,
            "neither the world nor a private state of this chat has anything at '/a/b'",
        ),
        (
            &["set", "--chat", "x", "a", "18446744073709551616"],
            1,
            "The number 18446744073709551616 cannot be kept exactly",
        ),
        (
            &[
                "set",
                "--lang",
                "zh",
                "--chat",
                "x",
                "a",
                "[-9223372036854775809]",
            ],
            1,
            "数字 -9223372036854775809 无法精确保存",
        ),
    ] {
        house
            .run(&[&["state"], words].concat())
            .is_refused(code, &[said]);
    }
    let shown = house.json(&["state", "show", "--chat", "x"]);
    assert_eq!(
        (&shown["world"]["version"], &shown["private"]),
        (&json!(0), &json!([]))
    );
}
