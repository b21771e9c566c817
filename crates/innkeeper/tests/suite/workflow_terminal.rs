//! A run that a person watches at a terminal: drawn in place, what streams stays above, Ctrl-C ends it.
#![cfg(unix)]

use serde_json::json;

use super::home::House;
use super::terminal::Terminal;

fn agent(house: &House, extra: &[&str]) -> Terminal {
    let words = ["workflow", "run", "agent-loop", "-i", "user_query=Roll 2d6"];
    let mut command = house.command(&[&words[..], extra].concat());
    command.env("TERM", "xterm").env_remove("NO_COLOR");
    Terminal::start(command)
}

#[test]
fn watching_draws_in_place_and_in_colour() {
    let house = House::new();
    let (code, seen) = agent(&house, &["--watch"]).end();
    assert_eq!(code, Some(0), "{seen}");
    // Back to where the picture began, and away with it.
    assert!(seen.contains("A\u{1b}[J"), "{seen}");
    assert!(seen.contains("\u{1b}[32m✓\u{1b}[0m "), "{seen}");
    let last = seen.rfind("complete").unwrap();
    let at = |text: &str| {
        seen.find(text)
            .unwrap_or_else(|| panic!("no {text:?} in {seen}"))
    };
    assert!(at("thinking…") < at("chose dice.roll") && at("chose dice.roll") < last);
    // What was streamed is not printed again.
    assert_eq!(seen.matches("reply: I roll 2d6.").count(), 1, "{seen}");
}

#[test]
fn no_colour_where_none_is_wanted() {
    let house = House::new();
    let words = [
        "workflow",
        "run",
        "agent-loop",
        "-i",
        "user_query=hi",
        "--watch",
    ];
    let mut command = house.command(&words);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let (code, seen) = Terminal::start(command).end();
    assert_eq!(code, Some(0), "{seen}");
    assert!(
        seen.contains("✓ ") && !seen.contains("\u{1b}[32m"),
        "{seen}"
    );
}

#[test]
fn a_stream_is_printed_as_it_comes_without_being_watched() {
    let house = House::new();
    let (code, seen) = agent(&house, &[]).end();
    assert_eq!(code, Some(0), "{seen}");
    assert_eq!(seen.matches("reply: I roll 2d6.").count(), 1, "{seen}");
    assert!(!seen.contains('✓'), "{seen}");
}

#[test]
fn ctrl_c_at_the_terminal_ends_a_watched_run() {
    let house = House::new();
    let slow = json!({
        "name": "Slow",
        "nodes": [{"id": "wait", "type": "core:Delay", "inputValues": {"value": "x", "ms": 600_000}}],
        "edges": []
    });
    let file = house.write("slow.json", &slow.to_string());
    let mut command = house.command(&["workflow", "run", file.to_str().unwrap(), "--watch"]);
    command.env("TERM", "xterm");
    let mut terminal = Terminal::start(command);
    terminal.wait_for("1 running");
    let pid = terminal.pid();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(130), "{seen}");
    assert!(seen.contains("stopped"), "{seen}");
}
