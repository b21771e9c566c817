//! What other processes want of the runs that this one drives: they leave a message, and here it is acted upon.
//!
//! Only whoever holds the home attends. A message may be found twice after a crash; each of them does the same the second
//! time as the first.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{RunId, TaskId};
use innkeeper_store::{Control, ControlMessage};
use serde::{Deserialize, Serialize};

use super::runtime::AgentRuntime;
use super::{AgentError, ApproveToolCall};

/// What can be said to a run through its letterbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum RunMessage {
    Cancel,
    /// One task that its agent gave to another.
    CancelTask {
        task: TaskId,
    },
    /// Of a run that is over.
    Delete,
    Guide {
        text: String,
        /// The same piece twice is one.
        client_guidance_id: String,
    },
    /// A person's answer to a question.
    Approve(ApproveToolCall),
    /// One more checkpoint, of the files as they are.
    Checkpoint {
        /// The same request twice is one.
        request_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
}

/// The letterbox of this house's runs.
pub struct Mailbox {
    runtime: AgentRuntime,
    control: Arc<dyn Control>,
    last: u64,
}

impl AgentRuntime {
    /// For the process that holds the home. What was left for runs that are over is taken out: it must not hit them when
    /// they are resumed.
    pub async fn open_mailbox(&self) -> Result<Mailbox, AgentError> {
        let control = self.0.parts.tools.store().control();
        let mut mailbox = Mailbox {
            runtime: self.clone(),
            control,
            last: 0,
        };
        loop {
            let waiting = mailbox.control.waiting(mailbox.last).await?;
            if waiting.is_empty() {
                mailbox.last = 0;
                return Ok(mailbox);
            }
            mailbox.last = waiting.last().map_or(mailbox.last, |last| last.number);
            let mut dead = Vec::new();
            for message in &waiting {
                let record = mailbox.runtime.0.journal.record(&message.run).await?;
                if record.is_none_or(|record| record.status.is_terminal()) {
                    dead.push(message.number);
                }
            }
            mailbox.control.settle(&dead).await?;
        }
    }

    /// Removes a run that is over, with its events and files, and with what of its states nobody can come to without it; says
    /// whether there was one. For the process that holds the home: nobody can take the run up meanwhile.
    pub async fn delete(&self, run: &RunId) -> Result<bool, AgentError> {
        let _taking_up = self.0.taking_up.lock().await;
        let Some(record) = self.0.journal.record(run).await? else {
            return Ok(false);
        };
        // What a repair has left of a slim run may have no end, and nothing to be cancelled.
        let is_over = record.status.is_terminal() || record.is_slim;
        if !is_over || self.is_alive(run) {
            let message = format!("the run '{run}' is not over; cancel it first");
            return Err(AgentError::new(ErrorCode::AgentValidationError, message));
        }
        let states = self.0.persist.as_ref();
        let belongings = self.reader().belongings(states, &record).await?;
        Ok(self.0.journal.delete_with(run, &belongings).await?)
    }

    /// Leaves a message for whoever drives the run. Gives its number.
    pub async fn leave_message(
        &self,
        run: &RunId,
        message: &RunMessage,
    ) -> Result<u64, AgentError> {
        self.record(run).await?;
        let message = serde_json::to_value(self.without_secrets(message)).unwrap_or_default();
        let control = self.0.parts.tools.store().control();
        Ok(control.send(run, message).await?)
    }

    /// What people say beside what they want; whoever drives the run need not read it as it was typed.
    fn without_secrets(&self, message: &RunMessage) -> RunMessage {
        let mut message = message.clone();
        let words = match &mut message {
            RunMessage::Approve(answer) => answer.reason.as_mut(),
            RunMessage::Checkpoint { note, .. } => note.as_mut(),
            RunMessage::Cancel
            | RunMessage::CancelTask { .. }
            | RunMessage::Delete
            | RunMessage::Guide { .. } => None,
        };
        if let Some(words) = words {
            *words = self.said(words);
        }
        message
    }
}

impl Mailbox {
    /// Acts on messages as they come, until it is dropped or the store is closed.
    pub async fn attend(mut self) -> Result<(), AgentError> {
        loop {
            let messages = self.control.receive(self.last).await?;
            let mut settled = Vec::with_capacity(messages.len());
            for message in messages {
                self.last = self.last.max(message.number);
                self.act(&message).await;
                settled.push(message.number);
            }
            self.control.settle(&settled).await?;
        }
    }

    /// What cannot be done (the run is over, or takes nothing more) is done with: its sender sees it in the run itself.
    async fn act(&self, message: &ControlMessage) {
        let run = &message.run;
        match serde_json::from_value(message.message.clone()) {
            Ok(RunMessage::Cancel) => drop(self.runtime.cancel(run).await),
            // Of a run that nobody drives, nothing is at work.
            Ok(RunMessage::CancelTask { .. }) if !self.runtime.is_alive(run) => {}
            Ok(RunMessage::CancelTask { task }) => drop(self.runtime.cancel_task(run, &task).await),
            Ok(RunMessage::Delete) => drop(self.runtime.delete(run).await),
            // A word to a run is no reason to take it up: nobody here has asked for that.
            Ok(RunMessage::Guide { .. }) if !self.runtime.is_alive(run) => {}
            Ok(RunMessage::Guide {
                text,
                client_guidance_id,
            }) => drop(
                self.runtime
                    .guide(run, &text, Some(client_guidance_id))
                    .await,
            ),
            // The run is where the message lies; it is no word to another.
            Ok(RunMessage::Approve(answer)) if answer.run == *run => {
                drop(self.runtime.note_approval(answer).await);
            }
            Ok(RunMessage::Approve(_)) => {}
            Ok(RunMessage::Checkpoint { request_id, note }) => {
                let note = note.as_deref().unwrap_or_default();
                drop(self.runtime.note_checkpoint(run, &request_id, note).await);
            }
            // Of a version that knows more than this one.
            Err(_) => {}
        }
    }
}
