//! Runs and several processes: one is steered from elsewhere, one is deleted while another process drives, one is killed while
//! it publishes or as soon as it is heard of.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use serde_json::Value;

use super::home::House;
use super::runs::{lines, whole_journal};
use super::runs_process::{Driver, NEVER, script};

/// The id of the run that was begun last.
fn last(house: &House) -> String {
    let list = house.json(&["runs", "list", "--limit", "1"]);
    list[0]["runId"].as_str().unwrap().to_owned()
}

fn working(house: &House) -> Driver {
    let mut driver = Driver::start(house, &["run", "hello"]);
    driver.until("model_call_attempt_started");
    driver
}

fn killed(house: &House) -> String {
    let mut driver = working(house);
    driver.child.kill().unwrap();
    driver.end();
    last(house)
}

#[test]
fn a_run_of_another_process_hears_what_is_said_to_it() {
    let house = House::new();
    script(&house, NEVER);
    let mut driver = working(&house);
    let run = last(&house);

    let told = house.json(&["runs", "guide", "last", "  Make it shorter  "]);
    assert_eq!(told["runId"], run.as_str());
    assert_eq!(told["status"], "queued");
    let heard = driver.until("user_guidance_submitted");
    assert_eq!(heard["payload"]["text"], "Make it shorter");
    assert_eq!(heard["seq"], told["seq"]);
    assert_eq!(heard["payload"]["guidanceId"], told["guidanceId"]);
    house
        .fed(&["runs", "guide", "last", "-"], "And sweeter")
        .shows(&["is told with its next request"]);
    // As the run itself would say it.
    house
        .run(&["runs", "guide", "last", &"x".repeat(100_000)])
        .is_refused(1, &["at most", "[agent.guidance_invalid]"]);
    house
        .run(&["runs", "guide", "last", " "])
        .is_refused(2, &["[run.no_message]"]);

    house.json(&["runs", "cancel", "last"]);
    driver.until("run_summary");
    driver.end();
    house
        .run(&["runs", "guide", &run, "Too late"])
        .is_refused(1, &[&run, "is over", "[run.over]"]);
}

#[test]
fn a_word_to_a_run_that_nobody_drives_is_no_reason_to_go_on_with_it() {
    let house = House::new();
    script(&house, NEVER);
    let run = killed(&house);
    let before = house.json(&["runs", "show", &run])["record"]["lastSeq"].clone();
    let refused = ["run --resume", "[run.not_driven]"];
    house
        .run(&["runs", "guide", &run, "Go on"])
        .is_refused(1, &refused);
    // Nor for a process that drives another one.
    let mut driver = working(&house);
    house
        .run(&["runs", "guide", &run, "Go on"])
        .is_refused(1, &refused);
    let after = house.json(&["runs", "show", &run])["record"]["lastSeq"].clone();
    assert_eq!(before, after);
    driver.child.kill().unwrap();
    driver.end();
}

#[test]
fn what_is_said_to_a_run_that_is_gone_on_with_reaches_its_model() {
    for _ in 0..3 {
        let house = House::new();
        script(&house, NEVER);
        let run = killed(&house);
        let before = house.json(&["runs", "show", &run])["record"]["lastSeq"].clone();
        // It was interrupted, so it has the rounds that it had.
        house
            .run(&["runs", "resume", &run, "--rounds", "3"])
            .is_refused(1, &["without more", "[agent.validation_error]"]);
        let after = house.json(&["runs", "show", &run])["record"]["lastSeq"].clone();
        assert_eq!(before, after);

        script(&house, 0);
        let resumed = house.run(&["run", "--resume", &run, "And be brief"]);
        assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
        let events = whole_journal(&house, &run);
        let of_type = |kind: &str| {
            let mut events = events.iter();
            events.position(|event| event["type"] == kind)
        };
        assert!(
            of_type("user_guidance_applied").is_some(),
            "{}",
            resumed.stderr
        );
        assert!(of_type("user_guidance_discarded").is_none());
    }
}

#[test]
fn a_run_is_deleted_whoever_holds_the_home() {
    let house = House::new();
    script(&house, NEVER);
    let left = killed(&house);
    let mut driver = working(&house);
    let at_work = last(&house);

    // The other process cancels the one that it does not drive, deletes it, and goes on with its own.
    let gone = house.json(&["runs", "delete", &left, "--yes"]);
    assert_eq!(gone["deleted"], true);
    let list = house.json(&["runs", "list"]);
    assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
    assert_eq!(list[0]["runId"], at_work.as_str());
    assert_eq!(list[0]["status"], "calling_model");

    let gone = house.json(&["runs", "delete", &at_work, "--yes"]);
    assert_eq!(gone["deleted"], true);
    assert_eq!(house.json(&["runs", "list"]), serde_json::json!([]));
    let _ = driver.child.wait();
}

#[test]
fn whoever_drove_a_deleted_run_does_not_advise_to_go_on_with_it() {
    let house = House::new();
    script(&house, NEVER);
    let mut command = house.command(&["run", "hello"]);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap()).lines();
    let begun = stderr.find(|line| line.as_ref().unwrap().contains("round 1"));
    assert!(begun.is_some());
    let run = last(&house);
    house.json(&["runs", "delete", &run, "--yes"]);
    let rest: Vec<String> = stderr.map(Result::unwrap).collect();
    child.wait().unwrap();
    let said = rest.last().unwrap();
    // Whichever comes first: its end, or that it is gone.
    let gone = format!("{run} was deleted from elsewhere");
    assert!(
        *said == gone || said.starts_with("cancelled from elsewhere · "),
        "{rest:?}"
    );
    assert!(!said.contains("runs resume"), "{rest:?}");
}

#[test]
fn what_was_printed_is_not_printed_again_after_a_crash() {
    for _ in 0..3 {
        let house = House::new();
        let words = ["run", "default-writer", "write a letter about tea"];
        let mut driver = Driver::start(&house, &words);
        let published = driver.until("published");
        driver.child.kill().unwrap();
        driver.end();
        let run = last(&house);
        assert_eq!(published["runId"], run.as_str());

        let resumed = house.run(&["runs", "resume", "--all", "--json"]);
        assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
        let told = lines(&resumed.stdout);
        let is_published = |line: &&Value| line["type"] == "published";
        assert_eq!(told.iter().filter(is_published).count(), 0, "{told:?}");
        let events = whole_journal(&house, &run);
        let completed: Vec<_> = events
            .iter()
            .filter(|event| event["type"] == "chat_commit_completed")
            .collect();
        assert_eq!(completed.len(), 1);
        let completed = &completed[0]["payload"];
        assert_eq!(completed["messageId"], "terminal-1");
        assert_eq!(completed["commitId"], published["commitId"]);
        assert_eq!(events.last().unwrap()["type"], "run_completed");
    }
}

#[test]
fn a_run_that_was_heard_of_is_never_missing() {
    for words in [&["run", "hello"][..], &["run", "hello", "--json"]] {
        for _ in 0..3 {
            let house = House::new();
            script(&house, NEVER);
            let mut command = house.command(words);
            command.stdin(Stdio::null()).stderr(Stdio::piped());
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut first = [0];
            match words.contains(&"--json") {
                true => child.stdout.as_mut().unwrap().read_exact(&mut first),
                false => child.stderr.as_mut().unwrap().read_exact(&mut first),
            }
            .unwrap();
            child.kill().unwrap();
            child.wait().unwrap();
            let list = house.json(&["runs", "list", "--status", "unfinished"]);
            assert_eq!(list.as_array().unwrap().len(), 1, "{list}");
            assert_eq!(list[0]["title"], "hello");
        }
    }
}

#[test]
fn all_runs_are_told_apart_by_their_ids() {
    let house = House::new();
    script(&house, NEVER);
    let runs = [killed(&house), killed(&house)];
    script(&house, 0);
    let resumed = house.run(&["runs", "resume", "--all", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let told = lines(&resumed.stdout);
    for run in &runs {
        let of_run: Vec<&str> = told
            .iter()
            .filter(|line| line["runId"] == run.as_str())
            .map(|line| line["type"].as_str().unwrap())
            .collect();
        assert_eq!(of_run.first(), Some(&"run_handle"), "{of_run:?}");
        assert_eq!(of_run.last(), Some(&"run_summary"), "{of_run:?}");
        assert!(of_run.contains(&"run_completed"), "{of_run:?}");
    }
    let whose = |line: &Value| runs.iter().any(|run| line["runId"] == run.as_str());
    assert!(told.iter().all(whose), "{told:?}");
    // A stream of no runs has no lines.
    let none = house.run(&["runs", "resume", "--all", "--json"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));

    // One alone needs no name.
    script(&house, NEVER);
    killed(&house);
    script(&house, 0);
    let one = house.run(&["runs", "resume", "--all"]);
    assert_eq!(one.stdout, "Here I am.\n", "{}", one.stderr);
}
