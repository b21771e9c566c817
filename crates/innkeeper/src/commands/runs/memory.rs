//! What the terminal has published. A run that is gone on with after a crash offers its commit again, and what was
//! printed is not printed twice.
//!
//! It is kept in the house's database, among the requests that take effect once, under the commit's id: taken down before
//! the first word is printed. So a crash while it is printed leaves a message that was perhaps not printed whole rather
//! than one that comes twice; the text itself stays in the run.

use innkeeper_protocol::event::ChatCommitRequested;
use innkeeper_store::{Claim, ClaimToken, Requests, Store, StoreError};
use serde_json::json;

const SCOPE: &str = "host:terminal";

pub(super) struct Memory(Requests);

#[derive(Debug)]
pub(super) enum Offered {
    /// Print it, then say so.
    First(ClaimToken),
    /// It was printed, under this id; or it was being printed when the process ended.
    Again(Option<String>),
    /// The id was used for another text.
    Other,
}

impl Memory {
    pub(super) fn new(store: &Store) -> Self {
        Self(store.requests().clone())
    }

    pub(super) async fn offered(
        &self,
        commit: &ChatCommitRequested,
        message_id: &str,
    ) -> Result<Offered, StoreError> {
        let id = commit.commit_id.as_str();
        Ok(match self.0.claim(SCOPE, id, &commit.sha256).await? {
            Claim::New(token) => Offered::First(token),
            Claim::Done { observations } => {
                let known = observations["messageId"].as_str();
                Offered::Again(known.map(str::to_owned))
            }
            Claim::Interrupted(token) => {
                self.printed(token, message_id).await?;
                Offered::Again(None)
            }
            // Only whoever drives the run is asked to publish, so this is a remnant.
            Claim::Running => Offered::Again(None),
            Claim::Conflict => Offered::Other,
        })
    }

    pub(super) async fn printed(
        &self,
        token: ClaimToken,
        message_id: &str,
    ) -> Result<(), StoreError> {
        let outcome = json!({"messageId": message_id});
        self.0.finish(token, &outcome).await
    }

    /// Nothing of it is to be seen.
    pub(super) async fn not_printed(&self, token: ClaimToken) -> Result<(), StoreError> {
        self.0.release(token).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(id: &str, sha256: &str) -> ChatCommitRequested {
        serde_json::from_value(json!({
            "commitId": id, "invocationId": "inv_root", "callId": "c", "runId": "r", "workspaceId": "w",
            "stableChatId": "s", "chatRef": {}, "generationType": "normal", "path": "output/main.md",
            "mode": "replace", "chars": 1, "words": 1, "sha256": sha256, "checkpointId": "cp_000001",
        }))
        .unwrap()
    }

    #[tokio::test]
    async fn a_commit_is_printed_once_however_often_it_is_offered() {
        let store = Store::in_memory().await.unwrap();
        let memory = Memory::new(&store);
        let first = commit("commit_1", "aa");
        let Offered::First(token) = memory.offered(&first, "terminal-1").await.unwrap() else {
            panic!("it is new");
        };
        memory.printed(token, "terminal-1").await.unwrap();
        for _ in 0..2 {
            let again = memory.offered(&first, "terminal-2").await.unwrap();
            assert!(matches!(again, Offered::Again(Some(id)) if id == "terminal-1"));
        }
        let other = memory
            .offered(&commit("commit_1", "bb"), "terminal-2")
            .await;
        assert!(matches!(other, Ok(Offered::Other)));
    }

    #[tokio::test]
    async fn one_that_was_being_printed_is_not_printed_again_and_one_that_failed_is() {
        let store = Store::in_memory().await.unwrap();
        let memory = Memory::new(&store);
        let cut_off = commit("commit_1", "aa");
        drop(memory.offered(&cut_off, "terminal-1").await.unwrap());
        let again = memory.offered(&cut_off, "terminal-1").await.unwrap();
        assert!(matches!(again, Offered::Again(None)), "{again:?}");
        let again = memory.offered(&cut_off, "terminal-1").await.unwrap();
        assert!(matches!(again, Offered::Again(Some(_))), "{again:?}");

        let failed = commit("commit_2", "aa");
        let Offered::First(token) = memory.offered(&failed, "terminal-2").await.unwrap() else {
            panic!("it is new");
        };
        memory.not_printed(token).await.unwrap();
        let again = memory.offered(&failed, "terminal-2").await.unwrap();
        assert!(matches!(again, Offered::First(_)), "{again:?}");
    }
}
