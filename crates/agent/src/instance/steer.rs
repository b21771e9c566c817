//! What people and hosts say to a run: stop, go on, think of this, it is published.
//!
//! A run that nobody drives (it is parked, or its process has gone) takes it all the same: it is read from the journal,
//! taken over, fed, and driven on where that leads somewhere.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CommitId, RunId};
use serde::Serialize;

use super::AgentError;
use super::drive::AgentInstance;
use super::log::RecordError;
use super::runtime::{AgentRuntime, RunHandle};
use crate::limits::PREVIEW_CHARS;
use crate::run::{Input, Misfit, Why};

/// What the host has done with a file that was to be published.
#[derive(Debug, Clone, PartialEq)]
pub enum HostAnswer {
    Saved {
        message_id: String,
        message_index: Option<u64>,
    },
    Failed(String),
}

/// Guidance that waits for the next request to the model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuidanceReceipt {
    pub run_id: RunId,
    pub guidance_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_guidance_id: Option<String>,
    pub status: &'static str,
    pub preview: String,
    pub chars: u64,
    pub words: u64,
    pub pending_count: usize,
}

impl AgentRuntime {
    /// Ends everything under way. A run that is over stays as it is.
    pub async fn cancel(&self, run: &RunId) -> Result<RunHandle, AgentError> {
        let record = self.record(run).await?;
        if record.status.is_terminal() {
            return Ok(RunHandle::from(&record));
        }
        let fed = self.feed(run, vec![Input::CancelRequested], |why| *why != Why::Unfit);
        fed.await?.cancel.cancel();
        Ok(RunHandle::from(&self.record(run).await?))
    }

    /// Steers a run that is at work; applied just before the model is next asked. The same piece of the same client twice
    /// is one.
    pub async fn guide(
        &self,
        run: &RunId,
        text: &str,
        client_guidance_id: Option<String>,
    ) -> Result<GuidanceReceipt, AgentError> {
        let text = text.trim();
        let (guidance_id, input) = guidance(text, client_guidance_id.clone())?;
        let fed = self.feed(run, vec![input], |why| *why == Why::Already);
        let instance = fed.await?;
        let (guidance_id, is_pending, pending_count) = instance
            .log
            .read(|run| {
                let client_id = client_guidance_id.as_deref();
                let first = client_id.and_then(|client_id| run.guided(client_id, text));
                let id = first.unwrap_or(&guidance_id).to_owned();
                let is_pending = run.guidance().iter().any(|piece| piece.id == id);
                (id, is_pending, run.guidance().len())
            })
            .await?;
        let words: Vec<&str> = text.split_whitespace().collect();
        Ok(GuidanceReceipt {
            run_id: run.clone(),
            guidance_id,
            client_guidance_id,
            status: match is_pending {
                true => "queued",
                false => "applied",
            },
            preview: words.join(" ").chars().take(PREVIEW_CHARS).collect(),
            chars: crate::workspace::metrics::chars(text),
            words: crate::workspace::metrics::words(text),
            pending_count,
        })
    }

    /// The host's answer to a commit. The same answer twice is one answer.
    pub async fn resolve_commit(
        &self,
        run: &RunId,
        commit: &CommitId,
        answer: HostAnswer,
    ) -> Result<(), AgentError> {
        let input = match answer {
            HostAnswer::Saved {
                message_id,
                message_index,
            } => Input::CommitResolved {
                commit: commit.clone(),
                message_id,
                message_index,
            },
            HostAnswer::Failed(message) => Input::CommitFailed {
                commit: commit.clone(),
                message,
                timed_out: false,
            },
        };
        self.answered(run, input).await
    }

    /// The host's answer about the state that belongs to a message.
    pub async fn resolve_metadata(
        &self,
        run: &RunId,
        update_id: &str,
        error: Option<String>,
    ) -> Result<(), AgentError> {
        let update_id = update_id.to_owned();
        let input = match error {
            None => Input::MetadataUpdated { update_id },
            Some(message) => Input::MetadataUpdateFailed { update_id, message },
        };
        self.answered(run, input).await
    }

    async fn answered(&self, run: &RunId, input: Input) -> Result<(), AgentError> {
        self.feed(run, vec![input], |why| *why == Why::Already)
            .await
            .map(drop)
    }

    /// Continues a run that was stopped or interrupted, has failed or waits for a person. What it is told goes with the
    /// next request that is put together for its model; one that was cut off is asked as it was.
    pub async fn resume(
        &self,
        run: &RunId,
        additional_rounds: Option<u32>,
        told: Option<&str>,
    ) -> Result<RunHandle, AgentError> {
        self.0.check_room()?;
        let unavailable = |message: String| {
            AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.resume_unavailable")
        };
        if self.0.alive(run).is_some() {
            let message = format!("the run '{run}' is at work; there is nothing to resume");
            return Err(unavailable(message));
        }
        // One that was interrupted goes on as it is.
        let is_at_work = |why: &Why| *why == Why::Already && additional_rounds.is_none();
        let mut inputs = vec![Input::Resumed { additional_rounds }];
        if let Some(told) = told {
            inputs.push(guidance(told.trim(), None)?.1);
        }
        let fed = self.feed(run, inputs, is_at_work);
        fed.await.map_err(|error| match error.reason {
            None if error.code != ErrorCode::AgentValidationError => error,
            Some(_) => error,
            None if additional_rounds.is_some() => unavailable(format!(
                "the run '{run}' was interrupted and goes on with the rounds that it has; resume it without more"
            )),
            None => unavailable(error.message),
        })?;
        Ok(RunHandle::from(&self.record(run).await?))
    }

    /// Feeds it to the run as it is at work here, or as its journal has it, and drives the run on. What the run does not
    /// take changes nothing; where `is_done` says so, it need not.
    pub(super) async fn feed(
        &self,
        run: &RunId,
        inputs: Vec<Input>,
        is_done: impl Fn(&Why) -> bool,
    ) -> Result<Arc<AgentInstance>, AgentError> {
        let record = async |instance: &AgentInstance, inputs: Vec<Input>| {
            for input in inputs {
                match instance.log.record(input).await {
                    Err(RecordError::Misfit(misfit)) if is_done(&misfit.why) => {}
                    recorded => recorded?,
                }
            }
            Ok::<_, AgentError>(())
        };
        if let Some(instance) = self.0.alive(run) {
            record(&instance, inputs).await?;
            self.0.launch(instance.clone());
            return Ok(instance);
        }
        // Held until it is driven: two who take the same run up at once would write to it side by side.
        let _taking_up = self.0.taking_up.lock().await;
        let instance = match self.0.alive(run) {
            Some(instance) => {
                record(&instance, inputs).await?;
                instance
            }
            None => {
                let instance = self.restored(run).await?;
                let inputs = instance.would_take(inputs, &is_done).await?;
                instance.take_over().await?;
                record(&instance, inputs).await?;
                instance
            }
        };
        self.0.launch(instance.clone());
        Ok(instance)
    }
}

pub(super) fn guidance(
    text: &str,
    client_guidance_id: Option<String>,
) -> Result<(String, Input), AgentError> {
    if text.is_empty() {
        let message = "the guidance is empty; say what the agent is to do";
        return Err(AgentError::new(ErrorCode::AgentGuidanceInvalid, message)
            .because("agent.guidance_empty"));
    }
    let guidance_id = format!("guidance_{}", uuid::Uuid::now_v7().simple());
    let input = Input::GuidanceSubmitted {
        guidance_id: guidance_id.clone(),
        client_guidance_id,
        text: text.to_owned(),
    };
    Ok((guidance_id, input))
}

impl From<RecordError> for AgentError {
    fn from(error: RecordError) -> Self {
        match error {
            RecordError::Journal(error) => error.into(),
            RecordError::Misfit(misfit) => misfit.into(),
        }
    }
}

impl From<Misfit> for AgentError {
    fn from(misfit: Misfit) -> Self {
        match misfit.why {
            Why::Refused { code, reason } => Self::new(code, misfit.message).because(reason),
            Why::Unfit | Why::Already | Why::Over | Why::Cancelling => {
                Self::new(ErrorCode::AgentValidationError, misfit.message)
            }
        }
    }
}
