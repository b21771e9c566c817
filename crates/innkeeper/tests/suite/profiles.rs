//! `innkeeper profiles`: which agents there are, and what is wrong with files that cannot be used.

use serde_json::{Value, json};

use super::home::House;

fn profile(id: &str) -> String {
    json!({
        "schemaVersion": 2,
        "kind": "tauritavern.agentProfile",
        "id": id,
        "displayName": "Librarian",
        "description": "Finds things\nin my notes.",
        "run": {"presentation": "background"},
        "tools": {"allow": ["File.*"], "deny": ["File.Delete"], "maxRounds": 20},
        "agent": {"textTurn": "answers"},
    })
    .to_string()
}

fn ids(list: &Value) -> Vec<&str> {
    let profiles = list["profiles"].as_array().unwrap().iter();
    profiles
        .map(|profile| profile["id"].as_str().unwrap())
        .collect()
}

#[test]
fn all_that_can_be_run_are_listed_and_what_cannot_with_the_cause() {
    let house = House::new();
    assert_eq!(
        ids(&house.json(&["profiles", "list"])),
        ["default-writer", "innkeeper"]
    );
    house.write("agent_profiles/librarian.json", &profile("librarian"));
    house.write("agent_profiles/broken.json", "{");
    house.write("agent_profiles/other.json", &profile("misnamed"));
    let list = house.json(&["profiles", "list"]);
    assert_eq!(ids(&list), ["default-writer", "innkeeper", "librarian"]);
    let issues = list["issues"].as_array().unwrap();
    let files: Vec<_> = issues.iter().map(|issue| &issue["fileName"]).collect();
    assert_eq!(files, ["broken.json", "other.json"]);
    let shown = house.run(&["profiles", "list"]);
    shown.shows(&[
        "librarian",
        "agent_profiles/librarian.json",
        "Finds things in my notes.",
        "built in",
        "Files that cannot be used",
        "broken.json  this is no JSON",
        "name it misnamed.json",
    ]);
    house
        .run(&["--lang", "zh", "profiles", "list"])
        .shows(&["内置", "请改名为 misnamed.json"]);
}

#[test]
fn one_is_shown_as_a_run_finds_it() {
    let house = House::new();
    house.write("agent_profiles/librarian.json", &profile("librarian"));
    house.run(&["profiles", "show", "librarian"]).shows(&[
        "Librarian",
        "File.*",
        "File.Delete",
        "20 rounds",
        "it answers in words",
        "What it is told",
    ]);
    let shown = house.json(&["profiles", "show", "librarian"]);
    assert_eq!(shown["source"], "file:librarian");
    assert_eq!(shown["profile"]["tools"]["maxRounds"], 20);
    let built_in = house.json(&["profiles", "show", "default-writer"]);
    assert_eq!(
        (&built_in["source"], &built_in["path"]),
        (&json!("built_in"), &Value::Null)
    );
    // The same words whoever asks.
    for words in [
        &["profiles", "show", "libraryan"][..],
        &["run", "libraryan", "hello"],
    ] {
        house.run(words).is_refused(
            1,
            &[
                "there is no profile 'libraryan', did you mean 'librarian'?",
                "innkeeper profiles list",
                "[agent.not_found]",
            ],
        );
    }
    house
        .run(&["run", "nosuch", "hello", "--lang", "zh"])
        .is_refused(
            1,
            &["没有配置“nosuch”", "profiles list", "[agent.not_found]"],
        );
}

#[test]
fn two_files_of_one_id_are_told() {
    let house = House::new();
    house.write("agent_profiles/librarian.json", &profile("librarian"));
    house.write(
        "projects/novel/agent_profiles/librarian.json",
        &profile("librarian"),
    );
    let here = house.run(&["profiles", "list"]);
    assert!(!here.stderr.contains("several files"), "{}", here.stderr);
    let words = ["profiles", "list", "--project", "novel"];
    let novel = house.run(&words);
    assert!(
        novel.stderr.contains("'librarian' is in several files: "),
        "{}",
        novel.stderr
    );
    let list = house.json(&words);
    let librarian = &list["profiles"][2];
    let path = librarian["path"].as_str().unwrap();
    assert!(path.contains("projects/novel"), "{librarian}");
    assert_eq!(librarian["hidden"].as_array().unwrap().len(), 1);
    let shown = house.run(&["profiles", "show", "librarian", "--project", "novel"]);
    assert!(
        shown.stderr.contains("has the same id and is not used"),
        "{}",
        shown.stderr
    );
}

#[test]
fn a_folder_with_more_files_than_are_looked_at_is_told() {
    let house = House::new();
    for number in 0..1_001 {
        house.write(&format!("agent_profiles/f{number:04}.json"), "{}");
    }
    let list = house.run(&["profiles", "list"]);
    assert!(
        list.stderr.contains("has more than 1000 files"),
        "{}",
        list.stderr
    );
}
