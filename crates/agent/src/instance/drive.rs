//! Takes one run from step to step until it is over, waits for a person, or cannot be written down.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::event::InvocationId;
use innkeeper_protocol::{ErrorCode, Observation};
use innkeeper_store::StoreError;
use innkeeper_tools::ToolRun;
use tokio_util::sync::CancellationToken;

use super::AgentError;
use super::children::Children;
use super::compact::KeptDropped;
use super::deliberate::Conversation;
use super::live::Live;
use super::log::{Brought, RecordError, Rest, RunLog};
use super::meter::AgentMeter;
use super::offer_told::Telling;
use super::runtime::Shared;
use super::speak::Spoken;
use crate::chat::ChatView;
use crate::limits::REST_AFTER;
use crate::profile::ToolDescription;
use crate::run::{Input, Step, Why};
use crate::skills::SkillDesk;
use crate::state::StateDesk;
use crate::workspace::WorkspaceSession;

/// One run at work.
pub(crate) struct AgentInstance {
    pub(super) shared: Arc<Shared>,
    pub(super) log: RunLog,
    pub(super) session: Arc<WorkspaceSession>,
    /// Under which the run knows it.
    pub(super) invocation: InvocationId,
    /// It works for another, and is driven by it.
    pub(super) is_child: bool,
    /// Its private state is among the run's files.
    pub(super) shares_state: bool,
    pub(super) tools: ToolRun,
    pub(super) live: Live,
    /// Fires when the run is cancelled, and when this process lets go of it: it ends, or cannot write the journal.
    pub(super) cancel: CancellationToken,
    /// Another process began what may be open.
    pub(super) is_recovered: bool,
    /// What its tools see of the chat.
    pub(super) chat: Option<Arc<ChatView>>,
    pub(super) skills: Arc<SkillDesk>,
    pub(super) states: Arc<StateDesk>,
    /// What the profile says about tools.
    pub(super) descriptions: BTreeMap<String, ToolDescription>,
    pub(super) telling: Telling,
    pub(super) conversation: Conversation,
    pub(super) dropped: KeptDropped,
    pub(super) meter: Arc<AgentMeter>,
    pub(super) spoken: Spoken,
}

/// The journal cannot be written or read: this process can do nothing more for the run.
pub(super) struct Gone;

/// The log knows why.
impl From<StoreError> for Gone {
    fn from(_: StoreError) -> Self {
        Self
    }
}

impl AgentInstance {
    pub(super) async fn drive(&self) {
        let mut children = Children::default();
        tokio::select! {
            biased;
            () = self.take_steps() => {}
            never = self.rest_when_parked() => match never {},
            never = children.mind(self) => match never {},
            never = self.attend_questions() => match never {},
        }
        children.leave().await;
        // One that rests waits for people, so it is not over.
        if self.log.peek(|run| run.is_over()).await == Some(true) {
            // What was dropped in the middle may have left something behind.
            self.tools.stop();
            self.tools.settle().await;
        }
        self.log.flush().await;
        let is_handed_over = self.log.peek(|run| *run.invocation() != self.invocation);
        if is_handed_over.await != Some(true) {
            self.live.close();
        }
    }

    /// The same for one that works for another: that one minds everything else.
    pub(super) async fn drive_child(&self) {
        tokio::select! {
            biased;
            () = self.take_steps() => {}
            never = self.attend_questions() => match never {},
        }
        if self.log.peek(|run| run.is_over()).await == Some(true) {
            self.tools.stop();
            self.tools.settle().await;
        }
        self.live.close();
    }

    /// Beside all that the run does: while it waits for people, nothing of it is kept that can be had again. Most hosts
    /// answer at once, and find it as it is.
    async fn rest_when_parked(&self) -> Infallible {
        loop {
            self.log.parked().await;
            loop {
                tokio::time::sleep(REST_AFTER).await;
                match Box::pin(self.log.rest()).await {
                    Rest::NotYet => {}
                    Rest::No => break,
                    Rest::Rests => {
                        self.session.rest();
                        self.conversation.forget();
                        self.dropped.forget();
                        break;
                    }
                }
            }
        }
    }

    async fn take_steps(&self) {
        while !self.is_let_go() {
            let read = self.log.read(|run| (run.next(), run.invocation().clone()));
            let Ok((step, invocation)) = read.await else {
                break;
            };
            if invocation != self.invocation {
                // Handed over: another one goes on.
                break;
            }
            // The next request goes to the disk with what came before it, and so does the first call of a reply;
            // everything else may take its time.
            let takes_along = matches!(step, Step::Ask { .. } | Step::RunBlock { .. });
            // What the journal does not take has changed the run, which shows in its next step.
            if !takes_along && let Err(RecordError::Journal(_)) = self.log.send_held().await {
                break;
            }
            match step {
                Step::Paused | Step::Over { .. } => break,
                step => {
                    if self.in_time(step).await.is_err() {
                        break;
                    }
                }
            }
        }
    }

    /// A step, as long as the run has time for it. Waiting for a person takes none.
    async fn in_time(&self, step: Step) -> Result<(), Gone> {
        if step == Step::Stop {
            return self.take(step).await;
        }
        // Side by side: what the work waits for must not wait for whoever looks at the clock.
        tokio::select! {
            biased;
            done = self.take(step) => return done,
            () = self.log.out_of_time() => {}
        }
        let message = "the run has used all the time that its profile gives it; raise agent.budget.maxWallTimeMs, or resume it";
        let error = AgentError::new(ErrorCode::ToolBudgetExhausted, message);
        Box::pin(self.fail(error.because("agent.time_budget_exhausted"))).await
    }

    /// The process ends, leaves the run, or has lost the journal; the run does not end.
    fn is_let_go(&self) -> bool {
        self.log.fault().is_some() || self.log.is_sealed() || self.shared.closing.is_cancelled()
    }

    /// Boxed one by one: a run that waits for a person keeps the room of the step that it is at, not of the largest.
    fn take(&self, step: Step) -> Pin<Box<dyn Future<Output = Result<(), Gone>> + Send + '_>> {
        match step {
            Step::PrepareWorkspace => Box::pin(self.prepare_workspace()),
            Step::PrepareContext => Box::pin(self.prepare_context()),
            Step::Ask { round } => Box::pin(self.ask(round)),
            Step::Compact { .. } => Box::pin(self.compact()),
            Step::Deliberate { round, .. } => Box::pin(self.deliberate(round)),
            Step::Rest { millis } => Box::pin(self.rest(millis)),
            Step::RunBlock { block } => Box::pin(self.run_block(block)),
            step @ Step::AwaitTasks { .. } => Box::pin(self.await_tasks(step)),
            Step::AwaitHostCommit { commit } => Box::pin(self.await_commit(commit)),
            Step::CommitPersist => Box::pin(self.commit_persist()),
            Step::UpdateMetadata { update_id } => Box::pin(self.update_metadata(update_id)),
            Step::Stop => Box::pin(self.stop()),
            Step::Paused | Step::Over { .. } => Box::pin(std::future::ready(Ok(()))),
        }
    }

    async fn rest(&self, millis: u64) -> Result<(), Gone> {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(millis)) => {}
            () = self.cancel.cancelled() => return Ok(()),
        }
        self.fed(self.log.record(Input::Rested).await).await
    }

    /// Nothing of the run is under way but what runs in the background; what that came to is told first.
    async fn stop(&self) -> Result<(), Gone> {
        self.tools.stop();
        self.tools.settle().await;
        self.tell_ended_tasks().await?;
        self.children_stopped().await?;
        if !self.is_still(&Step::Stop).await? {
            return Ok(());
        }
        self.fed(self.log.record(Input::Stopped).await).await
    }

    /// Whether this is still what is to be done. Whoever is about to wait asks after they have begun to listen.
    pub(super) async fn is_still(&self, step: &Step) -> Result<bool, Gone> {
        Ok(self.log.read(|run| run.next() == *step).await?)
    }

    async fn await_tasks(&self, step: Step) -> Result<(), Gone> {
        let changed = self.log.changed();
        if !self.is_still(&step).await? {
            return Ok(());
        }
        tokio::select! {
            () = self.tools.any_task_ended() => {}
            () = changed => return Ok(()),
            () = self.cancel.cancelled() => return Ok(()),
        }
        self.tell_ended_tasks().await
    }

    /// What became of calls in the background since this was last asked.
    pub(super) async fn tell_ended_tasks(&self) -> Result<(), Gone> {
        for observation in self.tools.finished_tasks() {
            self.tell_task(observation).await?;
        }
        Ok(())
    }

    async fn tell_task(&self, observation: Observation) -> Result<(), Gone> {
        let task = observation.task.clone().unwrap_or_default();
        let call = self
            .log
            .read(|run| run.open_tasks().get(&task).map(|open| open.call.clone()));
        let used = call
            .await?
            .and_then(|call| self.meter.take_task(call.as_str()));
        let input = Input::TaskEnded {
            observation: Arc::new(observation),
            used,
        };
        self.fed(self.log.record(input).await).await
    }

    /// Before models are asked, and after: what the journal has by now.
    pub(super) async fn refresh_meter(&self) -> Result<(), Gone> {
        let meter = &self.meter.run;
        Ok(self.log.read_whole(|run| meter.refresh(run)).await?)
    }

    /// A run that takes no more of something has been stopped, or has it already; that shows in its next step. What does
    /// not fit at all is our own fault, and the run must not go round in circles over it.
    pub(super) async fn fed(&self, recorded: Result<(), RecordError>) -> Result<(), Gone> {
        match recorded {
            Ok(()) => Ok(()),
            Err(RecordError::Misfit(misfit)) if misfit.why != Why::Unfit => Ok(()),
            Err(RecordError::Misfit(misfit)) => {
                let message = format!("{misfit}; this is a bug, please report it");
                let failed = Input::Failed {
                    code: ErrorCode::AgentInternalError,
                    message,
                    reason: None,
                };
                self.log.record(failed).await.map_err(|_| Gone)
            }
            Err(RecordError::Journal(_)) => Err(Gone),
        }
    }

    pub(super) async fn fail(&self, error: AgentError) -> Result<(), Gone> {
        let input = Input::Failed {
            code: error.code,
            message: error.message,
            reason: error.reason,
        };
        let receipt = self.log.submit(vec![input], Brought::default()).await;
        let written = match receipt {
            Ok(receipt) => receipt.written().await.map_err(RecordError::from),
            Err(error) => Err(error),
        };
        self.fed(written).await
    }
}
