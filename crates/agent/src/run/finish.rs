//! A good end: what changed in `persist` is kept, the host is told, and the run is complete.

use std::collections::BTreeMap;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    AgentLoopFinished, CallId, ChangeKind, InvocationChanged, InvocationId, MetadataUpdateFailed,
    MetadataUpdateRequested, MetadataUpdated, PersistentChange, PersistentChangesCommitFailed,
    PersistentChangesCommitted, RunEventKind, RunStatus,
};
use serde_json::{Map, Value as Json, json};

use super::AgentRun;
use super::apply::Out;
use super::model::{fields, short};
use super::start::PERSIST;
use super::state::{Finish, Phase, Stage};

impl AgentRun {
    pub(super) fn finish_called(&mut self, call: &CallId, reason: Option<&str>) {
        self.finish = Some(Finish {
            call: call.clone(),
            reason: reason.map(str::to_owned),
        });
    }

    /// The model has said its last. What goes on in the background is stopped next, before anything is kept.
    pub(super) fn finish_loop(
        &mut self,
        ended_by: Option<&str>,
        reason: Option<String>,
        out: &mut Out,
    ) {
        let is_cut_off = self
            .turn
            .as_ref()
            .is_some_and(|turn| turn.reply.is_cut_off());
        let finished = AgentLoopFinished {
            commit_count: self.commit_count(),
            round: self.spent.rounds,
            invocation_id: InvocationId::root(),
            ended_by: ended_by.map(str::to_owned),
            extra: fields(json!({
                "reason": reason,
                "cutOff": is_cut_off.then_some(true),
            })),
        };
        out.push(RunEventKind::AgentLoopFinished(finished).into());
        self.cancel_children("the run has finished", out);
        self.turn_to(RunStatus::Finishing, out);
        self.phase = Phase::Persisting;
    }

    /// What is different in `persist` from what the run found there, by path.
    pub fn persist_changes(&self) -> Vec<PersistentChange> {
        let now: BTreeMap<_, _> = self
            .workspace
            .files
            .range(PERSIST.to_owned()..)
            .take_while(|(path, _)| path.starts_with(PERSIST))
            .collect();
        let change = |path: &str, kind, sha256: Option<&str>| PersistentChange {
            path: path.to_owned(),
            kind,
            sha256: sha256.map(str::to_owned),
            extra: Map::new(),
        };
        let mut changes: Vec<_> = now
            .iter()
            .filter_map(|(path, file)| {
                let kind = match self.persist_base.get(*path) {
                    None => ChangeKind::Added,
                    Some(base) if *base != file.sha256 => ChangeKind::Modified,
                    Some(_) => return None,
                };
                Some(change(path, kind, Some(file.sha256.as_str())))
            })
            .collect();
        let gone = self
            .persist_base
            .keys()
            .filter(|path| !now.contains_key(path));
        changes.extend(gone.map(|path| change(path, ChangeKind::Deleted, None)));
        changes.sort_by(|one, other| one.path.cmp(&other.path));
        changes
    }

    /// What it has left for later runs, unless that was taken back.
    pub fn kept_state(&self) -> Option<&str> {
        self.kept_state.as_deref()
    }

    pub(super) fn persist_committed(&mut self, state_id: &str, out: &mut Out) {
        self.kept_state = Some(state_id.to_owned());
        let changes = self.persist_changes();
        let committed = PersistentChangesCommitted {
            state_id: state_id.to_owned(),
            base_state_id: self.created.persist_base_state_id.clone(),
            change_count: changes.len() as u64,
            changes,
            extra: Map::new(),
        };
        out.push(RunEventKind::PersistentChangesCommitted(committed).into());
        if self.commits().next().is_none() {
            return self.complete(out);
        }
        self.phase = Phase::Updating {
            state_id: state_id.to_owned(),
            update_id: None,
            asked_at: None,
        };
    }

    pub(super) fn persist_failed(&mut self, message: &str, out: &mut Out) {
        let failed = PersistentChangesCommitFailed {
            message: short(message),
            extra: Map::new(),
        };
        out.push(RunEventKind::PersistentChangesCommitFailed(failed).into());
        self.fail(
            ErrorCode::WorkspaceStorageFailed,
            format!("What the run leaves for later runs could not be kept: {message}"),
            Some("agent.persistent_changes_commit_failed".to_owned()),
            out,
        );
    }

    pub(super) fn update_requested(&mut self, id: &str, out: &mut Out) {
        if let Phase::Updating {
            update_id,
            asked_at,
            ..
        } = &mut self.phase
        {
            *update_id = Some(id.to_owned());
            *asked_at = Some(self.at);
        }
        self.offer_update(Map::new(), out);
    }

    /// What the host hears.
    pub(super) fn offer_update(&self, extra: Map<String, Json>, out: &mut Out) {
        let Some((update_id, state_id)) = self.update() else {
            return;
        };
        let created = &self.created;
        let changes = self.persist_changes();
        let requested = MetadataUpdateRequested {
            update_id,
            run_id: created.run_id.clone(),
            workspace_id: created.workspace_id.clone(),
            stable_chat_id: created.stable_chat_id.clone(),
            chat_ref: created.chat_ref.clone(),
            generation_type: created.generation_type.clone(),
            profile_id: Some(created.profile_id.clone()),
            message_id: self.last_message(),
            state_id,
            base_state_id: created.persist_base_state_id.clone(),
            change_count: changes.len() as u64,
            changes,
            extra,
        };
        out.push(RunEventKind::PersistentStateMetadataUpdateRequested(requested).into());
    }

    pub(super) fn metadata_updated(&mut self, out: &mut Out) {
        if let Some((update_id, state_id)) = self.update() {
            let updated = MetadataUpdated {
                update_id,
                message_id: self.last_message(),
                state_id,
                extra: Map::new(),
            };
            out.push(RunEventKind::PersistentStateMetadataUpdated(updated).into());
        }
        self.complete(out);
    }

    /// Later runs of the chat would not find what this one kept, so it is no success.
    pub(super) fn metadata_update_failed(&mut self, message: &str, out: &mut Out) {
        if let Some((update_id, state_id)) = self.update() {
            let failed = MetadataUpdateFailed {
                update_id,
                message_id: self.last_message(),
                state_id,
                message: short(message),
                extra: Map::new(),
            };
            out.push(RunEventKind::PersistentStateMetadataUpdateFailed(failed).into());
        }
        self.fail(
            ErrorCode::CommitSaveFailed,
            format!("The host could not note in its message what the run has kept: {message}"),
            Some("agent.persistent_state_metadata_update_failed".to_owned()),
            out,
        );
    }

    fn update(&self) -> Option<(String, String)> {
        match &self.phase {
            Phase::Updating {
                state_id,
                update_id: Some(update_id),
                ..
            } => Some((update_id.clone(), state_id.clone())),
            _ => None,
        }
    }

    fn last_message(&self) -> String {
        let last = self.commits().next_back();
        let id = last.and_then(|commit| commit.message_id());
        id.unwrap_or_default().to_owned()
    }

    fn complete(&mut self, out: &mut Out) {
        let completed = InvocationChanged {
            invocation_id: InvocationId::root(),
            status: Some("completed".to_owned()),
            message: None,
            extra: Map::new(),
        };
        out.push(RunEventKind::AgentInvocationCompleted(completed).into());
        self.turn_to(RunStatus::Completed, out);
        out.push(RunEventKind::RunCompleted.into());
        self.paused = false;
        self.phase = Phase::Over { from: Stage::End };
    }
}
