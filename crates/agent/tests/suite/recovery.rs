//! A process that ends in the middle, and the next one that goes on.

use innkeeper_agent::instance::HostAnswer;
use innkeeper_protocol::event::{CommitId, RunId, RunStatus};

use super::harness::{House, Say, check_journal, names};

const GATE: &str = "<|[REQUEST_TOOL]|>
command:»»»gate«««
<|[END_TOOL]|>";

#[tokio::test]
async fn a_call_that_was_cut_off_has_an_unknown_outcome() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.say(GATE);
    let handle = house.start("worker", "Work").await;
    house.gate.entered.notified().await;
    let before = house.events(&handle.run_id).await;
    let house = house.again().await;
    house.script.say("I cannot know whether it worked.");
    let recovered = house.runtime.recover().await.unwrap();
    assert_eq!(recovered.len(), 1);
    assert_eq!(recovered[0].problem, None);
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    assert_eq!(events[..before.len()], before);
    assert!(
        house.script.last_message(0).contains("outcome"),
        "{}",
        house.script.last_message(0)
    );
    assert_eq!(
        *house.gate.calls.lock().unwrap(),
        0,
        "it must not be called again"
    );
}

#[tokio::test]
async fn a_question_that_was_cut_off_is_asked_again() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.push(Say::Hang);
    let handle = house.start("worker", "Work").await;
    house.script.was_asked.notified().await;
    let first = house.script.request(0);
    let house = house.again().await;
    house.script.say("Here I am again.");
    house.runtime.recover().await.unwrap();
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    assert_eq!(house.script.request(0), first);
    assert_eq!(names(&events).last(), Some(&"run_completed"));
    assert!(house.runtime.recover().await.unwrap().is_empty());
}

#[tokio::test]
async fn what_an_interrupted_run_does_not_take_leaves_it_as_it_was() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.say(GATE);
    let run = house.start("worker", "Work").await.run_id;
    house.gate.entered.notified().await;
    let house = house.again().await;
    let before = house.events(&run).await;
    let runtime = &house.runtime;
    let saved = HostAnswer::Saved {
        message_id: "7".to_owned(),
        message_index: None,
    };
    let nothing = CommitId::new("commit_nothing");
    let refused = [
        runtime.resolve_commit(&run, &nothing, saved).await,
        runtime.resolve_metadata(&run, "nothing", None).await,
        runtime.resume(&run, Some(3), None).await.map(drop),
        runtime
            .resume(&RunId::new("run_nobody"), None, None)
            .await
            .map(drop),
    ];
    let reasons: Vec<_> = refused
        .into_iter()
        .map(|refused| {
            let error = refused.unwrap_err();
            error.reason.unwrap_or(error.code.as_str().to_owned())
        })
        .collect();
    assert_eq!(
        reasons,
        [
            "agent.chat_commit_not_pending",
            "agent.persistent_state_metadata_update_not_pending",
            "agent.resume_unavailable",
            "agent.not_found",
        ]
    );
    assert!(!runtime.is_alive(&run));
    assert_eq!(house.events(&run).await, before);
    // Interrupted is not stopped: it goes on with what it has.
    house.script.say("I cannot know whether it worked.");
    runtime.resume(&run, None, None).await.unwrap();
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    assert!(house.script.last_message(0).contains("outcome"));
    assert_eq!(*house.gate.calls.lock().unwrap(), 0);
}
