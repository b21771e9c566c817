//! What one project has in the place of a source that everyone else has.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, MutexGuard, PoisonError};

use super::{Registry, Snapshot, Source};
use crate::{Caller, ProjectId, UserId};

/// One person's project; by default that of whoever is alone in the house.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    pub user: UserId,
    pub project: ProjectId,
}

impl Scope {
    /// What the results of nodes are kept under: for this person, in this project.
    pub fn kept_under(&self) -> String {
        format!("{}/{}", self.user, self.project)
    }

    pub fn of(caller: &Caller) -> Self {
        Self {
            user: caller.user.clone(),
            project: caller.project.clone(),
        }
    }
}

#[derive(Default)]
pub(super) struct Scoped {
    /// Which source it stands in for, and what is there instead.
    sources: BTreeMap<Scope, (String, Source)>,
    /// Good for the generation of the registry that they have.
    built: HashMap<Scope, Arc<Snapshot>>,
}

impl Registry {
    /// What a caller of that project finds now.
    pub fn snapshot_for(&self, scope: &Scope) -> Arc<Snapshot> {
        let mut scoped = self.lock_scoped();
        let current = self.snapshot();
        let Some((name, source)) = scoped.sources.get(scope).cloned() else {
            return current;
        };
        if let Some(built) = scoped.built.get(scope)
            && built.generation() == current.generation()
        {
            return built.clone();
        }
        let mut sources = self.lock().clone();
        sources.insert(name, source);
        // The registry may have changed a moment ago; then the next one who asks builds anew.
        let built = Arc::new(Snapshot::build(&sources, current.generation()));
        scoped.built.insert(scope.clone(), built.clone());
        built
    }

    /// Puts sources in the place of the one with that name, for some projects; the others have what all have.
    pub fn scope(&self, name: &str, sources: BTreeMap<Scope, Source>) {
        let mut scoped = self.lock_scoped();
        scoped.built.clear();
        scoped.sources.retain(|_, (known, _)| known != name);
        let own = sources.into_iter();
        let own = own.map(|(scope, source)| (scope, (name.to_owned(), source)));
        scoped.sources.extend(own);
        self.publish(&self.lock());
    }

    fn lock_scoped(&self) -> MutexGuard<'_, Scoped> {
        self.scoped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
