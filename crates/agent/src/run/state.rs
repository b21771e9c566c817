//! What a run is at one moment, and what others may know of it. How it changes is told beside it, a file for each part.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::event::{
    CallId, CommitId, InvocationId, Presentation, RunId, RunStatus, TaskId,
};
use innkeeper_protocol::{ErrorCode, Observation};
use innkeeper_store::{BlobId, GrantKey};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::apply::millis_between;
use super::ceiling::Ceiling;
use super::child::Child;
use super::commit::Commit;
use super::compact::{Compacting, Dropped};
use super::delegate::Duty;
use super::guard::Repeated;
use super::guidance::{Guidance, Guided};
use super::handoff::{Handoff, Past};
use super::rollback::SetBack;
use super::spent::{Left, Spent};
use super::told::ToldTools;
use super::turn::CallState;
use super::waiting::Await;
use super::{Created, Nudge, PlannedCall, Step, Turn};
use crate::AgentProfile;
use crate::profile::TextTurn;
use crate::workspace::state::WorkspaceState;

/// One run. The same inputs make the same run; saved and read back it goes on as if nothing had been.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentRun {
    pub(super) created: Arc<Created>,
    pub(super) created_at: Timestamp,
    /// Of the last input.
    pub(super) at: Timestamp,
    pub(super) phase: Phase,
    pub(super) status: RunStatus,
    /// Waits for a person.
    pub(super) paused: bool,
    /// Taken over so often without anything else in between.
    pub(super) takeovers: u32,

    pub(super) binding: Arc<Json>,
    /// None: of all that it may call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) told: Option<Arc<ToldTools>>,
    pub(super) sent: Vec<Arc<Json>>,
    /// What has given way to summaries, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) dropped: Vec<Dropped>,
    /// The round in which a provider found a request too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused_in: Option<u32>,
    pub(super) turn: Option<Turn>,
    /// Ends of background tasks that the model has not been told.
    pub(super) arrived: Vec<Arc<Observation>>,
    pub(super) tasks: BTreeMap<String, OpenTask>,
    pub(super) guidance: Vec<Guidance>,
    /// The pieces that were taken last, told or not, the newest last.
    #[serde(default)]
    pub(super) guided: Vec<Guided>,

    pub(super) workspace: WorkspaceState,
    /// What earlier runs left in `persist`.
    pub(super) persist_base: BTreeMap<String, BlobId>,
    pub(super) commits: Vec<Commit>,
    pub(super) finish: Option<Finish>,

    pub(super) spent: Spent,
    /// Keys of all calls there were.
    pub(super) calls: BTreeSet<u64>,
    pub(super) repeated: Option<Repeated>,
    /// Turns in a row that came to nothing.
    pub(super) barren: u32,
    /// Turns in a row that were plain text where tools were needed.
    pub(super) drifts: u32,
    /// Where its plain words were kept last, and what they were.
    #[serde(default)]
    pub(super) captured: Option<(String, BlobId)>,
    pub(super) failure: Option<RunFailure>,
    /// Until the model has been told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) set_back: Option<SetBack>,
    #[serde(default)]
    pub(super) rollbacks: u32,
    /// What it has left for later runs, last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) kept_state: Option<String>,
    /// Answers that people gave for the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) grants: Vec<GrantKey>,
    /// The checkpoints that were asked for last, by their requests, the newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) requested: Vec<String>,

    /// Which agent has the run now.
    #[serde(default = "InvocationId::root", skip_serializing_if = "is_root")]
    pub(super) invocation: InvocationId,
    /// It is no run by itself: somebody waits for what it returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) duty: Option<Duty>,
    /// What is left to everybody in the run it works for, as long as it is fed.
    #[serde(skip)]
    pub(super) ceiling: Option<Ceiling>,
    /// Agents that work, or worked, on a task for it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) children: BTreeMap<InvocationId, Child>,
    /// What calls of this turn wait for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) awaits: BTreeMap<CallId, Await>,
    /// Who gets the run after this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) handoff: Option<Handoff>,
    /// Who had it before, the first one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) past: Vec<Past>,
}

fn is_root(invocation: &InvocationId) -> bool {
    *invocation == InvocationId::root()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "phase",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub(super) enum Phase {
    Preparing,
    Assembling,
    /// The model is to be asked.
    Ready,
    /// What is to be asked is too long.
    Compacting(Compacting),
    Asked {
        attempt: u32,
    },
    /// Before this attempt.
    Resting {
        attempt: u32,
    },
    /// Calls of the turn run.
    Acting,
    /// Only the end of a background task leads on.
    Waiting,
    Persisting,
    Updating {
        state_id: String,
        update_id: Option<String>,
        /// When the host was first asked.
        #[serde(default)]
        asked_at: Option<Timestamp>,
    },
    Cancelling {
        from: Stage,
    },
    /// It has failed, and what goes on in the background is being stopped.
    Failing {
        from: Stage,
    },
    Over {
        from: Stage,
    },
}

/// From where a run can go on after it was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    Workspace,
    Context,
    /// The next request has to be put together.
    Ask,
    /// The last request was too long.
    Compact,
    /// The last request was not answered.
    Model,
    Persist,
    /// It is complete.
    End,
}

/// A call that goes on in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OpenTask {
    pub call: CallId,
    /// As the model wrote it.
    pub tool: String,
    /// Which tool that is, where it calls itself otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant: Option<String>,
    pub arguments: Arc<Json>,
    /// May be begun anew where the process that ran it is gone.
    pub idempotent: bool,
    pub round: u32,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Finish {
    pub(super) call: CallId,
    pub(super) reason: Option<String>,
}

/// Why a run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFailure {
    pub code: ErrorCode,
    pub message: String,
    /// The finer code.
    pub reason: Option<String>,
}

impl Phase {
    pub(super) fn stage(&self) -> Stage {
        match self {
            Self::Preparing => Stage::Workspace,
            Self::Assembling => Stage::Context,
            Self::Ready | Self::Acting | Self::Waiting => Stage::Ask,
            Self::Compacting(_) => Stage::Compact,
            Self::Asked { .. } | Self::Resting { .. } => Stage::Model,
            Self::Persisting | Self::Updating { .. } => Stage::Persist,
            Self::Cancelling { from } | Self::Failing { from } | Self::Over { from } => *from,
        }
    }
}

impl AgentRun {
    pub fn next(&self) -> Step {
        match &self.phase {
            Phase::Over { .. } => Step::Over {
                status: self.status,
            },
            Phase::Cancelling { .. } | Phase::Failing { .. } => Step::Stop,
            _ if self.paused => Step::Paused,
            Phase::Preparing => Step::PrepareWorkspace,
            Phase::Assembling => Step::PrepareContext,
            Phase::Ready => Step::Ask {
                round: self.spent.rounds + 1,
            },
            Phase::Compacting(_) => Step::Compact {
                round: self.spent.rounds,
            },
            Phase::Asked { attempt } => Step::Deliberate {
                round: self.spent.rounds,
                attempt: *attempt,
            },
            Phase::Resting { .. } => Step::Rest {
                millis: self.created.profile.run.model_retry.interval_ms,
            },
            Phase::Acting => self.next_of_block(),
            Phase::Waiting => {
                let children = self.open_children().map(|child| child.task.to_string());
                Step::AwaitTasks {
                    tasks: self.tasks.keys().cloned().chain(children).collect(),
                }
            }
            Phase::Persisting if !self.tasks.is_empty() || self.has_living_children() => Step::Stop,
            Phase::Persisting => Step::CommitPersist,
            Phase::Updating { update_id, .. } => Step::UpdateMetadata {
                update_id: update_id.clone(),
            },
        }
    }

    /// A commit whose call nobody runs any more is waited for by itself: a parked run needs no tools at hand.
    fn next_of_block(&self) -> Step {
        let parked = self.pending_commit().filter(|commit| {
            let call = self.call(&commit.call);
            call.is_some_and(|call| call.state == CallState::Waiting)
        });
        match parked {
            Some(commit) => Step::AwaitHostCommit {
                commit: commit.commit.clone(),
            },
            None => Step::RunBlock {
                block: self.turn.as_ref().and_then(Turn::current).unwrap_or(0),
            },
        }
    }

    pub fn status(&self) -> RunStatus {
        self.status
    }

    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    pub fn is_paused(&self) -> bool {
        self.paused
    }

    pub fn is_cancelling(&self) -> bool {
        matches!(self.phase, Phase::Cancelling { .. })
    }

    /// When the host was asked to note what was kept.
    pub fn update_asked_at(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Updating { asked_at, .. } => *asked_at,
            _ => None,
        }
    }

    pub fn run_id(&self) -> &RunId {
        &self.created.run_id
    }

    pub fn created(&self) -> &Arc<Created> {
        &self.created
    }

    pub fn created_at(&self) -> Timestamp {
        self.created_at
    }

    /// When it was last fed.
    pub fn updated_at(&self) -> Timestamp {
        self.at
    }

    pub fn profile(&self) -> &AgentProfile {
        &self.created.profile
    }

    /// Which model it works with, as `ContextReady` told it.
    pub fn binding(&self) -> &Arc<Json> {
        &self.binding
    }

    /// Which tools the model has been told of; nothing where that is all that it may call.
    pub fn told(&self) -> Option<&Arc<ToldTools>> {
        self.told.as_ref()
    }

    /// The conversation as it was last sent.
    pub fn sent(&self) -> &[Arc<Json>] {
        &self.sent
    }

    /// What the model said since then, and what came of it; nothing once it is in what was sent.
    pub fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// What the model should be told instead of an answer to its last reply.
    pub fn nudge(&self) -> Option<&Nudge> {
        self.turn.as_ref()?.nudge.as_ref()
    }

    /// Ends of background tasks that the model has not been told, oldest first.
    pub fn arrived(&self) -> &[Arc<Observation>] {
        &self.arrived
    }

    /// By task. Whoever takes the run over says with `TaskEnded` what became of those it does not run.
    pub fn open_tasks(&self) -> &BTreeMap<String, OpenTask> {
        &self.tasks
    }

    /// Not told to the model yet, oldest first.
    pub fn guidance(&self) -> &[Guidance] {
        &self.guidance
    }

    pub fn workspace(&self) -> &WorkspaceState {
        &self.workspace
    }

    /// Those that the host has confirmed and nobody has withdrawn, oldest first.
    pub fn commits(&self) -> impl DoubleEndedIterator<Item = &Commit> {
        self.commits.iter().filter(|commit| commit.counts())
    }

    /// Those that were published and then withdrawn by a rollback, oldest first.
    pub fn withdrawn_commits(&self) -> impl Iterator<Item = &Commit> {
        let published = self.commits.iter().filter(|commit| commit.is_confirmed());
        published.filter(|commit| commit.withdrawn.is_some())
    }

    pub fn commit_count(&self) -> u64 {
        self.commits().count() as u64
    }

    /// What the host has been asked for and has not answered.
    pub fn pending_commit(&self) -> Option<&Commit> {
        self.commits.last().filter(|commit| commit.is_pending())
    }

    /// What this call asked the host for, whatever came of it: a call that is run again asks for nothing anew.
    pub fn commit_of(&self, call: &CallId) -> Option<&Commit> {
        self.commits
            .iter()
            .rev()
            .find(|commit| commit.call == *call)
    }

    pub fn commit(&self, commit: &CommitId) -> Option<&Commit> {
        self.commits
            .iter()
            .rev()
            .find(|known| known.commit == *commit)
    }

    /// Which agent has the run now: the first, or the one that it was handed to.
    pub fn invocation(&self) -> &InvocationId {
        &self.invocation
    }

    /// The task that it works on for another agent.
    pub fn task(&self) -> Option<&TaskId> {
        self.duty.as_ref().map(|duty| &duty.task)
    }

    pub fn failure(&self) -> Option<&RunFailure> {
        self.failure.as_ref()
    }

    pub fn spent(&self) -> &Spent {
        &self.spent
    }

    /// Tokens and dollars that a tool may still use of models by its own limit. None: no limit.
    pub fn left_for_tool(&self, tool: &str) -> (Option<u64>, Option<f64>) {
        self.spent.left_for_tool(&self.created.profile, tool)
    }

    /// As of the last input.
    pub fn left(&self) -> Left {
        self.spent.left(&self.created.profile)
    }

    /// Time for work, as it will be at `now` if nothing happens until then. None: no limit.
    pub fn time_left(&self, now: Timestamp) -> Option<Duration> {
        let left = self.left().wall_time_ms?;
        let since = match self.is_parked() {
            true => 0,
            false => millis_between(self.at, now),
        };
        Some(Duration::from_millis(left.saturating_sub(since)))
    }

    pub fn max_rounds(&self) -> u32 {
        self.spent.max_rounds(&self.created.profile)
    }

    /// A plain answer completes it.
    pub fn answers_in_text(&self) -> bool {
        if self.duty.is_some() {
            return false;
        }
        match self.created.profile.agent.text_turn {
            TextTurn::Answers => true,
            TextTurn::Nudges => false,
            TextTurn::ByPresentation => self.created.presentation == Presentation::Background,
        }
    }

    /// Whether it may end: a writer in the foreground has to have published something.
    pub(super) fn may_finish(&self) -> bool {
        self.answers_in_text()
            || self.created.presentation == Presentation::Background
            || self.commits().next().is_some()
    }

    pub(super) fn call(&self, id: &CallId) -> Option<&PlannedCall> {
        self.turn.as_ref()?.calls().find(|call| call.call == *id)
    }
}
