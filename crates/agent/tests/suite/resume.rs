//! A run that is over goes on because a person wants it.

use innkeeper_engine::NodeError;
use innkeeper_protocol::event::{RunEvent, RunStatus};
use innkeeper_store::journal::Followed;

use super::harness::{House, Say, names};

const WORLD: &str = "<|[REQUEST_TOOL]|>
command:»»»ReadWorldStateTool«««
path:»»»weather«««
<|[END_TOOL]|>";

/// One end for each time that it was at work, the last one last, and what follows on an end resumes.
fn check(events: &[RunEvent], ends: &[&str]) {
    for (event, seq) in events.iter().zip(1..) {
        assert_eq!(event.seq, seq, "there is a gap");
    }
    let told = names(events);
    let terminal: Vec<&str> = events
        .iter()
        .filter(|event| event.is_terminal())
        .map(|event| event.kind.name())
        .collect();
    assert_eq!(terminal, ends, "{told:?}");
    assert!(events.last().unwrap().is_terminal(), "{told:?}");
    for pair in events.windows(2).filter(|pair| pair[0].is_terminal()) {
        assert_eq!(pair[1].kind.name(), "run_resumed", "{told:?}");
    }
}

#[tokio::test]
async fn a_run_that_has_used_up_its_rounds_is_given_more() {
    let house = House::new().await;
    house.profile_with("worker", "tam", |profile| {
        profile["tools"]["maxRounds"] = 2.into();
    });
    house.script.say(WORLD);
    house.script.say(&WORLD.replace("weather", "time"));
    let (handle, events) = house.run("worker", "Look around").await;
    assert_eq!(handle.status, RunStatus::Failed, "{:?}", names(&events));
    check(&events, &["run_failed"]);

    // Another process, long after.
    let house = house.again().await;
    assert!(house.runtime.recover().await.unwrap().is_empty());
    house.script.say("The sun shines.");
    let mut follower = house
        .tools
        .store()
        .journal()
        .follow(&handle.run_id, events.len() as u64);
    assert_eq!(follower.next().await, Followed::End);
    for (told, reason) in [
        ("  ".to_owned(), "agent.guidance_empty"),
        ("x".repeat(20_000), "agent.guidance_too_large"),
    ] {
        let resumed = house.runtime.resume(&handle.run_id, Some(3), Some(&told));
        assert_eq!(resumed.await.unwrap_err().reason.as_deref(), Some(reason));
    }
    assert_eq!(house.events(&handle.run_id).await, events);
    let told = Some("Look at the sky, too.");
    let resumed = house.runtime.resume(&handle.run_id, Some(3), told);
    resumed.await.unwrap();
    let (handle, after) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    assert_eq!(after[..events.len()], events);
    let last = house.script.last_message(0);
    assert!(last.contains("Look at the sky, too."), "{last}");
    check(&after, &["run_failed", "run_completed"]);
    let last = house.script.request(0);
    assert!(last.len() > 2, "it goes on with what was said: {last:?}");

    let refused = house.runtime.resume(&handle.run_id, Some(1), None).await;
    assert!(refused.is_err(), "a complete run is complete");
    assert_eq!(house.events(&handle.run_id).await, after);
}

#[tokio::test]
async fn a_run_whose_model_failed_asks_again() {
    let house = House::new().await;
    house.profile("worker", "tam");
    for _ in 0..2 {
        let error = NodeError::invalid("model.request_failed", "the line is dead");
        house.script.push(Say::Fail(error));
    }
    let (handle, events) = house.run("worker", "Hello").await;
    assert_eq!(handle.status, RunStatus::Failed);
    check(&events, &["run_failed"]);
    let asked = house.script.requests();
    // Whatever was not used up is for later.
    house.script.clear();
    house.script.say("Here I am.");
    house
        .runtime
        .resume(&handle.run_id, None, None)
        .await
        .unwrap();
    let (handle, after) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check(&after, &["run_failed", "run_completed"]);
    assert_eq!(house.script.request(asked), house.script.request(0));
}

#[tokio::test]
async fn a_run_that_was_cancelled_goes_on() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.push(Say::Hang);
    let handle = house.start("worker", "Hello").await;
    house.script.was_asked.notified().await;
    let at_work = house.runtime.resume(&handle.run_id, None, None).await;
    assert!(at_work.is_err(), "it is at work");
    house.runtime.cancel(&handle.run_id).await.unwrap();
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Cancelled);
    check(&events, &["run_cancelled"]);
    house.script.say("Here I am again.");
    house.script.say("Quickly, then.");
    let asked = house.script.requests();
    let told = Some("Be quick.");
    let resumed = house.runtime.resume(&handle.run_id, None, told);
    resumed.await.unwrap();
    let (handle, after) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    // The request that was cut off is answered first; it is the same as it was.
    assert_eq!(house.script.request(asked), house.script.request(0));
    let last = house.script.last_message(asked + 1);
    assert!(last.contains("Be quick."), "{last}");
    check(&after, &["run_cancelled", "run_completed"]);
}

/// The process ends in the middle of what was resumed: the run is one without an end again.
#[tokio::test]
async fn a_resumed_run_is_recovered_like_any_other() {
    let house = House::new().await;
    house.profile("worker", "tam");
    house.script.push(Say::Hang);
    let handle = house.start("worker", "Hello").await;
    house.script.was_asked.notified().await;
    house.runtime.cancel(&handle.run_id).await.unwrap();
    house.end_of(&handle.run_id).await;
    house.script.push(Say::Hang);
    house
        .runtime
        .resume(&handle.run_id, None, None)
        .await
        .unwrap();
    house.script.was_asked.notified().await;

    let house = house.again().await;
    house.script.say("At last.");
    assert_eq!(house.runtime.recover().await.unwrap().len(), 1);
    let (handle, events) = house.end_of(&handle.run_id).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check(&events, &["run_cancelled", "run_completed"]);
    assert!(names(&events).contains(&"run_recovered"));
}
