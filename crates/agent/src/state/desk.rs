//! What the tools of one live run have of states, and what its open calls have done to the world.
//!
//! What a call did is journaled with its end, so that it is told once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::event::{CallId, ProfileId, RunId, WorkspaceId};
use innkeeper_tools::Clock;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::version::Author;
use super::world::Worlds;
use crate::run::Created;

/// What a call did to the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldChange {
    pub version: u64,
    pub paths: Vec<String>,
}

pub struct StateDesk {
    pub(super) run: RunId,
    pub(super) workspace: WorkspaceId,
    pub(super) profile: ProfileId,
    /// What the agent begins with where no run has left anything.
    pub(super) initial: Json,
    /// Of the private state.
    pub(super) schema: Option<Json>,
    pub(super) worlds: Worlds,
    clock: Arc<dyn Clock>,
    open: Mutex<BTreeMap<CallId, Open>>,
}

#[derive(Default)]
struct Open {
    /// The calls that asked for something under the name of this one, in their order: a workflow makes several.
    asked: Vec<String>,
    changed: Vec<WorldChange>,
}

impl StateDesk {
    pub(crate) fn new(created: &Created, worlds: Worlds, clock: Arc<dyn Clock>) -> Self {
        let schema = &created.profile.agent.private_state_schema;
        Self {
            run: created.run_id.clone(),
            workspace: created.workspace_id.clone(),
            profile: created.profile_id.clone(),
            initial: match &created.private_state {
                Json::Null => Json::Object(serde_json::Map::new()),
                state => state.clone(),
            },
            schema: (!schema.is_null()).then(|| schema.clone()),
            worlds,
            clock,
            open: Mutex::default(),
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<CallId, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn author(&self, call: &CallId) -> Author {
        Author::Agent {
            profile_id: self.profile.clone(),
            run_id: self.run.clone(),
            call_id: call.clone(),
        }
    }

    /// The same for a call that is made again, also by another process: it makes its requests in the same order. `one`: unique
    /// for each call of this process.
    pub(super) fn request(&self, call: &CallId, one: &str) -> String {
        let mut open = self.open();
        let asked = &mut open.entry(call.clone()).or_default().asked;
        let number = match asked.iter().position(|asked| asked == one) {
            Some(at) => at,
            None => {
                asked.push(one.to_owned());
                asked.len() - 1
            }
        };
        format!("{}/{call}/{number}", self.run)
    }

    pub(super) fn changed(&self, call: &CallId, change: WorldChange) {
        let mut open = self.open();
        let changed = &mut open.entry(call.clone()).or_default().changed;
        // Told twice where the call is tried twice.
        if !changed.contains(&change) {
            changed.push(change);
        }
    }

    /// What a call has done to the world, to be journaled with its end.
    pub(crate) fn take(&self, call: &CallId) -> Vec<WorldChange> {
        let taken = self.open().remove(call);
        taken.map(|open| open.changed).unwrap_or_default()
    }
}
