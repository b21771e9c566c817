//! Runs that ask a person: at the terminal, from another one, and where nobody is.
#![cfg(unix)]

use super::home::House;
use super::terminal::Terminal;

const ASK: &str = "ask for approval";

fn scratch(house: &House) -> std::path::PathBuf {
    house.path().join("projects/default/notes/scratch.md")
}

/// A run that waits, and that nobody drives.
fn waiting(house: &House) -> String {
    let run = house.run(&["run", ASK]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("waits for approval: innkeeper runs approve run_"),
        "{}",
        run.stderr
    );
    assert!(
        scratch(house).is_file(),
        "nothing is done that nobody has allowed"
    );
    let list = house.json(&["runs", "list"]);
    assert_eq!(list[0]["status"], "awaiting_approval");
    list[0]["runId"].as_str().unwrap().to_owned()
}

#[test]
fn where_nobody_is_a_run_waits_and_goes_on_with_the_answer() {
    for (answer, said, is_left) in [
        (&["--reason", "fine"][..], "With your leave", false),
        (
            &["--deny", "--reason", "Not that file"][..],
            "That was not allowed",
            true,
        ),
        (&["--remember", "always"][..], "With your leave", false),
    ] {
        let house = House::new();
        let run = waiting(&house);
        let asked = house.json(&["runs", "approve", "--list"]);
        assert_eq!(asked.as_array().unwrap().len(), 1, "{asked}");
        assert_eq!(asked[0]["runId"], run.as_str());
        assert_eq!(
            (&asked[0]["tool"], &asked[0]["rule"]),
            (&"File.Delete".into(), &"default:deleting".into())
        );
        let shown = house.json(&["runs", "show", "last"]);
        assert_eq!(shown["pendingApprovals"], asked);
        house
            .run(&["runs", "show", "last"])
            .shows(&["Waits for an answer", "File.Delete"]);

        let mut words = vec!["runs", "approve", "last"];
        words.extend(answer);
        let given = house.json(&words);
        assert_eq!(given["driven"], false, "{given}");
        assert_eq!(given["approvalId"], asked[0]["approvalId"]);
        // The same again says nothing new, and another answer does not count.
        let call = given["callId"].as_str().unwrap();
        let mut again = vec!["runs", "approve", "last", call];
        again.extend(answer);
        assert_eq!(house.run(&again).code, Some(0));
        house
            .run(&[
                "runs",
                "approve",
                "last",
                call,
                "--reason",
                "something else",
            ])
            .is_refused(1, &["first answer counts", "agent.approval_answered"]);
        house
            .run(&["runs", "approve", "last"])
            .is_refused(1, &["[run.nothing_waits]"]);

        let resumed = house.run(&["runs", "resume", "last"]);
        assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
        assert!(resumed.stdout.contains(said), "{}", resumed.stdout);
        assert_eq!(scratch(&house).is_file(), is_left);
        house.run(&["runs", "approve", "last"]).is_refused(
            1,
            &["waits for an answer: it is over", "[run.nothing_waits]"],
        );
        let grants = house.json(&["tools", "grants"]);
        assert_eq!(
            grants.as_array().unwrap().len(),
            usize::from(answer[0] == "--remember")
        );
    }
}

#[test]
fn a_run_that_nobody_answers_waits_again_and_asks_nothing_twice() {
    let house = House::new();
    let run = waiting(&house);
    let before = house.json(&["runs", "approve", "--list"]);
    let resumed = house.run(&["runs", "resume", &run]);
    assert_eq!(resumed.code, Some(5), "{}", resumed.stderr);
    assert_eq!(house.json(&["runs", "approve", "--list"]), before);
    let yes = house.run(&["runs", "resume", &run, "--yes"]);
    assert_eq!(yes.code, Some(0), "{}", yes.stderr);
    assert!(!scratch(&house).exists());
}

#[test]
fn changed_arguments_are_held_against_the_tool() {
    let house = House::new();
    waiting(&house);
    for (arguments, said) in [
        (
            r#"{"file_pth": "notes/other.md"}"#,
            "did you mean 'file_path'",
        ),
        ("{}", "file_path"),
    ] {
        house
            .run(&["runs", "approve", "last", "--arguments", arguments])
            .is_refused(1, &[said, "stays open", "agent.approval_edit_invalid"]);
    }
    house
        .run(&["runs", "approve", "last", "--arguments", "[1]"])
        .is_refused(2, &["--arguments"]);
    house.write("projects/default/notes/other.md", "x");
    house.write("new.json", r#"{"file_path": "notes/other.md"}"#);
    let file = format!("@{}", house.path().join("new.json").display());
    let given = house.json(&["runs", "approve", "last", "--arguments", &file]);
    assert_eq!(given["argumentsEdited"], true);
    let resumed = house.run(&["runs", "resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert!(scratch(&house).is_file());
    assert!(
        !house
            .path()
            .join("projects/default/notes/other.md")
            .exists()
    );
}

fn at_terminal(house: &House, words: &[&str]) -> Terminal {
    let mut command = house.command(words);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    Terminal::start(command)
}

#[test]
fn an_answer_from_elsewhere_withdraws_the_question() {
    let house = House::new();
    let mut terminal = at_terminal(&house, &["run", ASK]);
    terminal.wait_for("Allow?");
    let given = house.json(&["runs", "approve", "last"]);
    assert_eq!(given["driven"], true, "{given}");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains("With your leave"), "{seen}");
    assert!(!scratch(&house).exists());
}

#[test]
fn a_person_says_why_or_changes_the_arguments() {
    let house = House::new();
    let mut terminal = at_terminal(&house, &["run", ASK]);
    terminal
        .wait_for("Allow?")
        .type_in("n it is still needed\n");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    let told = house.run(&["runs", "events", "last", "--json"]).stdout;
    let failed = told
        .lines()
        .find(|line| line.contains("\"tool_call_failed\""));
    assert!(failed.unwrap().contains("it is still needed"), "{told}");

    house.write("projects/default/notes/other.md", "x");
    let mut terminal = at_terminal(&house, &["run", ASK]);
    terminal.wait_for("[e]dit").type_in("e\n");
    terminal
        .wait_for("one line of JSON")
        .type_in("{\"file\": 1}\n");
    terminal.wait_for("stays open").type_in("e\n");
    terminal.type_in("{\"file_path\": \"notes/other.md\"}\n");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(scratch(&house).is_file(), "{seen}");
    assert!(
        !house
            .path()
            .join("projects/default/notes/other.md")
            .exists(),
        "{seen}"
    );
}
