//! Publishing to the chat: the host is asked once, and answers once, whatever happens in between.

use std::sync::Arc;

use innkeeper_protocol::event::{
    CallId, ChatCommitCompleted, ChatCommitFailed, ChatCommitRecorded, ChatCommitRequested,
    ChatCommitStarted, CheckpointId, CommitId, InvocationId, RunEventKind, RunStatus,
};
use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::AgentRun;
use super::apply::Out;
use super::model::short;
use super::turn::CallState;
use crate::workspace::state::FileInfo;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Commit {
    pub commit: CommitId,
    pub call: CallId,
    pub round: u32,
    pub path: String,
    pub mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub file: FileInfo,
    pub checkpoint: CheckpointId,
    /// When the host was first asked.
    #[serde(default)]
    pub asked_at: Timestamp,
    pub answer: CommitAnswer,
    /// The run did not wait for the host's answer any longer. It may have published all the same, and say so later.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given_up: bool,
    /// By which rollback. It counts no more, and the host was told to take it out of the chat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "answer",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum CommitAnswer {
    Pending,
    Confirmed {
        message_id: String,
        message_index: Option<u64>,
        at: Timestamp,
    },
    Failed {
        message: String,
    },
}

impl Commit {
    pub fn is_pending(&self) -> bool {
        self.answer == CommitAnswer::Pending
    }

    /// That it was published would still be news.
    pub(super) fn is_unsettled(&self) -> bool {
        self.is_pending() || (self.given_up && !self.is_confirmed())
    }

    pub fn is_confirmed(&self) -> bool {
        self.message_id().is_some()
    }

    /// It is published, and a work of the run.
    pub fn counts(&self) -> bool {
        self.is_confirmed() && self.withdrawn.is_none()
    }

    /// Under which the host published it.
    pub fn message_id(&self) -> Option<&str> {
        match &self.answer {
            CommitAnswer::Confirmed { message_id, .. } => Some(message_id),
            _ => None,
        }
    }
}

impl AgentRun {
    pub(super) fn commit_requested(
        &mut self,
        commit: &CommitId,
        call: &CallId,
        (path, mode, reason): (&str, &str, Option<&str>),
        file: &FileInfo,
        out: &mut Out,
    ) {
        let started = ChatCommitStarted {
            commit_id: commit.clone(),
            invocation_id: InvocationId::root(),
            call_id: call.clone(),
            path: path.to_owned(),
            mode: mode.to_owned(),
            reason: reason.map(str::to_owned),
            extra: Map::new(),
        };
        out.push(RunEventKind::ChatCommitStarted(started).into());
        self.turn_to(RunStatus::CreatingCheckpoint, out);
        let checkpoint = self.checkpoint("chat_commit", out);
        let commit = Commit {
            commit: commit.clone(),
            call: call.clone(),
            round: self.spent.rounds,
            path: path.to_owned(),
            mode: mode.to_owned(),
            reason: reason.map(str::to_owned),
            file: file.clone(),
            checkpoint,
            asked_at: self.at,
            answer: CommitAnswer::Pending,
            given_up: false,
            withdrawn: None,
        };
        self.commits.push(commit);
        self.offer_commit(Map::new(), out);
    }

    /// What the host hears.
    pub(super) fn offer_commit(&mut self, extra: Map<String, Json>, out: &mut Out) {
        let Some(commit) = self.pending_commit() else {
            return;
        };
        let created = &self.created;
        let mut extra = extra;
        extra.insert("bytes".to_owned(), commit.file.bytes.into());
        let requested = ChatCommitRequested {
            commit_id: commit.commit.clone(),
            invocation_id: InvocationId::root(),
            call_id: commit.call.clone(),
            run_id: created.run_id.clone(),
            workspace_id: created.workspace_id.clone(),
            stable_chat_id: created.stable_chat_id.clone(),
            chat_ref: created.chat_ref.clone(),
            generation_type: created.generation_type.clone(),
            profile_id: Some(created.profile_id.clone()),
            persist_base_state_id: created.persist_base_state_id.clone(),
            path: commit.path.clone(),
            mode: commit.mode.clone(),
            reason: commit.reason.clone(),
            chars: commit.file.chars,
            words: commit.file.words,
            sha256: commit.file.sha256.as_str().to_owned(),
            checkpoint_id: commit.checkpoint.clone(),
            extra,
        };
        self.turn_to(RunStatus::AwaitingHostCommit, out);
        out.push(RunEventKind::ChatCommitRequested(requested).into());
    }

    pub(super) fn commit_resolved(
        &mut self,
        id: &CommitId,
        message_id: &str,
        message_index: Option<u64>,
        out: &mut Out,
    ) {
        let at = self.at;
        let Some(commit) = self.commit_mut(id) else {
            return;
        };
        commit.answer = CommitAnswer::Confirmed {
            message_id: message_id.to_owned(),
            message_index,
            at,
        };
        if commit.given_up && commit.withdrawn.is_none() {
            let commit = commit.clone();
            self.tell_late(&commit);
        }
        let was_over = self.is_over();
        if was_over {
            self.take_end_back("late_commit", out);
        }
        let Some(commit) = self.commit(id) else {
            return;
        };
        let completed = ChatCommitCompleted {
            commit_id: commit.commit.clone(),
            invocation_id: InvocationId::root(),
            call_id: commit.call.clone(),
            path: commit.path.clone(),
            mode: commit.mode.clone(),
            message_id: message_id.to_owned(),
            message_index,
            extra: Map::new(),
        };
        let (path, mode) = (commit.path.clone(), commit.mode.clone());
        let recorded = ChatCommitRecorded {
            commit_count: self.commit_count(),
            path,
            mode,
            message_id: message_id.to_owned(),
            extra: Map::new(),
        };
        out.push(RunEventKind::ChatCommitCompleted(completed).into());
        out.push(RunEventKind::ChatCommitRecorded(recorded).into());
        if was_over {
            self.end_again(out);
        }
    }

    /// The model believes that nothing was published. Where it goes on, it must not publish a second time.
    fn tell_late(&mut self, commit: &Commit) {
        let outcome = Outcome::Success {
            result: json!({
                "path": commit.path,
                "mode": commit.mode,
                "messageId": commit.message_id(),
                "note": "the host has published it after all; its answer came late",
            }),
            spilled: None,
        };
        match self.call_mut(&commit.call).map(|call| &mut call.state) {
            Some(CallState::Ended { observation, .. }) => {
                Arc::make_mut(observation).outcome = outcome;
            }
            Some(_) => {}
            None => {
                let tool = "workspace.commit";
                self.arrived.push(Arc::new(Observation::new(tool, outcome)));
            }
        }
    }

    /// What the host cannot do, no model can mend: the run ends. A run that is being cancelled ends as such.
    pub(super) fn commit_failed(
        &mut self,
        id: &CommitId,
        message: &str,
        timed_out: bool,
        out: &mut Out,
    ) {
        self.give_up_commit(id, message, out);
        if let Some(commit) = self.commit_mut(id) {
            commit.given_up = timed_out;
        }
        if !self.is_cancelling() {
            self.fail(
                ErrorCode::CommitSaveFailed,
                format!("The host could not publish: {message}"),
                Some("agent.chat_commit_failed".to_owned()),
                out,
            );
        }
    }

    pub(super) fn give_up_commit(&mut self, id: &CommitId, message: &str, out: &mut Out) {
        let Some(commit) = self.commit_mut(id) else {
            return;
        };
        commit.given_up = true;
        commit.answer = CommitAnswer::Failed {
            message: message.to_owned(),
        };
        let failed = ChatCommitFailed {
            commit_id: commit.commit.clone(),
            invocation_id: InvocationId::root(),
            call_id: commit.call.clone(),
            path: commit.path.clone(),
            mode: commit.mode.clone(),
            message: short(message),
            extra: Map::new(),
        };
        out.push(RunEventKind::ChatCommitFailed(failed).into());
    }

    fn commit_mut(&mut self, id: &CommitId) -> Option<&mut Commit> {
        let mut newest_first = self.commits.iter_mut().rev();
        newest_first.find(|commit| commit.commit == *id)
    }
}
