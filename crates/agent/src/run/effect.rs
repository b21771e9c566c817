//! What a call did to the workspace: it takes effect here, with the call's end, and is told.

use innkeeper_protocol::event::{
    CallId, CheckpointCreated, CheckpointId, InvocationId, RunEventKind, RunStatus, StateUpdated,
    WorkspaceFileDeleted, WorkspaceFileWritten, WorkspacePatchApplied,
};
use innkeeper_tools::builtin::state::StateScope;
use serde_json::{Map, Value as Json};

use super::AgentRun;
use super::apply::Out;
use super::names::checkpoint_id;
use crate::limits::MAX_REQUESTS_KNOWN;
use crate::state::WorldChange;
use crate::workspace::state::{FileChange, How, WorkspaceChange};

impl AgentRun {
    /// Whether anything is different now.
    pub(super) fn change_workspace(&mut self, change: &WorkspaceChange, out: &mut Out) -> bool {
        for (path, read) in &change.reads {
            self.workspace.reads.insert(path.clone(), read.clone());
        }
        if change.files.is_empty() {
            return false;
        }
        let patched = |file: &FileChange| matches!(file.how, How::Patched { .. });
        let made_by_hand = |file: &FileChange| !matches!(file.how, How::Spilled);
        if change.files.iter().any(patched) {
            self.turn_to(RunStatus::ApplyingWorkspacePatch, out);
        }
        let keeps = change.files.iter().any(made_by_hand);
        if keeps {
            self.turn_to(RunStatus::CreatingCheckpoint, out);
        }
        let mut changed = false;
        for file in &change.files {
            changed |= self.change_file(file);
            out.push(told(file).into());
        }
        if keeps {
            let is_state = |file: &FileChange| matches!(file.how, How::State { .. });
            let deleted = |file: &FileChange| matches!(file.how, How::Deleted);
            let by_hand = || change.files.iter().filter(|file| made_by_hand(file));
            let reason = match change.files.iter().any(patched) {
                true => "tool_workspace_patch",
                false if by_hand().all(is_state) => "tool_state_update",
                false if by_hand().all(deleted) => "tool_workspace_delete",
                false => "tool_workspace_write",
            };
            self.checkpoint(reason, out);
        }
        changed
    }

    /// The world has it already; here it is told.
    pub(super) fn world_changed(&mut self, call: &CallId, changes: &[WorldChange], out: &mut Out) {
        for WorldChange { version, paths } in changes {
            // Who does the same again has got further.
            self.repeated = None;
            out.push(updated(call, StateScope::World, *version, paths, Map::new()).into());
        }
    }

    pub(super) fn change_file(&mut self, file: &FileChange) -> bool {
        let files = &mut self.workspace.files;
        let before = match &file.new {
            Some(new) => files.insert(file.path.clone(), new.clone()),
            None => {
                self.workspace.reads.remove(&file.path);
                files.remove(&file.path)
            }
        };
        before != file.new
    }

    /// The files are as they were before; only now they have a name.
    pub(super) fn checkpoint_requested(
        &mut self,
        request_id: &str,
        note: Option<&str>,
        out: &mut Out,
    ) {
        self.requested.push(request_id.to_owned());
        if self.requested.len() > MAX_REQUESTS_KNOWN {
            self.requested.remove(0);
        }
        self.checkpoint("requested", out);
        let last = out.last_mut().map(|draft| &mut draft.kind);
        if let Some(RunEventKind::CheckpointCreated(created)) = last {
            let mut tell = |key: &str, value: &str| {
                created.extra.insert(key.to_owned(), value.into());
            };
            tell("requestId", request_id);
            if let Some(note) = note {
                tell("note", note);
            }
        }
    }

    pub(super) fn checkpoint(&mut self, reason: &str, out: &mut Out) -> CheckpointId {
        self.workspace.checkpoints += 1;
        let id = checkpoint_id(self.workspace.checkpoints);
        let created = CheckpointCreated {
            checkpoint_id: id.clone(),
            reason: reason.to_owned(),
            extra: Map::new(),
        };
        out.push(RunEventKind::CheckpointCreated(created).into());
        id
    }
}

fn updated(
    call: &CallId,
    scope: StateScope,
    version: u64,
    paths: &[String],
    extra: Map<String, Json>,
) -> RunEventKind {
    RunEventKind::StateUpdated(StateUpdated {
        invocation_id: InvocationId::root(),
        call_id: call.clone(),
        scope: scope.as_str().to_owned(),
        version,
        paths: paths.to_vec(),
        extra,
    })
}

fn told(file: &FileChange) -> RunEventKind {
    let invocation_id = InvocationId::root();
    let path = file.path.clone();
    let old_sha256 = file.old.as_ref().map(|old| old.sha256.as_str().to_owned());
    let Some(new) = &file.new else {
        return RunEventKind::WorkspaceFileDeleted(WorkspaceFileDeleted {
            invocation_id,
            path,
            old_sha256,
            extra: Map::new(),
        });
    };
    let (chars, words) = (new.chars, new.words);
    let sha256 = new.sha256.as_str().to_owned();
    let extra = Map::from_iter([("bytes".to_owned(), new.bytes.into())]);
    let mode = match &file.how {
        How::State {
            call,
            version,
            paths,
        } => {
            return updated(call, StateScope::Private, *version, paths, extra);
        }
        How::Patched { replacements } => {
            return RunEventKind::WorkspacePatchApplied(WorkspacePatchApplied {
                invocation_id,
                path,
                chars,
                words,
                old_sha256: old_sha256.unwrap_or_default(),
                sha256,
                replacements: *replacements,
                extra,
            });
        }
        How::Written { mode } => mode.as_str(),
        How::Spilled => "spill",
        How::Captured | How::Deleted => "replace",
    };
    RunEventKind::WorkspaceFileWritten(WorkspaceFileWritten {
        invocation_id,
        path,
        mode: mode.to_owned(),
        chars,
        words,
        sha256,
        extra,
    })
}
