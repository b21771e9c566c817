//! What a run has changed: its checkpoints, and what is different between any two of them.

use std::collections::BTreeMap;
use std::time::Duration;

use innkeeper_agent::instance::{CheckpointQuery, CheckpointView, DiffEnd, DiffQuery, RunDiff};
use innkeeper_protocol::event::{RunEventKind, RunId, RunStatus};
use innkeeper_store::Tree;
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use super::harness::{DATABASE, House};

fn call(name: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»{name}«««\n");
    for (key, value) in arguments {
        text.push_str(&format!("{key}:»»»{value}«««\n"));
    }
    text + "<|[END_TOOL]|>"
}

fn write(path: &str, content: &str, mode: &str) -> String {
    let arguments = [("path", path), ("content", content), ("mode", mode)];
    call("workspace.write_file", &arguments)
}

fn patch(path: &str, old: &str, new: &str) -> String {
    let arguments = [("path", path), ("old_string", old), ("new_string", new)];
    call("workspace.apply_patch", &arguments)
}

const GATE: &str = "<|[REQUEST_TOOL]|>\ncommand:»»»gate«««\n<|[END_TOOL]|>";

async fn checkpoints(house: &House, run: &RunId) -> Vec<CheckpointView> {
    let query = CheckpointQuery::default();
    let page = house.runtime.checkpoints(run, query).await.unwrap();
    assert_eq!(page.next, None);
    page.checkpoints
}

async fn diff(house: &House, run: &RunId, from: &str, to: &str) -> RunDiff {
    let query = DiffQuery {
        from: DiffEnd::parse(from).unwrap(),
        to: DiffEnd::parse(to).unwrap(),
        paths: Vec::new(),
    };
    house.runtime.read_diff(run, &query).await.unwrap()
}

/// A run that wrote and patched three files, and what they were after each step.
async fn written(house: &House) -> (RunId, Vec<BTreeMap<String, String>>) {
    house.profile("worker", "tam");
    let mut files = BTreeMap::new();
    let mut after = vec![files.clone()];
    let mut step = |said: String, path: &str, text: String| {
        house.script.say(&said);
        files.insert(path.to_owned(), text);
        after.push(files.clone());
    };
    let (main, plan) = ("output/main.md", "plan/plan.md");
    step(write(main, "one", "replace"), main, "one".to_owned());
    step(write(plan, "think", "replace"), plan, "think".to_owned());
    step(write(main, " two", "append"), main, "one two".to_owned());
    step(
        patch(plan, "think", "think twice"),
        plan,
        "think twice".to_owned(),
    );
    step(
        write("scratch/x", "one two", "replace"),
        "scratch/x",
        "one two".to_owned(),
    );
    house.script.say("Done.");
    let (handle, events) = house.run("worker", "Go").await;
    assert_eq!(handle.status, RunStatus::Completed, "{events:#?}");
    (handle.run_id, after)
}

fn texts(diff: &RunDiff) -> Vec<(String, String)> {
    let lines = |file: &innkeeper_agent::workspace::diff::FileDiff| {
        let diff = file.unified_diff.clone().unwrap_or_default();
        let changed = |line: &&str| line.starts_with(['+', '-']);
        diff.lines()
            .skip_while(|line| !line.starts_with("@@"))
            .filter(changed)
            .collect::<Vec<_>>()
            .join("|")
    };
    diff.files
        .iter()
        .map(|file| (file.path.clone(), lines(file)))
        .collect()
}

#[tokio::test]
async fn every_checkpoint_is_listed_with_what_it_holds() {
    let house = House::new().await;
    let (run, after) = written(&house).await;
    let all = checkpoints(&house, &run).await;
    let shown: Vec<_> = all
        .iter()
        .map(|one| {
            (
                one.id.as_str(),
                one.seq,
                one.reason.as_str(),
                one.changed.join(","),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (
                "cp_000001",
                1,
                "tool_workspace_write",
                "output/main.md".to_owned()
            ),
            (
                "cp_000002",
                2,
                "tool_workspace_write",
                "plan/plan.md".to_owned()
            ),
            (
                "cp_000003",
                3,
                "tool_workspace_write",
                "output/main.md".to_owned()
            ),
            (
                "cp_000004",
                4,
                "tool_workspace_patch",
                "plan/plan.md".to_owned()
            ),
            (
                "cp_000005",
                5,
                "tool_workspace_write",
                "scratch/x".to_owned()
            ),
        ]
    );
    let events = house.events(&run).await;
    for one in &all {
        let event = &events[one.event_seq as usize - 1];
        assert!(
            matches!(&event.kind, RunEventKind::CheckpointCreated(made) if made.checkpoint_id == one.id)
        );
        assert_eq!(event.timestamp, one.created_at);
        let read = house.runtime.read_checkpoint(&run, &one.id).await.unwrap();
        let files = read.files.unwrap();
        let expected = &after[one.seq as usize];
        assert_eq!(files.len(), expected.len());
        for (file, (path, text)) in files.iter().zip(expected) {
            assert_eq!((&file.path, file.bytes), (path, text.len() as u64));
            let paper = format!("checkpoints/{}/{path}", one.id);
            let paper = house
                .runtime
                .read_workspace_file(&run, &paper)
                .await
                .unwrap();
            assert_eq!(
                (paper.text, paper.sha256.as_str()),
                (text.clone(), file.sha256.as_str())
            );
        }
    }
    let page = CheckpointQuery {
        after: 1,
        limit: Some(2),
        with_files: true,
    };
    let page = house.runtime.checkpoints(&run, page).await.unwrap();
    let ids: Vec<_> = page.checkpoints.iter().map(|one| one.seq).collect();
    assert_eq!((ids, page.next), (vec![2, 3], Some(3)));
    assert!(page.checkpoints.iter().all(|one| one.files.is_some()));
    let json = serde_json::to_value(&page.checkpoints[0]).unwrap();
    assert_eq!(json["eventSeq"], json!(all[1].event_seq));
    assert_eq!(json["files"][0]["path"], "output/main.md");
}

#[tokio::test]
async fn any_two_moments_are_compared() {
    let house = House::new().await;
    let (run, _) = written(&house).await;
    let gone = |path: &str, lines: &str| (path.to_owned(), lines.to_owned());
    for (from, to, expected) in [
        ("start", "start", vec![]),
        ("start", "cp_000001", vec![gone("output/main.md", "+one")]),
        (
            "1",
            "3",
            vec![
                gone("output/main.md", "-one|+one two"),
                gone("plan/plan.md", "+think"),
            ],
        ),
        (
            "cp_000004",
            "cp_000003",
            vec![gone("plan/plan.md", "-think twice|+think")],
        ),
        ("cp_000005", "now", vec![]),
        (
            "start",
            "now",
            vec![
                gone("output/main.md", "+one two"),
                gone("plan/plan.md", "+think twice"),
                gone("scratch/x", "+one two"),
            ],
        ),
    ] {
        let found = diff(&house, &run, from, to).await;
        assert_eq!(texts(&found), expected, "{from} {to}");
    }
    let found = serde_json::to_value(diff(&house, &run, "1", "now").await).unwrap();
    assert_eq!(found["fromCheckpointId"], "cp_000001");
    assert_eq!(found["toCheckpointId"], "now");
    assert_eq!(found["runId"], json!(run));
    assert_eq!(found["files"][0]["status"], "modified");
    assert_eq!(found["totals"]["addedLines"], 3);
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let house = House::new().await;
    let (run, _) = written(&house).await;
    let end = |text: &str| DiffEnd::parse(text).unwrap();
    let query = |to: &str, path: &str| DiffQuery {
        from: DiffEnd::Start,
        to: end(to),
        paths: vec![path.to_owned()],
    };
    for (query, code, reason, said) in [
        (
            query("6", "output"),
            "agent.not_found",
            "agent.checkpoint_not_found",
            "its last is cp_000005",
        ),
        (
            query("now", "output/../x"),
            "workspace.path_denied",
            "workspace.invalid_path",
            "'output/../x'",
        ),
        (
            query("now", "output/no.md"),
            "workspace.file_not_found",
            "workspace.file_not_found",
            "'output/no.md'",
        ),
    ] {
        let error = house.runtime.read_diff(&run, &query).await.unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.reason.as_deref()),
            (code, Some(reason))
        );
        assert!(error.message.contains(said), "{error}");
    }
    let nobody = RunId::new("run_nobody");
    let error = house
        .runtime
        .read_diff(&nobody, &DiffQuery::default())
        .await;
    assert_eq!(error.unwrap_err().code.as_str(), "agent.not_found");
    let error = house
        .runtime
        .checkpoints(&nobody, CheckpointQuery::default())
        .await;
    assert_eq!(error.unwrap_err().code.as_str(), "agent.not_found");
    let error = house
        .runtime
        .read_checkpoint(&run, &"cp_000009".into())
        .await;
    let error = error.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("agent.checkpoint_not_found"));
    let error = house.runtime.checkpoint(&run, "late").await.unwrap_err();
    assert_eq!(
        error.reason.as_deref(),
        Some("agent.checkpoint_unavailable"),
        "{error}"
    );
}

/// A database of another day has no shortcuts, and one that was damaged may have none.
#[tokio::test]
async fn the_journal_alone_says_the_same() {
    let house = House::new().await;
    let (run, _) = written(&house).await;
    let ends = ["start", "1", "2", "3", "4", "5", "now"];
    let mut before = Vec::new();
    for from in ends {
        for to in ends {
            before.push(diff(&house, &run, from, to).await);
        }
    }
    let path = house.home.path().join(DATABASE);
    let found = house
        .tools
        .store()
        .contents()
        .checkpoint(&run, &"cp_000003".into())
        .await;
    assert_ne!(found.unwrap(), None, "there is a shortcut");
    let path = format!("sqlite://{}", path.display());
    let mut behind_its_back = SqliteConnection::connect(&path).await.unwrap();
    let forget = sqlx::query("DELETE FROM checkpoints");
    forget.execute(&mut behind_its_back).await.unwrap();
    let found = house
        .tools
        .store()
        .contents()
        .checkpoint(&run, &"cp_000003".into())
        .await;
    assert_eq!(found.unwrap(), None::<Tree>);
    let mut before = before.into_iter();
    for from in ends {
        for to in ends {
            assert_eq!(
                Some(diff(&house, &run, from, to).await),
                before.next(),
                "{from} {to}"
            );
        }
    }
}

#[tokio::test]
async fn one_more_is_made_on_request_while_the_run_is_at_work() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.say(&write("output/main.md", "one", "replace"));
    house.script.say(GATE);
    house.script.say(&write("output/main.md", " two", "append"));
    house.script.say("Done.");
    let run = house.start("worker", "Go").await.run_id;
    house.gate.entered.notified().await;
    let (mine, other) = tokio::join!(
        house.runtime.checkpoint(&run, " before the second part "),
        house.runtime.checkpoint(&run, ""),
    );
    let (mine, other) = (mine.unwrap(), other.unwrap());
    assert_eq!(mine.reason, "requested");
    assert_eq!(mine.note.as_deref(), Some("before the second part"));
    assert_eq!(other.note, None);
    assert_ne!(mine.id, other.id);
    assert_eq!(mine.files.as_ref().map(Vec::len), Some(1));
    assert_eq!(mine.changed, Vec::<String>::new());
    let long = "x".repeat(innkeeper_agent::limits::MAX_REASON_CHARS + 1);
    let error = house.runtime.checkpoint(&run, &long).await.unwrap_err();
    assert_eq!(
        error.reason.as_deref(),
        Some("agent.checkpoint_reason_too_long")
    );
    house.gate.leave.notify_one();
    let (handle, _) = tokio::time::timeout(Duration::from_secs(60), house.end_of(&run))
        .await
        .unwrap();
    assert_eq!(handle.status, RunStatus::Completed);
    let all = checkpoints(&house, &run).await;
    assert_eq!(all.len(), 4);
    let since = diff(&house, &run, mine.id.as_str(), "now").await;
    assert_eq!(
        texts(&since),
        [("output/main.md".to_owned(), "-one|+one two".to_owned())]
    );
    // The same in another process.
    let house = house.again().await;
    assert_eq!(checkpoints(&house, &run).await, all);
    assert_eq!(diff(&house, &run, mine.id.as_str(), "now").await, since);
}
