//! Runs of agents as a person meets them at the command line, on the rehearsal model.

use serde_json::{Value, json};

use super::home::House;

const LETTER: [&str; 3] = ["run", "default-writer", "write a letter about tea"];
const PUBLISHED: &str = "Dear guest,\n\nyou asked me about tea. I know only what was rehearsed, but I know it by heart: \
                         whoever\nwrites a draft can mend it before anybody reads it.\n\nThe kettle is singing, so that is \
                         all for today.\n\nYours, the keeper\n";

/// Standard output as lines of JSON.
#[track_caller]
pub(crate) fn lines(stdout: &str) -> Vec<Value> {
    let lines = stdout.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().unwrap()
}

/// The events of a run: numbered from 1 without a gap, the last and only the last of them terminal.
#[track_caller]
pub(crate) fn whole_journal(house: &House, run: &str) -> Vec<Value> {
    let words = [
        "runs", "events", run, "--after", "0", "--limit", "10000", "--json",
    ];
    let events = lines(&house.run(&words).stdout);
    for (at, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], at + 1, "{event}");
    }
    let is_terminal = |event: &Value| {
        let kind = event["type"].as_str().unwrap();
        [
            "run_completed",
            "run_failed",
            "run_cancelled",
            "run_partial_success",
        ]
        .contains(&kind)
    };
    let resumed = events
        .iter()
        .rposition(|event| event["type"] == "run_resumed");
    let since = &events[resumed.map_or(0, |at| at + 1)..];
    let ends: Vec<_> = since.iter().filter(|event| is_terminal(event)).collect();
    assert_eq!(ends.len(), 1, "{ends:?}");
    assert!(is_terminal(events.last().unwrap()));
    events
}

#[test]
fn the_answer_is_the_result_and_the_rest_is_told_beside_it() {
    let house = House::new();
    let run = house.run(&["run", "Roll 2d6+3 for me"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.stdout
            .starts_with("You rolled 2d6+3 and the dice show "),
        "{}",
        run.stdout
    );
    assert_eq!(run.stdout.lines().count(), 1, "{}", run.stdout);
    for told in [
        "I roll 2d6+3.",
        "✓ dice.roll",
        "completed · 2 rounds · 1 call",
    ] {
        assert!(run.stderr.contains(told), "no {told:?} in {}", run.stderr);
    }
    let quiet = house.run(&["run", "Roll 2d6", "--quiet"]);
    assert_eq!(quiet.stderr, "");
    assert!(quiet.stdout.starts_with("You rolled 2d6"));
    let piped = house.fed(&["run", "-", "--quiet"], "Roll 2d6\n");
    assert!(
        piped.stdout.starts_with("You rolled 2d6"),
        "{}",
        piped.stderr
    );
}

#[test]
fn programs_get_a_handle_every_event_and_a_summary() {
    let house = House::new();
    let words = [&LETTER[..], &["--json"]].concat();
    let run = house.run(&words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stderr, "");
    let told = lines(&run.stdout);
    let (handle, summary) = (&told[0], told.last().unwrap());
    assert_eq!(handle["type"], "run_handle");
    assert_eq!(summary["type"], "run_summary");
    assert_eq!(summary["runId"], handle["runId"]);
    assert_eq!(summary["status"], "completed");
    assert_eq!(
        (&summary["rounds"], &summary["calls"]),
        (&json!(4), &json!(4))
    );
    let events: Vec<&Value> = told.iter().filter(|line| line["seq"].is_u64()).collect();
    let kept = whole_journal(&house, handle["runId"].as_str().unwrap());
    assert!(events.iter().copied().eq(kept.iter()));
    assert_eq!(summary["lastSeq"], kept.len());
    let published = told
        .iter()
        .find(|line| line["type"] == "published")
        .unwrap();
    assert_eq!(published["messageId"], "terminal-1");
    assert_eq!(published["text"].as_str().unwrap(), PUBLISHED.trim_end());
}

#[test]
fn what_a_writer_publishes_is_printed_and_stays_to_be_looked_at() {
    let house = House::new();
    let run = house.run(&LETTER);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout, PUBLISHED);
    assert!(
        run.stderr
            .contains("output/main.md published as terminal-1")
    );

    let shown = house.json(&["runs", "show", "last"]);
    assert_eq!(shown["record"]["status"], "completed");
    assert_eq!(shown["record"]["commitCount"], 1);
    assert_eq!(shown["commits"][0]["path"], "output/main.md");
    assert_eq!(shown["turns"].as_array().unwrap().len(), 4);
    let tools: Vec<&str> = shown["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["name"].as_str().unwrap())
        .collect();
    let expected = ["write_file", "apply_patch", "commit", "finish"];
    assert_eq!(tools, expected.map(|name| format!("workspace.{name}")));
    house.run(&["runs", "show", "last"]).shows(&[
        "completed",
        "default-writer",
        "workspace.apply_patch",
        "output/main.md",
        "terminal-1",
    ]);
    let file = house.run(&["runs", "show", "last", "--file", "output/main.md"]);
    assert_eq!(file.stdout, PUBLISHED);
    let turn = house.run(&["runs", "show", "last", "--turn", "2"]);
    turn.shows(&[
        "── system ──",
        "── user ──",
        "Observation: Tool workspace.write_file",
        "The ending is flat",
    ]);
    let no_turn = house.run(&["runs", "show", "last", "--turn", "9"]);
    no_turn.is_refused(
        1,
        &[
            "has no answer of round 9; its last is of round 4",
            "[agent.validation_error]",
        ],
    );
}

#[test]
fn the_answer_is_shown_again() {
    let house = House::new();
    let run = house.run(&["run", "Roll 2d6+3 for me"]);
    house
        .run(&["runs", "show", "last"])
        .shows(&["Answer", run.stdout.trim_end()]);
    let shown = house.json(&["runs", "show", "last"]);
    assert_eq!(shown["answer"], run.stdout.trim_end());
}

#[test]
fn a_call_of_no_tool_says_so() {
    let house = House::new();
    house.settings("[models]\nrehearsal = \"script.yaml\"\n");
    house.write(
        "script.yaml",
        "name: odd\nscenes:\n  - name: done\n    when: {role: observation}\n    reply: Then not.\n  - name: call\n    when: {matches: '\\S'}\n    \
         reply: |\n      <|[REQUEST_TOOL]|>\n      command:»»»evil.tool«««\n      <|[END_TOOL]|>\n",
    );
    let run = house.run(&["run", "go"]);
    let line = run.stderr.lines().find(|line| line.contains("evil.tool"));
    assert!(
        line.is_some_and(|line| line.contains("Unknown tool ID")),
        "{}{}",
        run.stdout,
        run.stderr
    );
    house
        .run(&["runs", "show", "last"])
        .shows(&["Unknown tool ID 'evil.tool'"]);
}

#[test]
fn a_run_is_named_by_the_beginning_of_its_id() {
    let house = House::new();
    house
        .run(&["runs", "show", "last"])
        .is_refused(2, &["there are no runs yet", "[run.unknown]"]);
    for _ in 0..2 {
        assert_eq!(house.run(&["run", "hello"]).code, Some(0));
    }
    let list = house.json(&["runs", "list"]);
    let ids: Vec<&str> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["runId"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 2);
    assert!(ids[0] > ids[1], "the newest is first: {ids:?}");
    let differs = ids[0]
        .bytes()
        .zip(ids[1].bytes())
        .position(|(a, b)| a != b)
        .unwrap();
    let short = &ids[1][..=differs];
    for given in [short, short.strip_prefix("run_").unwrap()] {
        assert_eq!(
            house.json(&["runs", "show", given])["record"]["runId"],
            ids[1]
        );
    }
    let ambiguous = house.run(&["runs", "show", "run_"]);
    ambiguous.is_refused(2, &["2 runs begin with 'run_'", "[run.ambiguous]"]);
    let mut wrong = ids[0].to_owned();
    wrong.pop();
    wrong.push('x');
    let unknown = house.run(&["runs", "show", &wrong]);
    unknown.is_refused(2, &["did you mean run_", "[run.unknown]"]);
    for (status, count) in [("completed", 2), ("unfinished", 0), ("failed", 0)] {
        let list = house.json(&["runs", "list", "--status", status]);
        assert_eq!(list.as_array().unwrap().len(), count, "{status}");
    }
    assert_eq!(
        house.json(&["runs", "list", "--limit", "1"])[0]["runId"],
        ids[0]
    );
}

#[test]
fn what_makes_no_run_is_said_in_one_line() {
    let house = House::new();
    for (words, code, parts) in [
        (
            &["run"][..],
            2,
            &["the message is missing", "[run.no_message]"][..],
        ),
        (&["run", " "], 2, &["[run.no_message]"]),
        (
            &["run", "a", "b", "--profile", "c"],
            2,
            &["twice", "[cli.usage]"],
        ),
        (
            &["run", "inkeeper", "hello"],
            1,
            &[
                "there is no profile 'inkeeper'",
                "did you mean 'innkeeper'",
                "[agent.not_found]",
            ],
        ),
        (
            &["run", "hi", "--max-rounds", "0"],
            2,
            &["between 1 and 1000", "[cli.usage]"],
        ),
        (&["run", "hi", "--project", "a/b"], 2, &["[cli.usage]"]),
        (&["run", "--resume", "last"], 2, &["there are no runs yet"]),
        (&["runs", "resume"], 2, &["[cli.usage]"]),
        (&["runs", "list", "--status", "odd"], 2, &["[cli.usage]"]),
        (&["runs", "delete", "last"], 2, &["there are no runs yet"]),
    ] {
        house.run(words).is_refused(code, parts);
    }
    let run = house.run(&["run", "hi", "--model", "nobody/knows"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("nobody/knows"), "{}", run.stderr);
}

#[test]
fn the_exit_code_tells_how_it_ended_and_a_stopped_run_goes_on() {
    let house = House::new();
    // One round less than the letter needs: it was published, but not finished.
    let run = house.run(&[&LETTER[..], &["--max-rounds", "3"]].concat());
    assert_eq!(run.code, Some(4), "{}", run.stderr);
    assert_eq!(run.stdout, PUBLISHED);
    assert!(
        run.stderr.contains("[agent.max_tool_rounds_exceeded]"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("with --rounds"), "{}", run.stderr);
    let resumed = house.run(&["runs", "resume", "last", "--rounds", "5"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(resumed.stdout, "", "nothing is published twice");
    let events = whole_journal(&house, "last");
    let commits = events
        .iter()
        .filter(|event| event["type"] == "chat_commit_completed");
    assert_eq!(commits.count(), 1);

    let failed = house.run(&["run", "default-writer", "hello", "--max-rounds", "1"]);
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("[model.tool_call_required]"),
        "{}",
        failed.stderr
    );
    // The same profile, where a plain answer is enough.
    let plain = house.run(&["run", "default-writer", "hello", "--background"]);
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    assert!(plain.stdout.starts_with("Hello!"), "{}", plain.stdout);
    let over = house.run(&["runs", "resume", "last"]);
    over.is_refused(
        1,
        &["there is nothing to resume", "[agent.validation_error]"],
    );
}

#[test]
fn every_protocol_calls() {
    let house = House::new();
    for (protocol, message) in [
        ("tam", "roll 2d6"),
        ("action", "roll 2d6 as ACTION"),
        ("native", "roll 2d6 natively"),
    ] {
        let run = house.run(&["run", message, "--protocol", protocol]);
        assert_eq!(run.code, Some(0), "{protocol}: {}", run.stderr);
        assert!(
            run.stderr.contains("✓ dice.roll"),
            "{protocol}: {}",
            run.stderr
        );
    }
}

#[test]
fn events_are_read_by_range_and_followed_to_the_end() {
    let house = House::new();
    house.run(&["run", "Roll 2d6"]);
    let all = whole_journal(&house, "last");
    let words = ["runs", "events", "last", "--json"];
    for (extra, expected) in [
        (&["--after", "3", "--limit", "2"][..], &all[3..5]),
        (&["--limit", "2"], &all[all.len() - 2..]),
        (&["--after", "3", "--follow"], &all[3..]),
    ] {
        let run = house.run(&[&words[..], extra].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(lines(&run.stdout), expected, "{extra:?}");
    }
    house
        .run(&["runs", "events", "last"])
        .shows(&["tool_call_completed", "run_completed"]);
}

#[test]
fn an_export_holds_all_of_it_and_is_the_same_each_time() {
    let house = House::new();
    house.run(&LETTER);
    let first = house.run(&["runs", "export", "last"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert_eq!(first.stdout, house.run(&["runs", "export", "last"]).stdout);
    let file = house.path().join("run.json");
    let path = file.to_str().unwrap();
    let written = house.run(&["runs", "export", "last", "--output", path]);
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), first.stdout);

    let export: Value = serde_json::from_str(&first.stdout).unwrap();
    assert_eq!(export["format"], "innkeeper.run");
    assert_eq!(
        export["events"].as_array().unwrap(),
        &whole_journal(&house, "last")
    );
    assert_eq!(export["files"][0]["text"], PUBLISHED.trim_end());
    // What was sent can be put together again from the turns.
    let mut sent: Vec<Value> = Vec::new();
    for turn in export["turns"].as_array().unwrap() {
        sent.truncate(turn["request"]["keep"].as_u64().unwrap() as usize);
        sent.extend(turn["request"]["add"].as_array().unwrap().iter().cloned());
        let round = turn["round"].to_string();
        let shown = house.json(&["runs", "show", "last", "--turn", &round]);
        assert_eq!(shown["request"], json!(sent), "{round}");
    }
    let nowhere = house.run(&["runs", "export", "last", "--output", "/nowhere/run.json"]);
    nowhere.is_refused(1, &["/nowhere/run.json", "[output.unwritable]"]);
}

#[test]
fn a_run_is_deleted_only_if_somebody_says_so() {
    let house = House::new();
    house.run(&["run", "hello"]);
    house
        .run(&["runs", "delete", "last"])
        .is_refused(2, &["--yes", "[run.needs_yes]"]);
    let gone = house.json(&["runs", "delete", "last", "--yes"]);
    assert_eq!(gone["deleted"], true);
    assert_eq!(house.json(&["runs", "list"]), json!([]));
}

#[test]
fn messages_are_in_chinese_too() {
    let house = House::new();
    let run = house.run(&["run", "--lang", "zh", "default-writer", "写一封关于茶的信"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.starts_with("亲爱的客人："), "{}", run.stdout);
    assert!(
        run.stderr.contains("完成 · 4 轮 · 4 次调用"),
        "{}",
        run.stderr
    );
    let over = house.run(&["runs", "resume", "last", "--lang", "zh"]);
    over.is_refused(1, &["没有可继续的", "[agent.validation_error]"]);
}

#[test]
fn the_tools_of_a_run_say_so_outside_of_one() {
    let house = House::new();
    let run = house.run(&["tools", "call", "workspace.list_files"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("innkeeper run"), "{}", run.stderr);
}
