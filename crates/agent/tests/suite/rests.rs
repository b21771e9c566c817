//! Runs that wait for their host: nothing is kept of them but their journal, and nobody notices.

use std::time::Duration;

use innkeeper_agent::instance::{HostAnswer, StartPrompt, StartRun, WaitError};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CommitId, RunEventKind, RunId, RunStatus};
use innkeeper_store::StoreError;
use innkeeper_store::journal::Followed;
use serde_json::json;

use super::harness::{House, check_journal, names};

const WRITE: &str = "<|[REQUEST_TOOL]|>
command:»»»workspace.write_file«««
path:»»»output/main.md«««
content:»»»Once upon a time«««
<|[END_TOOL]|>
<|[REQUEST_TOOL]|>
command:»»»workspace.commit«««
<|[END_TOOL]|>";
const FINISH: &str = "<|[REQUEST_TOOL]|>
command:»»»workspace.finish«««
<|[END_TOOL]|>";

impl House {
    /// A run that has asked its host to publish something.
    async fn asking(&self) -> (RunId, CommitId) {
        self.script.say(WRITE);
        self.script.say(FINISH);
        let asked = StartRun {
            prompt: Some(StartPrompt::Message("Go on".to_owned())),
            chat_ref: Some(json!({"kind": "character", "characterId": "anna", "fileName": "1"})),
            stable_chat_id: Some("abc".to_owned()),
            ..StartRun::default()
        };
        let run = self.runtime.start(asked).await.unwrap().run_id;
        let mut follower = self.runtime.follow(&run, 0);
        loop {
            let Followed::Events(events) = follower.next().await else {
                panic!("the run ended without asking the host");
            };
            for event in events {
                if let RunEventKind::ChatCommitRequested(asked) = &event.kind {
                    return (run, asked.commit_id.clone());
                }
            }
        }
    }

    async fn resting(&self) -> (RunId, CommitId) {
        let (run, commit) = self.asking().await;
        self.rests(&run).await;
        (run, commit)
    }

    /// As time goes by, which takes none here.
    async fn rests(&self, run: &RunId) {
        tokio::time::pause();
        for _ in 0..10_000 {
            if self.runtime.is_resting(run).await {
                return tokio::time::resume();
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        panic!("it does not rest");
    }

    async fn published(&self, run: &RunId, commit: &CommitId) {
        let saved = HostAnswer::Saved {
            message_id: "1".to_owned(),
            message_index: Some(1),
        };
        let answered = self.runtime.resolve_commit(run, commit, saved);
        answered.await.unwrap();
    }

    /// Until the run needs the host no more.
    async fn ends(&self, run: &RunId) -> RunStatus {
        let mut follower = self.runtime.follow(run, 0);
        while let Followed::Events(events) = follower.next().await {
            for event in events {
                if let RunEventKind::PersistentStateMetadataUpdateRequested(asked) = &event.kind {
                    let answered = self.runtime.resolve_metadata(run, &asked.update_id, None);
                    answered.await.unwrap();
                }
            }
        }
        let (handle, events) = self.end_of(run).await;
        check_journal(&events);
        handle.status
    }
}

#[tokio::test]
async fn the_answer_finds_a_run_that_rests() {
    let house = House::new().await;
    // One that is answered at once, for comparison.
    let (run, commit) = house.asking().await;
    house.published(&run, &commit).await;
    assert_eq!(house.ends(&run).await, RunStatus::Completed);
    let at_once = house.events(&run).await;

    let (run, commit) = house.resting().await;
    assert!(house.runtime.is_alive(&run));
    house.published(&run, &commit).await;
    assert_eq!(house.ends(&run).await, RunStatus::Completed);
    assert_eq!(names(&house.events(&run).await), names(&at_once));
    assert!(!house.runtime.is_resting(&run).await);
}

#[tokio::test]
async fn a_run_whose_message_is_being_marked_rests_too() {
    let house = House::new().await;
    let (run, commit) = house.resting().await;
    house.published(&run, &commit).await;
    let mut follower = house.runtime.follow(&run, 0);
    let update = 'asked: loop {
        let Followed::Events(events) = follower.next().await else {
            panic!("the run ended without asking the host");
        };
        for event in events {
            if let RunEventKind::PersistentStateMetadataUpdateRequested(asked) = &event.kind {
                break 'asked asked.update_id.clone();
            }
        }
    };
    house.rests(&run).await;
    let answered = house.runtime.resolve_metadata(&run, &update, None);
    answered.await.unwrap();
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
}

#[tokio::test]
async fn guidance_reaches_a_run_that_rests_and_lets_it_rest_again() {
    let house = House::new().await;
    let (run, commit) = house.resting().await;
    for (text, pending) in [("be kind", 1), ("be brief", 2)] {
        let told = house.runtime.guide(&run, text, None).await.unwrap();
        assert_eq!((told.status, told.pending_count), ("queued", pending));
        house.rests(&run).await;
    }
    house.published(&run, &commit).await;
    assert_eq!(house.ends(&run).await, RunStatus::Completed);
    let last = house.script.last_message(1);
    assert!(
        last.contains("be kind") && last.contains("be brief"),
        "{last}"
    );
}

#[tokio::test]
async fn a_run_that_rests_can_be_cancelled() {
    let house = House::new().await;
    let (run, _) = house.resting().await;
    house.runtime.cancel(&run).await.unwrap();
    assert_eq!(house.ends(&run).await, RunStatus::Cancelled);
}

#[tokio::test]
async fn a_run_that_rests_goes_on_in_the_next_process() {
    let house = House::new().await;
    let (run, commit) = house.resting().await;
    let house = house.again().await;
    house.script.say(FINISH);
    house.runtime.recover().await.unwrap();
    // Nobody answers for long: it rests there as well.
    house.rests(&run).await;
    house.published(&run, &commit).await;
    assert_eq!(house.ends(&run).await, RunStatus::Completed);
}

#[tokio::test]
async fn a_run_whose_journal_is_gone_says_so() {
    let house = House::new().await;
    let (run, commit) = house.resting().await;
    let refused = house.runtime.delete(&run).await.unwrap_err();
    assert_eq!(refused.code, ErrorCode::AgentValidationError);
    // Somebody does it past the house.
    house.runtime.journal().delete(&run).await.unwrap();
    let failed = HostAnswer::Failed("no".to_owned());
    let answered = house.runtime.resolve_commit(&run, &commit, failed).await;
    assert_eq!(answered.unwrap_err().code, ErrorCode::AgentNotFound);
    let stopped = house.runtime.wait(&run).await.unwrap_err();
    let cause = StoreError::NoRun(run.to_string());
    assert_eq!(stopped, WaitError::Stopped { run, cause });
}
