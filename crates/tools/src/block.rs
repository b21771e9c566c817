//! The steps of a block: in ascending order, each with its `on_error`, its `retry` and what it refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use innkeeper_protocol::{
    Block, ErrorCode, Observation, OnError, Outcome, Protocol, ToolCallRequest,
};
use jiff::fmt::strtime;

use crate::ToolError;
use crate::limits::{MAX_PARALLEL_CALLS, MAX_TOLD_CHARS, MAX_TOLD_NAMES};
use crate::listener::{BlockOptions, BlockRan, Settled};
use crate::pipeline::call::{Passed, check_unrun, pass};
use crate::pipeline::stop;
use crate::pipeline::substitute::{StepResult, Values, steps_named};
use crate::registry::Lookup;
use crate::request;
use crate::run::ToolRun;
use crate::task::Entry;

pub(crate) async fn run(run: &ToolRun, block: &Block<'_>) -> Vec<Observation> {
    let mut said = Observation::of_block(block);
    let ran = calls(run, block, &BlockOptions::default()).await;
    said.extend(ran.calls);
    said.extend(ran.notes);
    said
}

pub(crate) async fn run_with(run: &ToolRun, block: &Block<'_>, options: BlockOptions) -> BlockRan {
    let mut notes = Observation::of_block(block);
    let mut ran = calls(run, block, &options).await;
    notes.append(&mut ran.notes);
    BlockRan { notes, ..ran }
}

async fn calls(run: &ToolRun, block: &Block<'_>, options: &BlockOptions) -> BlockRan {
    if !block.is_runnable() || block.calls.is_empty() {
        return BlockRan::default();
    }
    if let Some(refused) = refused_whole(run, block) {
        for (call, observation) in block.calls.iter().zip(&refused) {
            Box::pin(run.note_unrun(call, &observation.outcome)).await;
        }
        return told(refused, options).await;
    }
    match block.request_id.as_deref() {
        // Boxed, like all that is rare or soon over: a call may wait for days, and would keep room for it.
        Some(id) => Box::pin(request::once(run, block, id, options)).await,
        None => steps(run, block, options).await.told,
    }
}

/// For calls that never came as far as a step: the listener still hears of each.
pub(crate) async fn told(calls: Vec<Observation>, options: &BlockOptions) -> BlockRan {
    let mut broken = None;
    for (position, observation) in calls.iter().enumerate() {
        if options.is_settled(position).is_none()
            && let Err(error) = options
                .ended(position, observation, None, Duration::ZERO)
                .await
        {
            broken = Some(error);
            break;
        }
    }
    BlockRan {
        calls,
        notes: Vec::new(),
        broken,
    }
}

/// What came of a block.
pub(crate) struct Ran {
    pub(crate) told: BlockRan,
    /// Some tool was asked to do something.
    pub(crate) has_run: bool,
}

/// Faults that the parser left to the tools: if a tool does not settle its own, no step runs.
fn refused_whole(run: &ToolRun, block: &Block<'_>) -> Option<Vec<Observation>> {
    let doubtful = block
        .diagnostics
        .iter()
        .any(|diagnostic| diagnostic.is_error() && diagnostic.code.is_left_to_bind());
    if !doubtful {
        return None;
    }
    let checked: Vec<_> = block
        .calls
        .iter()
        .map(|call| check_unrun(run, call))
        .collect();
    let bad = checked.iter().position(Result::is_err)?;
    let culprit = block.calls.get(bad).map_or(1, |call| call.index);
    let told = checked.into_iter().zip(&block.calls).map(|(check, call)| {
        check
            .err()
            .map(|observation| *observation)
            .unwrap_or_else(|| {
                skipped(
                    call,
                    &format!("step {culprit} is written wrongly, so no step was run"),
                )
            })
    });
    Some(told.collect())
}

pub(crate) async fn steps(run: &ToolRun, block: &Block<'_>, options: &BlockOptions) -> Ran {
    let is_native = matches!(block.protocol, Protocol::Native(_));
    let mut desk = Desk {
        values: Values::of(block, timestamp(run)),
        running: Running::default(),
        unknown: BTreeSet::new(),
        told: BlockRan::default(),
        has_run: false,
        stopped: None,
    };
    let mut position = 0;
    while let Some(call) = block.calls.get(position) {
        if desk.told.broken.is_some() {
            break;
        }
        if let Some(settled) = options.is_settled(position) {
            desk.settled(call, settled, is_native);
            position += 1;
            continue;
        }
        let rest = block.calls.get(position..).unwrap_or_default();
        let together = match is_native {
            true => side_by_side(run, rest, options, position),
            false => 1,
        };
        options.taking_up(position..position + together.max(1));
        if together > 1 {
            let now = rest.iter().take(together).enumerate();
            let all = now
                .map(|(ahead, call)| one(run, call, position + ahead, Some(&desk.values), options));
            for (call, (passed, heard)) in rest.iter().zip(join_all(all).await) {
                desk.take(call, passed, heard);
            }
            position += together;
            continue;
        }
        desk.step(run, call, position, is_native, options).await;
        position += 1;
    }
    desk.over()
}

/// One call, told to whoever listens.
async fn one(
    run: &ToolRun,
    call: &ToolCallRequest<'_>,
    position: usize,
    values: Option<&Values>,
    options: &BlockOptions,
) -> (Passed, Result<(), ToolError>) {
    let Some(place) = options.place(position) else {
        return (pass(run, call, values).await, Ok(()));
    };
    let begun = Instant::now();
    let passed = pass(&run.at(place), call, values).await;
    let full = passed.full.as_ref();
    let ended = options.ended(position, &passed.observation, full, begun.elapsed());
    let heard = ended.await;
    (passed, heard)
}

/// How many of the next calls may run at once.
fn side_by_side(
    run: &ToolRun,
    calls: &[ToolCallRequest<'_>],
    options: &BlockOptions,
    from: usize,
) -> usize {
    let unsettled = calls
        .iter()
        .enumerate()
        .take(MAX_PARALLEL_CALLS)
        .take_while(|(ahead, _)| options.is_settled(from + ahead).is_none());
    unsettled
        .map(|(_, call)| call)
        .take_while(|call| match run.snapshot.find(&call.tool) {
            Lookup::Found(tool) => {
                tool.definition().execution.parallel && steps_named(call).is_empty()
            }
            Lookup::Unknown { .. } => false,
        })
        .count()
}

/// Tasks whose results later steps may refer to, by step; with the block they are released.
#[derive(Default)]
struct Running(BTreeMap<u32, Arc<Entry>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.values().for_each(|entry| entry.release());
    }
}

struct Desk {
    values: Values,
    running: Running,
    unknown: BTreeSet<String>,
    told: BlockRan,
    has_run: bool,
    /// The step after which nothing more runs.
    stopped: Option<u32>,
}

impl Desk {
    async fn step(
        &mut self,
        run: &ToolRun,
        call: &ToolCallRequest<'_>,
        position: usize,
        is_native: bool,
        options: &BlockOptions,
    ) {
        if let Some(step) = self.stopped {
            let why = format!("step {step} failed, and what follows it was not run");
            let observation = skipped(call, &why);
            return self.unrun(run, call, position, observation, options).await;
        }
        if let Err(outcome) = self.await_steps(run, call).await {
            let observation = Observation {
                call_id: call.call_id.as_deref().map(str::to_owned),
                index: call.index,
                ..Observation::new(call.tool.as_ref(), outcome)
            };
            self.unrun(run, call, position, observation, options).await;
            let ends = call.on_error == OnError::Stop && !is_native;
            self.stopped = (ends || run.cancel.is_cancelled()).then_some(call.index);
            return;
        }
        let (passed, heard) = one(run, call, position, Some(&self.values), options).await;
        let failed = passed.observation.error_code().is_some();
        let ends = passed.on_error == OnError::Stop && !is_native;
        // A run that is being stopped goes on with nothing.
        let cancelled = matches!(passed.observation.outcome, Outcome::Cancelled { .. })
            && run.cancel.is_cancelled();
        if (failed && ends) || cancelled {
            self.stopped = Some(call.index);
        }
        self.take(call, passed, heard);
    }

    async fn unrun(
        &mut self,
        run: &ToolRun,
        call: &ToolCallRequest<'_>,
        position: usize,
        observation: Observation,
        options: &BlockOptions,
    ) {
        Box::pin(run.note_unrun(call, &observation.outcome)).await;
        self.values
            .finish_step(call.index, StepResult::Nothing("was not run".to_owned()));
        let heard = options.ended(position, &observation, None, Duration::ZERO);
        self.told.broken = heard.await.err();
        self.told.calls.push(observation);
    }

    /// As it was when it was run, or refused by whoever runs the block.
    fn settled(&mut self, call: &ToolCallRequest<'_>, settled: &Settled, is_native: bool) {
        let observation = settled.observation.clone();
        let failed = observation.error_code().is_some();
        if failed && call.on_error == OnError::Stop && !is_native && self.stopped.is_none() {
            self.stopped = Some(call.index);
        }
        let result = match (&settled.full, &observation.outcome) {
            (Some(full), _) => StepResult::Done(full.clone()),
            (
                None,
                Outcome::Success {
                    result,
                    spilled: None,
                },
            ) => StepResult::Done(result.clone()),
            (None, Outcome::AsyncStarted { .. }) => {
                StepResult::Nothing("runs in the background since before a restart".to_owned())
            }
            (None, _) => StepResult::Nothing(why_nothing(&observation)),
        };
        self.values.finish_step(call.index, result);
        self.has_run = true;
        self.told.calls.push(observation);
    }

    /// Steps that are still at work and that this call refers to.
    async fn await_steps(
        &mut self,
        run: &ToolRun,
        call: &ToolCallRequest<'_>,
    ) -> Result<(), Outcome> {
        if self.running.0.is_empty() {
            return Ok(());
        }
        for step in steps_named(call) {
            let Some(entry) = self.running.0.get(&step).cloned() else {
                continue;
            };
            let record = run.wait_for(&entry).await?;
            let result = match (entry.full(), &record.observation) {
                (Some(full), _) => StepResult::Done(full),
                (None, Some(observation)) if observation.error_code().is_none() => {
                    StepResult::Nothing("has a result too large to refer to".to_owned())
                }
                (None, Some(observation)) => StepResult::Nothing(why_nothing(observation)),
                (None, None) => StepResult::Nothing("failed".to_owned()),
            };
            entry.release();
            self.running.0.remove(&step);
            self.values.finish_step(step, result);
        }
        Ok(())
    }

    fn take(&mut self, call: &ToolCallRequest<'_>, passed: Passed, heard: Result<(), ToolError>) {
        if let Err(error) = heard {
            self.told.broken.get_or_insert(error);
        }
        self.has_run |= passed.has_run;
        self.unknown.extend(passed.unknown);
        match (passed.full, passed.task) {
            (Some(full), _) => self.values.finish_step(call.index, StepResult::Done(full)),
            (None, Some(task)) => {
                self.running.0.insert(call.index, task);
            }
            (None, None) => {
                let why = why_nothing(&passed.observation);
                self.values
                    .finish_step(call.index, StepResult::Nothing(why));
            }
        }
        self.told.calls.push(passed.observation);
    }

    fn over(mut self) -> Ran {
        if !self.unknown.is_empty() {
            let names: Vec<_> = self
                .unknown
                .iter()
                .take(MAX_TOLD_NAMES)
                .map(|name| format!("@{{{name}}}"))
                .collect();
            let outcome = Outcome::Notice {
                reason: "unknown_reference".to_owned(),
                message: format!("Nothing is known by {}; left as written", names.join(", ")),
            };
            self.told.notes.push(Observation::new("", outcome));
        }
        Ran {
            told: self.told,
            has_run: self.has_run,
        }
    }
}

/// Why there is no result to refer to.
fn why_nothing(observation: &Observation) -> String {
    let why = match &observation.outcome {
        Outcome::Error(failure) => failure.message.as_str(),
        Outcome::Denied { reason } => reason.as_str(),
        Outcome::Cancelled { reason } => reason.as_str(),
        Outcome::OutcomeUnknown { message } => message.as_str(),
        Outcome::Success { .. } | Outcome::AsyncStarted { .. } | Outcome::Notice { .. } => "",
    };
    match why {
        "" => "failed".to_owned(),
        why => format!(
            "failed: {}",
            why.chars().take(MAX_TOLD_CHARS).collect::<String>()
        ),
    }
}

fn skipped(call: &ToolCallRequest<'_>, why: &str) -> Observation {
    Observation {
        call_id: call.call_id.as_deref().map(str::to_owned),
        index: call.index,
        ..Observation::new(call.tool.as_ref(), stop(ErrorCode::ToolSkipped, why))
    }
}

/// The same for all steps of a block.
fn timestamp(run: &ToolRun) -> String {
    let now = run.shared.clock.now();
    strtime::format("%Y-%m-%dT%H:%M:%SZ", now).unwrap_or_else(|_| now.to_string())
}
