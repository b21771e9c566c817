//! Taking back what a run did, and branching off from it, in a house.

use innkeeper_agent::instance::{
    DiffEnd, Fork, HostAnswer, Rollback, RollbackReceipt, StartPrompt, StartRun,
};
use innkeeper_protocol::event::{Presentation, RollbackScope, RunEventKind, RunId, RunStatus};
use innkeeper_store::journal::{Followed, RunFilter};
use serde_json::json;
use sqlx::{Connection, SqliteConnection};

use super::harness::{DATABASE, House, names};

pub(super) fn call(name: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»{name}«««\n");
    for (key, value) in arguments {
        text.push_str(&format!("{key}:»»»{value}«««\n"));
    }
    text + "<|[END_TOOL]|>"
}

pub(super) fn write(path: &str, content: &str) -> String {
    let arguments = [("path", path), ("content", content), ("mode", "replace")];
    call("workspace.write_file", &arguments)
}

pub(super) fn patch(path: &str, old: &str, new: &str) -> String {
    let arguments = [("path", path), ("old_string", old), ("new_string", new)];
    call("workspace.apply_patch", &arguments)
}

pub(super) fn to(run: &RunId, end: &str) -> Rollback {
    Rollback {
        run: run.clone(),
        to: DiffEnd::parse(end).unwrap(),
        scope: RollbackScope::Workspace,
        reason: None,
        planned_at: None,
    }
}

pub(super) async fn text(house: &House, run: &RunId, path: &str) -> Option<String> {
    let read = house.runtime.read_workspace_file(run, path).await;
    read.ok().map(|file| file.text)
}

const MAIN: &str = "output/main.md";

/// Writes it twice, and is complete.
async fn twice(house: &House) -> RunId {
    house.profile("worker", "tam");
    house.script.say(&write(MAIN, "one"));
    house.script.say(&write(MAIN, "secondly"));
    house.script.say("Done.");
    let (handle, events) = house.run("worker", "Go").await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    handle.run_id
}

#[tokio::test]
async fn a_complete_run_goes_on_from_a_checkpoint_and_its_model_does_not_believe_in_what_was_undone()
 {
    let house = House::new().await;
    let run = twice(&house).await;
    let second = house.script.request(1);
    let back = Rollback {
        reason: Some(" too long ".to_owned()),
        ..to(&run, "1")
    };
    let receipt = house.runtime.rollback(back).await.unwrap();
    assert_eq!(receipt.status, RunStatus::Completed);
    assert_eq!(receipt.rolled_back.reason.as_deref(), Some("too long"));
    assert_eq!(
        receipt.rolled_back.before_checkpoint_id.as_str(),
        "cp_000003"
    );
    assert_eq!(receipt.after_checkpoint_id.as_str(), "cp_000004");
    assert_eq!(receipt.rolled_back.rounds, 2);
    assert_eq!(text(&house, &run, MAIN).await.as_deref(), Some("one"));
    let before = text(&house, &run, "checkpoints/cp_000003/output/main.md").await;
    assert_eq!(before.as_deref(), Some("secondly"));
    let events = house.events(&run).await;
    assert!(events.last().unwrap().is_terminal());

    // Another process goes on. What it knows of its file is what it knew then: it can be patched at once.
    let house = house.again().await;
    house.script.say(&patch(MAIN, "one", "one and a half"));
    house.script.say("Done again.");
    house
        .runtime
        .resume(&run, None, Some("Shorter"))
        .await
        .unwrap();
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    assert_eq!(
        text(&house, &run, MAIN).await.as_deref(),
        Some("one and a half")
    );
    // What was sent for the second reply, and then what happened instead of it.
    let asked = house.script.request(0);
    assert_eq!(asked[..second.len()], second[..]);
    let rest: Vec<_> = asked[second.len()..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(rest.len(), 2, "{rest:?}");
    assert!(
        rest[0].contains("A person has set this run") && rest[1].contains("Shorter"),
        "{rest:?}"
    );
    assert!(!json!(asked).to_string().contains("secondly"));
    // Said once.
    let next = house.script.request(1);
    assert_eq!(
        json!(next).to_string().matches("A person has set").count(),
        1
    );
    // Turns are read as they were asked.
    let turn = house.runtime.model_turn(&run, 4, None).await.unwrap();
    assert_eq!(turn.request_message_count, asked.len());
    let mut turns = house.runtime.reader().turns(&run).await.unwrap();
    let mut sent = Vec::new();
    while let Some(turn) = turns.next().await.unwrap() {
        sent.truncate(turn.keep);
        sent.extend(
            turn.add
                .iter()
                .map(|message| serde_json::Value::clone(message)),
        );
        if turn.round == 4 {
            assert_eq!(sent, asked);
        }
    }
}

#[tokio::test]
async fn an_undone_rollback_is_undone_again() {
    let house = House::new().await;
    let run = twice(&house).await;
    let reader = house.runtime.reader();
    let error = reader.before_last_rollback(&run).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("agent.rollback_not_found"));
    house.runtime.rollback(to(&run, "start")).await.unwrap();
    assert_eq!(text(&house, &run, MAIN).await, None);
    for expected in [Some("secondly"), None, Some("secondly")] {
        let before = reader.before_last_rollback(&run).await.unwrap();
        let end = DiffEnd::Checkpoint(before.clone());
        let plan = reader.rollback_plan(&run, &end, RollbackScope::Workspace);
        assert_eq!(plan.await.unwrap().diff.files.len(), 1);
        house
            .runtime
            .rollback(to(&run, before.as_str()))
            .await
            .unwrap();
        assert_eq!(text(&house, &run, MAIN).await.as_deref(), expected);
    }
    // It is complete, as it was.
    let error = house.runtime.resume(&run, None, None).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("agent.resume_unavailable"));
}

/// Whoever has seen what would change agrees to that and to nothing else.
#[tokio::test]
async fn a_run_that_has_gone_on_since_the_plan_was_made_is_left_as_it_is() {
    let house = House::new().await;
    let run = twice(&house).await;
    let reader = house.runtime.reader();
    let end = DiffEnd::parse("1").unwrap();
    let plan = reader.rollback_plan(&run, &end, RollbackScope::Workspace);
    let plan = plan.await.unwrap();
    let last_seq = house.runtime.record(&run).await.unwrap().last_seq;
    assert_eq!(plan.last_seq, last_seq);
    house.runtime.rollback(to(&run, "start")).await.unwrap();
    let before = reader.state(&run).await.unwrap();
    let planned = |planned_at| Rollback {
        planned_at: Some(planned_at),
        ..to(&run, "1")
    };
    let refused = house.runtime.rollback(planned(plan.last_seq)).await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.reason.as_deref(), Some("agent.rollback_moved"));
    assert_eq!(reader.state(&run).await.unwrap(), before);
    let plan = reader.rollback_plan(&run, &end, RollbackScope::Workspace);
    let plan = plan.await.unwrap();
    house
        .runtime
        .rollback(planned(plan.last_seq))
        .await
        .unwrap();
    assert_eq!(text(&house, &run, MAIN).await.as_deref(), Some("one"));
}

#[tokio::test]
async fn no_secret_that_a_person_types_gets_into_the_journal() {
    let house = House::new().await;
    let secret = innkeeper_protocol::Secret::new("correct-horse-battery".to_owned());
    let known = [("key".to_owned(), &secret)];
    let redactor = innkeeper_tools::Redactor::new(known.into_iter());
    house.tools.set_redactor(redactor);
    let run = twice(&house).await;
    let back = Rollback {
        reason: Some("it told correct-horse-battery".to_owned()),
        ..to(&run, "1")
    };
    let receipt = house.runtime.rollback(back).await.unwrap();
    let said = receipt.rolled_back.reason.as_deref();
    assert_eq!(said, Some("it told [secret key]"));
    house.script.push(super::harness::Say::Hang);
    house.runtime.resume(&run, None, None).await.unwrap();
    let made = house
        .runtime
        .checkpoint(&run, "before correct-horse-battery")
        .await
        .unwrap();
    assert_eq!(made.note.as_deref(), Some("before [secret key]"));
    house.runtime.cancel(&run).await.unwrap();
    house.runtime.wait(&run).await.unwrap();
    let events = serde_json::to_string(&house.events(&run).await).unwrap();
    assert!(!events.contains("correct-horse"), "{events}");
}

#[tokio::test]
async fn what_cannot_be_taken_back_is_said() {
    let house = House::new().await;
    let run = twice(&house).await;
    let long = Rollback {
        reason: Some("x".repeat(innkeeper_agent::limits::MAX_REASON_CHARS + 1)),
        ..to(&run, "1")
    };
    for (asked, reason) in [
        (to(&run, "now"), "agent.checkpoint_invalid"),
        (to(&run, "9"), "agent.checkpoint_not_found"),
        (long, "agent.rollback_reason_too_long"),
    ] {
        let error = house.runtime.rollback(asked).await.unwrap_err();
        assert_eq!(error.reason.as_deref(), Some(reason), "{error}");
    }
    let error = house
        .runtime
        .rollback(to(&RunId::new("run_no"), "1"))
        .await
        .unwrap_err();
    assert_eq!(error.code.as_str(), "agent.not_found");

    // One at work is left alone.
    house.script.say(&write(MAIN, "one"));
    house.script.say(&call("gate", &[]));
    house.script.say("Done.");
    let run = house.start("worker", "Go").await.run_id;
    house.gate.entered.notified().await;
    let error = house.runtime.rollback(to(&run, "1")).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("agent.rollback_unavailable"));
    assert!(
        error
            .message
            .contains(&format!("innkeeper runs cancel {run}")),
        "{error}"
    );
    house.gate.leave.notify_one();
    let (handle, _) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed);
}

/// Until the host is asked to publish.
async fn commit_of(house: &House, run: &RunId) -> innkeeper_protocol::event::CommitId {
    let mut follower = house.runtime.follow(run, 0);
    loop {
        let Followed::Events(events) = follower.next().await else {
            panic!("it ended");
        };
        for event in events {
            if let RunEventKind::ChatCommitRequested(asked) = &event.kind {
                return asked.commit_id.clone();
            }
        }
    }
}

async fn writer(house: &House) -> RunId {
    house.profile_with("writer", "tam", |profile| {
        profile["tools"]["deny"] = json!([]);
        profile["run"]["presentation"] = json!("foreground");
        profile["agent"]["textTurn"] = json!("nudges");
        profile["output"] = json!({"artifacts": [
            {"id": "main", "path": MAIN, "kind": "markdown", "target": "messageBody"}]});
    });
    house.script.say(&write(MAIN, "one"));
    house
        .script
        .say(&call("workspace.commit", &[("path", MAIN)]));
    let asked = StartRun {
        profile_id: Some("writer".to_owned()),
        prompt: Some(StartPrompt::Message("Go".to_owned())),
        presentation: Some(Presentation::Foreground),
        ..StartRun::default()
    };
    house.runtime.start(asked).await.unwrap().run_id
}

#[tokio::test]
async fn one_that_waits_for_its_host_is_cancelled_first_and_its_commit_withdrawn() {
    let house = House::new().await;
    let run = writer(&house).await;
    let commit = commit_of(&house, &run).await;
    let receipt = house.runtime.rollback(to(&run, "1")).await.unwrap();
    assert_eq!(receipt.status, RunStatus::Cancelled);
    let events = house.events(&run).await;
    assert!(
        names(&events).contains(&"chat_commit_failed"),
        "{:?}",
        names(&events)
    );
    let state = house.runtime.reader().state(&run).await.unwrap();
    assert!(state.pending_commit().is_none() && state.commit(&commit).is_some());
}

#[tokio::test]
async fn a_message_that_was_published_is_withdrawn_and_the_list_of_runs_knows() {
    let house = House::new().await;
    let run = writer(&house).await;
    let commit = commit_of(&house, &run).await;
    house.script.say(&call("workspace.finish", &[]));
    let saved = HostAnswer::Saved {
        message_id: "7".to_owned(),
        message_index: Some(7),
    };
    house
        .runtime
        .resolve_commit(&run, &commit, saved)
        .await
        .unwrap();
    let mut follower = house.runtime.follow(&run, 0);
    'told: loop {
        let Followed::Events(events) = follower.next().await else {
            break;
        };
        for event in events {
            if let RunEventKind::PersistentStateMetadataUpdateRequested(update) = &event.kind {
                house
                    .runtime
                    .resolve_metadata(&run, &update.update_id, None)
                    .await
                    .unwrap();
                break 'told;
            }
        }
    }
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    assert_eq!(house.runtime.record(&run).await.unwrap().commit_count, 1);
    let back = Rollback {
        scope: RollbackScope::CommittedMessage,
        ..to(&run, "1")
    };
    let RollbackReceipt { rolled_back, .. } = house.runtime.rollback(back).await.unwrap();
    assert_eq!(rolled_back.withdrawn_commits[0].message_id, "7");
    assert_eq!(
        rolled_back.withdrawn_state_id.as_deref(),
        Some(run.as_str())
    );
    let record = house.runtime.record(&run).await.unwrap();
    assert_eq!((record.commit_count, record.committed_message), (0, None));
}

#[tokio::test]
async fn a_fork_goes_on_by_itself_and_outlives_what_it_came_from() {
    let house = House::new().await;
    let run = twice(&house).await;
    let second = house.script.request(1);
    let requests = house.script.requests();
    house.script.say(&patch(MAIN, "one", "another"));
    house.script.say("Done.");
    let fork = Fork {
        at: DiffEnd::parse("1").unwrap(),
        told: Some("Try something else".to_owned()),
        ..Fork::of(run.clone())
    };
    let forked = house.runtime.fork(fork).await.unwrap().run_id;
    let (handle, events) = house.end_of(&forked).await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    let RunEventKind::RunCreated(created) = &events[0].kind else {
        panic!("{:?}", events[0]);
    };
    assert_eq!(created.extra["forkedFrom"]["runId"], json!(run));
    let asked = house.script.request(requests);
    assert_eq!(asked[..second.len()], second[..]);
    assert!(json!(asked).to_string().contains("Try something else"));
    assert_eq!(
        text(&house, &forked, MAIN).await.as_deref(),
        Some("another")
    );
    assert_eq!(text(&house, &run, MAIN).await.as_deref(), Some("secondly"));
    let start = DiffEnd::Start;
    let files = house
        .runtime
        .reader()
        .files_at(&forked, &start)
        .await
        .unwrap();
    assert_eq!(files.0.len(), 1);

    // A fork of the fork, that nobody has started yet.
    let waiting = Fork {
        at: DiffEnd::parse("1").unwrap(),
        starts: false,
        ..Fork::of(forked.clone())
    };
    let waiting = house.runtime.fork(waiting).await.unwrap().run_id;
    assert!(!house.runtime.is_alive(&waiting));
    // It has begun with what it has, though nobody has started it.
    let reader = house.runtime.reader();
    let begun = reader.files_at(&waiting, &DiffEnd::Start).await.unwrap();
    let now = reader.files_at(&waiting, &DiffEnd::Now).await.unwrap();
    assert_eq!((begun.0.len(), &begun), (1, &now));
    for gone in [&run, &forked] {
        assert!(house.runtime.journal().delete(gone).await.unwrap());
    }
    house.tools.store().contents().sweep().await.unwrap();
    assert_eq!(text(&house, &waiting, MAIN).await.as_deref(), Some("one"));
    let house = house.again().await;
    house.script.say(&patch(MAIN, "one", "the third"));
    house.script.say("Done.");
    house.runtime.resume(&waiting, None, None).await.unwrap();
    let (handle, events) = house.end_of(&waiting).await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    assert_eq!(
        text(&house, &waiting, MAIN).await.as_deref(),
        Some("the third")
    );
    assert_eq!(
        house
            .runtime
            .list(&RunFilter::default())
            .await
            .unwrap()
            .runs
            .len(),
        1
    );
}

#[tokio::test]
async fn a_run_at_work_is_branched_off_and_another_agent_goes_on_with_its_own_instructions() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.profile_with("other", "tam", |profile| {
        profile["instructions"] = json!({"agentSystemPrompt": "You are the other one."});
    });
    house.script.say(&write(MAIN, "one"));
    house.script.say(&call("gate", &[]));
    let run = house.start("worker", "Go").await.run_id;
    house.gate.entered.notified().await;
    house.script.say("I am done.");
    let fork = Fork {
        profile: Some("other".to_owned()),
        model: Some("another-model".to_owned()),
        ..Fork::of(run.clone())
    };
    let forked = house.runtime.fork(fork).await.unwrap().run_id;
    let (handle, events) = house.end_of(&forked).await;
    assert_eq!(handle.status, RunStatus::Completed, "{:?}", names(&events));
    let (first, asked) = (house.script.request(0), house.script.request(2));
    let system =
        |messages: &[serde_json::Value]| messages[0]["content"].as_str().unwrap().to_owned();
    assert_ne!(system(&first), system(&asked));
    assert_eq!(asked[1], first[1]);
    let told = json!(asked).to_string();
    // The call that was at work there has an answer here.
    assert!(told.contains("the run was branched off here"), "{told}");
    assert_eq!(text(&house, &forked, MAIN).await.as_deref(), Some("one"));
    house.script.say("Done.");
    house.gate.leave.notify_one();
    let (handle, _) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed);
}

#[tokio::test]
async fn a_run_that_is_damaged_later_on_is_branched_off_before_that() {
    let house = House::new().await;
    let run = twice(&house).await;
    let path = house.home.path().join(DATABASE);
    let path = format!("sqlite://{}", path.display());
    let mut behind_its_back = SqliteConnection::connect(&path).await.unwrap();
    // The last step that tells of something.
    let spoil = sqlx::query(
        "UPDATE journal SET input_sum = input_sum + 1 WHERE id = (SELECT max(id) FROM journal)",
    );
    assert_eq!(
        spoil
            .execute(&mut behind_its_back)
            .await
            .unwrap()
            .rows_affected(),
        1
    );
    let fork = Fork {
        starts: false,
        ..Fork::of(run.clone())
    };
    house.runtime.fork(fork.clone()).await.unwrap_err();
    let at = DiffEnd::parse("2").unwrap();
    let forked = house
        .runtime
        .fork(Fork { at, ..fork })
        .await
        .unwrap()
        .run_id;
    assert_eq!(
        text(&house, &forked, MAIN).await.as_deref(),
        Some("secondly")
    );
}
