//! Agents that work for the one that has the run, driven beside it: each from when its task is given, and again after a
//! restart, until it is over or the run is let go.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use innkeeper_protocol::event::{InvocationId, RunId, TaskId};

use super::AgentError;
use super::drive::{AgentInstance, Gone};
use super::runtime::{AgentRuntime, RunHandle};
use crate::run::{Input, Why};
use crate::workspace::Workspaces;

type Driving = Pin<Box<dyn Future<Output = InvocationId> + Send>>;

/// Those at work.
#[derive(Default)]
pub(super) struct Children {
    at_work: HashMap<InvocationId, Arc<AgentInstance>>,
    driving: FuturesUnordered<Driving>,
}

impl Children {
    /// Takes up every agent that has no end, as long as it is polled. Looking for them and driving them go side by side, for
    /// both want the log.
    pub(super) async fn mind(&mut self, parent: &AgentInstance) -> Infallible {
        loop {
            let known: HashSet<InvocationId> = self.at_work.keys().cloned().collect();
            let mut news = std::pin::pin!(newcomers(parent, &known));
            let found = tokio::select! {
                Some(id) = self.driving.next(), if !self.driving.is_empty() => {
                    self.at_work.remove(&id);
                    Vec::new()
                }
                found = &mut news => found,
            };
            for (id, child) in found {
                self.at_work.insert(id.clone(), child.clone());
                self.driving.push(Box::pin(tend(child, id)));
            }
        }
    }

    /// Whoever has the run drives nobody any more: what they are at comes to its end, as when the run is let go.
    pub(super) async fn leave(mut self) {
        for child in self.at_work.values() {
            child.cancel.cancel();
        }
        while self.driving.next().await.is_some() {}
    }
}

/// Those that are at work and that nobody drives; ends when there are some.
async fn newcomers(
    parent: &AgentInstance,
    known: &HashSet<InvocationId>,
) -> Vec<(InvocationId, Arc<AgentInstance>)> {
    loop {
        if parent.log.fault().is_some() || parent.shared.closing.is_cancelled() {
            // Nobody is taken up any more.
            return std::future::pending().await;
        }
        let changed = parent.log.changed();
        // One that rests has nobody at work.
        let open = parent.log.peek(|run| {
            let children = run.children().into_iter();
            let living = children.filter(|(id, child)| !child.is_over() && !known.contains(*id));
            let living: Vec<InvocationId> = living.map(|(id, _)| id.clone()).collect();
            living
        });
        let mut found = Vec::new();
        for id in open.await.unwrap_or_default() {
            if let Ok(Some(child)) = parent.child(&id).await {
                found.push((id, child));
            }
        }
        if !found.is_empty() {
            return found;
        }
        changed.await;
    }
}

async fn tend(child: Arc<AgentInstance>, id: InvocationId) -> InvocationId {
    let desk = child.tools.caller().desk();
    let workspaces = child.shared.parts.workspaces.clone();
    workspaces.open(&desk, child.session.clone());
    let _open = Open { workspaces, desk };
    if child.is_recovered && child.end_lost_tasks().await.is_err() {
        return id;
    }
    tokio::select! {
        biased;
        () = child.drive_child() => {}
        never = stop_when_told(&child) => match never {},
    }
    id
}

/// Its run does not want it any more, or somebody has cancelled its task.
async fn stop_when_told(child: &AgentInstance) -> Infallible {
    loop {
        let changed = child.log.changed();
        if child.log.peek(|run| run.is_cancelling()).await == Some(true) {
            child.cancel.cancel();
            return std::future::pending().await;
        }
        changed.await;
    }
}

/// Also where driving it panics.
struct Open {
    workspaces: Workspaces,
    desk: RunId,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.workspaces.close(&self.desk);
    }
}

impl AgentInstance {
    /// Until nobody works for this one any more. They are being stopped.
    pub(super) async fn children_stopped(&self) -> Result<(), Gone> {
        loop {
            let changed = self.log.changed();
            if !self.log.read(|run| run.has_living_children()).await? {
                return Ok(());
            }
            if self.log.fault().is_some() || self.shared.closing.is_cancelled() {
                return Err(Gone);
            }
            tokio::select! {
                () = changed => {}
                () = self.shared.closing.cancelled() => return Err(Gone),
            }
        }
    }
}

impl AgentRuntime {
    /// Ends one task of a run, and nothing else of it; the agent that gave it is told. A task that is over stays as it is.
    pub async fn cancel_task(&self, run: &RunId, task: &TaskId) -> Result<RunHandle, AgentError> {
        let state = self.reader().state(run).await?;
        let Some((invocation, child)) = state.child_of_task(task) else {
            let message = format!(
                "the run '{run}' has no task '{task}'; `innkeeper runs show {run}` lists those it has"
            );
            let code = innkeeper_protocol::ErrorCode::AgentTaskNotFound;
            return Err(AgentError::new(code, message));
        };
        if !child.status.is_final() {
            let input = Input::Child {
                invocation: invocation.clone(),
                input: Box::new(Input::CancelRequested),
            };
            let is_done = |why: &Why| matches!(why, Why::Already | Why::Over | Why::Cancelling);
            self.feed(run, vec![input], is_done).await?;
        }
        Ok(RunHandle::from(&self.record(run).await?))
    }
}
