//! PluginWatch: tells when something in the plugin folders has changed and has come to rest.
//!
//! Owns the watches and the waiting; what is to be done then is up to whoever asked. Each folder is watched by
//! itself, so that the thousands of folders of a package manager cost nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Instant;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

use super::folder::is_noise;
use crate::limits::{MAX_PLUGIN_DEPTH, MAX_PLUGIN_UNREST, MAX_WATCHED_FOLDERS, PLUGIN_QUIET};

#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("Changes of plugins cannot be noticed: {0}; reload them by hand")]
    Notify(#[from] notify::Error),
    #[error("Changes of plugins cannot be noticed: {0}; reload them by hand")]
    Io(#[from] std::io::Error),
}

/// Watches until it is dropped.
#[derive(Debug)]
pub struct PluginWatch {
    stopped: Arc<AtomicBool>,
    wake: SyncSender<()>,
}

impl PluginWatch {
    /// Calls `on_change` from a thread of its own, after each change that has come to rest. The folders need not
    /// exist yet. A call that is under way when the watch is dropped may still end.
    pub fn start(
        folders: Vec<PathBuf>,
        on_change: impl Fn() + Send + 'static,
    ) -> Result<Self, WatchError> {
        let folders = folders
            .iter()
            .map(std::path::absolute)
            .collect::<Result<Vec<_>, _>>()?;
        let (wake, changes) = sync_channel(1);
        let (tell, watched) = (wake.clone(), folders.clone());
        let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            // A full channel means that the thread will look anyway. An error may stand for lost events.
            if event.map_or(true, |event| concerns(&watched, &event)) {
                let _ = tell.try_send(());
            }
        })?;
        let mut watches = Watches { watcher, folders };
        watches.renew()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        thread::Builder::new()
            .name("plugin-watch".to_owned())
            .spawn(move || run(&changes, &stop, watches, on_change))?;
        Ok(Self { stopped, wake })
    }
}

impl Drop for PluginWatch {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = self.wake.try_send(());
    }
}

fn run(changes: &Receiver<()>, stopped: &AtomicBool, mut watches: Watches, on_change: impl Fn()) {
    while changes.recv().is_ok() && !stopped.load(Ordering::SeqCst) {
        let since = Instant::now();
        while since.elapsed() < MAX_PLUGIN_UNREST {
            match changes.recv_timeout(PLUGIN_QUIET) {
                Ok(()) if !stopped.load(Ordering::SeqCst) => {}
                Err(RecvTimeoutError::Timeout) => break,
                _ => return,
            }
        }
        // First the watches, then the news: what changes after the reading begins is noticed again. Where the
        // system refuses further watches, those that stand still tell of most changes.
        let _ = watches.renew();
        if stopped.load(Ordering::SeqCst) {
            return;
        }
        on_change();
    }
}

struct Watches {
    watcher: RecommendedWatcher,
    /// Absolute.
    folders: Vec<PathBuf>,
}

impl Watches {
    /// Watches all folders as they are now. Those that are watched already only cost a system call.
    fn renew(&mut self) -> notify::Result<()> {
        let mut left = MAX_WATCHED_FOLDERS;
        let mut outcome = Ok(());
        for folder in self.folders.clone() {
            // Its parent too: it may be removed, or not be there yet.
            let above = folder.ancestors().skip(1).find(|above| above.is_dir());
            let roots = above
                .map(Path::to_owned)
                .into_iter()
                .chain([folder.clone()]);
            let mut open: Vec<_> = roots.map(|root| (root, 0)).collect();
            while let Some((path, depth)) = open.pop() {
                if left == 0 {
                    return outcome;
                }
                if !path.is_dir() {
                    continue;
                }
                left -= 1;
                let watched = self.watcher.watch(&path, RecursiveMode::NonRecursive);
                // What vanished in between is no failure.
                if path.is_dir() && watched.is_err() {
                    outcome = watched;
                }
                if path.starts_with(&folder) && depth <= MAX_PLUGIN_DEPTH {
                    open.extend(
                        below(&path, depth)
                            .into_iter()
                            .map(|path| (path, depth + 1)),
                    );
                }
            }
        }
        outcome
    }
}

/// Folders worth watching right below one. A plugin may be a link to where it is being written; further down,
/// links are not followed.
fn below(path: &Path, depth: usize) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return Vec::new();
    };
    let wanted = entries.flatten().filter(|entry| {
        let is_folder = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => depth == 0 && entry.path().is_dir(),
            Ok(kind) => kind.is_dir(),
            Err(_) => false,
        };
        is_folder && !is_noise(&entry.file_name())
    });
    wanted.map(|entry| entry.path()).collect()
}

/// Whether an event is about a plugin: not a mere reading, not the noise of tools, not a neighbour of the folder.
fn concerns(folders: &[PathBuf], event: &Event) -> bool {
    if event.need_rescan() {
        return true;
    }
    if event.kind.is_access() {
        return false;
    }
    event.paths.iter().any(|path| {
        folders
            .iter()
            .any(|folder| match path.strip_prefix(folder) {
                Ok(inner) => !inner.components().any(|part| is_noise(part.as_os_str())),
                Err(_) => folder.starts_with(path),
            })
    })
}

#[cfg(test)]
#[path = "watch_tests.rs"]
mod tests;
