//! Taking a run back and branching off from it, as a person asks for it.

use super::home::House;

const LETTER: [&str; 3] = ["run", "default-writer", "write a letter about tea"];

fn house() -> House {
    let house = House::new();
    let run = house.run(&LETTER);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    house
}

#[test]
fn a_run_is_taken_back_and_that_is_undone() {
    let house = house();
    let main = ["runs", "show", "last", "--file", "output/main.md"];
    let before = house.run(&main).stdout;
    let unasked = house.run(&["runs", "rollback", "last", "1"]);
    assert_eq!(unasked.code, Some(2), "{}", unasked.stderr);
    assert!(
        unasked.stderr.contains("[run.needs_yes]"),
        "{}",
        unasked.stderr
    );
    assert!(
        unasked.stderr.contains("output/main.md"),
        "{}",
        unasked.stderr
    );
    let back = house.json(&[
        "runs",
        "rollback",
        "last",
        "1",
        "--scope",
        "committed-message",
        "--reason",
        "no",
        "--yes",
    ]);
    assert_eq!(back["checkpointId"], "cp_000001");
    assert_eq!(back["scope"], "committed-message");
    assert_eq!(back["reason"], "no");
    assert_eq!(back["withdrawnCommits"][0]["strategy"], "deleteMessage");
    assert_eq!(back["files"]["modified"], 1);
    assert_ne!(house.run(&main).stdout, before);
    house
        .run(&["runs", "checkpoints", "last"])
        .shows(&["before it was rolled back", "rolled back"]);
    let undone = house.run(&["runs", "rollback", "last", "--undo", "--yes"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(
        undone.stderr.contains("--undo takes this back"),
        "{}",
        undone.stderr
    );
    assert_eq!(house.run(&main).stdout, before);
    for (words, code, said) in [
        (&["9", "--yes"][..], 1, "its last is cp_"),
        (&["now", "--yes"], 1, "'now' is where the run is"),
        (&["yesterday", "--yes"], 1, "is no checkpoint"),
        (&[], 2, "CHECKPOINT"),
        (&["1", "--undo"], 2, "--undo"),
    ] {
        let refused = house.run(&[&["runs", "rollback", "last"], words].concat());
        assert_eq!(refused.code, Some(code), "{words:?} {}", refused.stderr);
        assert!(
            refused.stderr.contains(said),
            "{words:?} {}",
            refused.stderr
        );
    }
}

#[test]
fn a_fork_is_a_run_of_its_own() {
    let house = house();
    let first = house.json(&["runs", "list"])[0]["runId"].clone();
    let made = house.json(&["runs", "fork", "last", "1", "--no-start"]);
    assert_ne!(made["runId"], first);
    let list = house.json(&["runs", "list"]);
    assert_eq!(list.as_array().unwrap().len(), 2);
    house
        .run(&["runs", "show", "last", "--file", "output/main.md"])
        .shows(&["Dear guest"]);
    house
        .run(&["runs", "checkpoints", "last"])
        .shows(&["cp_000001", "branched off"]);
    let events = house.run(&["runs", "events", "last", "--after", "0", "--json"]);
    assert!(
        events.stdout.contains("\"forkedFrom\""),
        "{}",
        events.stdout
    );
    let unknown = house.run(&["runs", "fork", "last", "9"]);
    assert_eq!(unknown.code, Some(1), "{}", unknown.stderr);
    assert!(
        unknown.stderr.contains("[agent.not_found]"),
        "{}",
        unknown.stderr
    );
}
