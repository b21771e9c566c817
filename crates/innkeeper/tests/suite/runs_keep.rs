//! Letting go of old runs, and the memory of chats, at the command line.

use serde_json::json;

use super::home::House;

const LETTER: [&str; 3] = ["run", "default-writer", "write a letter about tea"];

#[test]
fn old_runs_are_slimmed_and_go_once_a_person_has_said_so() {
    let house = House::new();
    for _ in 0..3 {
        assert_eq!(house.run(&LETTER).code, Some(0));
    }
    let keep = ["runs", "prune", "--keep", "2", "--keep-full", "1"];
    let plan = house.json(&[&keep[..], &["--dry-run"]].concat());
    let counts = [
        &plan["terminalRunCount"],
        &plan["slimCandidateCount"],
        &plan["deleteCandidateCount"],
    ];
    assert_eq!(counts, [&json!(3), &json!(1), &json!(1)]);
    let dry = house.run(&[&keep[..], &["--dry-run"]].concat());
    assert!(
        dry.stdout.contains("1 would be slimmed, 1 deleted"),
        "{}",
        dry.stdout
    );
    // Nobody can be asked here.
    let asked = house.run(&keep);
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    assert_eq!(house.json(&["runs", "list"]).as_array().unwrap().len(), 3);

    let done = house.json(&[&keep[..], &["--yes"]].concat());
    assert_eq!(done["slimmedRunCount"], 1, "{done}");
    assert_eq!(done["deletedRunCount"], 1);
    assert!(done["removedByteCount"].as_u64() >= plan["totalCandidateByteCount"].as_u64());
    let listed = house.json(&["runs", "list"]);
    let [whole, slim] = listed.as_array().unwrap().as_slice() else {
        panic!("{listed}");
    };
    assert_eq!(whole["isSlim"], json!(null));
    assert_eq!(slim["isSlim"], true);
    assert!(
        house
            .run(&["runs", "list"])
            .stdout
            .contains("completed, slim")
    );

    let run = slim["runId"].as_str().unwrap();
    let shown = house.run(&["runs", "show", run]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stderr.contains("slimmed"), "{}", shown.stderr);
    assert_eq!(
        house.json(&["runs", "show", run])["calls"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    let export = house.json(&["runs", "export", run]);
    assert_eq!(
        export["events"].as_array().unwrap().len() as u64,
        slim["lastSeq"].as_u64().unwrap()
    );
    assert_eq!(export["turns"], json!(null));
    super::runs::whole_journal(&house, run);
    for words in [
        &["runs", "show", run, "--turn", "1"][..],
        &["runs", "show", run, "--file", "output/main.md"],
        &["runs", "diff", run],
        &["runs", "resume", run],
    ] {
        let refused = house.run(words);
        assert_eq!(refused.code, Some(1), "{words:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("was slimmed"),
            "{words:?}: {}",
            refused.stderr
        );
    }
    assert_eq!(house.run(&["runs", "delete", run, "--yes"]).code, Some(0));
    let doctor = house.run(&["doctor"]);
    assert!(!doctor.stdout.contains("damaged"), "{}", doctor.stdout);
}

#[test]
fn runs_go_by_themselves_where_the_settings_say_so() {
    let house = House::new();
    house.settings("[retention]\nauto_prune = true\nkeep_recent_terminal_runs = 1\n");
    for _ in 0..2 {
        assert_eq!(house.run(&LETTER).code, Some(0));
    }
    let listed = house.json(&["runs", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    house.settings("[retention]\nkeep_recent_terminal_runs = 1\nkeep_full_recent_runs = 2\n");
    let refused = house.run(&["runs", "prune", "--dry-run"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("keep_full_recent_runs"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_memory_of_a_chat_can_be_looked_at_copied_and_pruned() {
    let house = House::new();
    assert_eq!(
        house.json(&["runs", "memory", "list"]),
        json!({"workspaces": []})
    );
    assert_eq!(house.run(&LETTER).code, Some(0));
    let chats = house.json(&["runs", "memory", "list"]);
    let chat = chats["workspaces"][0]["workspaceId"].as_str().unwrap();
    let states = house.json(&["runs", "memory", "list", "last"]);
    assert_eq!(states["workspaceId"], chat);
    let run = house.json(&["runs", "list"])[0]["runId"].clone();
    assert_eq!(states["states"][0]["stateId"], run);
    let shown = house.json(&["runs", "memory", "show", chat, "last"]);
    assert_eq!(shown["stateId"], run);
    let diff = house.json(&["runs", "memory", "diff", chat, "none", "last"]);
    assert_eq!(diff["files"], json!([]));
    let nothing = house.run(&[
        "runs",
        "memory",
        "show",
        chat,
        "last",
        "--file",
        "persist/x.md",
    ]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);

    let target = "chat_84134139c4785d9f";
    for copied in [1, 0] {
        let done = house.json(&["runs", "memory", "copy", "last", target]);
        assert_eq!(done["copiedStateCount"], copied);
    }
    let same = house.run(&["runs", "memory", "copy", chat, "last"]);
    assert_eq!(same.code, Some(1));
    assert!(same.stderr.contains("same workspace"), "{}", same.stderr);
    let unknown = house.run(&["runs", "memory", "prune", target, "nosuch", "--yes"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("runs memory list"),
        "{}",
        unknown.stderr
    );
    let done = house.json(&["runs", "memory", "prune", target, "last", "--yes"]);
    assert_eq!(done["removedStateIds"], json!([run]));
    let left = house.json(&["runs", "memory", "list"]);
    assert_eq!(left["workspaces"].as_array().unwrap().len(), 1);
}
