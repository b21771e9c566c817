//! One node that waits: its tries, its time, its end. Nothing that it does can harm the others.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::Semaphore;

use super::cache::digest;
use super::driver::{Message, News};
use super::event::{EventBody, Skip};
use super::{NodeEvents, Part, RunShared};
use crate::NodeError;
use crate::limits::MAX_RETRY_DELAY;
use crate::node::{Input, Io, NodeContext, Outputs, TaskIo, TaskRun};
use crate::plan::Rules;
use crate::stream::StreamWriter;

/// A node on its way.
pub(super) struct Task {
    pub(super) number: u32,
    pub(super) part: Part,
    pub(super) work: Work,
}

/// What it has to do.
pub(super) struct Work {
    pub(super) io: Io,
    pub(super) context: NodeContext,
    pub(super) writers: Vec<(usize, Arc<StreamWriter>)>,
    pub(super) rules: Rules,
    pub(super) reads_streams: bool,
    /// Somebody takes its error.
    pub(super) is_caught: bool,
    /// What it needs before it may begin; nobody who reads a stream is held back.
    pub(super) turns: Option<Arc<Semaphore>>,
}

impl Work {
    /// The end of its streams is the end of its work.
    pub(super) fn end_streams(
        writers: &[(usize, Arc<StreamWriter>)],
        events: &NodeEvents,
        end: &Result<Outputs, NodeError>,
        is_caught: bool,
    ) {
        for (index, writer) in writers {
            match end {
                Ok(_) => writer.finish(),
                Err(error) => writer.fail(NodeError {
                    upstream: Some(match is_caught {
                        true => Skip::BranchNotTaken,
                        false => Skip::UpstreamFailed,
                    }),
                    ..error.clone()
                }),
            }
            if let Some(slot) = events.node.info.outputs.get(*index) {
                events.stream_end(&slot.key);
            }
        }
    }
}

pub(super) async fn run(task: Task, run: Arc<TaskRun>, shared: Arc<RunShared>) -> Message {
    let Task {
        number,
        mut part,
        work,
    } = task;
    let ledger = part.ledger();
    let cancel = work.context.cancel.clone();
    let turn = match &work.turns {
        None => None,
        Some(turns) => match turns.clone().try_acquire_owned() {
            Ok(turn) => Some(turn),
            Err(_) => {
                // Whoever waits for a turn is not at work: those who have one may be waiting for it.
                drop(part);
                let turn = tokio::select! {
                    turn = turns.clone().acquire_owned() => turn.ok(),
                    () = cancel.cancelled() => None,
                };
                part = ledger.join();
                turn
            }
        },
    };
    let (writers, events) = (work.writers.clone(), work.context.events.clone());
    let is_caught = work.is_caught;
    // Also what is around the node's own code must not take the run with it.
    let done = AssertUnwindSafe(run_cached(work, run, &shared))
        .catch_unwind()
        .await;
    let (end, is_cached) = done.unwrap_or_else(|panic| (Err(panicked(&*panic)), false));
    Work::end_streams(&writers, &events, &end, is_caught);
    drop(turn);
    let news = News::Node {
        node: number,
        end,
        is_cached,
    };
    Message { news, part }
}

async fn run_cached(
    task: Work,
    run: Arc<TaskRun>,
    shared: &RunShared,
) -> (Result<Outputs, NodeError>, bool) {
    let key = task.rules.cache_key.as_ref();
    let key = key.map(|key| digest(&shared.cache_scope, key, &task.io.inputs));
    if let Some(key) = &key
        && !shared.is_fresh
        && let Some(outputs) = shared.cache.get(key)
    {
        return (Ok(Outputs(outputs)), true);
    }
    let lent = task.context.kept.clone();
    let end = run_tries(task, run).await;
    if let (Some(key), Ok(outputs)) = (key, &end) {
        shared.cache.put(key, &outputs.0);
    }
    (end, lent.is_some_and(|lent| lent.is_taken()))
}

async fn run_tries(mut task: Work, run: Arc<TaskRun>) -> Result<Outputs, NodeError> {
    // A stream can be read once, so whoever reads one has one try.
    let mut left = if task.reads_streams {
        0
    } else {
        task.rules.retry
    };
    let cancel = task.context.cancel.clone();
    let mut delay = Duration::from_millis(task.rules.retry_delay_ms);
    loop {
        if let Some(lent) = &task.context.kept {
            lent.start_over();
        }
        let inputs = match left {
            0 => std::mem::take(&mut task.io.inputs),
            _ => copy(&task.io.inputs),
        };
        let io = TaskIo {
            io: Io {
                info: task.io.info.clone(),
                inputs,
                outputs: task.io.outputs.clone(),
            },
            context: task.context.clone(),
            writers: task.writers.clone(),
        };
        let error = match run_once(io, &run, &task).await {
            Ok(outputs) => return Ok(outputs),
            Err(error) => error,
        };
        let has_sent = task.writers.iter().any(|(_, writer)| writer.has_sent());
        if left == 0 || error.permanent || has_sent || cancel.is_cancelled() {
            return Err(error);
        }
        left -= 1;
        task.context.attempt += 1;
        let events = &task.context.events;
        if events.feed.is_followed() {
            events.feed.tell(EventBody::NodeError {
                node: events.node.clone(),
                error,
                retry: true,
            });
        }
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = cancel.cancelled() => return Err(NodeError::cancelled()),
        }
        delay = (delay * 2).min(MAX_RETRY_DELAY);
    }
}

async fn run_once(io: TaskIo, run: &Arc<TaskRun>, task: &Work) -> Result<Outputs, NodeError> {
    let cancel = &task.context.cancel;
    // Also making the future is the node's own code.
    let work = AssertUnwindSafe(async { run(io).await }).catch_unwind();
    let limit = async {
        match task.rules.timeout_ms {
            Some(limit) => tokio::time::sleep(Duration::from_millis(limit)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(NodeError::cancelled()),
        end = work => match end {
            Ok(end) => end,
            Err(panic) => Err(panicked(&*panic)),
        },
        () = limit => Err(NodeError::failed(
            "node.timeout",
            format!("it did not end within {} ms", task.rules.timeout_ms.unwrap_or_default()),
        )),
    }
}

fn copy(inputs: &[Input]) -> Vec<Input> {
    let copies = inputs.iter().map(|input| match input {
        Input::Absent | Input::Stream(_) => Input::Absent,
        Input::Value(value) => Input::Value(value.clone()),
        Input::Many(values) => Input::Many(values.clone()),
    });
    copies.collect()
}

pub(super) fn panicked(panic: &(dyn Any + Send)) -> NodeError {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_default();
    NodeError::invalid(
        "node.panicked",
        format!("the node has an error of its own ({text}); please report it"),
    )
}
