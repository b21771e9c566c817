//! `innkeeper plugin config`: what is set for whom, and secrets that go in and never come out.

use serde_json::{Value, json};

use super::home::{House, Plugin, players};

const OPTIONS: &str = "configOptions:
  - { key: greeting, type: string, label: Greeting, defaultValue: Hello }
  - { key: port, type: number, label: Port, min: 1, max: 65535 }
  - { key: motto, type: string, label: Motto, scope: instance }
  - { key: api_key, type: secret, label: Key }
";

fn house() -> House {
    let house = House::new();
    house.put(&Plugin {
        manifest: OPTIONS,
        ..players()
    });
    house
}

fn config<'w>(words: &[&'w str]) -> Vec<&'w str> {
    [&["plugin", "config", "players"][..], words].concat()
}

fn value(house: &House, key: &str) -> Value {
    let all = house.json(&config(&[]));
    let mut all = all.as_array().unwrap().iter();
    all.find(|one| one["key"] == key).unwrap().clone()
}

#[test]
fn the_person_comes_before_the_house_before_the_default() {
    let house = house();
    let set = |words: &[&str]| {
        let run = house.run(&config(words));
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(0), ""),
            "{}",
            run.stderr
        );
    };
    let greeting = || {
        let setting = value(&house, "greeting");
        (setting["value"].clone(), setting["origin"].clone())
    };
    assert_eq!(greeting(), (json!("Hello"), json!("default")));
    set(&["set", "greeting", "Hi", "--instance"]);
    assert_eq!(greeting(), (json!("Hi"), json!("instance")));
    set(&["set", "greeting", "-dear-"]);
    assert_eq!(greeting(), (json!("-dear-"), json!("user")));
    set(&["unset", "greeting", "--user"]);
    assert_eq!(greeting(), (json!("Hi"), json!("instance")));
    set(&["set", "extensions.players.port", "8080"]);
    assert_eq!(value(&house, "port")["value"], 8080);
    house.run(&config(&["show"])).shows(&[
        "KEY",
        "greeting",
        "Hi",
        "everybody",
        "(not set)",
        "8080",
    ]);
    house
        .run(&config(&["--lang", "zh"]))
        .shows(&["键", "（未设定）", "所有人"]);
}

#[test]
fn values_from_standard_input() {
    let house = house();
    let run = house.fed(&config(&["set", "greeting", "-"]), "Good\nday\n");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(value(&house, "greeting")["value"], "Good\nday");
    let long = "x".repeat(1024 * 1024 + 1);
    house
        .fed(&config(&["set", "greeting", "-"]), &long)
        .is_refused(
            2,
            &["standard input", "larger than 1 MiB", "[input.too_large]"],
        );
}

#[test]
fn a_secret_is_read_unseen_and_never_shown() {
    const KEY: &str = "0123456789-abcdef";
    let house = house();
    let mut runs = Vec::new();
    for words in [
        &["set", "api_key"][..],
        &["set", "api_key", "-"],
        &["set", "api_key", "--instance", "--json"],
        &[],
        &["show", "--json"],
    ] {
        let run = house.fed(&config(words), &format!("{KEY}\n"));
        assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
        runs.push(run);
    }
    let typed = house.fed(&config(&["set", "api_key", KEY]), "");
    typed.is_refused(2, &["standard input", "[plugin.secret_on_command_line]"]);
    runs.push(typed);
    for run in &runs {
        assert!(!run.stdout.contains(KEY) && !run.stderr.contains(KEY));
    }
    assert_eq!(value(&house, "api_key")["secret"], "set");
    let kept = std::fs::read_to_string(house.path().join("secrets.toml")).unwrap();
    assert_eq!(
        kept.matches(KEY).count(),
        2,
        "for the person and for everybody"
    );
    for words in [
        &["unset", "api_key"][..],
        &["unset", "api_key", "--instance"],
    ] {
        assert_eq!(house.run(&config(words)).code, Some(0));
    }
    assert_eq!(value(&house, "api_key")["secret"], "not set");
}

#[test]
fn what_cannot_be_set() {
    let house = house();
    for (words, input, fragments) in [
        (
            &["set", "greting", "x"][..],
            "",
            &[
                "no setting 'greting'",
                "did you mean greeting?",
                "[plugin.unknown_setting]",
            ][..],
        ),
        (
            &["set", "port", "many"],
            "",
            &["port", "[plugin.setting_refused]"],
        ),
        (
            &["set", "port", "99999"],
            "",
            &["port", "[plugin.setting_refused]"],
        ),
        (
            &["set", "motto", "x", "--user"],
            "",
            &["motto", "[plugin.setting_refused]"],
        ),
        (
            &["set", "greeting"],
            "",
            &["'greeting' needs a value", "[cli.usage]"],
        ),
        (
            &["set", "api_key"],
            "",
            &["'api_key' needs a value", "[cli.usage]"],
        ),
        (
            &["set", "api_key"],
            "ab",
            &["shorter than", "[plugin.setting_refused]"],
        ),
        (
            &["set"],
            "",
            &["<KEY> is missing", "innkeeper plugin config set --help"],
        ),
        (
            &["set", "greeting", "x", "--user", "--instance"],
            "",
            &["--user", "--instance"],
        ),
        (&["unset", "x"], "", &["no setting 'x'"]),
    ] {
        house.fed(&config(words), input).is_refused(2, fragments);
    }
    house
        .run(&["plugin", "config", "nobody"])
        .is_refused(2, &["no plugin 'nobody'"]);
    house
        .run(&config(&["--lang", "zh", "set", "greeting"]))
        .is_refused(2, &["缺少值"]);
}
