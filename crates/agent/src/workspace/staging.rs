//! What calls have done that no journal knows yet, over what it knows. Pure.
//!
//! Everything is seen at once by whoever asks next, and takes effect for good when its call's end is journaled. Calls
//! may end in another order than they wrote: what a later one wrote to a file stands, whichever is journaled first.

use std::collections::BTreeMap;

use innkeeper_protocol::event::CallId;
use innkeeper_store::{Blob, BlobId};

use super::plan::ROOTS;
use super::state::{FileInfo, ReadState, WorkspaceChange, WorkspaceState};

#[derive(Debug, Default)]
pub(crate) struct Staging {
    /// As of the last journaled step.
    base: WorkspaceState,
    /// What `base` holds, while nobody looks at it.
    packed: Option<Box<Packed>>,
    /// In the order in which it was done.
    staged: Vec<Staged>,
    last: u64,
    /// By path, the newest of what was taken: nothing older may come after it.
    taken: BTreeMap<String, u64>,
}

/// Files and what was read of them, without the room to become more.
#[derive(Debug)]
struct Packed {
    files: Box<[(String, FileInfo)]>,
    reads: Box<[(String, ReadState)]>,
}

#[derive(Debug)]
struct Staged {
    number: u64,
    call: CallId,
    change: WorkspaceChange,
    blobs: Vec<Blob>,
    is_taken: bool,
}

/// What a call did, ready to be journaled with its end.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Taken {
    pub change: WorkspaceChange,
    pub blobs: Vec<Blob>,
}

impl Staging {
    pub(crate) fn new(base: WorkspaceState) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// Takes less room until [`Self::unpack`], before which nothing else may be asked of it.
    pub(crate) fn pack(&mut self) {
        self.staged.shrink_to_fit();
        let WorkspaceState { files, reads, .. } = &mut self.base;
        self.packed = Some(Box::new(Packed {
            files: std::mem::take(files).into_iter().collect(),
            reads: std::mem::take(reads).into_iter().collect(),
        }));
    }

    pub(crate) fn unpack(&mut self) {
        if let Some(packed) = self.packed.take() {
            self.base.files = packed.files.into_iter().collect();
            self.base.reads = packed.reads.into_iter().collect();
        }
    }

    pub(crate) fn base(&self) -> &WorkspaceState {
        &self.base
    }

    /// The journal has moved on without a call.
    pub(crate) fn apply(&mut self, change: &WorkspaceChange) {
        self.base.apply(change);
    }

    pub(crate) fn stage(&mut self, call: &CallId, change: WorkspaceChange, blobs: Vec<Blob>) {
        if change.is_empty() {
            return;
        }
        self.last += 1;
        self.staged.push(Staged {
            number: self.last,
            call: call.clone(),
            change,
            blobs,
            is_taken: false,
        });
    }

    /// What the call did, less what others have done to the same files since and was taken before. It stays to be seen
    /// until [`Self::journaled`].
    pub(crate) fn take(&mut self, call: &CallId) -> Taken {
        let mut all = Taken::default();
        for staged in self.staged.iter_mut().filter(|staged| staged.call == *call) {
            let number = staged.number;
            let stands =
                |path: &String| self.taken.get(path).is_none_or(|&newest| newest <= number);
            staged.change.files.retain(|file| stands(&file.path));
            staged.change.reads.retain(|(path, _)| stands(path));
            let held = |blob: &Blob| {
                let mut files = staged.change.files.iter();
                files.any(|file| file.new.as_ref().is_some_and(|new| new.sha256 == blob.id))
            };
            staged.blobs.retain(held);
            staged.is_taken = true;
            all.change.files.extend_from_slice(&staged.change.files);
            all.change.reads.extend_from_slice(&staged.change.reads);
            all.blobs.extend_from_slice(&staged.blobs);
        }
        for staged in self.staged.iter().filter(|staged| staged.call == *call) {
            let files = staged.change.files.iter().map(|file| &file.path);
            for path in files.chain(staged.change.reads.iter().map(|(path, _)| path)) {
                self.taken.insert(path.clone(), staged.number);
            }
        }
        all
    }

    /// What was taken of the call is on disk.
    pub(crate) fn journaled(&mut self, call: &CallId) -> Vec<Blob> {
        let mut blobs = Vec::new();
        let base = &mut self.base;
        self.staged.retain_mut(|staged| {
            let is_it = staged.is_taken && staged.call == *call;
            if is_it {
                base.apply(&staged.change);
                blobs.append(&mut staged.blobs);
            }
            !is_it
        });
        self.forget();
        blobs
    }

    /// The call came to nothing; only what it learnt about its own ignorance stays.
    pub(crate) fn fail(&mut self, call: &CallId) {
        for staged in self.staged.iter_mut().filter(|staged| staged.call == *call) {
            let written: Vec<String> = staged
                .change
                .files
                .drain(..)
                .map(|file| file.path)
                .collect();
            staged
                .change
                .reads
                .retain(|(path, read)| read.needs_full_read && !written.contains(path));
            staged.blobs.clear();
        }
        self.staged.retain(|staged| !staged.change.is_empty());
        self.forget();
    }

    /// What the call was to be shown, it was not shown.
    pub(crate) fn unread(&mut self, call: &CallId) {
        for staged in self.staged.iter_mut().filter(|staged| staged.call == *call) {
            if staged.change.files.is_empty() {
                staged.change.reads.retain(|(_, read)| read.needs_full_read);
            }
        }
        self.staged.retain(|staged| !staged.change.is_empty());
        self.forget();
    }

    pub(crate) fn discard(&mut self, call: &CallId) {
        self.staged.retain(|staged| staged.call != *call);
        self.forget();
    }

    fn forget(&mut self) {
        if self.staged.is_empty() {
            self.taken.clear();
        }
    }

    fn stands(&self, staged: &Staged, path: &str) -> bool {
        let newest = self.taken.get(path);
        newest.is_none_or(|&newest| newest <= staged.number)
    }

    pub(crate) fn file(&self, path: &str) -> Option<&FileInfo> {
        for staged in self.staged.iter().rev() {
            let mut files = staged.change.files.iter().rev();
            if let Some(file) = files.find(|file| file.path == path)
                && self.stands(staged, path)
            {
                return file.new.as_ref();
            }
        }
        self.base.files.get(path)
    }

    pub(crate) fn read(&self, path: &str) -> Option<&ReadState> {
        for staged in self.staged.iter().rev() {
            let mut reads = staged.change.reads.iter().rev();
            if let Some((_, read)) = reads.find(|(known, _)| known == path)
                && self.stands(staged, path)
            {
                return Some(read);
            }
        }
        self.base.reads.get(path)
    }

    /// All files as they are seen now.
    pub(crate) fn files(&self) -> BTreeMap<String, FileInfo> {
        let mut files = self.base.files.clone();
        for staged in &self.staged {
            self.lay_over(&mut files, staged);
        }
        files
    }

    /// All files as they are once this call is journaled and no other that is open.
    pub(crate) fn files_after(&self, call: &CallId) -> BTreeMap<String, FileInfo> {
        let mut files = self.base.files.clone();
        for staged in self.staged.iter().filter(|staged| staged.call == *call) {
            self.lay_over(&mut files, staged);
        }
        files
    }

    fn lay_over(&self, files: &mut BTreeMap<String, FileInfo>, staged: &Staged) {
        for file in &staged.change.files {
            if !self.stands(staged, &file.path) {
                continue;
            }
            match &file.new {
                Some(new) => files.insert(file.path.clone(), new.clone()),
                None => files.remove(&file.path),
            };
        }
    }

    /// How many files there are beside this one, and how large they are together.
    pub(crate) fn others(&self, path: &str) -> (usize, u64) {
        let staged = self.staged.iter().flat_map(|staged| &staged.change.files);
        let mut touched: Vec<&str> = staged.map(|file| file.path.as_str()).collect();
        touched.sort_unstable();
        touched.dedup();
        let is_touched = |path: &str| touched.binary_search(&path).is_ok();
        let (mut count, mut bytes) = (0, 0_u64);
        let still = self.base.files.iter().filter(|(path, _)| !is_touched(path));
        let now = touched
            .iter()
            .filter_map(|path| Some((*path, self.file(path)?)));
        let all = still.map(|(path, file)| (path.as_str(), file)).chain(now);
        for (_, file) in all.filter(|(other, _)| *other != path) {
            count += 1;
            bytes = bytes.saturating_add(file.bytes);
        }
        (count, bytes)
    }

    /// Folders are there as long as files lie in them; roots always are.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        let below = format!("{path}/");
        let kept = self.base.files.range(below.clone()..);
        let mut kept = kept.take_while(|(file, _)| file.starts_with(&below));
        let staged = self.staged.iter().flat_map(|staged| &staged.change.files);
        let mut staged = staged.filter(|file| file.path.starts_with(&below));
        ROOTS.contains(&path)
            || kept.any(|(file, _)| self.file(file).is_some())
            || staged.any(|file| self.file(&file.path).is_some())
    }

    /// A content that is not in the store yet.
    pub(crate) fn blob(&self, id: &BlobId) -> Option<&Blob> {
        let blobs = self.staged.iter().flat_map(|staged| &staged.blobs);
        blobs.into_iter().find(|blob| blob.id == *id)
    }
}

#[cfg(test)]
#[path = "staging_tests.rs"]
mod tests;
