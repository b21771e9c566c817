//! A run that a person watches at a terminal: words as they come, questions in place, what is typed is heard.
#![cfg(unix)]

use super::home::House;
use super::terminal::Terminal;

fn at_terminal(house: &House, words: &[&str]) -> Terminal {
    let mut command = house.command(words);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    Terminal::start(command)
}

/// These come one after the other.
#[track_caller]
fn in_order(seen: &str, parts: &[&str]) {
    let mut rest = seen;
    for part in parts {
        let Some(at) = rest.find(part) else {
            panic!("no {part:?} in its place in {seen}")
        };
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn what_is_written_is_seen_while_it_is_written() {
    let house = House::new();
    let words = ["run", "default-writer", "write a letter about tea"];
    let (code, seen) = at_terminal(&house, &words).end();
    assert_eq!(code, Some(0), "{seen}");
    in_order(
        &seen,
        &[
            "(thinks) First a draft",
            "I draft a letter about tea.",
            "→ workspace.write_file path=output/main.md",
            "  │ Dear guest,",
            "✓ workspace.write_file",
            "round 2",
            "→ workspace.apply_patch",
            "  - That is all for today.",
            "  + The kettle is singing",
            "✓ workspace.apply_patch",
            "Better. I publish it.",
            "The kettle is singing, so that is all for today.",
            "published as terminal-1",
            "✓ workspace.finish",
            "completed · 4 rounds · 4 calls",
        ],
    );
    // Words that were streamed are not printed again.
    assert_eq!(seen.matches("Better. I publish it.").count(), 1, "{seen}");
    let (_, seen) = at_terminal(&house, &["run", "Roll 2d6"]).end();
    assert_eq!(seen.matches("You rolled 2d6").count(), 1, "{seen}");
}

#[test]
fn a_question_is_put_in_place_and_its_answer_counts() {
    for (answer, said) in [
        ("y\n", "With your leave"),
        ("n\n", "That was not allowed, so it was not done"),
    ] {
        let house = House::new();
        let mut terminal = at_terminal(&house, &["run", "ask for approval"]);
        terminal.wait_for("Allow?").type_in(answer);
        let (code, seen) = terminal.end();
        assert_eq!(code, Some(0), "{seen}");
        in_order(&seen, &["wants to call File.Delete", "Allow?", said]);
    }
}

#[test]
fn whatever_is_no_answer_is_answered_with_what_would_be_one() {
    let house = House::new();
    house.settings(
        "[models]\nrehearsal = \"script.yaml\"\n[[policy.rules]]\ntool = \"dice.roll\"\nactor = \"agent:*\"\ndecision = \"ask\"\n",
    );
    house.write(
        "script.yaml",
        "name: dice\nscenes:\n  - when: {role: any, turn: 1}\n    reply: |\n      <|[REQUEST_TOOL]|>\n      command:»»»dice.roll«««\n      formula:»»»1d6«««\n      <|[END_TOOL]|>\n  - when: {role: any, turn: 2}\n    reply: Rolled.\n",
    );
    let mut terminal = at_terminal(&house, &["run", "roll"]);
    terminal.wait_for("or n and why: ").type_in("bogus\n");
    terminal.wait_for("'bogus' is no answer: y, r and a stand alone; e may be followed");
    terminal.wait_for("or n and why: ").type_in("e {\n");
    terminal.wait_for("That is no JSON object");
    terminal
        .wait_for("or n and why: ")
        .type_in("e {\"formula\": \"1d1\"}\n");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    in_order(&seen, &["✓ dice.roll", "Rolled."]);
    let events = house.run(&["runs", "events", "last", "--after", "0", "--json"]);
    assert!(
        events.stdout.contains("\"argumentsEdited\""),
        "{}",
        events.stdout
    );
}

#[test]
fn a_line_that_is_typed_is_told_to_the_agent() {
    let house = House::new();
    let mut terminal = at_terminal(&house, &["run", "tell me a story"]);
    terminal.wait_for("The inn stood").type_in("roll 2d6\n");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(0), "{seen}");
    in_order(
        &seen,
        &[
            "The inn stood",
            "to be told with the next request: roll 2d6",
            "✓ dice.roll",
            "You rolled 2d6",
        ],
    );
}

#[test]
fn ctrl_c_cancels_and_says_how_to_go_on() {
    let house = House::new();
    let mut terminal = at_terminal(&house, &["run", "tell me a story"]);
    terminal.wait_for("The inn stood");
    rustix::process::kill_process(terminal.pid(), rustix::process::Signal::INT).unwrap();
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(130), "{seen}");
    in_order(
        &seen,
        &["cancelling", "cancelled · ", "innkeeper runs resume run_"],
    );
}

#[test]
fn what_a_model_writes_cannot_rewrite_the_screen() {
    let house = House::new();
    house.settings("[models]\nrehearsal = \"script.yaml\"\n");
    house.write(
        "script.yaml",
        "name: nasty\nscenes:\n  - name: nasty\n    when: {matches: '\\S'}\n    reply: {reasoning: \"a\\e[2Jb\", text: \"c\\e[2Jd\"}\n",
    );
    let (code, seen) = at_terminal(&house, &["run", "hello"]).end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(!seen.contains("\u{1b}[2J"), "{seen}");
    in_order(&seen, &["a\\u{1b}[2Jb", "c\\u{1b}[2Jd"]);
}
