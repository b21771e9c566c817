//! `innkeeper runs cancel`: here if nobody drives the run, through its letterbox if somebody does. And the same for a run
//! that shall be gone.

use std::sync::Arc;

use innkeeper_agent::AgentRuntime;
use innkeeper_agent::instance::{RunHandle, RunMessage};
use innkeeper_protocol::event::{RunId, TaskId};
use innkeeper_store::{Store, StoreError};
use innkeeper_tools::policy::Nobody;
use serde_json::Value as Json;

use super::agents;
use super::find::find;
use super::words::status_word;
use crate::cli::RunsCancelArgs;
use crate::commands::Ended;
use crate::failure::{Failure, RunFault, in_words};
use crate::home::Home;
use crate::limits::{CANCEL_TIMEOUT, POLL_EVERY};
use crate::output::Screen;
use crate::platform::Platform;
use crate::runtime::block_on;

pub(super) fn run(args: &RunsCancelArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    if let Some(task) = &args.task {
        return one_task(args, &TaskId::new(task), home, screen);
    }
    let handle = with_runtime(home, screen, async |runtime, store| {
        let run = find(&runtime.reader(), &args.run).await?;
        cancelled(runtime, store, &run).await
    })?;
    match screen.json {
        true => screen.document(&handle)?,
        false => {
            let status = status_word(handle.status, screen.lang);
            screen.text(&format!("{}  {status}", handle.run_id))?;
        }
    }
    Ok(Ended::Done)
}

fn one_task(
    args: &RunsCancelArgs,
    task: &TaskId,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let (handle, ended) = with_runtime(home, screen, async |runtime, store| {
        let run = find(&runtime.reader(), &args.run).await?;
        task_cancelled(runtime, store, &run, task).await
    })?;
    if screen.json {
        let mut told = serde_json::to_value(&handle).unwrap_or_default();
        told["task"] = ended.task;
        screen.document(&told)?;
        return Ok(Ended::Done);
    }
    let status = ended.task["status"].as_str().unwrap_or_default();
    let status = agents::status(status, screen);
    screen.text(&format!("{task}  {status}"))?;
    if ended.was_over {
        let why = ended.task["error"]["message"].as_str();
        let why = why.map(|why| in_words(why, screen.lang));
        let why = why.map(|why| screen.pick(format!(": {why}"), format!("：{why}")));
        let why = why.unwrap_or_default();
        screen.note(
            &format!("The task was over already ({status}){why}"),
            &format!("任务早已结束（{status}）{why}"),
        );
    }
    Ok(Ended::Done)
}

/// What became of a task.
struct TaskEnd {
    task: Json,
    /// Before anybody wanted to end it.
    was_over: bool,
}

/// For work on runs that needs the home only for a moment, if at all.
pub(super) fn with_runtime<T>(
    home: &Home,
    screen: &Screen,
    work: impl AsyncFnOnce(&AgentRuntime, &Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    block_on(async {
        let platform = Platform::open(home, Arc::new(Nobody)).await?;
        let runtime = platform.agents(screen.lang)?;
        let done = work(&runtime, platform.tools.store()).await;
        runtime.close().await;
        platform.close().await?;
        done
    })
}

async fn cancelled(
    runtime: &AgentRuntime,
    store: &Store,
    run: &RunId,
) -> Result<RunHandle, Failure> {
    let mut elsewhere = Elsewhere::new(runtime, store, run);
    loop {
        let record = runtime.record(run).await?;
        if record.status.is_terminal() {
            return Ok(RunHandle::from(&record));
        }
        if let Some(_lock) = elsewhere.claimed().await? {
            runtime.cancel(run).await?;
            return Ok(runtime.wait(run).await?);
        }
        if !elsewhere.told(&RunMessage::Cancel).await? {
            let run = run.to_string();
            return Err(RunFault::NotCancelled { run }.into());
        }
    }
}

/// One task of a run that is at work. Of one that nobody drives, nothing is at work.
async fn task_cancelled(
    runtime: &AgentRuntime,
    store: &Store,
    run: &RunId,
    task: &TaskId,
) -> Result<(RunHandle, TaskEnd), Failure> {
    let mut elsewhere = Elsewhere::new(runtime, store, run);
    let wanted = RunMessage::CancelTask { task: task.clone() };
    let mut was_over = true;
    loop {
        let mut detail = runtime.reader().task_detail(run, task).await?;
        let status = detail["task"]["status"].as_str().unwrap_or_default();
        if !matches!(status, "queued" | "running") {
            let handle = RunHandle::from(&runtime.record(run).await?);
            let task = detail["task"].take();
            return Ok((handle, TaskEnd { task, was_over }));
        }
        was_over = false;
        let run = run.to_string();
        if elsewhere.claimed().await?.is_some() {
            return Err(RunFault::NotDriven { run }.into());
        }
        if !elsewhere.told(&wanted).await? {
            return Err(RunFault::NotCancelled { run }.into());
        }
    }
}

/// Cancelled if it is not over, and then gone, both by the one who holds the home all the while: so nobody takes it up in
/// between. Says whether there was such a run.
pub(super) async fn deleted(
    runtime: &AgentRuntime,
    store: &Store,
    run: &RunId,
) -> Result<bool, Failure> {
    let mut elsewhere = Elsewhere::new(runtime, store, run);
    let mut was_there = false;
    loop {
        let Some(record) = runtime.journal().record(run).await? else {
            return Ok(was_there);
        };
        was_there = true;
        let is_over = record.status.is_terminal() || record.is_slim;
        if let Some(_lock) = elsewhere.claimed().await? {
            if !is_over {
                runtime.cancel(run).await?;
                runtime.wait(run).await?;
            }
            return Ok(runtime.delete(run).await?);
        }
        let wanted = match is_over {
            true => RunMessage::Delete,
            false => RunMessage::Cancel,
        };
        if !elsewhere.told(&wanted).await? {
            let run = run.to_string();
            return Err(match is_over {
                true => RunFault::NotDeleted { run }.into(),
                false => RunFault::NotCancelled { run }.into(),
            });
        }
    }
}

/// The process that drives the runs, as long as there is one. It may be gone when a message arrives, so both ways are
/// tried until one has led somewhere.
pub(super) struct Elsewhere<'r> {
    runtime: &'r AgentRuntime,
    store: &'r Store,
    run: &'r RunId,
    /// What was said last, and the number of the message.
    left: Option<(RunMessage, u64)>,
    until: tokio::time::Instant,
}

impl<'r> Elsewhere<'r> {
    pub(super) fn new(runtime: &'r AgentRuntime, store: &'r Store, run: &'r RunId) -> Self {
        Self {
            runtime,
            store,
            run,
            left: None,
            until: tokio::time::Instant::now() + CANCEL_TIMEOUT,
        }
    }

    /// Nobody drives the runs: they are ours.
    pub(super) async fn claimed(&self) -> Result<Option<innkeeper_store::HomeLock>, Failure> {
        match self.store.claim_home().await {
            Ok(lock) => {
                // What nobody has read must not hit the run when it is resumed.
                if let Some((_, number)) = self.left {
                    self.store.control().settle(&[number]).await?;
                }
                Ok(Some(lock))
            }
            Err(StoreError::InUse { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// It must not be told when nobody expects it any more.
    pub(super) async fn withdraw(&self) -> Result<(), Failure> {
        match self.left {
            Some((_, number)) => Ok(self.store.control().settle(&[number]).await?),
            None => Ok(()),
        }
    }

    /// Says it, once, and waits a little. Not if it has been waited for long enough.
    pub(super) async fn told(&mut self, message: &RunMessage) -> Result<bool, Failure> {
        let is_left = match &self.left {
            Some((said, number)) if said == message => {
                let before = number.saturating_sub(1);
                let waiting = self.store.control().waiting(before).await?;
                let is_waiting = waiting.iter().any(|waiting| waiting.number == *number);
                // What was left for a run that is over is thrown away by whoever takes the home over.
                is_waiting || !matches!(message, RunMessage::Delete)
            }
            _ => false,
        };
        if !is_left {
            let number = self.runtime.leave_message(self.run, message).await?;
            self.left = Some((message.clone(), number));
        }
        if tokio::time::Instant::now() >= self.until {
            return Ok(false);
        }
        tokio::time::sleep(POLL_EVERY).await;
        Ok(true)
    }
}
