//! Runs in which agents work for others, as a person meets them at the command line.
#![cfg(unix)]

use std::path::Path;

use serde_json::json;

use super::home::House;
use super::runs_process::{Driver, NEVER, script};

/// Who works on a task, and who has given it, told apart by what they can call.
fn scenes(house: &House, of_task: &[&str], of_caller: &[&str]) {
    let call = |call: &&str| {
        let lines: Vec<String> = call.split('|').map(str::to_owned).collect();
        let (tool, arguments) = lines.split_first().unwrap();
        if arguments.is_empty() && !tool.contains('.') {
            return format!("      {tool}\n");
        }
        let mut text = format!("      <|[REQUEST_TOOL]|>\n      command:»»»{tool}«««\n");
        for argument in arguments {
            let (name, value) = argument.split_once('=').unwrap();
            text.push_str(&format!("      {name}:»»»{value}«««\n"));
        }
        text + "      <|[END_TOOL]|>\n"
    };
    let mut text = "name: agents\nscenes:\n".to_owned();
    for (tools, said) in [("tools: task.return, ", of_task), ("", of_caller)] {
        for (turn, said) in (1..).zip(said) {
            text.push_str(&format!(
                "  - when: {{role: any, {tools}turn: {turn}}}\n    reply: |\n{}",
                call(said)
            ));
        }
    }
    house.settings("[models]\nrehearsal = \"script.yaml\"\n");
    house.write("script.yaml", &text);
}

fn profile(house: &House, id: &str, delegation: &serde_json::Value) {
    let profile = json!({
        "schemaVersion": 2,
        "kind": "tauritavern.agentProfile",
        "id": id,
        "displayName": id,
        "run": {"presentation": "background"},
        "delegation": delegation,
        "tools": {"allow": ["*"], "deny": ["workspace.commit"]},
        "agent": {"protocol": "tam", "textTurn": "answers"},
    });
    house.write(&format!("agent_profiles/{id}.json"), &profile.to_string());
}

#[test]
fn a_question_of_one_who_works_for_another_waits_for_its_answer() {
    let house = House::new();
    let scratch = house.write("projects/default/notes/scratch.md", "Old.");
    profile(&house, "boss", &json!({"canDelegate": true}));
    let callable = json!({"callable": true, "allowAsSubagent": true});
    profile(&house, "helper", &callable);
    scenes(
        &house,
        &[
            "workspace.write_file|path=scratch/a.md|content=Gone soon.",
            "File.Delete|file_path=notes/scratch.md",
            "task.return|summary=It is gone.",
        ],
        &[
            r#"agent.delegate|agentId=helper|task={"objective": "Delete it."}"#,
            "agent.await",
            "Done",
        ],
    );
    let asked = house.run(&["run", "boss", "Tidy up"]);
    assert_eq!(asked.code, Some(5), "{}{}", asked.stdout, asked.stderr);
    assert!(scratch.is_file());
    assert!(asked.stderr.contains("  [helper] "), "{}", asked.stderr);
    // The question has its name before it, and the last line says how to answer.
    let question = asked
        .stderr
        .lines()
        .find(|line| line.contains("or --deny"))
        .unwrap();
    assert!(
        question.starts_with("  [helper] · File.Delete"),
        "{question}"
    );
    let last = asked.stderr.lines().last().unwrap();
    assert!(last.contains("→ innkeeper runs approve run_"), "{last}");
    let given = house.json(&["runs", "approve", "last"]);
    assert_eq!(given["driven"], false, "{given}");
    let resumed = house.run(&["runs", "resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(resumed.stdout, "Done\n");
    assert!(!scratch.exists());
    // Whose line it is stands before it, though its agent began in another process.
    let line = resumed
        .stderr
        .lines()
        .find(|line| line.contains("File.Delete"));
    assert!(
        line.is_some_and(|line| line.contains("[helper]")),
        "{}",
        resumed.stderr
    );

    // Looked at: who did what, and what is the run's.
    let shown = house.run(&["runs", "show", "last"]);
    let row = |name: &str, tool: &str| {
        let mut lines = shown.stdout.lines();
        lines.any(|line| line.trim_start().starts_with(name) && line.contains(tool))
    };
    assert!(row("helper", "File.Delete"), "{}", shown.stdout);
    assert!(row("boss", "agent.await"), "{}", shown.stdout);
    let kept = house.json(&["runs", "checkpoints", "last"]);
    let kept = kept["checkpoints"].as_array().unwrap();
    assert_eq!(kept.len(), 1, "{kept:?}");
    assert_eq!(kept[0]["changedCount"], 2, "{}", kept[0]);
    let changed = json!([
        "summaries/helper-result.md",
        "summaries/helper/scratch/a.md"
    ]);
    assert_eq!(kept[0]["changed"], changed);
    house
        .run(&["runs", "checkpoints", "last"])
        .shows(&["result of a task"]);

    // What is not there is said, and what is over too.
    house
        .run(&["runs", "events", "last", "--invocation", "nope"])
        .is_refused(1, &["has no agent 'nope'", "inv_root (boss)", "(helper)"]);
    let all = house.json(&["runs", "show", "last"]);
    let agents = &all["timeline"]["invocations"];
    let helper = agents[1]["invocationId"].as_str().unwrap();
    let own = house.run(&["runs", "events", "last", "--invocation", helper]);
    assert!(own.code == Some(0) && own.stdout.contains("File.Delete"));
    assert!(
        all["turns"]
            .as_array()
            .unwrap()
            .iter()
            .any(|turn| turn["invocationId"] == helper)
    );
    let task = all["timeline"]["delegationEdges"][0]["taskId"]
        .as_str()
        .unwrap();
    let ended = house.run(&["runs", "cancel", "last", "--task", task]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("completed"), "{}", ended.stdout);
    assert!(
        ended.stderr.contains("was over already"),
        "{}",
        ended.stderr
    );
    let ended = house.json(&["runs", "cancel", "last", "--task", task]);
    assert_eq!(ended["task"]["status"], "completed");
}

#[test]
fn several_of_one_profile_are_told_apart_and_marked_when_they_are_taken_back() {
    let house = House::new();
    profile(&house, "boss", &json!({"canDelegate": true}));
    let callable = json!({"callable": true, "allowAsSubagent": true});
    profile(&house, "kid", &callable);
    scenes(
        &house,
        &[
            "workspace.write_file|path=scratch/a.md|content=Mine.",
            "task.return|summary=Done.",
        ],
        &[
            "workspace.write_file|path=output/a.md|content=First.",
            r#"agent.delegate|agentId=kid|task={"objective": "One."}"#,
            r#"agent.delegate|agentId=kid|task={"objective": "Two."}"#,
            "agent.await|mode=allCompleted",
            "Done",
        ],
    );
    let run = house.run(&["run", "boss", "Go"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    for part in [
        "⇢ a task for kid: One.",
        "⇢ a task for kid-002: Two.",
        "  [kid] ✓ workspace.write_file",
        "  [kid-002] ✓ workspace.write_file",
        "⇠ kid has returned",
        "⇠ kid-002 has returned",
    ] {
        assert!(run.stderr.contains(part), "no {part:?} in {}", run.stderr);
    }
    house
        .run(&["runs", "events", "last", "--after", "0", "--limit", "500"])
        .shows(&["kid-002 has returned"]);
    let tree = |words: &[&str]| {
        let shown = house
            .run(&[words, &["runs", "show", "last"]].concat())
            .stdout;
        let kids: Vec<String> = shown
            .lines()
            .filter(|line| line.starts_with("  └ kid"))
            .map(str::to_owned)
            .collect();
        assert_eq!(kids.len(), 2, "{shown}");
        kids
    };
    let kids = tree(&[]);
    assert!(kids[0].starts_with("  └ kid "), "{kids:?}");
    assert!(kids[1].starts_with("  └ kid-002 "), "{kids:?}");
    assert!(!kids.concat().contains("taken back"), "{kids:?}");

    let back = house.run(&["runs", "rollback", "last", "1", "--yes"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    for kid in tree(&[]) {
        assert!(kid.contains("completed, taken back"), "{kid}");
    }
    for kid in tree(&["--lang", "zh"]) {
        assert!(kid.contains("完成，已撤回"), "{kid}");
    }
    let all = house.json(&["runs", "show", "last"]);
    let edges = all["timeline"]["delegationEdges"].as_array().unwrap();
    assert!(edges.iter().all(|edge| edge["takenBack"] == true), "{all}");
    let task = edges[0]["taskId"].as_str().unwrap();
    house
        .run(&["runs", "show", "last", "--task", task])
        .shows(&["completed, taken back"]);
    let undone = house.run(&["runs", "rollback", "last", "--undo", "--yes"]);
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert!(!tree(&[]).concat().contains("taken back"));
    // What is not there is said in the person's language.
    for words in [
        ["runs", "show", "last", "--task", "nope"],
        ["runs", "cancel", "last", "--task", "nope"],
    ] {
        house
            .run(&[&["--lang", "zh"][..], &words].concat())
            .is_refused(1, &["没有任务“nope”", "会列出它的任务"]);
    }
}

#[test]
fn a_handover_is_told_by_what_it_is_for_and_refused_in_the_language_of_the_person() {
    let house = House::new();
    let both = json!({
        "canHandoff": true, "callable": true, "allowAsHandoffTarget": true, "maxHandoffDepth": 1,
    });
    profile(&house, "plan", &both);
    profile(&house, "write", &both);
    let to = |agent: &str| {
        format!(r#"agent.handoff|agentId={agent}|handoff={{"objective": "Write it."}}"#)
    };
    let own = [to("write"), "Here it is".to_owned()];
    let own: Vec<&str> = own.iter().map(String::as_str).collect();
    scenes(&house, &[], &own);
    let run = house.run(&["--lang", "zh", "run", "plan", "Go"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let refused = "✗ agent.handoff";
    let line = run.stderr.lines().find(|line| line.starts_with(refused));
    let line = line.unwrap_or_else(|| panic!("{}", run.stderr));
    assert!(
        line.ends_with("运行已移交 1 次，不能再移交：请让它结束"),
        "{line}"
    );
    let shown = house.run(&["runs", "show", "last"]).stdout;
    let row = shown.lines().find(|line| line.starts_with("→ write"));
    assert!(
        row.is_some_and(|row| row.contains("  Write it.  ")),
        "{shown}"
    );
    let shown = house.run(&["--lang", "zh", "runs", "show", "last"]).stdout;
    assert!(shown.contains("运行已移交 1 次"), "{shown}");
    assert!(!shown.contains("INVOCATION"), "{shown}");
}

#[test]
fn the_agents_that_are_given_as_examples_work_together() {
    let house = House::new();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents");
    for name in ["lead", "researcher"] {
        let text = std::fs::read_to_string(examples.join(format!("{name}.json"))).unwrap();
        house.write(&format!("agent_profiles/{name}.json"), &text);
    }
    scenes(
        &house,
        &[
            "workspace.write_file|path=scratch/notes.md|content=Tea is old.",
            r#"task.return|summary=Tea is 5000 years old.|artifacts=[{"path": "scratch/notes.md"}]"#,
        ],
        &[
            "agent.list",
            r#"agent.delegate|agentId=researcher|task={"objective": "How old is tea?"}"#,
            "agent.await",
            "5000 years",
        ],
    );
    let run = house.run(&["run", "lead", "How old is tea?"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "5000 years\n");
    house
        .run(&["runs", "show", "last"])
        .shows(&["researcher", "summaries/researcher/scratch/notes.md"]);
    // It is for others only.
    house
        .run(&["run", "researcher", "How old is tea?"])
        .is_refused(1, &["cannot be run by itself"]);
}

#[test]
fn a_fork_is_made_beside_a_run_at_work_and_never_with_a_model_that_nobody_knows() {
    let house = House::new();
    script(&house, NEVER);
    let mut driver = Driver::start(&house, &["run", "hello"]);
    driver.until("model_call_attempt_started");
    let runs = |house: &House| house.json(&["runs", "list"]).as_array().unwrap().len();
    let busy = house.run(&["runs", "fork", "last"]);
    assert_eq!(busy.code, Some(6), "{}", busy.stderr);
    assert_eq!(runs(&house), 1);
    let made = house.json(&["runs", "fork", "last", "--no-start"]);
    assert_eq!(runs(&house), 2, "{made}");
    driver.child.kill().unwrap();
    driver.end();
    house
        .run(&["runs", "fork", "last", "--model", "nope/nothing"])
        .is_refused(1, &["nope"]);
    assert_eq!(runs(&house), 2, "nothing is left behind");
    script(&house, 0);
    let run = made["runId"].as_str().unwrap();
    let resumed = house.run(&["runs", "resume", run]);
    assert_eq!(resumed.stdout, "Here I am.\n", "{}", resumed.stderr);
}
