//! The only way to people's files.
//!
//! A text becomes a [`FileUri`] by [`FileLayer::resolve`], which also asks whether the caller may go there; every
//! other method takes such a URI. What a caller may *do* there is for `policy/` to say. Blocking work runs beside
//! the async runtime; when a future is dropped, long work behind it stops.

mod error;
mod list;
mod mounts;
mod read;
mod recycle;
mod search;
mod shapes;
mod transfer;
mod uri;
mod write;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

pub use error::FileError;
pub use recycle::{Purged, RecycleId, Recycled};
pub use search::{Found, Hit, Letters, Query, SearchOptions};
pub use shapes::{Kind, LineRange, ListOptions, Listing, Stat, TextPart, WriteMode};
pub use uri::{FileUri, Scheme};

use crate::Caller;
use crate::limits::MAX_RECYCLED;
use mounts::Mounts;

/// Fires when nobody waits for the work any more.
type Stop = CancellationToken;

/// Cheap to clone.
#[derive(Debug, Clone)]
pub struct FileLayer(Arc<Layer>);

#[derive(Debug)]
struct Layer {
    mounts: Mounts,
    writing: [Mutex<()>; 64],
}

impl Layer {
    /// One writer at a time for each file, so that no edit is lost between reading and writing.
    fn writing(&self, uri: &FileUri) -> Option<MutexGuard<'_, ()>> {
        let mut hasher = DefaultHasher::new();
        uri.hash(&mut hasher);
        let slot = hasher.finish() % self.writing.len() as u64;
        let lock = self
            .writing
            .get(usize::try_from(slot).unwrap_or_default())?;
        Some(lock.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl FileLayer {
    /// Makes the folders it needs, for the owner alone.
    pub fn open(home: &Path) -> Result<Self, FileError> {
        Ok(Self(Arc::new(Layer {
            mounts: Mounts::open(home)?,
            writing: std::array::from_fn(|_| Mutex::new(())),
        })))
    }

    /// What a text means for this caller, if the caller may go there. No IO; `to_string()` of it is what rules
    /// compare with.
    pub fn resolve(&self, caller: &Caller, text: &str) -> Result<FileUri, FileError> {
        uri::resolve(caller, text)
    }

    /// A whole file of at most `limit` bytes.
    pub async fn read(&self, uri: &FileUri, limit: u64) -> Result<Vec<u8>, FileError> {
        let uri = uri.clone();
        self.run(move |layer, _| read::whole(&layer.mounts, &uri, limit))
            .await
    }

    pub async fn read_text(&self, uri: &FileUri, limit: u64) -> Result<String, FileError> {
        read::text(uri, self.read(uri, limit).await?)
    }

    /// Some lines of a text file, which may be larger than what can be read whole.
    pub async fn read_lines(&self, uri: &FileUri, range: LineRange) -> Result<TextPart, FileError> {
        let uri = uri.clone();
        self.run(move |layer, stop| read::lines(&layer.mounts, &uri, range, stop))
            .await
    }

    /// Whole or not at all: others see the old content or the new. Missing folders are made.
    pub async fn write(
        &self,
        uri: &FileUri,
        bytes: Vec<u8>,
        mode: WriteMode,
    ) -> Result<Stat, FileError> {
        let uri = uri.clone();
        self.run(move |layer, _| {
            let _writing = layer.writing(&uri);
            write::write(&layer.mounts, &uri, &bytes, mode)
        })
        .await
    }

    /// Adds to the end in a single write; makes the file if it is missing.
    pub async fn append(&self, uri: &FileUri, bytes: Vec<u8>) -> Result<Stat, FileError> {
        let uri = uri.clone();
        self.run(move |layer, _| {
            let _writing = layer.writing(&uri);
            write::append(&layer.mounts, &uri, &bytes)
        })
        .await
    }

    /// Changes a text of at most `limit` bytes. Two edits of one file never lose each other's work; `change` may
    /// refuse.
    pub async fn edit<E>(
        &self,
        uri: &FileUri,
        limit: u64,
        change: impl FnOnce(&str) -> Result<String, E> + Send + 'static,
    ) -> Result<Stat, E>
    where
        E: From<FileError> + Send + 'static,
    {
        let uri = uri.clone();
        self.run(move |layer, _| {
            let _writing = layer.writing(&uri);
            write::edit(&layer.mounts, &uri, limit, change)
        })
        .await
    }

    /// What a folder holds, `depth` levels down.
    pub async fn list(&self, uri: &FileUri, options: ListOptions) -> Result<Listing, FileError> {
        let uri = uri.clone();
        self.run(move |layer, stop| list::list(&layer.mounts, &uri, options, stop))
            .await
    }

    /// Of a link, the link itself.
    pub async fn stat(&self, uri: &FileUri) -> Result<Stat, FileError> {
        let uri = uri.clone();
        self.run(move |layer, _| list::stat(&layer.mounts, &uri))
            .await
    }

    /// Lines that match, in one file or in all below a folder.
    pub async fn search(
        &self,
        uri: &FileUri,
        query: Query,
        options: SearchOptions,
    ) -> Result<Found, FileError> {
        let uri = uri.clone();
        self.run(move |layer, stop| search::search(&layer.mounts, &uri, &query, options, stop))
            .await
    }

    /// With the folders above it. One that is there already is fine.
    pub async fn create_dir(&self, uri: &FileUri) -> Result<Stat, FileError> {
        let uri = uri.clone();
        self.run(move |layer, _| write::create_dir(&layer.mounts, &uri))
            .await
    }

    /// Moves a file or a folder to a name that is free.
    pub async fn rename(&self, from: &FileUri, to: &FileUri) -> Result<Stat, FileError> {
        let (from, to) = (from.clone(), to.clone());
        self.run(move |layer, stop| transfer::rename(&layer.mounts, &from, &to, stop))
            .await
    }

    /// Copies a file or a folder to a name that is free.
    pub async fn copy(&self, from: &FileUri, to: &FileUri) -> Result<Stat, FileError> {
        let (from, to) = (from.clone(), to.clone());
        self.run(move |layer, stop| transfer::copy(&layer.mounts, &from, &to, stop))
            .await
    }

    /// Into the recycle bin. `by` is who did it, for people to read.
    pub async fn delete(&self, uri: &FileUri, by: &str) -> Result<Recycled, FileError> {
        let (uri, by) = (uri.clone(), by.to_owned());
        self.run(move |layer, stop| {
            let _writing = layer.writing(&uri);
            recycle::delete(&layer.mounts, &uri, &by, MAX_RECYCLED, stop)
        })
        .await
    }

    /// What this caller could restore, newest first.
    pub async fn recycled(&self, caller: &Caller) -> Result<Vec<Recycled>, FileError> {
        let caller = caller.clone();
        self.run(move |layer, _| recycle::list(&layer.mounts, &caller))
            .await
    }

    /// Back to where it was, unless something else is there now.
    pub async fn restore(&self, caller: &Caller, id: RecycleId) -> Result<FileUri, FileError> {
        let caller = caller.clone();
        self.run(move |layer, stop| recycle::restore(&layer.mounts, &caller, id, stop))
            .await
    }

    /// Removes for good what has been in the bin for `keep` or longer.
    pub async fn purge(&self, keep: Duration) -> Result<Purged, FileError> {
        self.run(move |layer, stop| {
            recycle::purge(&layer.mounts, keep, MAX_RECYCLED, Timestamp::now(), stop)
        })
        .await
    }

    async fn run<T, E>(
        &self,
        work: impl FnOnce(&Layer, &Stop) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<FileError> + Send + 'static,
    {
        let layer = self.0.clone();
        let stop = Stop::new();
        let _stops_when_dropped = stop.clone().drop_guard();
        let done = tokio::task::spawn_blocking(move || work(&layer, &stop)).await;
        done.unwrap_or_else(|e| Err(FileError::on("the file layer", io::Error::other(e)).into()))
    }
}

#[cfg(test)]
#[path = "attack_tests.rs"]
mod attack_tests;

#[cfg(test)]
pub(crate) mod house_tests;
