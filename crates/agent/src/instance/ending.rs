//! The end of a run: what is kept for later runs, and the host that is told of it.

use super::door::commit_timeout;
use super::drive::{AgentInstance, Gone};
use super::log::Brought;
use super::standing::{chat_named, has_own_chat};
use crate::run::{Input, Step};
use crate::workspace::{PERSIST, is_below, persist};

impl AgentInstance {
    pub(super) async fn commit_persist(&self) -> Result<(), Gone> {
        let (created, state_id, files) = self
            .log
            .read(|run| {
                let files = run.workspace().files.clone();
                (run.created().clone(), run.state_id(), files)
            })
            .await?;
        let base = created.persist_base_state_id.as_deref();
        let states = self.shared.persist.as_ref();
        // A state names contents, and they come with the steps of the run: those have to be there first.
        self.log.flush().await;
        let is_own = has_own_chat(&created.chat_ref, &created.stable_chat_id);
        let is_empty = !files.keys().any(|path| is_below(path, PERSIST));
        let kept = match is_own && is_empty {
            // No run could tell it from there being none.
            true => Ok(()),
            false => {
                let workspace = &created.workspace_id;
                let chat = Some(chat_named(&created.chat_ref, &created.stable_chat_id));
                let kept = persist::keep(states, workspace, &state_id, base, &files, chat);
                kept.await.map(drop)
            }
        };
        let input = match kept {
            Ok(()) => Input::PersistCommitted { state_id },
            Err(error) => Input::PersistFailed {
                message: error.to_string(),
            },
        };
        self.fed(self.log.record(input).await).await
    }

    /// The host writes into the message which state belongs to it. It is not waited for longer than for a commit.
    pub(super) async fn update_metadata(&self, update_id: Option<String>) -> Result<(), Gone> {
        let Some(update_id) = update_id else {
            let update_id = format!("persist_update_{}", uuid::Uuid::now_v7().simple());
            let input = Input::MetadataUpdateRequested { update_id };
            return self.fed(self.log.record(input).await).await;
        };
        let changed = self.log.changed();
        let step = Step::UpdateMetadata {
            update_id: Some(update_id.clone()),
        };
        if !self.is_still(&step).await? {
            return Ok(());
        }
        let (asked_at, limit) = self
            .log
            .read(|run| (run.update_asked_at(), commit_timeout(run)))
            .await?;
        let limit = super::door::after(self.time_for_host(asked_at, limit));
        tokio::select! {
            () = changed => Ok(()),
            () = self.cancel.cancelled() => Ok(()),
            () = limit => {
                let input = Input::MetadataUpdateFailed {
                    update_id,
                    message: "the host did not answer in time".to_owned(),
                };
                let submitted = self.log.submit(vec![input], Brought::default()).await;
                self.fed(submitted.map(drop)).await
            }
        }
    }
}
