//! Runs the calls of a reply, each written down before it acts and when it has.

use std::future::poll_fn;
use std::ops::Range;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, ready};

use async_trait::async_trait;
use innkeeper_protocol::event::CallId;
use innkeeper_protocol::{Block, ErrorCode, Observation, OnError, Outcome};
use innkeeper_tools::policy::{ApprovalRequest, Decided};
use innkeeper_tools::{BlockOptions, CallEnd, CallListener, Settled, Starting, ToolError};

use super::drive::{AgentInstance, Gone};
use super::log::{Brought, RecordError, RunLog};
use super::meter::AgentMeter;
use super::questions;
use super::runtime::Shared;
use crate::run::{AgentRun, AnsweredBy, CallState, Input, PlannedBlock, PlannedCall};
use crate::skills::SkillDesk;
use crate::state::StateDesk;
use crate::workspace::{Taken, WorkspaceSession};

impl AgentInstance {
    /// One block of the last reply, from the first call that has no end.
    pub(super) async fn run_block(&self, block: usize) -> Result<(), Gone> {
        self.refresh_meter().await?;
        let found = self
            .log
            .read(|run| {
                let turn = run.turn()?;
                for call in turn.calls().filter(|call| call.is_open()) {
                    self.meter.run.begin(call.call.as_str(), call.meant());
                }
                let parsed = turn.reply.read().blocks.into_iter().nth(block)?;
                Some(self.to_run(parsed.into_owned(), turn.blocks.get(block)?))
            })
            .await?;
        let Some((parsed, options)) = found else {
            let input = Input::BlockEnded {
                block,
                notes: Vec::new(),
            };
            return self.fed(self.log.record(input).await).await;
        };
        let calls = pin!(self.tools.run_block_with(&parsed, options));
        let ran = self.telling(calls).await;
        if ran.broken.is_some() {
            // Either the run was stopped in the meantime, or the journal cannot be written; the log knows which.
            return Ok(());
        }
        let ended = Input::BlockEnded {
            block,
            notes: ran.notes,
        };
        self.fed(self.log.hold(ended, Brought::default()).await)
            .await
    }

    /// All that is kept of a block while its calls run.
    fn to_run(
        &self,
        mut parsed: Block<'static>,
        planned: &PlannedBlock,
    ) -> (Block<'static>, BlockOptions) {
        for (call, planned) in parsed.calls.iter_mut().zip(&planned.calls) {
            if planned.is_early_finish() {
                call.on_error = OnError::Continue;
            }
            call.arguments.shrink_to_fit();
        }
        // One of them may wait for days.
        parsed.calls.shrink_to_fit();
        let settled = planned.calls.iter().map(|call| match &call.state {
            CallState::Ended { observation, full } => Some(Settled {
                observation: (**observation).clone(),
                full: full.as_deref().cloned(),
            }),
            _ => None,
        });
        let listener = Listener {
            log: self.log.clone(),
            session: self.session.clone(),
            shares_state: self.shares_state,
            skills: self.skills.clone(),
            states: self.states.clone(),
            meter: self.meter.clone(),
            shared: self.shared.clone(),
            was_asked: planned.calls.iter().any(PlannedCall::is_asked_about),
            calls: planned.calls.iter().map(|call| call.call.clone()).collect(),
            open: AtomicUsize::new(planned.calls.iter().filter(|call| call.is_open()).count()),
        };
        let options = BlockOptions {
            names: planned
                .calls
                .iter()
                .map(|call| call.call.to_string())
                .collect(),
            settled: settled.collect(),
            resumed: self.is_recovered,
            listener: Some(Arc::new(listener)),
        };
        (parsed, options)
    }

    /// What is held goes to the disk as soon as the calls wait for something. Those that do not are told with their ends.
    async fn telling<T>(&self, mut calls: Pin<&mut impl Future<Output = T>>) -> T {
        let mut sending = None;
        // Side by side, for both want the log.
        poll_fn(|context| {
            if let Poll::Ready(ran) = calls.as_mut().poll(context) {
                return Poll::Ready(ran);
            }
            loop {
                match &mut sending {
                    None if self.log.is_held() => sending = Some(Box::pin(self.log.send_held())),
                    None => return Poll::Pending,
                    Some(sent) => {
                        // What could not be sent has broken the log, which the calls are told.
                        let _: Result<_, _> = ready!(sent.as_mut().poll(context));
                        sending = None;
                    }
                }
            }
        })
        .await
    }
}

/// Hears of the calls of one block.
struct Listener {
    log: RunLog,
    session: Arc<WorkspaceSession>,
    /// What is noted in the private state is staged among the run's files.
    shares_state: bool,
    skills: Arc<SkillDesk>,
    states: Arc<StateDesk>,
    meter: Arc<AgentMeter>,
    calls: Vec<CallId>,
    /// How many of them have no end.
    open: AtomicUsize,
    shared: Arc<Shared>,
    /// Another process has asked about one of them.
    was_asked: bool,
}

impl Listener {
    fn is_let_go(&self, observation: &Observation) -> bool {
        let is_cancelled = matches!(observation.outcome, Outcome::Cancelled { .. });
        is_cancelled && (self.shared.closing.is_cancelled() || self.log.is_sealed())
    }

    fn call(&self, position: usize) -> Result<CallId, ToolError> {
        let call = self.calls.get(position).cloned();
        call.ok_or_else(|| ToolError::failed("a call that was not planned").permanent())
    }

    /// A question that was asked before a restart, and that the rules do not ask any more: they have decided themselves.
    async fn withdraw(&self, call: &CallId, is_allowed: bool) -> Result<(), ToolError> {
        if !self.was_asked {
            return Ok(());
        }
        let is_open = |run: &AgentRun| run.asking().any(|open| open.call == *call);
        let read = self.log.read(is_open).await;
        if !read.map_err(|error| refused(error.into()))? {
            return Ok(());
        }
        let why = match is_allowed {
            true => "it need not be asked any more",
            false => "it cannot be called any more",
        };
        let input = questions::withdrawn(call, AnsweredBy::Rule, is_allowed, why);
        let held = self.log.hold(input, Brought::default()).await;
        held.map_err(refused)
    }
}

#[async_trait]
impl CallListener for Listener {
    fn taking_up(&self, positions: Range<usize>) {
        self.log
            .take_up(self.calls.get(positions).unwrap_or_default());
    }

    async fn starting(&self, starting: Starting<'_>) -> Result<(), ToolError> {
        let call = self.call(starting.position)?;
        self.withdraw(&call, true).await?;
        let input = Input::CallStarted {
            call,
            idempotent: starting.is_repeatable,
        };
        if starting.is_repeatable {
            // Doing it again after a crash does no harm, so it need not wait for the disk.
            let held = self.log.hold(input, Brought::default()).await;
            return held.map_err(refused);
        }
        self.log.record(input).await.map_err(refused)
    }

    async fn decide(
        &self,
        position: usize,
        request: &ApprovalRequest,
    ) -> Result<Option<Decided>, ToolError> {
        let parts = &self.shared.parts;
        let (call, now) = (self.call(position)?, parts.clock.now());
        let decided = questions::decided(&self.log, now, &call, request);
        decided.await.map(Some)
    }

    async fn ended(&self, end: CallEnd<'_>) -> Result<(), ToolError> {
        if self.is_let_go(end.observation) {
            // Nobody has stopped the run: what became of the call is for the next process to find out.
            return Err(ToolError::new(
                ErrorCode::ToolCancelled,
                "the house is closing",
            ));
        }
        let call = self.call(end.position)?;
        // One that is stopped takes its question along.
        if !matches!(end.observation.outcome, Outcome::Cancelled { .. }) {
            self.withdraw(&call, false).await?;
        }
        let has_failed = end.observation.error_code().is_some();
        let mut staged = taken(&self.session, &call, has_failed);
        let private_home = self.shares_state.then(|| self.log.root_session());
        if let Some(home) = &private_home {
            let noted = taken(home, &call, has_failed);
            staged.change.files.extend(noted.change.files);
            staged.blobs.extend(noted.blobs);
        }
        let input = Input::CallEnded {
            observation: Arc::new(end.observation.clone()),
            elapsed_ms: u64::try_from(end.elapsed.as_millis()).unwrap_or(u64::MAX),
            change: staged.change,
            skill_chars: self.skills.take(&call),
            worlds: self.states.take(&call),
            used: self.meter.take_call(call.as_str()),
            // What is shown is all there is, unless it was cut.
            full: end
                .full
                .filter(|_| is_cut(end.observation))
                .cloned()
                .map(Arc::new),
            call: call.clone(),
        };
        let brought = Brought {
            blobs: staged.blobs,
        };
        // The end of the block follows at once on the end of its last call, and takes it along.
        let is_last = self.open.fetch_sub(1, Ordering::AcqRel) == 1;
        let recorded = match is_last {
            true => self.log.hold(input, brought).await,
            false => self.log.submit(vec![input], brought).await.map(drop),
        };
        for session in private_home.iter().chain([&self.session]) {
            match recorded {
                Ok(()) => session.journaled(&call),
                Err(_) => session.drop_staged(&call),
            }
        }
        recorded.map_err(refused)?;
        self.log.put_down(&call);
        Ok(())
    }
}

/// What it did there.
fn taken(session: &WorkspaceSession, call: &CallId, has_failed: bool) -> Taken {
    match has_failed {
        false => session.take(call),
        true => session.take_failed(call),
    }
}

/// Less is told than there is.
fn is_cut(observation: &Observation) -> bool {
    matches!(
        &observation.outcome,
        Outcome::Success {
            spilled: Some(_),
            ..
        }
    )
}

/// The run does not take it: it is being stopped, or cannot be written down.
fn refused(error: RecordError) -> ToolError {
    ToolError::new(ErrorCode::ToolCancelled, error.to_string()).permanent()
}
