//! Runs and processes: one that is killed, two on one home, one that is cancelled from elsewhere.
#![cfg(unix)]

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::home::House;
use super::runs::whole_journal;

/// The model says nothing for longer than anybody waits, or answers at once.
pub(crate) fn script(house: &House, millis: u64) {
    house.settings("[models]\nrehearsal = \"script.yaml\"\n");
    let script = format!(
        "name: slow\nscenes:\n  - name: wait\n    when: {{matches: '\\S'}}\n    reply: {{text: 'Here I am.', delay_ms: {{first: {millis}}}}}\n"
    );
    house.write("script.yaml", &script);
}

pub(crate) const NEVER: u64 = 60_000;

/// A process that drives a run.
pub(crate) struct Driver {
    pub(crate) child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Driver {
    pub(crate) fn start(house: &House, words: &[&str]) -> Self {
        let mut words = words.to_vec();
        words.push("--json");
        let mut child = house
            .command(&words)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Up to an event of this type, or the summary.
    #[track_caller]
    pub(crate) fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "no {kind}");
            let line: Value = serde_json::from_str(&line).unwrap();
            if line["type"] == kind {
                return line;
            }
        }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn end(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

#[test]
fn a_killed_run_goes_on_where_it_was() {
    let house = House::new();
    script(&house, NEVER);
    let mut driver = Driver::start(&house, &["run", "hello"]);
    driver.until("model_call_attempt_started");
    driver.child.kill().unwrap();
    driver.end();

    let unfinished = house.json(&["runs", "list", "--status", "unfinished"]);
    assert_eq!(unfinished.as_array().unwrap().len(), 1, "{unfinished}");
    let run = unfinished[0]["runId"].as_str().unwrap();
    let doctor = house.run(&["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("without an end, and nobody drives them: 1"),
        "{}",
        doctor.stdout
    );

    script(&house, 0);
    // Another run leaves it alone, and says that it is there.
    let other = house.run(&["run", "hello"]);
    assert_eq!(other.code, Some(0), "{}", other.stderr);
    assert!(
        other
            .stderr
            .contains("1 run is unfinished; innkeeper runs resume --all"),
        "{}",
        other.stderr
    );
    assert_eq!(
        house.json(&["runs", "list", "--status", "unfinished"])[0]["runId"],
        run
    );

    let resumed = house.run(&["runs", "resume", run]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(resumed.stdout, "Here I am.\n");
    let events = whole_journal(&house, run);
    let types: Vec<&str> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        types
            .iter()
            .filter(|kind| **kind == "run_recovered")
            .count(),
        1
    );
    assert_eq!(
        house.json(&["runs", "list", "--status", "unfinished"]),
        json!([])
    );
}

#[test]
fn all_that_have_no_end_are_resumed_at_once() {
    let house = House::new();
    script(&house, NEVER);
    for _ in 0..3 {
        let mut driver = Driver::start(&house, &["run", "hello"]);
        driver.until("model_call_attempt_started");
        driver.child.kill().unwrap();
        driver.end();
    }
    script(&house, 0);
    let resumed = house.run(&["runs", "resume", "--all"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    // Each line says whose it is, and the names are told first.
    let list = house.json(&["runs", "list"]);
    for run in list.as_array().unwrap() {
        let id = run["runId"].as_str().unwrap();
        let name = &id[id.len() - 8..];
        let answer = format!("{name} Here I am.\n");
        let answers = resumed.stdout.matches(&answer).count();
        assert_eq!(answers, 1, "{}", resumed.stdout);
        for told in [
            format!("{name} = {id}  hello"),
            format!("{name} ↻ taken up again"),
            format!("{name} completed · "),
        ] {
            assert!(resumed.stderr.contains(&told), "{told}: {}", resumed.stderr);
        }
    }
    for run in house.json(&["runs", "list"]).as_array().unwrap() {
        assert_eq!(run["status"], "completed");
        whole_journal(&house, run["runId"].as_str().unwrap());
    }
    let again = house.run(&["runs", "resume", "--all"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(
        again.stderr.contains("No run is unfinished"),
        "{}",
        again.stderr
    );
}

#[test]
fn one_process_drives_and_the_others_look_and_cancel() {
    let house = House::new();
    script(&house, NEVER);
    let mut driver = Driver::start(&house, &["run", "hello"]);
    driver.until("model_call_attempt_started");
    let pid = driver.child.id();

    for words in [
        &["run", "hello"][..],
        &["runs", "resume", "--all"],
        &["doctor", "--repair", "--yes"],
    ] {
        let second = house.run(words);
        second.is_refused(6, &[&format!("process {pid}"), "[store.in_use]"]);
    }
    let list = house.json(&["runs", "list"]);
    assert_eq!(list[0]["status"], "calling_model");
    assert_eq!(
        list.as_array().unwrap().len(),
        1,
        "the second began nothing"
    );
    let doctor = house.run(&["doctor"]);
    assert!(
        doctor
            .stdout
            .contains(&format!("process {pid} drives them")),
        "{}",
        doctor.stdout
    );

    let cancelled = house.json(&["runs", "cancel", "last"]);
    assert_eq!(cancelled["status"], "cancelled");
    let summary = driver.until("run_summary");
    assert_eq!(summary["status"], "cancelled");
    assert_eq!(driver.end(), Some(5));
    whole_journal(&house, "last");
    // A run that is over stays as it is.
    assert_eq!(
        house.json(&["runs", "cancel", "last"])["status"],
        "cancelled"
    );
}

#[test]
fn a_run_that_nobody_drives_is_cancelled_here() {
    let house = House::new();
    script(&house, NEVER);
    let mut driver = Driver::start(&house, &["run", "hello"]);
    driver.until("model_call_attempt_started");
    driver.child.kill().unwrap();
    driver.end();
    assert_eq!(
        house.json(&["runs", "cancel", "last"])["status"],
        "cancelled"
    );
    whole_journal(&house, "last");
    // And it can be taken up again all the same.
    script(&house, 0);
    let resumed = house.run(&["runs", "resume", "last"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "Here I am.\n"),
        "{}",
        resumed.stderr
    );
    whole_journal(&house, "last");
}

#[test]
fn a_signal_cancels_the_run_and_leaves_it_whole() {
    use rustix::process::Signal;

    for signal in [Signal::INT, Signal::TERM] {
        let house = House::new();
        script(&house, NEVER);
        let mut driver = Driver::start(&house, &["run", "hello"]);
        driver.until("model_call_attempt_started");
        driver.signal(signal);
        assert_eq!(driver.until("run_summary")["status"], "cancelled");
        assert_eq!(driver.end(), Some(130));
        whole_journal(&house, "last");
    }
}

#[test]
fn damage_is_found_and_cut_off() {
    let house = House::new();
    script(&house, 0);
    house.run(&["run", "hello"]);
    let sound = house.run(&["doctor", "--repair", "--yes"]);
    sound.shows(&["is sound"]);
    house
        .run(&["doctor", "--repair"])
        .is_refused(2, &["[run.needs_yes]"]);

    let path = house.path().join("innkeeper.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let written = b"Here I am.";
    let found: Vec<usize> = (0..bytes.len() - written.len())
        .filter(|at| bytes[*at..].starts_with(written))
        .collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at] = b'T';
    }
    std::fs::write(&path, bytes).unwrap();
    let doctor = house.run(&["doctor"]);
    assert_eq!(doctor.code, Some(1));
    assert!(
        doctor.stdout.contains("innkeeper doctor --repair"),
        "{}",
        doctor.stdout
    );
    let repaired = house.json(&["doctor", "--repair", "--yes"]);
    assert_eq!(repaired["runs"].as_array().unwrap().len(), 1, "{repaired}");
    assert!(repaired["keptAside"].is_string(), "{repaired}");
    // Nobody goes on with what is left of it unasked.
    let left = house.run(&["runs", "resume", "--all"]);
    assert_eq!(left.code, Some(1), "{}", left.stderr);
    assert!(
        left.stderr.contains("a repair has cut off the end"),
        "{}",
        left.stderr
    );
    let resumed = house.run(&["runs", "resume", "last"]);
    assert_eq!(
        (resumed.code, resumed.stdout.as_str()),
        (Some(0), "Here I am.\n"),
        "{}",
        resumed.stderr
    );
    whole_journal(&house, "last");
}
