//! A run as it was at an earlier moment: told again from its journal until there.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunId;

use super::AgentError;
use super::compare::{DiffEnd, no_checkpoint};
use super::reading::RunReader;
use super::retelling::Retelling;
use crate::run::{AgentRun, Input};

pub(super) struct PastRun {
    pub(super) run: AgentRun,
    /// The number of the last event that it knows of.
    pub(super) seq: u64,
}

impl RunReader {
    /// Only what is in the journal before that moment has to be readable.
    pub(super) async fn run_at(&self, run: &RunId, end: &DiffEnd) -> Result<PastRun, AgentError> {
        let record = self.record(run).await?;
        let id = match end {
            DiffEnd::Now => {
                let seq = record.last_seq;
                let run = self.state(run).await?;
                return Ok(PastRun { run, seq });
            }
            DiffEnd::Start => return self.run_at_start(run).await,
            DiffEnd::Checkpoint(id) => id,
        };
        let mut told = Retelling::of(self, run);
        let mut last = 0;
        while let Some(moment) = told.next().await? {
            if let Some((run, seq)) = moment.at_checkpoint(id) {
                let run = run.clone();
                return Ok(PastRun { run, seq });
            }
            last = moment.run.workspace().checkpoints;
        }
        Err(no_checkpoint(run, id, last))
    }

    /// Ready to ask its model for the first time, or as far as it came on the way there.
    async fn run_at_start(&self, run: &RunId) -> Result<PastRun, AgentError> {
        let mut told = Retelling::of(self, run);
        let mut found = None;
        while let Some(moment) = told.next().await? {
            let is_ready = match &moment.stamped.input {
                Input::WorkspaceReady { .. } => false,
                Input::ContextReady { .. } => true,
                _ => continue,
            };
            found = Some(PastRun {
                run: moment.run.clone(),
                seq: moment.last_seq(),
            });
            if is_ready {
                break;
            }
        }
        found.ok_or_else(|| {
            let message = format!("the run '{run}' has only begun and has no files yet");
            AgentError::new(ErrorCode::AgentValidationError, message)
                .because("agent.checkpoint_unavailable")
        })
    }
}
