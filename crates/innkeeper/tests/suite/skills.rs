//! `innkeeper skills`: what is brought in, shown, moved, written out and deleted.

use std::fs;

use serde_json::{Value, json};

use super::home::House;

const HAIKU: &str = "---\nname: haiku\ndescription: Writes haiku.\nlicense: MIT\n---\n# Haiku\n";

fn house() -> House {
    let house = House::new();
    house.write("from/SKILL.md", HAIKU);
    house.write("from/references/seasons.md", "spring\nautumn\n");
    house
}

fn from(house: &House) -> String {
    house.path().join("from").to_str().unwrap().to_owned()
}

fn names(list: &Value) -> Vec<String> {
    let skills = list["skills"].as_array().unwrap().iter();
    skills
        .map(|skill| {
            format!(
                "{} {}",
                skill["scope"]["kind"].as_str().unwrap(),
                skill["name"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn from_a_folder_to_an_archive_and_back() {
    let house = house();
    let none = house.run(&["skills", "list"]);
    assert!(none.stderr.contains("No skills to show"), "{}", none.stderr);
    let preview = house.json(&["skills", "import", &from(&house), "--preview"]);
    assert_eq!(preview["conflict"], json!({"kind": "new"}));
    assert_eq!(names(&house.json(&["skills", "list"])), [""; 0]);

    let imported = house.json(&["skills", "import", &from(&house)]);
    assert_eq!(
        (&imported["action"], &imported["skill"]["name"]),
        (&json!("installed"), &json!("haiku"))
    );
    house
        .run(&["skills", "list"])
        .shows(&["haiku", "global", "Writes haiku."]);
    house.run(&["skills", "show", "haiku"]).shows(&[
        "MIT",
        "references/seasons.md",
        "14 B",
        "skills/installed/global/haiku",
    ]);
    let seasons = ["skills", "show", "haiku", "--file", "references/seasons.md"];
    house.run(&seasons).shows(&["spring\nautumn"]);
    assert_eq!(house.json(&seasons)["totalLines"], 2);

    let archive = house.path().join("haiku.ttskill");
    let archive = archive.to_str().unwrap();
    let exported = house.json(&["skills", "export", "haiku", "--output", archive]);
    let first = fs::read(archive).unwrap();
    house.json(&["skills", "export", "haiku", "--output", archive]);
    assert_eq!(
        first,
        fs::read(archive).unwrap(),
        "the same skill, the same bytes"
    );
    assert_eq!(exported["sha256"].as_str().unwrap().len(), 64);
    let again = house.json(&["skills", "import", archive]);
    assert_eq!(again["action"], "already_installed");
    let poet = house.json(&["skills", "import", archive, "--scope", "profile:poet"]);
    assert_eq!(
        poet["skill"]["installedHash"],
        imported["skill"]["installedHash"]
    );
    assert_eq!(
        names(&house.json(&["skills", "list"])),
        ["global haiku", "profile haiku"]
    );
}

#[test]
fn another_of_the_same_name_is_left_unless_somebody_says_so() {
    let house = house();
    house.json(&["skills", "import", &from(&house)]);
    house.write("from/SKILL.md", &HAIKU.replace("Writes", "Judges"));
    let refused = house.run(&["skills", "import", &from(&house)]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("[skill.conflict]"),
        "{}",
        refused.stderr
    );
    let zh = house.run(&["--lang", "zh", "skills", "import", &from(&house)]);
    assert!(zh.stderr.contains("已有另一个技能“haiku”"), "{}", zh.stderr);
    let skipped = house.json(&["skills", "import", &from(&house), "--skip"]);
    assert_eq!(
        (&skipped["action"], &skipped["skill"]["description"]),
        (&json!("skipped"), &json!("Writes haiku."))
    );
    let replaced = house.json(&["skills", "import", &from(&house), "--replace"]);
    assert_eq!(
        (&replaced["action"], &replaced["skill"]["description"]),
        (&json!("replaced"), &json!("Judges haiku."))
    );
}

#[test]
fn moved_and_deleted() {
    let house = house();
    house.json(&["skills", "import", &from(&house)]);
    let moved = house.json(&["skills", "move", "haiku", "--to", "preset:openai/My preset"]);
    assert_eq!(
        moved["skill"]["scope"],
        json!({"kind": "preset", "apiId": "openai", "name": "My preset"})
    );
    let gone = house.run(&["skills", "show", "haiku"]);
    assert_eq!(gone.code, Some(1));
    assert!(gone.stderr.contains("[skill.not_found]"), "{}", gone.stderr);
    let unasked = house.run(&[
        "skills",
        "delete",
        "haiku",
        "--scope",
        "preset:openai/My preset",
    ]);
    assert_eq!(unasked.code, Some(2));
    let deleted = house.json(&[
        "skills",
        "delete",
        "haiku",
        "--scope",
        "preset:openai/My preset",
        "--yes",
    ]);
    assert_eq!(deleted["deleted"], true);
    assert_eq!(names(&house.json(&["skills", "list"])), [""; 0]);
}

/// The same is there already: it only goes from where it was, and that is said.
#[test]
fn a_move_says_what_is_gone() {
    let house = house();
    house.json(&["skills", "import", &from(&house)]);
    house.json(&["skills", "import", &from(&house), "--scope", "profile:poet"]);
    let moved = house.run(&["skills", "move", "haiku", "--to", "profile:poet"]);
    assert!(
        moved
            .stderr
            .contains("was in profile:poet already, and is gone from global"),
        "{}",
        moved.stderr
    );
    assert_eq!(names(&house.json(&["skills", "list"])), ["profile haiku"]);
}

#[test]
fn what_cannot_be_done_is_told_in_one_line() {
    let house = house();
    house.write("bad/SKILL.md", "# No front matter\n");
    let bad = house.path().join("bad");
    let bad = bad.to_str().unwrap();
    for (words, code, told) in [
        (&["skills", "import", "nowhere"][..], 2, "[input.not_found]"),
        (&["skills", "import", bad], 1, "[skill.invalid_package]"),
        (
            &["skills", "import", bad, "--replace", "--skip"],
            2,
            "[cli.usage]",
        ),
        (
            &["skills", "list", "--scope", "world"],
            2,
            "preset:<api>/<name>",
        ),
        (&["skills", "show", "Haiku"], 1, "[skill.invalid_request]"),
        (&["skills", "export", "haiku"], 2, "[cli.usage]"),
        (
            &["skills", "export", "haiku", "--output", "x.zip"],
            1,
            "[skill.not_found]",
        ),
        (&["skills", "move", "haiku", "--to", "profile:"], 2, "--to"),
        (
            &["skills", "delete", "haiku", "--yes"],
            1,
            "[skill.not_found]",
        ),
    ] {
        let run = house.run(words);
        assert_eq!(run.code, Some(code), "{words:?}: {}", run.stderr);
        assert!(run.stderr.contains(told), "{words:?}: {}", run.stderr);
        assert_eq!(run.stderr.lines().count(), 1, "{words:?}: {}", run.stderr);
    }
    let nowhere = house.run(&["skills", "import", "nowhere"]);
    assert!(
        !nowhere.stderr.contains("standard input"),
        "{}",
        nowhere.stderr
    );
    house.write("skills/installed/global/haiku/SKILL.md", "broken");
    house
        .run(&["skills", "list"])
        .shows(&["Folders that cannot be used", "haiku"]);
    let zh = house.run(&["--lang", "zh", "skills", "import", bad]);
    assert!(
        zh.stderr.contains("SKILL.md 必须以一行“---”开头"),
        "{}",
        zh.stderr
    );
}
