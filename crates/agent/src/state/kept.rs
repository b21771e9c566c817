//! The private states that runs of a chat have left, for people who look at them and correct them.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{ProfileId, WorkspaceId};
use innkeeper_store::{Contents, StoreError};
use innkeeper_tools::builtin::state::{Change, StateScope, Updated, version_conflict};
use innkeeper_tools::{Clock, ToolError};
use serde::Serialize;
use serde_json::Value as Json;

use super::decide::decide;
use super::document::PrivateDocument;
use super::version::{Author, StateVersion, changed_since};
use crate::workspace::host::read_content;
use crate::workspace::state::FileInfo;
use crate::workspace::{PersistentState, PersistentStates, measured};

pub struct KeptStates {
    states: Arc<dyn PersistentStates>,
    contents: Arc<dyn Contents>,
    clock: Arc<dyn Clock>,
}

/// Of one agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptState {
    pub profile_id: ProfileId,
    pub version: u64,
    pub value: Json,
    /// The newest first.
    pub history: Vec<StateVersion>,
}

impl KeptStates {
    pub fn new(
        states: Arc<dyn PersistentStates>,
        contents: Arc<dyn Contents>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            states,
            contents,
            clock,
        }
    }

    /// Those of all agents, in what a run has left.
    pub async fn list(
        &self,
        workspace: &WorkspaceId,
        state_id: &str,
    ) -> Result<Vec<KeptState>, ToolError> {
        let left = self.left(workspace, state_id).await?;
        self.read(left.files.iter()).await
    }

    /// The same of files that are no kept state: those of a run.
    pub async fn read(
        &self,
        files: impl Iterator<Item = (&String, &FileInfo)>,
    ) -> Result<Vec<KeptState>, ToolError> {
        let mut all = Vec::new();
        for (path, file) in files {
            let Some(profile_id) = PrivateDocument::owner(path) else {
                continue;
            };
            let PrivateDocument {
                version,
                value,
                history,
            } = self.document(path, file).await?;
            all.push(KeptState {
                profile_id,
                version,
                value,
                history,
            });
        }
        Ok(all)
    }

    /// Corrects the private state of an agent in what a run has left. Later runs that go on from there begin with it. `schema`:
    /// the profile's. Whoever calls it holds the home, so that nobody else does so at the same time.
    pub async fn update(
        &self,
        workspace: &WorkspaceId,
        state_id: &str,
        (profile, initial, schema): (&ProfileId, Json, Option<&Json>),
        changes: &[Change],
        expected: Option<u64>,
    ) -> Result<Updated, ToolError> {
        let mut left = self.left(workspace, state_id).await?;
        let path = PrivateDocument::path(profile);
        let document = match left.files.get(&path) {
            None => PrivateDocument::initial(initial),
            Some(file) => self.document(&path, file).await?,
        };
        if let Some(expected) = expected.filter(|expected| *expected != document.version) {
            let changed = changed_since(&document.history, expected);
            let scope = StateScope::Private;
            return Err(version_conflict(
                scope,
                expected,
                document.version,
                &changed,
            ));
        }
        let decided = decide(StateScope::Private, &document.value, schema, changes)?;
        if decided.changes.is_empty() {
            return Ok(decided.answer(document.version));
        }
        let version = document.version.saturating_add(1);
        let answer = decided.answer(version);
        let next = document.next(
            decided.value,
            StateVersion {
                version,
                at: self.clock.now(),
                by: Author::Person,
                changes: decided.changes,
            },
        );
        let (blob, info) = measured(next.write()?);
        left.files.insert(path, info);
        let brought = self.contents.put(vec![blob], Vec::new()).await;
        brought.map_err(storage)?;
        self.states.save(left).await.map_err(storage)?;
        Ok(answer)
    }

    /// Those of the states in which there is one of this agent.
    pub async fn holding(
        &self,
        workspace: &WorkspaceId,
        profile: &ProfileId,
        state_ids: &[String],
    ) -> Result<Vec<String>, ToolError> {
        let path = PrivateDocument::path(profile);
        let mut holding = Vec::new();
        for id in state_ids {
            let state = self.states.load(workspace, id).await.map_err(storage)?;
            if state.is_some_and(|state| state.files.contains_key(&path)) {
                holding.push(id.clone());
            }
        }
        Ok(holding)
    }

    /// Takes the private state of an agent out of them: whoever goes on from there begins with what its profile says. Whoever
    /// calls it holds the home.
    pub async fn forget(
        &self,
        workspace: &WorkspaceId,
        profile: &ProfileId,
        state_ids: &[String],
    ) -> Result<(), ToolError> {
        let path = PrivateDocument::path(profile);
        for id in state_ids {
            let state = self.states.load(workspace, id).await.map_err(storage)?;
            if let Some(mut state) = state.filter(|state| state.files.contains_key(&path)) {
                state.files.remove(&path);
                self.states.save(state).await.map_err(storage)?;
            }
        }
        Ok(())
    }

    async fn left(
        &self,
        workspace: &WorkspaceId,
        state_id: &str,
    ) -> Result<PersistentState, ToolError> {
        let left = self.states.load(workspace, state_id).await;
        left.map_err(storage)?.ok_or_else(|| {
            ToolError::new(
                ErrorCode::AgentNotFound,
                format!("the run '{state_id}' has left nothing to this chat: it is not complete, or what it left was removed"),
            )
            .because("state.not_kept")
        })
    }

    async fn document(&self, path: &str, file: &FileInfo) -> Result<PrivateDocument, ToolError> {
        let file = read_content(self.contents.as_ref(), path, file).await?;
        PrivateDocument::read(path, &file.text)
    }
}

fn storage(error: StoreError) -> ToolError {
    let message = format!("What runs have left cannot be reached in the store: {error}");
    ToolError::new(ErrorCode::WorkspaceStorageFailed, message).because(error.code())
}
