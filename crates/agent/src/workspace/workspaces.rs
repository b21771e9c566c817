//! The workspaces of all live runs, for the tools that are called in them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::event::{CallId, RunId};
use innkeeper_tools::{Invocation, ToolError};

use super::session::WorkspaceSession;

/// By the desk of the agent ([`innkeeper_tools::Caller::desk`]). Clones are the same.
#[derive(Clone, Default)]
pub struct Workspaces(Arc<Mutex<HashMap<RunId, Arc<WorkspaceSession>>>>);

impl Workspaces {
    fn all(&self) -> MutexGuard<'_, HashMap<RunId, Arc<WorkspaceSession>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In the place of what was there for the run.
    pub fn open(&self, run: &RunId, session: Arc<WorkspaceSession>) {
        self.all().insert(run.clone(), session);
    }

    pub fn close(&self, run: &RunId) {
        self.all().remove(run);
    }

    pub fn of(&self, run: &RunId) -> Option<Arc<WorkspaceSession>> {
        self.all().get(run).cloned()
    }

    pub fn len(&self) -> usize {
        self.all().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn of_call(&self, call: &Invocation) -> Result<Arc<WorkspaceSession>, ToolError> {
        let desk = call.context.caller.desk();
        self.of(&desk).ok_or_else(|| {
            let id = &call.tool.id;
            ToolError::unavailable(format!(
                "{id} works on a run of an agent, and there is none here: start one with 'innkeeper run'"
            ))
            .because("workspace.no_run")
            .permanent()
        })
    }

    /// With the name under which the run knows the call.
    pub(crate) fn desk(&self, call: &Invocation) -> Result<Desk, ToolError> {
        let session = self.of_call(call)?;
        let name = call.context.asked_as.as_deref().ok_or_else(|| {
            let message = format!("Nobody would keep what this call of {} does", call.tool.id);
            ToolError::unavailable(message)
                .because("workspace.no_call")
                .permanent()
        })?;
        Ok(Desk {
            session,
            call: CallId::new(name),
        })
    }
}

/// Where a call works.
pub(crate) struct Desk {
    pub(crate) session: Arc<WorkspaceSession>,
    pub(crate) call: CallId,
}
