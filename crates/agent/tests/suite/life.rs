//! The life of a run: written, published, ended; steered, cancelled, failed.

use innkeeper_agent::instance::{HostAnswer, StartPrompt, StartRun};
use innkeeper_engine::NodeError;
use innkeeper_protocol::event::{RunEventKind, RunStatus};
use innkeeper_store::journal::Followed;
use serde_json::json;

use super::harness::{House, Say, check_journal, names};

const WRITE: &str = "<|[REQUEST_TOOL]|>
command:»»»workspace.write_file«««
path:»»»output/main.md«««
content:»»»Once upon a time«««
<|[END_TOOL]|>";
const COMMIT: &str = "<|[REQUEST_TOOL]|>
command:»»»workspace.commit«««
<|[END_TOOL]|>";
const FINISH: &str = "<|[REQUEST_TOOL]|>
command:»»»workspace.finish«««
<|[END_TOOL]|>";
const GATE: &str = "<|[REQUEST_TOOL]|>
command:»»»gate«««
<|[END_TOOL]|>";

fn snapshot() -> StartRun {
    StartRun {
        prompt: Some(StartPrompt::Snapshot(json!({"chatCompletionPayload": {
            "messages": [{"role": "system", "content": "You are Anna"}, {"role": "user", "content": "Go on"}],
            "temperature": 0.5,
        }}))),
        chat_ref: Some(json!({"kind": "character", "characterId": "anna", "fileName": "1"})),
        stable_chat_id: Some("abc".to_owned()),
        ..StartRun::default()
    }
}

#[tokio::test]
async fn a_writer_writes_publishes_and_finishes() {
    let house = House::new().await;
    for say in [WRITE, COMMIT, FINISH] {
        house.script.say(say);
    }
    let handle = house.runtime.start(snapshot()).await.unwrap();
    assert_eq!(handle.workspace_id.as_str(), "chat_b30dd8f137c0e127");
    let mut follower = house.runtime.follow(&handle.run_id, 0);
    let commit = 'asked: loop {
        let Followed::Events(events) = follower.next().await else {
            panic!("the run ended without asking the host");
        };
        for event in events {
            if let RunEventKind::ChatCommitRequested(asked) = &event.kind {
                break 'asked asked.clone();
            }
        }
    };
    assert_eq!(
        (commit.path.as_str(), commit.chars, commit.words),
        ("output/main.md", 16, 4)
    );
    for _ in 0..2 {
        let saved = HostAnswer::Saved {
            message_id: "7".to_owned(),
            message_index: Some(7),
        };
        house
            .runtime
            .resolve_commit(&handle.run_id, &commit.commit_id, saved)
            .await
            .unwrap();
    }
    let update = 'asked: loop {
        match follower.next().await {
            Followed::Events(events) => {
                for event in events {
                    if let RunEventKind::PersistentStateMetadataUpdateRequested(asked) = &event.kind
                    {
                        break 'asked Some(asked.update_id.clone());
                    }
                    if event.is_terminal() {
                        break 'asked None;
                    }
                }
            }
            other => panic!("{other:?}"),
        }
    };
    if let Some(update) = update {
        house
            .runtime
            .resolve_metadata(&handle.run_id, &update, None)
            .await
            .unwrap();
    }
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    let mut told = names(&events);
    told.retain(|name| {
        [
            "run_created",
            "profile_resolved",
            "workspace_initialized",
            "context_assembled",
            "model_request_created",
            "model_completed",
            "tool_call_requested",
            "tool_call_completed",
            "tool_call_failed",
            "workspace_file_written",
            "checkpoint_created",
            "chat_commit_requested",
            "chat_commit_completed",
            "persistent_changes_committed",
            "run_completed",
        ]
        .contains(name)
    });
    assert_eq!(
        told,
        [
            "run_created",
            "profile_resolved",
            "workspace_initialized",
            "context_assembled",
            "model_request_created",
            "model_completed",
            "tool_call_requested",
            "tool_call_completed",
            "workspace_file_written",
            "checkpoint_created",
            "model_request_created",
            "model_completed",
            "tool_call_requested",
            "checkpoint_created",
            "chat_commit_requested",
            "chat_commit_completed",
            "tool_call_completed",
            "model_request_created",
            "model_completed",
            "tool_call_requested",
            "tool_call_completed",
            "persistent_changes_committed",
            "run_completed",
        ]
    );
    // The snapshot's own beginning comes first, then the agent's instructions.
    let first = house.script.request(0);
    assert_eq!(first[0]["content"], "You are Anna");
    assert!(
        first[1]["content"]
            .as_str()
            .unwrap()
            .contains("workspace.write_file")
    );
    assert_eq!(first[2]["content"], "Go on");
    let record = house.runtime.record(&handle.run_id).await.unwrap();
    assert_eq!(
        (
            record.commit_count,
            record.committed_message.unwrap().message_id.as_str()
        ),
        (1, "7")
    );
}

#[tokio::test]
async fn a_writer_who_only_talks_is_nudged() {
    let house = House::new().await;
    house.script.say("Once upon a time, in plain words");
    house.script.push(Say::Hang);
    let handle = house.runtime.start(snapshot()).await.unwrap();
    house.script.was_asked.notified().await;
    house.script.was_asked.notified().await;
    assert!(
        house
            .script
            .last_message(1)
            .contains("output/direct_output.md")
    );
    house.runtime.cancel(&handle.run_id).await.unwrap();
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Cancelled);
    check_journal(&events);
    assert!(names(&events).contains(&"drift_recovery_attempted"));
}

#[tokio::test]
async fn what_a_writer_said_in_plain_words_can_be_read_and_published() {
    const PATH: &str = "output/direct_output.md";
    let call = |tool: &str| {
        format!("<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\npath:»»»{PATH}«««\n<|[END_TOOL]|>")
    };
    let house = House::new().await;
    house.script.say("Once upon a time, in plain words");
    house.script.say(&call("workspace.read_file"));
    house.script.say(&call("workspace.commit"));
    house.script.push(Say::Hang);
    let handle = house.runtime.start(snapshot()).await.unwrap();
    let mut follower = house.runtime.follow(&handle.run_id, 0);
    let commit = 'asked: loop {
        let Followed::Events(events) = follower.next().await else {
            panic!("the run ended without asking the host");
        };
        for event in events {
            if let RunEventKind::ChatCommitRequested(asked) = &event.kind {
                break 'asked asked.clone();
            }
            assert_ne!(event.kind.name(), "tool_call_failed", "{event:?}");
        }
    };
    assert_eq!((commit.path.as_str(), commit.words), (PATH, 7));
    assert!(house.script.last_message(2).contains("in plain words"));
    house.runtime.cancel(&handle.run_id).await.unwrap();
    house.end_of(&handle.run_id).await;
}

#[tokio::test]
async fn guidance_is_the_last_thing_that_the_model_reads() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.say(GATE);
    house.script.say("Done, and kindly.");
    let handle = house.start("worker", "Work").await;
    house.gate.entered.notified().await;
    let told = house
        .runtime
        .guide(&handle.run_id, " be kind ", Some("mine".to_owned()))
        .await
        .unwrap();
    assert_eq!((told.pending_count, told.chars, told.words), (1, 7, 2));
    // Handed in once more, it is the same piece.
    let again = house
        .runtime
        .guide(&handle.run_id, "be kind", Some("mine".to_owned()))
        .await
        .unwrap();
    assert_eq!(again, told);
    house.gate.leave.notify_one();
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    assert_eq!(
        house.script.last_message(1),
        "<user_guidance>\nbe kind\n</user_guidance>"
    );
    let late = house
        .runtime
        .guide(&handle.run_id, "too late", None)
        .await
        .unwrap_err();
    assert_eq!(
        late.reason.as_deref(),
        Some("agent.guidance_run_not_accepting")
    );
}

#[tokio::test]
async fn cancel_ends_what_is_under_way_and_every_call_has_an_answer() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.say(GATE);
    let handle = house.start("worker", "Work").await;
    house.gate.entered.notified().await;
    house.runtime.cancel(&handle.run_id).await.unwrap();
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Cancelled);
    check_journal(&events);
    let asked = names(&events)
        .iter()
        .filter(|name| **name == "tool_call_requested")
        .count();
    let ended = names(&events)
        .iter()
        .filter(|name| ["tool_call_completed", "tool_call_failed"].contains(name))
        .count();
    assert_eq!((asked, ended), (1, 1));
    let again = house.runtime.cancel(&handle.run_id).await.unwrap();
    assert_eq!(again.status, RunStatus::Cancelled);
    assert_eq!(house.events(&handle.run_id).await.len(), events.len());
}

#[tokio::test]
async fn a_model_that_fails_is_asked_again_where_that_may_help() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.push(Say::Fail(NodeError::failed(
        "model.overloaded",
        "busy; wait a little",
    )));
    house.script.say("Here I am.");
    let (handle, events) = house.run("worker", "Hello").await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    house.script.push(Say::Fail(NodeError::invalid(
        "model.unauthorized",
        "no key; add one",
    )));
    let (handle, events) = house.run("worker", "Hello").await;
    assert_eq!(handle.status, RunStatus::Failed);
    check_journal(&events);
    let Some(RunEventKind::RunFailed(failed)) = events.last().map(|event| event.kind.clone())
    else {
        panic!("{:?}", names(&events));
    };
    assert_eq!(failed.code, "model.unauthorized");
}

#[tokio::test]
async fn native_calls_are_answered_one_by_one() {
    let house = House::new().await;
    house.profile("native", "native");
    house.script.push(Say::Native(vec![
        ("a", "ReadWorldStateTool", json!({"path": "x"})),
        ("b", "GetPlayerInfo", json!({"player_id": "p"})),
    ]));
    house.script.say("Done.");
    let (handle, events) = house.run("native", "Look").await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    let request = house.script.request(1);
    let answers: Vec<_> = request
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["tool_call_id"].as_str().unwrap())
        .collect();
    assert_eq!(answers, ["a", "b"]);
}

#[tokio::test]
async fn what_was_sent_can_be_read_again() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house
        .script
        .say(&GATE.replace("gate", "ReadWorldStateTool"));
    house.script.say("It is sunny.");
    let (handle, _) = house.run("worker", "Weather?").await;
    for round in [1, 2] {
        let turn = house
            .runtime
            .model_turn(&handle.run_id, round, None)
            .await
            .unwrap();
        let sent: Vec<_> = turn
            .request
            .iter()
            .map(|message| (**message).clone())
            .collect();
        assert_eq!(sent, house.script.request(round as usize - 1));
    }
    let turn = house
        .runtime
        .model_turn(&handle.run_id, 2, Some(5))
        .await
        .unwrap();
    assert_eq!(
        (turn.assistant.text.as_str(), turn.assistant.truncated),
        ("It is", true)
    );
    assert!(
        house
            .runtime
            .model_turn(&handle.run_id, 3, None)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn a_run_out_of_time_ends_in_the_middle_of_a_call() {
    let house = House::new().await;
    house.profile_with("hasty", "tam", |profile| {
        profile["agent"]["budget"] = json!({"maxWallTimeMs": 40});
    });
    house.script.say(GATE);
    let (handle, events) = house.run("hasty", "Work").await;
    assert_eq!(handle.status, RunStatus::Failed);
    check_journal(&events);
    let Some(RunEventKind::RunFailed(failed)) = events.last().map(|event| event.kind.clone())
    else {
        panic!("{:?}", names(&events));
    };
    assert!(failed.message.contains("time"), "{}", failed.message);
}
