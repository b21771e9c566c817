//! The manager: everything that calls need, held together. Decides nothing itself.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use arc_swap::{ArcSwap, ArcSwapOption};
use innkeeper_protocol::event::RunId;
use innkeeper_store::{EventBus, Store};

use crate::file::FileLayer;
use crate::policy::{Approvals, Approver, Policy};
use crate::redact::Redactor;
use crate::registry::Registry;
use crate::run::{End, RunOptions, ToolRun};
use crate::run_end::RunEnds;
use crate::search::{Finder, Scorer};
use crate::task::Tasks;
use crate::{Caller, Clock};

/// What a manager is put together from.
pub struct Parts {
    pub files: FileLayer,
    pub store: Store,
    pub bus: Arc<dyn EventBus>,
    pub approver: Arc<dyn Approver>,
    pub policy: Policy,
    pub clock: Arc<dyn Clock>,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct ToolManager(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) registry: Registry,
    pub(crate) files: FileLayer,
    pub(crate) policy: ArcSwap<Policy>,
    pub(crate) approvals: Approvals,
    pub(crate) store: Store,
    pub(crate) bus: Arc<dyn EventBus>,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) redactor: ArcSwap<Redactor>,
    pub(crate) clock: Arc<dyn Clock>,
    audit_fault: ArcSwapOption<String>,
    /// Of this process: calls are told apart by it and a number.
    process: String,
    calls: AtomicU64,
    runs: Mutex<HashMap<RunId, Weak<End>>>,
    pub(crate) run_ends: RunEnds,
    pub(crate) finder: Finder,
}

impl Shared {
    /// Unique, and in the order in which calls begin.
    pub(crate) fn next_call(&self) -> String {
        let number = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        format!("call_{}_{number}", self.process)
    }

    pub(crate) fn open_runs(&self) -> MutexGuard<'_, HashMap<RunId, Weak<End>>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn audit_failed(&self, why: String) {
        self.audit_fault.store(Some(Arc::new(why)));
    }

    pub(crate) fn audit_mended(&self) {
        self.audit_fault.store(None);
    }

    pub(crate) fn audit_fault(&self) -> Option<Arc<String>> {
        self.audit_fault.load_full()
    }
}

impl ToolManager {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(Shared {
            registry: Registry::default(),
            files: parts.files,
            policy: ArcSwap::from_pointee(parts.policy),
            approvals: Approvals::new(parts.approver, Some(parts.store.grants().clone())),
            tasks: Arc::new(Tasks::kept(parts.clock.clone(), parts.store.tasks())),
            redactor: ArcSwap::from_pointee(Redactor::default()),
            store: parts.store,
            bus: parts.bus,
            clock: parts.clock,
            audit_fault: ArcSwapOption::empty(),
            process: uuid::Uuid::now_v7().simple().to_string(),
            calls: AtomicU64::new(0),
            runs: Mutex::default(),
            run_ends: RunEnds::default(),
            finder: Finder::default(),
        }))
    }

    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    pub fn files(&self) -> &FileLayer {
        &self.0.files
    }

    pub fn store(&self) -> &Store {
        &self.0.store
    }

    pub fn bus(&self) -> &Arc<dyn EventBus> {
        &self.0.bus
    }

    pub fn tasks(&self) -> &Arc<Tasks> {
        &self.0.tasks
    }

    /// What people have answered for more than one call.
    pub fn approvals(&self) -> &Approvals {
        &self.0.approvals
    }

    /// For whoever keeps something for a run.
    pub fn run_ends(&self) -> &RunEnds {
        &self.0.run_ends
    }

    /// Takes effect for the next decision.
    pub fn set_policy(&self, policy: Policy) {
        self.0.policy.store(Arc::new(policy));
    }

    /// What must not be read in results, errors and the audit log.
    pub fn set_redactor(&self, redactor: Redactor) {
        self.0.redactor.store(Arc::new(redactor));
    }

    /// Without what must not be read: for what people type.
    pub fn redact_text(&self, text: &str) -> String {
        self.0.redactor.load().redact_text(text).into_owned()
    }

    /// A judge beside the words, for whoever looks for tools; none, and the words decide alone.
    pub fn set_scorer(&self, judge: Option<Arc<dyn Scorer>>) {
        self.0.finder.set_second(judge);
    }

    /// A run works on the registry as it is now, whatever happens to it later.
    pub fn begin(&self, caller: Caller, options: RunOptions) -> ToolRun {
        ToolRun::begin(self.0.clone(), caller, options)
    }
}
