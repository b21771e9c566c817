//! What one run of a chat leaves behind, the next one knows.

use innkeeper_agent::instance::{
    ChatName, ChatSource, HostAnswer, RetentionQuery, RetentionSettings, RunHandle, StartPrompt,
    StartRun,
};
use innkeeper_protocol::event::{RunEventKind, RunStatus};
use innkeeper_store::journal::Followed;
use serde_json::{Value as Json, json};

use super::harness::{House, check_journal};

fn call(command: &str, arguments: &[(&str, &str)]) -> String {
    let mut text = format!("<|[REQUEST_TOOL]|>\ncommand:»»»{command}«««\n");
    for (name, value) in arguments {
        text.push_str(&format!("{name}:»»»{value}«««\n"));
    }
    text + "<|[END_TOOL]|>"
}

fn asked(chat: Vec<Json>) -> StartRun {
    StartRun {
        prompt: Some(StartPrompt::Message("Go on".to_owned())),
        chat_ref: Some(json!({"kind": "character", "characterId": "anna", "fileName": "1"})),
        stable_chat_id: Some("abc".to_owned()),
        chat: ChatSource::Messages(chat),
        ..StartRun::default()
    }
}

/// Plays the host until the run is over; gives what it writes beside the message that was published.
async fn host(house: &House, run: &RunHandle) -> Option<Json> {
    let mut follower = house.runtime.follow(&run.run_id, 0);
    let mut extra = None;
    loop {
        let Followed::Events(events) = follower.next().await else {
            panic!("the run ended without an end");
        };
        for event in events {
            match &event.kind {
                RunEventKind::ChatCommitRequested(asked) => {
                    let saved = HostAnswer::Saved {
                        message_id: "1".to_owned(),
                        message_index: Some(1),
                    };
                    let answer = house
                        .runtime
                        .resolve_commit(&run.run_id, &asked.commit_id, saved);
                    answer.await.unwrap();
                }
                RunEventKind::PersistentStateMetadataUpdateRequested(asked) => {
                    extra = Some(json!({"tauritavern": {"agent": {
                        "persistStateStatus": "committed",
                        "persistStateId": asked.state_id,
                    }}}));
                    let answer =
                        house
                            .runtime
                            .resolve_metadata(&run.run_id, &asked.update_id, None);
                    answer.await.unwrap();
                }
                _ if event.is_terminal() => return extra,
                _ => {}
            }
        }
    }
}

fn projected(events: &[innkeeper_protocol::event::RunEvent]) -> Json {
    let told = events.iter().find_map(|event| match &event.kind {
        RunEventKind::PersistentProjectionInitialized(told) => Some(told.clone()),
        _ => None,
    });
    serde_json::to_value(told.unwrap()).unwrap()
}

#[tokio::test]
async fn the_next_run_of_a_chat_reads_what_the_last_one_kept() {
    let house = House::new().await;
    let script = &house.script;
    let user = json!({"name": "u", "is_user": true, "mes": "Hi"});
    for say in [
        call(
            "workspace.write_file",
            &[
                ("path", "persist/names.md"),
                ("content", "Her name is Mira"),
            ],
        ),
        call(
            "workspace.write_file",
            &[("path", "output/main.md"), ("content", "Hello")],
        ),
        call("workspace.commit", &[]),
        call("workspace.finish", &[]),
    ] {
        script.say(&say);
    }
    let first = house
        .runtime
        .start(asked(vec![user.clone()]))
        .await
        .unwrap();
    let extra = host(&house, &first)
        .await
        .expect("the host is told of the memory");
    let (first, events) = house.end_of(&first.run_id).await;
    assert_eq!(first.status, RunStatus::Completed);
    check_journal(&events);
    assert_eq!(projected(&events)["missing"], json!(null));

    let answer = json!({"name": "a", "is_user": false, "mes": "Hello", "extra": extra});
    let read = call("workspace.read_file", &[("path", "persist/names.md")]);
    let asked_before = script.requests();
    for (swipes, reads) in [(false, "Her name is Mira"), (true, "file_not_found")] {
        script.clear();
        script.say(&read);
        script.say(&read);
        let mut start = asked(vec![user.clone(), answer.clone()]);
        // Who swipes the answer goes back to what was known before it.
        start.generation_type = swipes.then(|| "swipe".to_owned());
        let second = house.runtime.start(start).await.unwrap();
        house.script.was_asked.notified().await;
        while script.requests() < asked_before + 2 + if swipes { 2 } else { 0 } {
            house.script.was_asked.notified().await;
        }
        let told = script.last_message(script.requests() - 1);
        assert!(told.contains(reads), "{told}");
        house.runtime.cancel(&second.run_id).await.unwrap();
        house.end_of(&second.run_id).await;
    }
}

#[tokio::test]
async fn memory_that_is_gone_is_told_and_ends_no_run() {
    let house = House::new().await;
    house.profile("teller", "tam");
    house.script.say("I remember nothing.");
    let start = StartRun {
        profile_id: Some("teller".to_owned()),
        persist_base_state_id: Some("run_gone".to_owned()),
        ..asked(Vec::new())
    };
    let run = house.runtime.start(start).await.unwrap();
    let (run, events) = house.end_of(&run.run_id).await;
    assert_eq!(run.status, RunStatus::Completed);
    let told = projected(&events);
    assert_eq!(
        (&told["missing"], &told["baseStateId"]),
        (&json!(true), &json!("run_gone"))
    );
}

#[tokio::test]
async fn a_message_that_was_saved_after_the_run_was_cancelled_is_known() {
    let house = House::new().await;
    let path = [("path", "output/main.md"), ("content", "Hello")];
    house.script.say(&call("workspace.write_file", &path));
    house.script.say(&call("workspace.commit", &[]));
    let run = house.runtime.start(asked(Vec::new())).await.unwrap();
    let mut follower = house.runtime.follow(&run.run_id, 0);
    let commit = 'asked: loop {
        let Followed::Events(events) = follower.next().await else {
            panic!("the run ended without asking the host");
        };
        for event in events {
            if let RunEventKind::ChatCommitRequested(asked) = &event.kind {
                break 'asked asked.commit_id.clone();
            }
        }
    };
    house.runtime.cancel(&run.run_id).await.unwrap();
    house.end_of(&run.run_id).await;
    // Also by a process that knows nothing of it.
    let house = house.again().await;
    for _ in 0..2 {
        let saved = HostAnswer::Saved {
            message_id: "7".to_owned(),
            message_index: Some(7),
        };
        let answer = house.runtime.resolve_commit(&run.run_id, &commit, saved);
        answer.await.unwrap();
    }
    let (handle, events) = house.end_of(&run.run_id).await;
    assert_eq!(handle.status, RunStatus::Cancelled);
    assert!(events.last().unwrap().is_terminal());
    let record = house.runtime.record(&run.run_id).await.unwrap();
    assert_eq!(record.commit_count, 1);
    assert_eq!(record.committed_message.unwrap().message_id, "7");
    let kept = house.runtime.reader().state(&run.run_id).await.unwrap();
    assert_eq!(kept.commit_count(), 1);
}

/// A run that does this, publishes and ends; gives the message that its host then has.
async fn answered(house: &House, start: StartRun, does: &[String]) -> Json {
    house.script.clear();
    for say in does {
        house.script.say(say);
    }
    let write = [("path", "output/main.md"), ("content", "Hello")];
    house.script.say(&call("workspace.write_file", &write));
    house.script.say(&call("workspace.commit", &[]));
    house.script.say(&call("workspace.finish", &[]));
    let run = house.runtime.start(start).await.unwrap();
    let extra = host(house, &run).await.expect("the host is told");
    let (run, _) = house.end_of(&run.run_id).await;
    assert_eq!(run.status, RunStatus::Completed);
    json!({"name": "a", "is_user": false, "mes": "Hello", "extra": extra})
}

/// What a run of the chat is told when it reads the file.
async fn reads(house: &House, start: StartRun, path: &str) -> String {
    house.script.clear();
    house
        .script
        .say(&call("workspace.read_file", &[("path", path)]));
    house.script.push(super::harness::Say::Hang);
    let asked = house.script.requests();
    let run = house.runtime.start(start).await.unwrap();
    house.script.asked_times(asked + 2).await;
    let told = house.script.last_message(asked + 1);
    house.runtime.cancel(&run.run_id).await.unwrap();
    house.end_of(&run.run_id).await;
    told
}

fn swiped(start: StartRun) -> StartRun {
    StartRun {
        generation_type: Some("swipe".to_owned()),
        ..start
    }
}

fn branch(chat: Vec<Json>) -> StartRun {
    StartRun {
        stable_chat_id: Some("branch".to_owned()),
        ..asked(chat)
    }
}

fn named(start: &StartRun) -> ChatName {
    ChatName {
        chat_ref: start.chat_ref.clone().unwrap(),
        stable_chat_id: start.stable_chat_id.clone().unwrap(),
    }
}

#[tokio::test]
async fn memory_follows_the_messages_of_its_chat_and_of_its_branches() {
    const NOTES: &str = "persist/names.md";
    let house = House::new().await;
    let user = json!({"name": "u", "is_user": true, "mes": "Hi"});
    let write = call(
        "workspace.write_file",
        &[("path", NOTES), ("content", "Her name is Mira")],
    );
    let first = answered(&house, asked(vec![user.clone()]), &[write]).await;
    let read = call("workspace.read_file", &[("path", NOTES)]);
    let delete = call("workspace.delete_file", &[("path", NOTES)]);
    let chat = vec![user.clone(), first.clone(), user.clone()];
    let second = answered(&house, asked(chat.clone()), &[read, delete]).await;
    let longer = [chat.clone(), vec![second.clone()]].concat();
    let base = |message: &Json| {
        let id = &message["extra"]["tauritavern"]["agent"]["persistStateId"];
        id.as_str().unwrap().to_owned()
    };
    let empty = StartRun {
        start_with_empty_persist: true,
        ..asked(chat.clone())
    };
    for (what, start, knows) in [
        (
            "what was deleted stays deleted",
            asked(longer.clone()),
            false,
        ),
        (
            "who swipes goes back before it",
            swiped(asked(longer.clone())),
            true,
        ),
        ("who deletes the message too", asked(chat.clone()), true),
        ("nothing is remembered if nothing shall be", empty, false),
        (
            "another chat has another memory",
            branch(chat.clone()),
            false,
        ),
    ] {
        let told = reads(&house, start, NOTES).await;
        assert_eq!(told.contains("Mira"), knows, "{what}: {told}");
    }

    let (here, there) = (named(&asked(Vec::new())), named(&branch(Vec::new())));
    for copied in [2, 0] {
        let done = house.runtime.copy_chat_states(&here, &there).await.unwrap();
        assert_eq!(
            (done.copied_state_count, done.kept_state_count),
            (copied, 2 - copied)
        );
    }
    let same = house
        .runtime
        .copy_chat_states(&here, &here)
        .await
        .unwrap_err();
    assert_eq!(
        same.reason.as_deref(),
        Some("agent.persist_copy_same_workspace")
    );

    // A run at work keeps what it began with.
    house.script.clear();
    house.script.push(super::harness::Say::Hang);
    let requests = house.script.requests();
    let at_work = house.runtime.start(asked(chat.clone())).await.unwrap();
    house.script.asked_times(requests + 1).await;
    let both = [base(&first), base(&second)];
    let pruned = house.runtime.prune_chat_states(&here, &both).await.unwrap();
    assert_eq!(pruned.removed_state_ids, [base(&second)]);
    assert_eq!(pruned.in_use_state_ids, [base(&first)]);
    house.runtime.cancel(&at_work.run_id).await.unwrap();
    house.end_of(&at_work.run_id).await;
    let pruned = house.runtime.prune_chat_states(&here, &both).await.unwrap();
    assert_eq!(pruned.removed_state_ids, [base(&first)]);

    // The branch has its own, whatever became of the others and of the runs that left them.
    let keeping = house.runtime.retention();
    let none = RetentionQuery {
        retention: Some(RetentionSettings {
            keep_recent_terminal_runs: 0,
            keep_full_recent_runs: 0,
            ..RetentionSettings::default()
        }),
        detail_limit: None,
    };
    let done = keeping.apply(&none, &|_| {}).await.unwrap();
    assert_eq!(
        (done.failed_run_count, done.after_plan.terminal_run_count),
        (0, 0)
    );
    let told = reads(&house, branch(chat), NOTES).await;
    assert!(told.contains("Mira"), "{told}");
    let told = reads(&house, branch(longer), NOTES).await;
    assert!(!told.contains("Mira"), "{told}");
}
