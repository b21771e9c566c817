//! A run told again from its beginning, input by input: for what neither its end nor its events alone can tell.

use std::collections::VecDeque;

use innkeeper_protocol::event::{CheckpointId, RunEventKind, RunId};
use innkeeper_store::journal::StepPlace;

use super::AgentError;
use super::reading::{RunReader, inputs, unreadable};
use crate::limits::STEPS_PAGE;
use crate::run::{AgentRun, Draft, Input, Misfit, Stamped};

/// One input at a time; nothing but the run itself grows with the length of its journal.
pub(super) struct Retelling {
    reader: RunReader,
    id: RunId,
    place: StepPlace,
    /// Steps that are read at once.
    page: usize,
    waiting: VecDeque<Stamped>,
    run: Option<AgentRun>,
    last_seq: u64,
}

/// What one input made of the run.
pub(super) struct Moment<'r> {
    pub(super) run: &'r AgentRun,
    /// As it was before it was rolled back: the one input with a checkpoint of that too.
    before: Option<Box<AgentRun>>,
    pub(super) stamped: Stamped,
    /// What was told of it. The first has the number `first_seq`.
    pub(super) drafts: Vec<Draft>,
    pub(super) first_seq: u64,
}

impl Moment<'_> {
    /// The number of the last thing that was told of it, or before it.
    pub(super) fn last_seq(&self) -> u64 {
        (self.first_seq + self.drafts.len() as u64).saturating_sub(1)
    }

    /// The run at this checkpoint, if it was made here, and the number of the event that tells of it.
    pub(super) fn at_checkpoint(&self, id: &CheckpointId) -> Option<(&AgentRun, u64)> {
        let mut made = self
            .drafts
            .iter()
            .zip(self.first_seq..)
            .filter_map(|(draft, seq)| match &draft.kind {
                RunEventKind::CheckpointCreated(made) => Some((made, seq)),
                _ => None,
            });
        let at = made
            .clone()
            .position(|(made, _)| made.checkpoint_id == *id)?;
        let (_, seq) = made.nth(at)?;
        let run = match &self.before {
            Some(before) if at == 0 => before,
            _ => self.run,
        };
        Some((run, seq))
    }
}

impl Retelling {
    pub(super) fn of(reader: &RunReader, run: &RunId) -> Self {
        Self {
            reader: reader.clone(),
            id: run.clone(),
            place: StepPlace::default(),
            page: STEPS_PAGE,
            waiting: VecDeque::new(),
            run: None,
            last_seq: 0,
        }
    }

    /// `None` after all that is on disk.
    pub(super) async fn next(&mut self) -> Result<Option<Moment<'_>>, AgentError> {
        while self.waiting.is_empty() {
            let page = match self.reader.steps(&self.id, self.place, self.page).await {
                // What stands before the damage is told all the same.
                Err(_) if self.page > 1 => {
                    self.page = 1;
                    continue;
                }
                page => page?,
            };
            let Some(last) = page.last() else {
                return Ok(None);
            };
            self.place = last.place;
            for step in &page {
                self.waiting.extend(inputs(&step.input)?);
            }
        }
        let Some(stamped) = self.waiting.pop_front() else {
            return Ok(None);
        };
        let id = &self.id;
        let misfit = |misfit: Misfit| unreadable(id, &misfit.to_string());
        let is_rollback = matches!(stamped.input, Input::RolledBack(_));
        let before = self.run.as_ref().filter(|_| is_rollback);
        let before = before.cloned().map(Box::new);
        let drafts = match &mut self.run {
            Some(run) => run.apply(&stamped).map_err(misfit)?,
            None => {
                let (run, drafts) = AgentRun::begin(&stamped).map_err(misfit)?;
                self.run = Some(run);
                drafts
            }
        };
        let first_seq = self.last_seq + 1;
        self.last_seq += drafts.len() as u64;
        Ok(self.run.as_ref().map(|run| Moment {
            run,
            before,
            stamped,
            drafts,
            first_seq,
        }))
    }
}
