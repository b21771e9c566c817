//! What a host reads of a run: its files, and the papers that are made from its journal.

use innkeeper_agent::instance::{AgentError, StartPrompt, StartRun};
use innkeeper_agent::workspace::host::HostFile;
use innkeeper_protocol::event::{RunEvent, RunEventKind, RunId, RunStatus};
use innkeeper_store::BlobId;
use innkeeper_store::journal::RunRecord;
use serde_json::{Value as Json, json};

use super::harness::House;

fn write(content: &str, mode: &str) -> String {
    format!(
        "<|[REQUEST_TOOL]|>
command:»»»workspace.write_file«««
path:»»»output/main.md«««
content:»»»{content}«««
mode:»»»{mode}«««
<|[END_TOOL]|>"
    )
}

/// One that is there, and one that is not.
const LOOK: &str = "<|[REQUEST_TOOL]|>
command_1:»»»ReadWorldStateTool«««
path_1:»»»weather«««
on_error_1:»»»continue«««
command_2:»»»NoSuchTool«««
<|[END_TOOL]|>";
const GATE: &str = "<|[REQUEST_TOOL]|>
command:»»»gate«««
<|[END_TOOL]|>";

fn snapshot() -> Json {
    json!({
        "chatCompletionPayload": {
            "messages": [{"role": "system", "content": "You are Anna"}, {"role": "user", "content": "Go on"}],
            "model": "story",
            "temperature": 0.5,
        },
        "worldInfoActivation": {"timestampMs": 1, "trigger": "normal", "entries": []},
    })
}

fn asked(snapshot: Json) -> StartRun {
    StartRun {
        profile_id: Some("worker".to_owned()),
        prompt: Some(StartPrompt::Snapshot(snapshot)),
        ..StartRun::default()
    }
}

/// A host at a run.
struct Desk {
    house: House,
    run: RunId,
    events: Vec<RunEvent>,
}

impl Desk {
    /// A run that wrote twice, looked, and said something.
    async fn new() -> Self {
        let house = House::new().await;
        house.profile("worker", "tam");
        let said = [write("Once", "replace"), write("-upon", "append")];
        said.iter().for_each(|said| house.script.say(said));
        house.script.say(LOOK);
        house.script.say("Done.");
        let handle = house.runtime.start(asked(snapshot())).await.unwrap();
        let (handle, events) = house.end_of(&handle.run_id).await;
        assert_eq!(handle.status, RunStatus::Completed);
        Self {
            house,
            run: handle.run_id,
            events,
        }
    }

    async fn ask(&self, path: &str) -> Result<HostFile, AgentError> {
        self.house
            .runtime
            .read_workspace_file(&self.run, path)
            .await
    }

    async fn text(&self, path: &str) -> String {
        let file = self.ask(path).await.unwrap();
        assert_eq!(file.path, path);
        assert_eq!(file.bytes, file.text.len() as u64);
        assert_eq!(file.chars, file.text.chars().count() as u64);
        assert_eq!(file.sha256, BlobId::of(file.text.as_bytes()).as_str());
        file.text
    }

    async fn json(&self, path: &str) -> Json {
        serde_json::from_str(&self.text(path).await).unwrap()
    }

    /// What the events of one kind name, in order.
    fn named<T>(&self, name: impl Fn(&RunEventKind) -> Option<T>) -> Vec<T> {
        self.events
            .iter()
            .filter_map(|event| name(&event.kind))
            .collect()
    }
}

#[tokio::test]
async fn the_journal_and_the_record_are_papers() {
    let desk = Desk::new().await;
    let text = desk.text("events.jsonl").await;
    let lines: Vec<RunEvent> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines, desk.events);
    assert!(text.ends_with("}\n"));
    let record: RunRecord = serde_json::from_value(desk.json("run.json").await).unwrap();
    assert_eq!(record, desk.house.runtime.record(&desk.run).await.unwrap());
    let manifest = desk.json("manifest.json").await;
    assert_eq!(manifest["workspaceVersion"], 1);
    assert_eq!(manifest["roots"].as_array().unwrap().len(), 5);
}

#[tokio::test]
async fn what_a_run_began_with_can_be_begun_with_again() {
    let desk = Desk::new().await;
    let reader = desk.house.runtime.reader();
    let first = reader.state(&desk.run).await.unwrap();
    let snapshot = desk.json("input/prompt_snapshot.json").await;
    let messages = &snapshot["chatCompletionPayload"]["messages"];
    assert_eq!(messages[0]["content"], "You are Anna");
    desk.house.script.say("Done.");
    let again = desk.house.runtime.start(asked(snapshot)).await.unwrap();
    desk.house.end_of(&again.run_id).await;
    let again = reader.state(&again.run_id).await.unwrap();
    let (first, again) = (first.created(), again.created());
    assert_eq!(first.model, "story");
    assert_eq!(first.parameters["temperature"], 0.5);
    assert_eq!(
        (
            &again.messages,
            &again.parameters,
            &again.model,
            &again.world_info
        ),
        (
            &first.messages,
            &first.parameters,
            &first.model,
            &first.world_info
        )
    );
    assert_eq!(
        desk.json("input/resolved_profile.json").await,
        first.profile.to_json()
    );
    assert_eq!(
        desk.json("input/persist_snapshot.json").await,
        json!({"baseStateId": null, "files": []})
    );
    assert_eq!(
        desk.json("input/resolved_skills.json").await,
        json!({
            "scopes": [{"kind": "global"}, {"kind": "profile", "profileId": "worker"}],
            "refs": {}, "effectiveSkills": []
        })
    );
}

#[tokio::test]
async fn every_path_that_an_event_names_can_be_read() {
    let desk = Desk::new().await;
    let arguments = desk.named(|kind| match kind {
        RunEventKind::ToolCallRequested(asked) => asked.arguments_ref.clone(),
        _ => None,
    });
    let wrote = |content: &str, mode: &str| json!({"path": "output/main.md", "content": content, "mode": mode});
    let expected = [
        wrote("Once", "replace"),
        wrote("-upon", "append"),
        json!({"path": "weather"}),
        json!({}),
    ];
    assert_eq!(arguments.len(), expected.len());
    for (path, expected) in arguments.iter().zip(expected) {
        assert_eq!(desk.json(path).await, expected);
    }

    let results = desk.named(|kind| match kind {
        RunEventKind::ToolResultStored(stored) => {
            Some((stored.call_id.to_string(), stored.path.clone()))
        }
        _ => None,
    });
    let mut read = Vec::new();
    for (call, path) in &results {
        let result = desk.json(path).await;
        assert_eq!(result["callId"], call.as_str());
        read.push(result);
    }
    let [first, _, weather, unknown] = &read[..] else {
        panic!("{read:?}");
    };
    assert_eq!(first["structured"]["path"], "output/main.md");
    assert_eq!(
        (
            &weather["name"],
            &weather["content"],
            &weather["structured"],
            &weather["isError"],
            &weather["resourceRefs"]
        ),
        (
            &json!("ReadWorldStateTool"),
            &json!("sunny"),
            &json!("sunny"),
            &json!(false),
            &json!([])
        )
    );
    assert_eq!(weather.get("errorCode"), None);
    assert_eq!(unknown["isError"], true);
    assert_eq!(unknown["errorCode"], unknown["structured"]["error"]["code"]);
    assert_eq!(
        unknown["content"],
        unknown["structured"]["error"]["message"]
    );

    let responses = desk.named(|kind| match kind {
        RunEventKind::ModelResponseStored(stored) => Some((stored.round, stored.path.clone())),
        _ => None,
    });
    assert_eq!(responses.len(), 4);
    for (round, path) in &responses {
        let response = desk.json(path).await;
        assert_eq!(response["round"], *round);
        assert_eq!(response["invocationId"], "inv_root");
        let turn = desk.house.runtime.model_turn(&desk.run, *round, None).await;
        assert_eq!(response["response"]["text"], turn.unwrap().assistant.text);
    }
}

#[tokio::test]
async fn files_are_as_they_are_now_and_as_they_were_at_each_checkpoint() {
    let desk = Desk::new().await;
    assert_eq!(desk.text("output/main.md").await, "Once-upon");
    let checkpoints: Vec<_> = desk
        .events
        .iter()
        .filter_map(|event| match &event.kind {
            RunEventKind::CheckpointCreated(created) => Some((event, created.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(checkpoints.len(), 2);
    for ((event, created), (number, text)) in
        checkpoints.iter().zip([(1, "Once"), (2, "Once-upon")])
    {
        let id = created.checkpoint_id.as_str();
        let paper = desk
            .json(&format!("checkpoints/{id}/checkpoint.json"))
            .await;
        assert_eq!(
            paper,
            json!({
                "id": format!("cp_00000{number}"),
                "seq": number,
                "runId": desk.run,
                "createdAt": event.timestamp,
                "reason": "tool_workspace_write",
                "eventSeq": event.seq,
                "files": [{
                    "path": "output/main.md",
                    "sha256": BlobId::of(text.as_bytes()),
                    "bytes": text.len(),
                    "chars": text.len(),
                    "words": number,
                }],
            })
        );
        let then = desk.text(&format!("checkpoints/{id}/output/main.md")).await;
        assert_eq!(then, text);
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_by_name() {
    let desk = Desk::new().await;
    for (path, reason) in [
        ("", "workspace.invalid_path"),
        ("/etc/passwd", "workspace.invalid_path"),
        ("../run.json", "workspace.invalid_path"),
        ("C:/run.json", "workspace.invalid_path"),
        ("output", "workspace.path_is_directory"),
        ("output/other.md", "workspace.file_not_found"),
        ("secrets.toml", "workspace.file_not_found"),
        ("input/other.json", "workspace.file_not_found"),
        (
            "tool-args/call_0000000000000000.json",
            "workspace.file_not_found",
        ),
        (
            "tool-results/call_0000000000000000.json",
            "workspace.file_not_found",
        ),
        ("model-responses/round-000.json", "workspace.file_not_found"),
        ("model-responses/round-005.json", "workspace.file_not_found"),
        (
            "model-responses/inv_2/round-001.json",
            "workspace.file_not_found",
        ),
        (
            "checkpoints/cp_000003/checkpoint.json",
            "workspace.file_not_found",
        ),
        (
            "checkpoints/cp_000001/output/other.md",
            "workspace.file_not_found",
        ),
        (
            "checkpoints/cp_000001/output",
            "workspace.path_is_directory",
        ),
    ] {
        let error = desk.ask(path).await.unwrap_err();
        assert_eq!(error.reason.as_deref(), Some(reason), "{path}: {error}");
    }
    let nobody = RunId::new("run_nobody");
    let unknown = desk.house.runtime.read_workspace_file(&nobody, "run.json");
    assert_eq!(unknown.await.unwrap_err().code.as_str(), "agent.not_found");
    // However it is written, it is the same.
    assert_eq!(
        desk.ask("./output\\main.md").await.unwrap().path,
        "output/main.md"
    );
}

#[tokio::test]
async fn papers_of_a_run_at_work_say_what_is_on_disk() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.say(GATE);
    house.script.say("Done.");
    let run = house.start("worker", "Work").await.run_id;
    house.gate.entered.notified().await;
    let desk = Desk {
        events: house.events(&run).await,
        house,
        run,
    };
    let [arguments] = &desk.named(|kind| match kind {
        RunEventKind::ToolCallRequested(asked) => asked.arguments_ref.clone(),
        _ => None,
    })[..] else {
        panic!("{:?}", desk.events);
    };
    assert_eq!(desk.json(arguments).await, json!({}));
    let result = arguments.replace("tool-args", "tool-results");
    let early = desk.ask(&result).await.unwrap_err();
    assert_eq!(early.code.as_str(), "workspace.file_not_found");
    desk.house.gate.leave.notify_one();
    desk.house.end_of(&desk.run).await;
    assert_eq!(desk.json(&result).await["content"], "done");
}
