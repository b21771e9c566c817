//! What can be called. Changes make a new [`Snapshot`]; whoever works on an older one keeps it undisturbed.
//!
//! Everything comes from a *source* (`builtin`, `plugin:x`, `workflow`), and a source is replaced whole: its
//! tools, hooks and services appear, change and vanish together.

mod hidden;
mod names;
mod prepared;
mod scoped;
mod snapshot;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;
use tokio::sync::watch;

pub use hidden::Hidden;
pub use names::Lookup;
pub use prepared::{Prepared, RegisterError};
pub use scoped::Scope;
pub use snapshot::{Snapshot, Tool};
pub use source::{Behind, Change, Offer, Source};

/// The tools of one running platform.
pub struct Registry {
    current: ArcSwap<Snapshot>,
    changes: watch::Sender<u64>,
    sources: Mutex<BTreeMap<String, Source>>,
    /// Locked before `sources` where both are.
    scoped: Mutex<scoped::Scoped>,
}

impl Default for Registry {
    fn default() -> Self {
        Self {
            current: ArcSwap::from_pointee(Snapshot::default()),
            changes: watch::Sender::new(0),
            sources: Mutex::default(),
            scoped: Mutex::default(),
        }
    }
}

impl Registry {
    /// What is there now, for as long as the caller keeps it.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Tells of every change, by the generation of the snapshot that came of it.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Puts a source in the place of the one with that name. If it cannot stand beside the others, nothing
    /// changes.
    pub fn replace(&self, name: &str, source: Source) -> Result<(), RegisterError> {
        let mut sources = self.lock();
        let before = sources.remove(name);
        if let Err(error) = source::Taken::of(&sources).add(name, &source) {
            if let Some(before) = before {
                sources.insert(name.to_owned(), before);
            }
            return Err(error);
        }
        sources.insert(name.to_owned(), source);
        self.publish(&sources);
        Ok(())
    }

    /// The same for many at once; those that fit take effect together, those that do not are given back with
    /// the reason, and what they had before is gone too.
    pub fn replace_all(
        &self,
        changes: impl IntoIterator<Item = (String, Source)>,
    ) -> Vec<(String, RegisterError)> {
        let changes = changes.into_iter().map(|(name, source)| Change {
            name,
            source: Some(source),
            otherwise: Source::default(),
        });
        self.apply(changes)
    }

    /// Many changes as one: nobody ever sees some of them without the others.
    pub fn apply(&self, changes: impl IntoIterator<Item = Change>) -> Vec<(String, RegisterError)> {
        let mut sources = self.lock();
        let changes: Vec<_> = changes.into_iter().collect();
        for change in &changes {
            sources.remove(&change.name);
        }
        let mut failures = Vec::new();
        let mut taken = source::Taken::of(&sources);
        for change in changes {
            let fits = change
                .source
                .map(|source| taken.add(&change.name, &source).map(|()| source));
            let source = match fits {
                Some(Ok(source)) => source,
                Some(Err(error)) => {
                    failures.push((change.name.clone(), error));
                    change.otherwise
                }
                None => change.otherwise,
            };
            sources.insert(change.name, source);
        }
        sources.retain(|_, source| !source.is_empty());
        self.publish(&sources);
        failures
    }

    /// Whether a source could stand beside those that are there.
    pub fn check(&self, name: &str, source: &Source) -> Result<(), RegisterError> {
        let mut others = self.lock().clone();
        others.remove(name);
        source::Taken::of(&others).add(name, source)
    }

    pub fn remove(&self, name: &str) {
        let mut sources = self.lock();
        if sources.remove(name).is_some() {
            self.publish(&sources);
        }
    }

    fn publish(&self, sources: &BTreeMap<String, Source>) {
        let generation = self.current.load().generation() + 1;
        self.current
            .store(Arc::new(Snapshot::build(sources, generation)));
        self.changes.send_replace(generation);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Source>> {
        // The map is never left half changed, so a poisoned lock holds good data.
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "registry_tests.rs"]
mod tests;
