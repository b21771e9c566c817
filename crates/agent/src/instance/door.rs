//! What the tools of a run may ask of it: to publish, to end, and what the chat holds.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CallId, CommitId};
use innkeeper_store::StoreError;
use innkeeper_tools::ToolError;
use jiff::Timestamp;
use serde_json::Value as Json;

use super::drive::{AgentInstance, Gone};
use super::log::{Brought, RecordError};
use crate::chat::ChatView;
use crate::delegation::AgentDesk;
use crate::limits::{COMMIT_GRACE, COMMIT_TIMEOUT};
use crate::run::{AgentRun, CommitAnswer, Input, Why};
use crate::skills::SkillDesk;
use crate::state::StateDesk;
use crate::workspace::{CommitReceipt, CommitRefused, CommitRequest, RunDoor, WorkspaceSession};

#[async_trait]
impl RunDoor for AgentInstance {
    async fn commit(&self, request: CommitRequest) -> Result<CommitReceipt, CommitRefused> {
        let known = self
            .log
            .read(|run| {
                run.commit_of(&request.call)
                    .map(|commit| commit.commit.clone())
            })
            .await;
        let known = known.map_err(|error| refused(error.into(), request.path.as_str()))?;
        let commit = match known {
            // Asked for before a restart: offered again under the same id.
            Some(commit) => commit,
            None => {
                let commit = CommitId::new(format!("commit_{}", uuid::Uuid::now_v7().simple()));
                let input = Input::CommitRequested {
                    commit: commit.clone(),
                    call: request.call.clone(),
                    path: request.path.to_string(),
                    mode: request.mode.as_str().to_owned(),
                    reason: request.reason.clone(),
                    file: request.file.clone(),
                };
                let brought = Brought {
                    blobs: request.unsaved.clone().into_iter().collect(),
                };
                // Boxed: while the host is waited for, there is no need for its room.
                let recorded = Box::pin(self.log.record_with(input, brought)).await;
                recorded.map_err(|error| refused(error, &request.path.to_string()))?;
                commit
            }
        };
        self.answer_to(&commit, request.path.as_str()).await
    }

    async fn finish(&self, call: &CallId, reason: Option<String>) -> Result<(), ToolError> {
        let input = Input::FinishCalled {
            call: call.clone(),
            reason,
        };
        // Its own end follows; nothing has to wait here.
        match self.log.submit(vec![input], Brought::default()).await {
            Ok(_) => Ok(()),
            Err(RecordError::Misfit(misfit)) if misfit.why == Why::Already => Ok(()),
            Err(error) => Err(told(error)),
        }
    }

    async fn chat(&self) -> Result<Option<Arc<ChatView>>, ToolError> {
        Ok(self.chat.clone())
    }

    async fn world_info(&self) -> Result<Option<Arc<Json>>, ToolError> {
        let world_info = self.log.read(|run| run.created().world_info.clone()).await;
        Ok(world_info
            .map_err(|error| told(error.into()))?
            .map(Arc::new))
    }

    async fn dropped(&self) -> Result<Arc<Vec<Json>>, ToolError> {
        let read = self.log.read(|run| run.dropped().to_vec()).await;
        let dropped = read.map_err(|error| told(error.into()))?;
        self.dropped.read(&*self.shared.contents, &dropped).await
    }

    fn skills(&self) -> Arc<SkillDesk> {
        self.skills.clone()
    }

    fn agents(&self) -> Option<&dyn AgentDesk> {
        Some(self)
    }

    fn states(&self) -> Arc<StateDesk> {
        self.states.clone()
    }

    fn private_home(&self) -> Option<Arc<WorkspaceSession>> {
        self.shares_state.then(|| self.log.root_session())
    }
}

impl AgentInstance {
    /// Waits for the host, as long as the profile lets it take.
    async fn answer_to(
        &self,
        commit: &CommitId,
        path: &str,
    ) -> Result<CommitReceipt, CommitRefused> {
        let read = self.log.read(|run| {
            let asked_at = run.commit(commit).map(|commit| commit.asked_at);
            (asked_at, commit_timeout(run))
        });
        let (asked_at, limit) = read.await.map_err(unreadable)?;
        let left = self.time_for_host(asked_at, limit);
        let answered = async {
            loop {
                let changed = self.log.changed();
                let state = self
                    .log
                    .read(|run| run.commit(commit).map(|commit| commit.answer.clone()));
                match state.await.map_err(unreadable)? {
                    Some(CommitAnswer::Confirmed {
                        message_id,
                        message_index,
                        ..
                    }) => {
                        return Ok(CommitReceipt {
                            message_id,
                            message_index,
                        });
                    }
                    Some(CommitAnswer::Failed { message }) => {
                        return Err(CommitRefused::Host {
                            path: path.to_owned(),
                            message,
                        });
                    }
                    Some(CommitAnswer::Pending) => changed.await,
                    None => return Err(CommitRefused::Stopped),
                }
            }
        };
        tokio::select! {
            biased;
            answer = answered => answer,
            () = self.cancel.cancelled() => Err(CommitRefused::Stopped),
            () = after(left) => {
                let millis = limit.map_or(0, |limit| limit.as_millis() as u64);
                let refused = CommitRefused::TimedOut { path: path.to_owned(), millis };
                let input = Input::CommitFailed { commit: commit.clone(), message: refused.to_string(), timed_out: true };
                // If the host was quicker after all, that counts.
                match Box::pin(self.log.record(input)).await {
                    Ok(()) => Err(refused),
                    Err(error) => match self.resolved(commit).await {
                        Some(receipt) => Ok(receipt),
                        None => Err(CommitRefused::Other(told(error))),
                    },
                }
            }
        }
    }

    async fn resolved(&self, commit: &CommitId) -> Option<CommitReceipt> {
        let state = self
            .log
            .read(|run| run.commit(commit).map(|commit| commit.answer.clone()));
        match state.await.ok()?? {
            CommitAnswer::Confirmed {
                message_id,
                message_index,
                ..
            } => Some(CommitReceipt {
                message_id,
                message_index,
            }),
            CommitAnswer::Pending | CommitAnswer::Failed { .. } => None,
        }
    }

    /// What is left of it for a host that was first asked then. After a restart it gets at least a little.
    pub(super) fn time_for_host(
        &self,
        asked_at: Option<Timestamp>,
        limit: Option<Duration>,
    ) -> Option<Duration> {
        let now = self.shared.parts.clock.now();
        Some(time_left(limit?, asked_at.unwrap_or(now), now))
    }

    /// A commit that a process which is gone has asked for.
    pub(super) async fn await_commit(&self, commit: CommitId) -> Result<(), Gone> {
        let path = self
            .log
            .read(|run| run.commit(&commit).map(|commit| commit.path.clone()))
            .await?;
        let answer = self
            .answer_to(&commit, path.as_deref().unwrap_or_default())
            .await;
        match answer {
            Err(CommitRefused::Other(_)) if self.log.fault().is_some() => Err(Gone),
            _ => Ok(()),
        }
    }
}

/// How long a host may take.
pub(super) fn commit_timeout(run: &AgentRun) -> Option<Duration> {
    match run.profile().agent.commit_timeout_ms {
        None => Some(COMMIT_TIMEOUT),
        Some(0) => None,
        Some(millis) => Some(Duration::from_millis(millis)),
    }
}

fn time_left(limit: Duration, asked_at: Timestamp, now: Timestamp) -> Duration {
    let since = now.duration_since(asked_at);
    let since = Duration::try_from(since).unwrap_or_default();
    limit.saturating_sub(since).max(limit.min(COMMIT_GRACE))
}

pub(super) async fn after(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

fn refused(error: RecordError, path: &str) -> CommitRefused {
    match error {
        RecordError::Misfit(misfit) if misfit.why == Why::Cancelling || misfit.why == Why::Over => {
            CommitRefused::Stopped
        }
        RecordError::Journal(error) => CommitRefused::Host {
            path: path.to_owned(),
            message: error.to_string(),
        },
        error => CommitRefused::Other(told(error)),
    }
}

fn unreadable(error: StoreError) -> CommitRefused {
    CommitRefused::Other(told(error.into()))
}

/// In the words of the run, for the model.
pub(super) fn told(error: RecordError) -> ToolError {
    match error {
        RecordError::Misfit(misfit) => match misfit.why {
            Why::Refused { code, reason } => ToolError::new(code, misfit.message)
                .because(reason)
                .permanent(),
            Why::Cancelling | Why::Over => ToolError::new(ErrorCode::ToolCancelled, misfit.message),
            Why::Unfit | Why::Already => ToolError::invalid(misfit.message).permanent(),
        },
        RecordError::Journal(error) => {
            ToolError::new(ErrorCode::WorkspaceStorageFailed, error.to_string()).permanent()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_its_time_from_when_it_was_first_asked() {
        let second = Duration::from_secs;
        for (limit, since, left) in [
            (600, 0, 600),
            (600, 400, 200),
            // Asked again after a restart, it can still answer.
            (600, 590, 30),
            (600, 86_400, 30),
            (5, 0, 5),
            (5, 86_400, 5),
            // A clock that was set back.
            (600, -50, 600),
        ] {
            let asked_at = Timestamp::from_second(1_000_000).unwrap();
            let now = Timestamp::from_second(1_000_000 + since).unwrap();
            assert_eq!(
                time_left(second(limit), asked_at, now),
                second(left),
                "{since}"
            );
        }
    }
}
