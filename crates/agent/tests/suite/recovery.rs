//! A process that ends in the middle, and the next one that goes on.

use innkeeper_protocol::event::RunStatus;

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
