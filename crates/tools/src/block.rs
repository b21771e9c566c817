//! The steps of a block: in ascending order, each with its `on_error`, its `retry` and what it refers to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::future::join_all;
use innkeeper_protocol::{
    Block, ErrorCode, Observation, OnError, Outcome, Protocol, ToolCallRequest,
};
use jiff::fmt::strtime;

use crate::limits::{MAX_PARALLEL_CALLS, MAX_TOLD_CHARS, MAX_TOLD_NAMES};
use crate::pipeline::call::{Passed, check_unrun, pass};
use crate::pipeline::stop;
use crate::pipeline::substitute::{StepResult, Values, steps_named};
use crate::registry::Lookup;
use crate::request;
use crate::run::ToolRun;
use crate::task::Entry;

pub(crate) async fn run(run: &ToolRun, block: &Block<'_>) -> Vec<Observation> {
    let mut said = Observation::of_block(block);
    if !block.is_runnable() || block.calls.is_empty() {
        return said;
    }
    if let Some(refused) = refused_whole(run, block) {
        for (call, observation) in block.calls.iter().zip(&refused) {
            run.note_unrun(call, &observation.outcome).await;
        }
        said.extend(refused);
        return said;
    }
    said.extend(match block.request_id.as_deref() {
        Some(id) => request::once(run, block, id).await,
        None => steps(run, block).await.observations,
    });
    said
}

/// What came of a block.
pub(crate) struct Ran {
    pub(crate) observations: Vec<Observation>,
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

pub(crate) async fn steps(run: &ToolRun, block: &Block<'_>) -> Ran {
    let is_native = matches!(block.protocol, Protocol::Native(_));
    let mut desk = Desk {
        values: Values::of(block, timestamp(run)),
        running: Running::default(),
        unknown: BTreeSet::new(),
        ran: Ran {
            observations: Vec::new(),
            has_run: false,
        },
        stopped: None,
    };
    let mut rest = block.calls.as_slice();
    while let Some((call, behind)) = rest.split_first() {
        let together = match is_native {
            true => side_by_side(run, rest),
            false => 1,
        };
        if together > 1 {
            let (now, later) = rest.split_at(together);
            let all = now.iter().map(|call| pass(run, call, Some(&desk.values)));
            for (call, passed) in now.iter().zip(join_all(all).await) {
                desk.take(call, passed);
            }
            rest = later;
            continue;
        }
        desk.step(run, call, is_native).await;
        rest = behind;
    }
    desk.told()
}

/// How many of the next calls may run at once.
fn side_by_side(run: &ToolRun, calls: &[ToolCallRequest<'_>]) -> usize {
    calls
        .iter()
        .take(MAX_PARALLEL_CALLS)
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
    ran: Ran,
    /// The step after which nothing more runs.
    stopped: Option<u32>,
}

impl Desk {
    async fn step(&mut self, run: &ToolRun, call: &ToolCallRequest<'_>, is_native: bool) {
        if let Some(step) = self.stopped {
            let why = format!("step {step} failed, and what follows it was not run");
            self.values
                .finish_step(call.index, StepResult::Nothing("was not run".to_owned()));
            let observation = skipped(call, &why);
            run.note_unrun(call, &observation.outcome).await;
            self.ran.observations.push(observation);
            return;
        }
        if let Err(outcome) = self.await_steps(run, call).await {
            let observation = Observation {
                call_id: call.call_id.as_deref().map(str::to_owned),
                index: call.index,
                ..Observation::new(call.tool.as_ref(), outcome)
            };
            run.note_unrun(call, &observation.outcome).await;
            self.values
                .finish_step(call.index, StepResult::Nothing("was not run".to_owned()));
            self.ran.observations.push(observation);
            let ends = call.on_error == OnError::Stop && !is_native;
            self.stopped = (ends || run.cancel.is_cancelled()).then_some(call.index);
            return;
        }
        let passed = pass(run, call, Some(&self.values)).await;
        let failed = passed.observation.error_code().is_some();
        let ends = passed.on_error == OnError::Stop && !is_native;
        // A run that is being stopped goes on with nothing.
        let cancelled = matches!(passed.observation.outcome, Outcome::Cancelled { .. })
            && run.cancel.is_cancelled();
        if (failed && ends) || cancelled {
            self.stopped = Some(call.index);
        }
        self.take(call, passed);
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
                (None, Some(observation)) => StepResult::Nothing(failed(observation)),
                (None, None) => StepResult::Nothing("failed".to_owned()),
            };
            entry.release();
            self.running.0.remove(&step);
            self.values.finish_step(step, result);
        }
        Ok(())
    }

    fn take(&mut self, call: &ToolCallRequest<'_>, passed: Passed) {
        self.ran.has_run |= passed.has_run;
        self.unknown.extend(passed.unknown);
        match (passed.full, passed.task) {
            (Some(full), _) => self.values.finish_step(call.index, StepResult::Done(full)),
            (None, Some(task)) => {
                self.running.0.insert(call.index, task);
            }
            (None, None) => {
                let why = failed(&passed.observation);
                self.values
                    .finish_step(call.index, StepResult::Nothing(why));
            }
        }
        self.ran.observations.push(passed.observation);
    }

    fn told(mut self) -> Ran {
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
            self.ran.observations.push(Observation::new("", outcome));
        }
        self.ran
    }
}

/// Why there is no result to refer to.
fn failed(observation: &Observation) -> String {
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
