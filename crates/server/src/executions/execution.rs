//! One execution: how it stands, what happens in it, what came of it.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use innkeeper_engine::{
    EventBody, Execution as Running, ExecutionEvent, ExecutionOutcome, ExecutionStatus, Heard,
    Subscription, Value,
};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::log::Log;
use super::{Executions, Follower};

/// What is known of one before it begins.
pub(crate) struct New {
    pub(crate) id: String,
    /// The workflow's name.
    pub(crate) name: String,
    /// The id in its file.
    pub(crate) workflow: Option<String>,
    pub(crate) project: String,
    pub(crate) cancel: CancellationToken,
    pub(crate) now: Timestamp,
}

pub(crate) struct Execution {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) workflow: Option<String>,
    pub(crate) project: String,
    pub(crate) started_at: Timestamp,
    cancel: CancellationToken,
    pub(super) log: Log,
    status: Mutex<ExecutionStatus>,
    end: OnceLock<End>,
    has_ended: watch::Sender<bool>,
}

pub(crate) struct End {
    pub(crate) at: Timestamp,
    pub(crate) outcome: ExecutionOutcome,
}

impl Execution {
    pub(super) fn new(new: New) -> Self {
        Self {
            id: new.id,
            name: new.name,
            workflow: new.workflow,
            project: new.project,
            started_at: new.now,
            cancel: new.cancel,
            log: Log::default(),
            status: Mutex::new(ExecutionStatus::Queued),
            end: OnceLock::new(),
            has_ended: watch::Sender::new(false),
        }
    }

    pub(crate) fn status(&self) -> ExecutionStatus {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn end(&self) -> Option<&End> {
        self.end.get()
    }

    pub(crate) fn last_seq(&self) -> u64 {
        self.log.last()
    }

    /// How many of the events after that number are kept no more, and the first of the others.
    pub(crate) fn events(&self, after: u64, most: usize) -> (u64, Vec<Arc<ExecutionEvent>>) {
        self.log.after(after, most)
    }

    pub(crate) fn follow(self: &Arc<Self>, after: u64) -> Follower {
        Follower::new(self.clone(), after)
    }

    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Until it has ended, but no longer than that.
    pub(crate) async fn wait(&self, long: Duration) {
        let mut ended = self.has_ended.subscribe();
        let ended = ended.wait_for(|ended| *ended);
        // Whether it has, whoever waited will look.
        let _ = tokio::time::timeout(long, ended).await;
    }

    pub(super) fn bytes(&self) -> usize {
        let outputs = self.end.get().map_or(0, |end| {
            let outputs = end.outcome.outputs.iter();
            outputs.map(|(_, value)| Value::weight(value)).sum()
        });
        self.log.bytes() + outputs
    }

    fn hear(&self, heard: Heard) {
        // What was lost shows as a gap in the numbers.
        let Heard::Event(event) = heard else {
            return;
        };
        if let EventBody::Status { status, .. } = &event.body
            && !status.is_end()
        {
            self.stands(*status);
        }
        self.log.add(event);
    }

    fn stands(&self, status: ExecutionStatus) {
        *self.status.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    pub(super) fn finish(&self, outcome: ExecutionOutcome, at: Timestamp) {
        let status = outcome.status;
        let _ = self.end.set(End { at, outcome });
        self.stands(status);
        self.log.close();
        self.has_ended.send_replace(true);
    }
}

/// Stays with one to its end, and hears all that is told of it.
pub(crate) async fn drive(
    executions: Executions,
    execution: Arc<Execution>,
    mut events: Subscription,
    running: Running,
) {
    let mut outcome = std::pin::pin!(running.outcome());
    let outcome = loop {
        tokio::select! {
            biased;
            heard = events.next() => execution.hear(heard),
            outcome = &mut outcome => break outcome,
        }
    };
    while let Some(heard) = events.try_next() {
        execution.hear(heard);
    }
    execution.finish(outcome, Timestamp::now());
    executions.tidy();
}
