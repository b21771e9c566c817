//! Going on: after the process that drove a run is gone, and because a person wants it.
//!
//! **Resuming a run that is over.** A run that fails says so at once, with its terminal event: whoever watches it must not
//! wait for something that may never come. Resuming continues that same run (its id stands in the messages it published,
//! and its journal is its history), so the only event that may follow a terminal one is `run_resumed`. It takes the end
//! back: from there on the run is at work, and gets its one terminal event when it is over again. So at every moment a run
//! is over exactly if its last event is terminal, and behind its last `run_resumed` there is exactly one such event, the
//! last. A run that is complete cannot be resumed. Budgets go on counting; what is used up is granted once more by the
//! person who resumes, rounds by number.

use std::sync::Arc;

use innkeeper_protocol::event::{
    InvocationId, RunEventKind, RunPaused, RunRecovered, RunResumed, RunStatus,
};
use innkeeper_protocol::{Observation, Outcome};
use serde_json::Map;

use super::apply::Out;
use super::start::started;
use super::state::{Phase, Stage};
use super::turn::CallState;
use super::{AgentRun, Turn};
use crate::limits::MAX_TAKEOVERS;
use crate::profile::AfterCrash;

impl AgentRun {
    pub(super) fn recovered(&mut self, out: &mut Out) {
        let recovered = RunRecovered {
            invocation_id: InvocationId::root(),
            takeovers: self.takeovers,
            extra: Map::new(),
        };
        out.push(RunEventKind::RunRecovered(recovered).into());
        self.settle_calls(out);
        self.recover_children(out);
        if self.is_cancelling() || matches!(self.phase, Phase::Failing { .. }) {
            return;
        }
        let again = || Map::from_iter([("offeredAgain".to_owned(), true.into())]);
        match &self.phase {
            // What was under way is no attempt that failed.
            Phase::Asked { attempt } => self.begin_attempt(*attempt, out),
            Phase::Acting => self.offer_commit(again(), out),
            Phase::Updating { .. } => self.offer_update(again(), out),
            _ => {}
        }
        let is_hopeless = self.takeovers >= MAX_TAKEOVERS;
        if !self.paused
            && (is_hopeless || self.created.profile.agent.after_crash == AfterCrash::Pause)
        {
            self.paused = true;
            let reason = match is_hopeless {
                true => "taken_over_too_often",
                false => "after_crash",
            };
            let paused = RunPaused {
                invocation_id: InvocationId::root(),
                reason: reason.to_owned(),
                extra: Map::new(),
            };
            out.push(RunEventKind::RunPaused(paused).into());
        }
    }

    /// Of the calls that were under way, those that may be run again are; of the others nobody knows.
    fn settle_calls(&mut self, out: &mut Out) {
        let calls: Vec<_> = self
            .turn
            .iter()
            .flat_map(Turn::calls)
            // A question stays open, whoever drives the run.
            .filter(|call| matches!(call.state, CallState::Started { .. }))
            .cloned()
            .collect();
        for call in calls {
            let is_known = self.commit_of(&call.call).is_some()
                || !matches!(call.state, CallState::Started { idempotent: false });
            if is_known {
                if let Some(call) = self.call_mut(&call.call) {
                    call.state = CallState::Waiting;
                }
                continue;
            }
            let outcome = Outcome::OutcomeUnknown {
                message: "the platform was restarted while it ran".to_owned(),
            };
            let observation = Observation {
                call_id: call.provider_id.clone(),
                index: call.index,
                ..Observation::new(call.tool.as_str(), outcome)
            };
            self.end_call(&call, Arc::new(observation), None, 0, out);
        }
    }

    pub(super) fn resumed(&mut self, additional_rounds: Option<u32>, out: &mut Out) {
        let additional = additional_rounds.unwrap_or_default();
        self.spent.additional_rounds = self.spent.additional_rounds.saturating_add(additional);
        self.spent.forgive(&self.created.profile);
        self.repeated = None;
        self.barren = 0;
        let resumed = RunResumed {
            invocation_id: InvocationId::root(),
            additional_rounds: additional,
            round: self.spent.rounds,
            max_rounds: self.max_rounds(),
            extra: Map::new(),
        };
        out.push(RunEventKind::RunResumed(resumed).into());
        self.paused = false;
        let Phase::Over { from } = self.phase else {
            return;
        };
        self.failure = None;
        out.push(started().into());
        match from {
            Stage::Workspace => {
                self.phase = Phase::Preparing;
                self.turn_to(RunStatus::InitializingWorkspace, out);
            }
            Stage::Context => {
                self.phase = Phase::Assembling;
                self.turn_to(RunStatus::AssemblingContext, out);
            }
            Stage::Ask => {
                self.phase = Phase::Ready;
                self.turn_to(RunStatus::AssemblingContext, out);
            }
            Stage::Compact => {
                self.turn_to(RunStatus::CallingModel, out);
                self.begin_compaction(1, None, None);
            }
            Stage::Model => {
                self.turn_to(RunStatus::CallingModel, out);
                self.begin_attempt(1, out);
            }
            Stage::Persist | Stage::End => {
                self.phase = Phase::Persisting;
                self.turn_to(RunStatus::Finishing, out);
            }
        }
    }
}
