//! `innkeeper workflow run`: inputs, outputs, events, what can be watched, and how it ends.

use serde_json::{Value, json};

use super::home::House;

/// Joins a greeting and a name; a second output counts.
pub(crate) fn greet() -> String {
    json!({
        "id": "greet",
        "name": "Greet",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "merge", "type": "core:TextMerge", "displayName": "Greeting",
             "inputValues": {"separator": ", "}},
            {"id": "out", "type": "core:GroupOutput"}
        ],
        "edges": [
            {"id": "e1", "source": "in", "sourceHandle": "word", "target": "merge", "targetHandle": "text_inputs"},
            {"id": "e2", "source": "in", "sourceHandle": "name", "target": "merge", "targetHandle": "text_inputs"},
            {"id": "e3", "source": "merge", "sourceHandle": "merged_text", "target": "out", "targetHandle": "text"}
        ],
        "interfaceInputs": {
            "word": {"dataFlowType": "STRING", "config": {"default": "Good evening"}},
            "name": {"dataFlowType": "STRING", "required": true},
            "count": {"dataFlowType": "INTEGER"},
            "tags": {"dataFlowType": "ARRAY"}
        },
        "interfaceOutputs": {"text": {"dataFlowType": "STRING"}}
    })
    .to_string()
}

/// Everything that goes in comes out.
fn echo() -> String {
    let kinds = [
        ("text", "STRING"),
        ("number", "FLOAT"),
        ("count", "INTEGER"),
        ("yes", "BOOLEAN"),
        ("thing", "OBJECT"),
        ("list", "ARRAY"),
        ("any", "WILDCARD"),
    ];
    let mut slots = serde_json::Map::new();
    let mut edges = Vec::new();
    for (key, kind) in kinds {
        slots.insert(key.to_owned(), json!({"dataFlowType": kind}));
        edges.push(json!({
            "id": key, "source": "in", "sourceHandle": key, "target": "out", "targetHandle": key
        }));
    }
    json!({
        "id": "echo",
        "name": "Echo",
        "nodes": [{"id": "in", "type": "core:GroupInput"}, {"id": "out", "type": "core:GroupOutput"}],
        "edges": edges,
        "interfaceInputs": slots,
        "interfaceOutputs": slots,
    })
    .to_string()
}

/// Waits for ten minutes, unless it is stopped.
fn slow() -> String {
    json!({
        "id": "slow",
        "name": "Slow",
        "nodes": [
            {"id": "in", "type": "core:GroupInput"},
            {"id": "wait", "type": "core:Delay", "inputValues": {"value": "late", "ms": 600_000}},
            {"id": "out", "type": "core:GroupOutput"}
        ],
        "edges": [
            {"id": "e1", "source": "in", "sourceHandle": "early", "target": "out", "targetHandle": "early"},
            {"id": "e2", "source": "wait", "sourceHandle": "value", "target": "out", "targetHandle": "late"}
        ],
        "interfaceInputs": {"early": {"dataFlowType": "STRING", "config": {"default": "bird"}}},
        "interfaceOutputs": {"early": {"dataFlowType": "STRING"}, "late": {"dataFlowType": "STRING"}}
    })
    .to_string()
}

/// A regular expression that is none.
fn failing() -> String {
    json!({
        "id": "failing",
        "name": "Failing",
        "nodes": [
            {"id": "sum", "type": "core:Template", "displayName": "Sum", "configValues": {},
             "inputValues": {"template": "{{ 1 / 0 }}"}},
            {"id": "after", "type": "core:TextMerge"},
            {"id": "ok", "type": "core:TextMerge", "inputValues": {"text_inputs": ["fine"]}},
            {"id": "out", "type": "core:GroupOutput"}
        ],
        "edges": [
            {"id": "e1", "source": "sum", "sourceHandle": "text", "target": "after", "targetHandle": "text_inputs"},
            {"id": "e2", "source": "after", "sourceHandle": "merged_text", "target": "out", "targetHandle": "bad"},
            {"id": "e3", "source": "ok", "sourceHandle": "merged_text", "target": "out", "targetHandle": "good"}
        ],
        "interfaceInputs": {},
        "interfaceOutputs": {"bad": {"dataFlowType": "STRING"}, "good": {"dataFlowType": "STRING"}}
    })
    .to_string()
}

fn house() -> House {
    let house = House::new();
    for (name, text) in [
        ("greet", greet()),
        ("echo", echo()),
        ("slow", slow()),
        ("failing", failing()),
    ] {
        house.write(&format!("projects/default/workflows/{name}.json"), &text);
    }
    house
}

#[test]
fn one_text_is_printed_bare_by_name_and_by_file() {
    let house = house();
    let file = house.write("own/greet.json", &greet());
    for workflow in ["greet", "Greet", file.to_str().unwrap()] {
        let run = house.run(&["workflow", "run", workflow, "--input", "name=Ann"]);
        assert_eq!(
            run.stdout, "Good evening, Ann\n",
            "{workflow}: {}",
            run.stderr
        );
        assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""), "{workflow}");
    }
    let run = house.fed(
        &["workflow", "run", "-", "-i", "name=Bo", "-i", "word=Hi"],
        &greet(),
    );
    assert_eq!(run.stdout, "Hi, Bo\n", "{}", run.stderr);
}

#[test]
fn values_are_read_as_the_interface_declares_them() {
    let house = house();
    let note = house.write("note.txt", "[1, 2]");
    let from_file = format!("list=@{}", note.to_str().unwrap());
    let words = [
        "workflow",
        "run",
        "echo",
        "-i",
        "text=7",
        "-i",
        "number=2.5",
        "-i",
        "count=3",
        "-i",
        "yes=true",
        "-i",
        "thing={\"a\": 1}",
        "-i",
        &from_file,
        "-i",
        "any:=[null]",
    ];
    let result = house.json(&words);
    assert_eq!(
        result["outputs"],
        json!({"text": "7", "number": 2.5, "count": 3, "yes": true, "thing": {"a": 1},
               "list": [1, 2], "any": [null]})
    );
    assert_eq!(result["status"], "complete");
    assert_eq!(
        (&result["error"], &result["failed"]),
        (&Value::Null, &json!(0))
    );
    assert!(result["promptId"].is_string() && result["durationMs"].is_u64());

    let all = house.write("all.json", "{\"text\": \"from file\", \"count\": 1}");
    let words = [
        "workflow",
        "run",
        "echo",
        "--inputs",
        all.to_str().unwrap(),
        "-i",
        "count=2",
    ];
    let outputs = &house.json(&words)["outputs"];
    assert_eq!(
        (&outputs["text"], &outputs["count"]),
        (&json!("from file"), &json!(2))
    );

    let run = house.run(&["workflow", "run", "echo", "-i", "text=a", "-i", "list=[1]"]);
    assert!(run.stdout.contains("text: a\n"), "{}", run.stdout);
    assert!(
        run.stdout.contains("list:\n  [\n    1\n  ]\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn wrong_inputs_are_told_at_once_with_what_it_takes() {
    let house = house();
    for (inputs, fragments) in [
        (
            &[][..],
            &[
                "'name' is missing",
                "it takes word (STRING = \"Good evening\"), name (STRING, needed)",
            ][..],
        ),
        (
            &["nmae=x"][..],
            &[
                "'name' is missing",
                "there is no 'nmae' (did you mean 'name'?)",
            ][..],
        ),
        (
            &["name=x", "count=many"][..],
            &["'count' takes INTEGER, and 'many' is none"][..],
        ),
        (
            &["name=x", "tags=[1"][..],
            &["'tags' takes ARRAY, and '[1' is none ("][..],
        ),
        (
            &["name=x", "count:=\"y\""][..],
            &["'count' takes INTEGER"][..],
        ),
        (&["name=x", "name=y"][..], &["'name' takes one value"][..]),
        (
            &["count=a", "other=b"][..],
            &["'count' takes", "'name' is missing", "no 'other'"][..],
        ),
    ] {
        let mut words = vec!["workflow", "run", "greet"];
        words.extend(inputs.iter().flat_map(|input| ["--input", input]));
        let run = house.run(&words);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (Some(2), ""),
            "{inputs:?}: {}",
            run.stderr
        );
        assert_eq!(run.stderr.lines().count(), 1, "{}", run.stderr);
        assert!(
            run.stderr.ends_with("[workflow.inputs]\n"),
            "{}",
            run.stderr
        );
        for fragment in fragments {
            assert!(
                run.stderr.contains(fragment),
                "{fragment:?} in {}",
                run.stderr
            );
        }
    }
    for (words, code) in [
        (&["greet", "--input", "name"][..], "[cli.usage]"),
        (&["greet", "--timeout", "soon"][..], "[cli.usage]"),
        (
            &["greet", "--inputs", "/nowhere.json"][..],
            "[input.not_found]",
        ),
        (
            &["greet", "--input", "name=@/nowhere.txt"][..],
            "[input.not_found]",
        ),
        (&["greet.json"][..], "[input.not_found]"),
        (&["gret"][..], "did you mean 'greet'? [workflow.unknown]"),
    ] {
        let run = house.run(&[&["workflow", "run"], words].concat());
        assert_eq!(run.code, Some(2), "{words:?}: {}", run.stderr);
        assert!(
            run.stderr.ends_with(&format!("{code}\n")),
            "{words:?}: {}",
            run.stderr
        );
    }
    let run = house.run(&["--lang", "zh", "workflow", "run", "greet"]);
    let takes = "它的输入：word（STRING = \"Good evening\"）、name（STRING，必需）";
    assert!(run.stderr.contains(takes), "{}", run.stderr);
}

#[test]
fn events_come_one_a_line_before_the_result() {
    let house = house();
    let run = house.run(&["workflow", "run", "greet", "-i", "name=Ann", "--events"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let lines: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let (result, events) = lines.split_last().unwrap();
    assert_eq!(result["outputs"]["text"], "Good evening, Ann");
    let types: Vec<_> = events
        .iter()
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    let merge: Vec<_> = events
        .iter()
        .filter(|event| event["payload"]["nodeId"] == "merge")
        .map(|event| event["type"].as_str().unwrap())
        .collect();
    assert_eq!(merge, ["NODE_EXECUTING", "NODE_COMPLETE"]);
    assert_eq!(types.last(), Some(&"EXECUTION_STATUS_UPDATE"), "{types:?}");
    assert!(
        events
            .iter()
            .all(|event| event["payload"]["promptId"] == result["promptId"])
    );
    let numbers: Vec<_> = events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert!(
        numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]),
        "{numbers:?}"
    );
}

#[test]
fn watching_without_a_terminal_gives_plain_lines() {
    let house = house();
    let words = ["workflow", "run", "greet", "-i", "name=Ann", "--watch"];
    let run = house.run(&words);
    assert_eq!(run.stdout, "Good evening, Ann\n");
    assert!(
        run.stderr.contains("done      Greeting (merge)  "),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr
            .lines()
            .last()
            .unwrap()
            .starts_with("complete · "),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains('\u{1b}'), "{}", run.stderr);
    let run = house.run(&[&words[..], &["--quiet"]].concat());
    assert_eq!(run.stderr, "");
    let run = house.run(&[&["--lang", "zh"], &words[..]].concat());
    assert!(
        run.stderr.contains("完成      Greeting (merge)"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_failed_node_is_named_and_the_rest_is_given() {
    let house = house();
    let run = house.run(&["workflow", "run", "failing", "--watch"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(run.stdout, "good: fine\n");
    assert!(
        run.stderr.contains("failed    Sum (sum)  "),
        "{}",
        run.stderr
    );
    assert!(
        run.stderr.contains("skipped   after  what it needs failed"),
        "{}",
        run.stderr
    );
    let last = run.stderr.lines().last().unwrap();
    assert!(
        last.starts_with("innkeeper: the run failed: sum: "),
        "{last}"
    );
    assert!(last.ends_with("[workflow.failed]"), "{last}");

    let run = house.run(&["workflow", "run", "failing", "--json"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let result = run.json();
    assert_eq!(result["status"], "error");
    assert_eq!(result["outputs"], json!({"good": "fine"}));
    assert_eq!(result["failures"][0]["node"], "sum");
    assert_eq!(result["error"]["code"], result["failures"][0]["code"]);
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let house = house();
    let run = house.run(&["workflow", "run", "slow", "--timeout", "1ms"]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (Some(1), "early: bird\n"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("(run.timeout)"), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn ctrl_c_stops_the_run_and_prints_what_there_is() {
    use std::io::{BufRead, BufReader, Read};

    let house = house();
    let mut child = house
        .command(&["workflow", "run", "slow", "--events"])
        .spawn()
        .unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !(line.contains("NODE_EXECUTING") && line.contains("\"wait\"")) {
        line.clear();
        assert!(stdout.read_line(&mut line).unwrap() > 0, "it never waited");
    }
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut rest = String::new();
    stdout.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest}");
    let result: Value = serde_json::from_str(rest.lines().last().unwrap()).unwrap();
    assert_eq!(result["status"], "interrupted");
    assert_eq!(result["outputs"], json!({"early": "bird"}));
}

/// `nohup` says that the terminal may go: then that it does is nothing to stop for.
#[cfg(target_os = "linux")]
#[test]
fn a_run_that_was_told_to_outlive_its_terminal_does() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    for (words, ends_it) in [(&["nohup"][..], false), (&["env"], true)] {
        let house = house();
        let asked = house.command(&["workflow", "run", "slow", "--events"]);
        let mut command = Command::new(words[0]);
        let environment = asked.get_envs();
        let mut child = command
            .arg(asked.get_program())
            .args(asked.get_args())
            .envs(environment.filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_waiting = |line: &str| line.contains("NODE_EXECUTING") && line.contains("\"wait\"");
        assert!(lines.any(|line| is_waiting(&line.unwrap())));
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = u64::from_str_radix(caught.unwrap().trim(), 16).unwrap();
        assert_eq!(caught & 1 == 1, ends_it, "{words:?}");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_twice_ends_a_run_that_nobody_reads() {
    use std::io::{BufRead, BufReader};
    use std::time::{Duration, Instant};

    let house = House::new();
    // What it tells is many times what a pipe holds.
    let spin = json!({
        "name": "Spin",
        "nodes": [
            {"id": "loop", "type": "core:LoopZone", "inputValues": {"n": 0}, "configValues": {"maxIterations": 1_000_000}},
            {"id": "in", "type": "core:LoopInput", "parentNode": "loop"},
            {"id": "out", "type": "core:LoopOutput", "parentNode": "loop"}
        ],
        "edges": [{"id": "e", "source": "in", "sourceHandle": "n", "target": "out", "targetHandle": "n"}]
    });
    let file = house.write("spin.json", &spin.to_string());
    let mut child = house
        .command(&["workflow", "run", file.to_str().unwrap(), "--events"])
        .spawn()
        .unwrap();
    let mut stdout = BufReader::with_capacity(1, child.stdout.take().unwrap());
    let mut line = String::new();
    assert!(stdout.read_line(&mut line).unwrap() > 0);
    let pid = rustix::process::Pid::from_child(&child);
    let deadline = Instant::now() + Duration::from_secs(60);
    // A full pipe holds a little less than its 64 KiB: no line lies across two pages.
    while rustix::io::ioctl_fionread(stdout.get_ref()).unwrap() < 56 * 1024 {
        assert!(Instant::now() < deadline, "it tells too little");
        std::thread::yield_now();
    }
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it cannot be stopped");
        }
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        std::thread::yield_now();
    };
    assert_eq!(status.code(), Some(130));
}

#[test]
fn an_agent_thinks_calls_a_tool_and_answers() {
    let house = House::new();
    let run = house.run(&[
        "workflow",
        "run",
        "agent-loop",
        "-i",
        "user_query=Roll 2d6",
        "--watch",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let places: Vec<_> = [
        "thinking…",
        "chose dice.roll",
        "running dice.roll…",
        "dice.roll: {",
        "replied: ",
    ]
    .iter()
    .map(|step| {
        run.stderr
            .find(step)
            .unwrap_or_else(|| panic!("{step}: {}", run.stderr))
    })
    .collect();
    assert!(places.is_sorted(), "{}", run.stderr);
    assert!(run.stderr.contains("iteration 2"), "{}", run.stderr);
    assert!(
        run.stdout.contains("final_reply: You rolled 2d6"),
        "{}",
        run.stdout
    );
}
