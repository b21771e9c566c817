//! What a run leaves behind for later runs of its chat: the root `persist`, as a state that never changes again.
//!
//! A run begins with the state that the newest message of its chat names and ends with one of its own, named after it.
//! So whoever deletes or swipes a message goes back to what was known before it. Pure, but for [`PersistentStates`].

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use innkeeper_protocol::event::{ChangeKind, PersistentChange, WorkspaceId};
use innkeeper_store::{StoreError, Tree, run_of_state};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::path::is_below;
use super::plan::PERSIST;
use super::state::{FileInfo, tree_of};

/// Paths begin with `persist/`, as in the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PersistentState {
    pub workspace_id: WorkspaceId,
    /// The id of the run that left it, or of a copy.
    pub state_id: String,
    pub base_state_id: Option<String>,
    /// Whose it is; not known of older ones, and of copies for a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat: Option<StateChat>,
    pub files: BTreeMap<String, FileInfo>,
}

/// A chat in words, for a state that outlives the runs which knew it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateChat {
    /// `session`, or what the host says.
    pub kind: String,
    pub stable_chat_id: String,
}

impl PersistentState {
    /// What its contents are held by.
    pub fn tree(&self) -> Tree {
        tree_of(&self.files)
    }
}

/// Where states are kept. The contents they name are in the store already: the run that left a state brought them.
/// They stay as long as a state names them.
#[async_trait]
pub trait PersistentStates: Send + Sync {
    async fn load(
        &self,
        workspace: &WorkspaceId,
        state_id: &str,
    ) -> Result<Option<PersistentState>, StoreError>;

    /// Saving the same state again changes nothing; it is done again after a crash.
    async fn save(&self, state: PersistentState) -> Result<(), StoreError>;

    /// Gives those that were there.
    async fn remove(
        &self,
        workspace: &WorkspaceId,
        state_ids: &[String],
    ) -> Result<Vec<String>, StoreError>;

    /// The same, but leaves those that a run without an end began with or will leave.
    async fn prune(
        &self,
        workspace: &WorkspaceId,
        state_ids: &[String],
    ) -> Result<Vec<String>, StoreError> {
        self.remove(workspace, state_ids).await
    }

    /// All states of a workspace, those of the run begun last at the end, and of each run the newest last.
    async fn list(&self, workspace: &WorkspaceId) -> Result<Vec<String>, StoreError>;

    /// Those of one run, in any order.
    async fn of_run(&self, workspace: &WorkspaceId, run: &str) -> Result<Vec<String>, StoreError> {
        let mut ids = self.list(workspace).await?;
        ids.retain(|id| run_of_state(id).0 == run);
        Ok(ids)
    }
}

/// Ids of states that were copied from another chat begin so, in the place of the run that left them.
pub const COPIED: &str = "copy_";

/// Ids of runs tell when they were begun, and those of copies when they were made; how often a run was rolled back is a number.
pub(crate) fn age(id: &str) -> (&str, u64) {
    let (run, number) = run_of_state(id);
    let moment = run.strip_prefix("run_").or(run.strip_prefix(COPIED));
    (moment.unwrap_or(run), number)
}

pub(super) fn in_order(ids: &mut [String]) {
    ids.sort_by(|one, other| age(one).cmp(&age(other)));
}

/// In memory, for tests and for runs that leave nothing.
#[derive(Default)]
pub struct StatesInMemory(Mutex<HashMap<(WorkspaceId, String), PersistentState>>);

#[async_trait]
impl PersistentStates for StatesInMemory {
    async fn load(
        &self,
        workspace: &WorkspaceId,
        state_id: &str,
    ) -> Result<Option<PersistentState>, StoreError> {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(states
            .get(&(workspace.clone(), state_id.to_owned()))
            .cloned())
    }

    async fn save(&self, state: PersistentState) -> Result<(), StoreError> {
        let key = (state.workspace_id.clone(), state.state_id.clone());
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        states.insert(key, state);
        Ok(())
    }

    async fn remove(
        &self,
        workspace: &WorkspaceId,
        state_ids: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let mut states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = state_ids.iter().filter(|id| {
            let key = (workspace.clone(), (*id).clone());
            states.remove(&key).is_some()
        });
        Ok(gone.cloned().collect())
    }

    async fn list(&self, workspace: &WorkspaceId) -> Result<Vec<String>, StoreError> {
        let states = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let here = states.keys().filter(|(of, _)| of == workspace);
        let mut ids: Vec<String> = here.map(|(_, id)| id.clone()).collect();
        in_order(&mut ids);
        Ok(ids)
    }
}

/// What a run begins with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Projection {
    pub files: Vec<(String, FileInfo)>,
    /// The state that was to be the base is not there any more: the run begins with an empty root, and says so.
    pub is_missing: bool,
}

/// The files of the base, for the run's first step. A base that is gone ends no run.
pub async fn project(
    states: &dyn PersistentStates,
    workspace: &WorkspaceId,
    base: Option<&str>,
) -> Result<Projection, StoreError> {
    let Some(base) = base else {
        return Ok(Projection::default());
    };
    Ok(match states.load(workspace, base).await? {
        None => Projection {
            files: Vec::new(),
            is_missing: true,
        },
        Some(state) => Projection {
            files: of_persist(&state.files).into_iter().collect(),
            is_missing: false,
        },
    })
}

/// Keeps what a complete run leaves behind and gives how it differs from the base. Done again after a crash, it does the
/// same. `now`: all files of the run.
pub async fn keep(
    states: &dyn PersistentStates,
    workspace: &WorkspaceId,
    run: &str,
    base: Option<&str>,
    now: &BTreeMap<String, FileInfo>,
    chat: Option<StateChat>,
) -> Result<Vec<PersistentChange>, StoreError> {
    let began = project(states, workspace, base).await?.files;
    let (state, changes) = leave(workspace, run, base, &began.into_iter().collect(), now);
    states.save(PersistentState { chat, ..state }).await?;
    Ok(changes)
}

/// What a run leaves behind, and how it differs from what it began with. `began` and `now`: all files of the run.
pub fn leave(
    workspace: &WorkspaceId,
    run: &str,
    base_state_id: Option<&str>,
    began: &BTreeMap<String, FileInfo>,
    now: &BTreeMap<String, FileInfo>,
) -> (PersistentState, Vec<PersistentChange>) {
    let (began, now) = (of_persist(began), of_persist(now));
    let changes = changes(&began, &now);
    let state = PersistentState {
        workspace_id: workspace.clone(),
        state_id: run.to_owned(),
        base_state_id: base_state_id.map(str::to_owned),
        chat: None,
        files: now,
    };
    (state, changes)
}

fn of_persist(files: &BTreeMap<String, FileInfo>) -> BTreeMap<String, FileInfo> {
    files
        .iter()
        .filter(|(path, _)| is_below(path, PERSIST))
        .map(|(path, file)| (path.clone(), file.clone()))
        .collect()
}

/// In the order of their paths.
fn changes(
    began: &BTreeMap<String, FileInfo>,
    now: &BTreeMap<String, FileInfo>,
) -> Vec<PersistentChange> {
    let gone = began.keys().filter(|path| !now.contains_key(*path));
    let gone = gone.map(|path| PersistentChange {
        path: path.clone(),
        kind: ChangeKind::Deleted,
        sha256: None,
        extra: Default::default(),
    });
    let there = now.iter().filter_map(|(path, file)| {
        let kind = match began.get(path) {
            None => ChangeKind::Added,
            Some(old) if old.sha256 != file.sha256 => ChangeKind::Modified,
            Some(_) => return None,
        };
        Some(PersistentChange {
            path: path.clone(),
            kind,
            sha256: Some(file.sha256.as_str().to_owned()),
            extra: Default::default(),
        })
    });
    let mut changes: Vec<PersistentChange> = gone.chain(there).collect();
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}

/// Why a chat does not say where its memory is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseFault {
    #[error(
        "message {0} says '{1}' where the state of its memory is told: committed or not_committed"
    )]
    Status(usize, String),
    #[error("message {0} has committed its memory but does not say under which id")]
    NoId(usize),
}

impl BaseFault {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Status(..) => "agent.persist_state_status_invalid",
            Self::NoId(_) => "agent.persist_state_missing",
        }
    }
}

/// The base of a run: what the newest answer among `messages` has committed. `messages`: those of a chat file that the
/// run may see (see [`crate::chat::input_prefix`]).
pub fn base_of(messages: &[Json]) -> Result<Option<String>, BaseFault> {
    for (index, message) in messages.iter().enumerate().rev() {
        let is = |name: &str| message.get(name).and_then(Json::as_bool) == Some(true);
        let Some(agent) = message.pointer("/extra/tauritavern/agent") else {
            continue;
        };
        if is("is_user") || is("is_system") {
            continue;
        }
        let status = agent.get("persistStateStatus");
        match status.and_then(Json::as_str) {
            // Written before there was such a thing.
            None if status.is_none_or(Json::is_null) => {}
            Some("not_committed") => {}
            Some("committed") => {
                let id = agent.get("persistStateId").and_then(Json::as_str);
                return match id.filter(|id| !id.trim().is_empty()) {
                    Some(id) => Ok(Some(id.to_owned())),
                    None => Err(BaseFault::NoId(index)),
                };
            }
            other => {
                let told = other.map_or_else(|| "?".to_owned(), super::quoted);
                return Err(BaseFault::Status(index, told));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
#[path = "persist_tests.rs"]
mod tests;
