//! The workspace of one live run: what it holds, what open calls have done to it, and the contents behind both.
//!
//! Whoever drives the run opens one, takes what a call did when it journals the call's end, and says when that is sent
//! to the disk and when it is there. Tools read and stage here; nothing they do is kept anywhere else before that.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CallId, RunId};
use innkeeper_store::{Blob, BlobId, Contents, Tree};
use innkeeper_tools::ToolError;

use super::cache::Cache;
use super::door::RunDoor;
use super::fault::{fault, is_directory, lost, storage};
use super::path::WorkspacePath;
use super::plan::WorkspacePlan;
use super::staging::{Staging, Taken};
use super::state::{
    FileChange, FileInfo, How, ReadState, WorkspaceChange, WorkspaceState, tree_of,
};
use super::text::Text;
use crate::limits::{MAX_WORKSPACE_BYTES, MAX_WORKSPACE_FILES};

pub struct WorkspaceSession {
    run: RunId,
    plan: WorkspacePlan,
    contents: Arc<dyn Contents>,
    door: Weak<dyn RunDoor>,
    inner: Mutex<Inner>,
    /// Whoever looks at a file in order to change it holds this until the change is staged.
    writing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Inner {
    staging: Staging,
    /// Contents on their way to the disk, as often as they were sent there.
    sent: Vec<Blob>,
    cache: Cache,
}

/// A file that is to be kept.
pub(crate) struct NewFile {
    pub(crate) path: WorkspacePath,
    pub(crate) how: How,
    pub(crate) blob: Blob,
    pub(crate) info: FileInfo,
    /// What the agent knows of it then; none: what it knew before.
    pub(crate) read: Option<ReadState>,
}

impl fmt::Debug for WorkspaceSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WorkspaceSession({})", self.run)
    }
}

impl WorkspaceSession {
    /// `state`: the run's, as of its last journaled step.
    pub fn new(
        run: RunId,
        plan: WorkspacePlan,
        state: WorkspaceState,
        contents: Arc<dyn Contents>,
        door: Weak<dyn RunDoor>,
    ) -> Self {
        Self {
            run,
            plan,
            contents,
            door,
            inner: Mutex::new(Inner {
                staging: Staging::new(state),
                ..Inner::default()
            }),
            writing: tokio::sync::Mutex::new(()),
        }
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    pub fn plan(&self) -> &WorkspacePlan {
        &self.plan
    }

    pub(crate) fn door(&self) -> Result<Arc<dyn RunDoor>, ToolError> {
        self.door
            .upgrade()
            .ok_or_else(|| ToolError::new(ErrorCode::ToolCancelled, "The run of this call is over"))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.staging.unpack();
        inner
    }

    // For whoever drives the run.

    /// What a call that went well did, to be journaled with its end. Others go on seeing it.
    pub fn take(&self, call: &CallId) -> Taken {
        self.inner().staging.take(call)
    }

    /// The same for a call that failed or was cancelled: whatever it wrote is gone. What it learnt stays, for a patch
    /// that failed may mean that the file has to be read again.
    pub fn take_failed(&self, call: &CallId) -> Taken {
        let mut inner = self.inner();
        inner.staging.fail(call);
        inner.staging.take(call)
    }

    /// Contents that are on their way to the disk: until they are there, they are nowhere else.
    pub fn sent(&self, blobs: &[Blob]) {
        self.inner().sent.extend_from_slice(blobs);
    }

    /// These are on disk.
    pub fn saved<'b>(&self, ids: impl IntoIterator<Item = &'b BlobId>) {
        let mut inner = self.inner();
        for id in ids {
            if let Some(at) = inner.sent.iter().position(|blob| blob.id == *id) {
                inner.sent.swap_remove(at);
            }
        }
    }

    /// What was taken of the call is in the run's log.
    pub fn journaled(&self, call: &CallId) {
        let mut inner = self.inner();
        for blob in inner.staging.journaled(call) {
            inner.cache.put(blob.id, blob.content);
        }
    }

    /// All that the call did is forgotten; also what was taken and could not be journaled.
    pub fn drop_staged(&self, call: &CallId) {
        self.inner().staging.discard(call);
    }

    /// What earlier runs of the chat have left: the first files of the run, journaled as they are given here.
    pub fn projected(&self, files: &[(String, FileInfo)]) {
        let files = files.iter().map(|(path, file)| FileChange {
            path: path.clone(),
            how: How::Captured,
            old: None,
            new: Some(file.clone()),
        });
        let change = WorkspaceChange {
            files: files.collect(),
            reads: Vec::new(),
        };
        self.changed(&change, Vec::new());
    }

    /// A change that came to the journal without a call: an answer that was captured, a rollback.
    pub fn changed(&self, change: &WorkspaceChange, blobs: Vec<Blob>) {
        let mut inner = self.inner();
        inner.staging.apply(change);
        for blob in blobs {
            inner.cache.put(blob.id, blob.content);
        }
    }

    /// The run begins with these files.
    pub fn begin(&self, state: WorkspaceState) {
        self.inner().staging = Staging::new(state);
    }

    /// As of the last journaled step.
    pub fn tree(&self) -> Tree {
        self.inner().staging.base().tree()
    }

    /// As it will be when this call is journaled next: for the checkpoint that goes with it.
    pub fn tree_after(&self, call: &CallId) -> Tree {
        tree_of(&self.inner().staging.files_after(call))
    }

    /// As of the last journaled step.
    pub fn state(&self) -> WorkspaceState {
        self.inner().staging.base().clone()
    }

    /// The run waits for something that may take long: what can be fetched again is let go, and the rest takes little
    /// room until it is next asked for.
    pub fn rest(&self) {
        let mut inner = self.inner();
        inner.cache.clear();
        inner.sent.shrink_to_fit();
        inner.staging.pack();
    }

    // For tools.

    pub(crate) async fn writing(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.writing.lock().await
    }

    pub fn file(&self, path: &str) -> Option<FileInfo> {
        self.inner().staging.file(path).cloned()
    }

    pub(crate) fn read_state(&self, path: &str) -> Option<ReadState> {
        self.inner().staging.read(path).cloned()
    }

    /// All files, with what open calls have done.
    pub fn files(&self) -> BTreeMap<String, FileInfo> {
        self.inner().staging.files()
    }

    /// The text of a file that is, or was, called `name`.
    pub(crate) async fn text(&self, name: &str, id: &BlobId) -> Result<Text, ToolError> {
        let here = {
            let mut inner = self.inner();
            let mut sent = inner.sent.iter();
            let fresh = inner.staging.blob(id);
            let fresh = fresh.or_else(|| sent.find(|blob| blob.id == *id));
            let fresh = fresh.map(|blob| blob.content.clone());
            fresh.or_else(|| inner.cache.get(id))
        };
        if let Some(content) = here {
            return Text::new(name, content);
        }
        let read = self.contents.blob(id).await;
        let content = read
            .map_err(|error| storage(name, &error))?
            .ok_or_else(|| lost(name))?;
        self.inner().cache.put(id.clone(), content.clone());
        Text::new(name, content)
    }

    /// A content that only an open call has brought.
    pub(crate) fn unsaved(&self, id: &BlobId) -> Option<Blob> {
        self.inner().staging.blob(id).cloned()
    }

    /// `range` of a file was shown, in characters.
    pub(crate) fn shown(&self, call: &CallId, path: &str, file: &FileInfo, range: (u64, u64)) {
        let mut inner = self.inner();
        let before = inner.staging.read(path);
        let read = ReadState::shown(before, file, range);
        if before == Some(&read) {
            return;
        }
        self.stage_read(&mut inner, call, path, read);
    }

    pub(crate) fn flag(&self, call: &CallId, path: &str) {
        let mut inner = self.inner();
        let Some(read) = inner.staging.read(path).map(ReadState::flagged) else {
            return;
        };
        self.stage_read(&mut inner, call, path, read);
    }

    fn stage_read(&self, inner: &mut Inner, call: &CallId, path: &str, read: ReadState) {
        let change = WorkspaceChange {
            files: Vec::new(),
            reads: vec![(path.to_owned(), read)],
        };
        inner.staging.stage(call, change, Vec::new());
    }

    /// The result of the call was too long to be shown: what it read counts as not read.
    pub(crate) fn unread(&self, call: &CallId) {
        self.inner().staging.unread(call);
    }

    /// Keeps a file for the call. Refused, with nothing changed, where the workspace would become too large or the path
    /// runs through another file.
    pub(crate) fn put(&self, call: &CallId, file: NewFile) -> Result<(), ToolError> {
        let NewFile {
            path,
            how,
            blob,
            info,
            read,
        } = file;
        let mut inner = self.inner();
        check_room(&inner.staging, path.as_str(), info.bytes)?;
        check_way(&inner.staging, &path)?;
        let name = path.as_str().to_owned();
        let change = WorkspaceChange {
            files: vec![FileChange {
                old: inner.staging.file(&name).cloned(),
                new: Some(info),
                how,
                path: name.clone(),
            }],
            reads: read.map(|read| (name, read)).into_iter().collect(),
        };
        inner.staging.stage(call, change, vec![blob]);
        Ok(())
    }

    /// The file is gone for the call, and for whoever asks next.
    pub(crate) fn remove(&self, call: &CallId, path: &WorkspacePath, old: FileInfo) {
        let change = WorkspaceChange {
            files: vec![FileChange {
                path: path.as_str().to_owned(),
                how: How::Deleted,
                old: Some(old),
                new: None,
            }],
            reads: Vec::new(),
        };
        self.inner().staging.stage(call, change, Vec::new());
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        self.inner().staging.is_folder(path)
    }
}

fn check_room(staging: &Staging, path: &str, bytes: u64) -> Result<(), ToolError> {
    let full = |message| {
        let code = ErrorCode::WorkspaceWriteTooLarge;
        Err(fault(code, "workspace.full", message))
    };
    let (count, held) = staging.others(path);
    if count >= MAX_WORKSPACE_FILES {
        return full(format!(
            "The workspace has {MAX_WORKSPACE_FILES} files already: write to one that is there"
        ));
    }
    if held.saturating_add(bytes) > MAX_WORKSPACE_BYTES {
        return full(format!(
            "The files of the workspace would be larger than {} MiB together: make some of them shorter first",
            MAX_WORKSPACE_BYTES >> 20
        ));
    }
    Ok(())
}

fn check_way(staging: &Staging, path: &WorkspacePath) -> Result<(), ToolError> {
    if staging.is_folder(path.as_str()) {
        return Err(is_directory(path.as_str()));
    }
    match path.parents().find(|parent| staging.file(parent).is_some()) {
        None => Ok(()),
        Some(file) => Err(fault(
            ErrorCode::WorkspacePathDenied,
            "workspace.invalid_path",
            format!(
                "'{file}' is a file, so nothing can lie in it: choose another path than '{path}'"
            ),
        )),
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
