//! Workflows made ready to run, kept for as long as nothing that they are made of has changed.

use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_engine::{
    ExecutionEngine, FindError, NodeTypes, Plan, Problems, Workflow, WorkflowSource,
};

use super::places::View;
use crate::limits::MAX_CACHED_PLANS;
use crate::registry::Scope;

/// A workflow that can run.
#[derive(Debug, Clone)]
pub struct Ready {
    pub workflow: Arc<Workflow>,
    pub plan: Plan,
}

/// The last one used is the last one here.
#[derive(Default)]
pub(super) struct Plans(Mutex<Vec<Kept>>);

struct Kept {
    /// The project whose files it may be made of.
    scope: Option<Scope>,
    ready: Ready,
    types: Arc<NodeTypes>,
    /// Other workflows that it is made of, by the names that it has for them.
    parts: Vec<(String, Arc<Workflow>)>,
}

impl Plans {
    /// Reads files: blocks.
    pub(super) fn prepare(
        &self,
        engine: &ExecutionEngine,
        scope: Option<&Scope>,
        view: &View,
        workflow: Arc<Workflow>,
    ) -> Result<Ready, Problems> {
        let types = engine.nodes().types();
        if let Some(ready) = self.kept(scope, view, &workflow, &types) {
            return Ok(ready);
        }
        let source = Recording {
            view,
            found: Mutex::default(),
        };
        let prepared = Plan::prepare(&workflow, &types, &source);
        let Some(plan) = prepared.plan else {
            return Err(prepared.problems);
        };
        let ready = Ready { workflow, plan };
        let found = source.found.into_inner();
        let kept = Kept {
            scope: scope.cloned(),
            ready: ready.clone(),
            types,
            parts: found.unwrap_or_else(PoisonError::into_inner),
        };
        self.keep(kept);
        Ok(ready)
    }

    fn kept(
        &self,
        scope: Option<&Scope>,
        view: &View,
        workflow: &Arc<Workflow>,
        types: &Arc<NodeTypes>,
    ) -> Option<Ready> {
        // A folder gives the same workflow again while its file is the same.
        let is_it = |kept: &Kept| {
            kept.scope.as_ref() == scope && Arc::ptr_eq(&kept.ready.workflow, workflow)
        };
        let kept = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let place = all.iter().position(is_it)?;
            all.remove(place)
        };
        let is_good = Arc::ptr_eq(&kept.types, types)
            && kept.parts.iter().all(|(reference, part)| {
                let found = view.find(reference);
                found.is_ok_and(|found| Arc::ptr_eq(&found, part))
            });
        if !is_good {
            return None;
        }
        let ready = kept.ready.clone();
        self.keep(kept);
        Some(ready)
    }

    /// In the place of what others have kept of the same workflow meanwhile.
    fn keep(&self, kept: Kept) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| {
            other.scope != kept.scope || !Arc::ptr_eq(&other.ready.workflow, &kept.ready.workflow)
        });
        while all.len() >= MAX_CACHED_PLANS {
            all.remove(0);
        }
        all.push(kept);
    }
}

/// Notes what is found.
struct Recording<'v> {
    view: &'v View,
    found: Mutex<Vec<(String, Arc<Workflow>)>>,
}

impl WorkflowSource for Recording<'_> {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        let found = self.view.find(reference)?;
        let mut all = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.iter().any(|(known, _)| known == reference) {
            all.push((reference.to_owned(), found.clone()));
        }
        Ok(found)
    }
}
