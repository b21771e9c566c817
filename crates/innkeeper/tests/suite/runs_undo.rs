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

/// Rows of a section of `runs show`, without its heading.
fn section<'s>(shown: &'s str, name: &str) -> Vec<&'s str> {
    let lines = shown.lines().skip_while(|line| *line != name).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

#[test]
fn what_was_taken_back_is_marked_until_that_is_undone() {
    let house = house();
    let show = |house: &House, words: &[&str]| {
        let shown = house.run(&[words, &["runs", "show", "last"]].concat());
        assert_eq!(shown.code, Some(0), "{}", shown.stderr);
        shown.stdout
    };
    let before = show(&house, &[]);
    assert!(!before.contains("taken back"), "{before}");
    let all = house.json(&["runs", "show", "last"]);
    assert_eq!(all["rolledBack"], serde_json::Value::Null);
    assert_eq!(all["turns"].as_array().unwrap().len(), 4);

    let back = |words: &[&str]| {
        let back = house.run(&[&["runs", "rollback", "last"], words, &["--yes"]].concat());
        assert_eq!(back.code, Some(0), "{}", back.stderr);
    };
    back(&["1", "--reason", "too long"]);
    let shown = show(&house, &[]);
    let run = all["record"]["runId"].as_str().unwrap();
    let head = shown.lines().find(|line| line.starts_with("rolled back"));
    let head = head.unwrap_or_else(|| panic!("{shown}"));
    assert!(head.contains("to cp_000001 at 20"), "{head}");
    assert!(head.contains(": too long; "), "{head}");
    let undo = format!("innkeeper runs rollback {run} --undo brings it back");
    assert!(head.ends_with(&undo), "{head}");
    for (name, marked) in [
        ("Turns", [false, true, true, true]),
        ("Calls", [false, true, true, true]),
    ] {
        let rows = section(&shown, name);
        let found: Vec<bool> = rows
            .iter()
            .skip(1)
            .map(|row| row.starts_with("taken back"))
            .collect();
        assert_eq!(found, marked, "{shown}");
    }
    // Only files and conversation went back.
    let published = section(&shown, "Published");
    assert!(published[0].ends_with("stays published"), "{shown}");
    let told = house.json(&["runs", "show", "last"]);
    assert_eq!(told["rolledBack"]["checkpointId"], "cp_000001");
    assert_eq!(told["rolledBack"]["reason"], "too long");
    for of in ["turns", "calls"] {
        let marks: Vec<bool> = told[of]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["takenBack"] == true)
            .collect();
        assert_eq!(marks, [false, true, true, true], "{of}");
    }
    let chinese = show(&house, &["--lang", "zh"]);
    for part in [
        "已退回",
        "于 20",
        "退回到 cp_000001：too long",
        "可恢复",
        "已撤回",
        "仍在发布",
    ] {
        assert!(chinese.contains(part), "no {part} in {chinese}");
    }

    back(&["--undo"]);
    assert!(!show(&house, &[]).contains("taken back"));
    assert_eq!(
        house.json(&["runs", "show", "last"])["rolledBack"],
        all["rolledBack"]
    );

    // What was published and withdrawn is said as well.
    back(&["1", "--scope", "committed-message"]);
    let shown = show(&house, &[]);
    let published = section(&shown, "Published");
    assert!(published[0].ends_with("withdrawn"), "{shown}");
    let told = house.json(&["runs", "show", "last"]);
    assert_eq!(told["commits"], serde_json::json!([]));
    assert_eq!(told["withdrawnCommits"][0]["path"], "output/main.md");
    assert!(show(&house, &["--lang", "zh"]).contains("已收回"));
}

/// An answer that was taken back is none.
#[test]
fn the_answer_of_a_run_goes_with_its_end() {
    let house = House::new();
    let run = house.run(&["run", "Roll 2d6"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let answer = || house.json(&["runs", "show", "last"])["answer"].clone();
    assert!(answer().as_str().unwrap().contains("2d6"), "{}", answer());
    let back = house.run(&["runs", "rollback", "last", "start", "--yes"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert_eq!(answer(), serde_json::Value::Null);
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
