//! The world of a chat: what its agents share. Changed in the store, from the version that was seen, once for each request.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::WorkspaceId;
use innkeeper_store::{StoreError, WorldStore, WorldUpdate, WorldUpdated};
use innkeeper_tools::builtin::state::{
    Change, StateHome, StateScope, Updated, Versioned, version_conflict,
};
use innkeeper_tools::{Clock, Invocation, ToolError};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use super::decide::decide;
use super::desk::WorldChange;
use super::schema;
use super::version::{Author, StateVersion, changed_since};
use crate::limits::{MAX_STATE_HISTORY_READ, MAX_WORLD_TRIES};
use crate::workspace::Workspaces;

/// The worlds of all chats. Clones are the same.
#[derive(Clone)]
pub struct Worlds {
    store: Arc<dyn WorldStore>,
    clock: Arc<dyn Clock>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorldView {
    /// 0: nobody has changed it.
    pub version: u64,
    pub value: Json,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
}

impl Worlds {
    pub fn new(store: Arc<dyn WorldStore>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock }
    }

    pub async fn read(&self, workspace: &WorkspaceId) -> Result<WorldView, ToolError> {
        let world = self.store.get(workspace).await.map_err(storage)?;
        let Some(world) = world else {
            return Ok(WorldView {
                version: 0,
                value: Json::Object(Map::new()),
                schema: None,
            });
        };
        let schema = world.schema.map(|schema| read(workspace, &schema));
        Ok(WorldView {
            version: world.version,
            value: read(workspace, &world.value)?,
            schema: schema.transpose()?,
        })
    }

    /// The newest versions that are kept, the newest first.
    pub async fn history(
        &self,
        workspace: &WorkspaceId,
        limit: usize,
    ) -> Result<Vec<StateVersion>, ToolError> {
        let limit = limit.min(MAX_STATE_HISTORY_READ);
        let records = self.store.history(workspace, None, limit).await;
        let records = records.map_err(storage)?;
        records
            .iter()
            .map(|record| read(workspace, record))
            .collect()
    }

    /// All changes or none. Under a `request` that was made before it changes nothing, and answers what it answered then.
    pub async fn update(
        &self,
        workspace: &WorkspaceId,
        by: Author,
        request: Option<String>,
        changes: &[Change],
        expected: Option<u64>,
    ) -> Result<Updated, ToolError> {
        if let Some(request) = &request {
            let known = self.store.answer(workspace, request).await;
            if let Some(answer) = known.map_err(storage)? {
                return read(workspace, &answer);
            }
        }
        // Where nobody says from which version, somebody else may be quicker now and then.
        for _ in 0..MAX_WORLD_TRIES {
            let world = self.read(workspace).await?;
            if let Some(expected) = expected.filter(|expected| *expected != world.version) {
                let history = self.history(workspace, MAX_STATE_HISTORY_READ).await?;
                let changed = changed_since(&history, expected);
                return Err(version_conflict(
                    StateScope::World,
                    expected,
                    world.version,
                    &changed,
                ));
            }
            let decided = decide(
                StateScope::World,
                &world.value,
                world.schema.as_ref(),
                changes,
            )?;
            let is_same = decided.changes.is_empty();
            if is_same && request.is_none() {
                return Ok(decided.answer(world.version));
            }
            let version = world.version.saturating_add(u64::from(!is_same));
            let answer = decided.answer(version);
            let record = StateVersion {
                version,
                at: self.clock.now(),
                by: by.clone(),
                changes: decided.changes,
            };
            let update = WorldUpdate {
                workspace: workspace.clone(),
                base: world.version,
                value: decided.value.to_string().into(),
                record: json!(record.bounded()).to_string().into(),
                request: request
                    .clone()
                    .map(|request| (request, json!(answer).to_string().into())),
            };
            // That nothing came of it is an answer too, whatever others do before it is asked for again.
            let updated = match is_same {
                true => self.store.remember(update).await,
                false => self.store.update(update).await,
            };
            match updated.map_err(storage)? {
                WorldUpdated::Made => return Ok(answer),
                WorldUpdated::Again(answer) => return read(workspace, &answer),
                WorldUpdated::Moved(_) => {}
            }
        }
        Err(
            ToolError::failed("Others change the world state all the time: try again")
                .because("state.busy"),
        )
    }

    /// What the world must fit from now on; it has to fit it now.
    pub async fn set_schema(
        &self,
        workspace: &WorkspaceId,
        wanted: Option<Json>,
    ) -> Result<(), ToolError> {
        let text = wanted.as_ref().map(|schema| schema.to_string().into());
        for _ in 0..MAX_WORLD_TRIES {
            let world = self.read(workspace).await?;
            if let Some(wanted) = &wanted {
                schema::check(StateScope::World, wanted, &world.value)?;
            }
            let set = self
                .store
                .set_schema(workspace, world.version, text.clone());
            if set.await.map_err(storage)? {
                return Ok(());
            }
        }
        Err(
            ToolError::failed("Others change the world state all the time: try again")
                .because("state.busy"),
        )
    }
}

fn storage(error: StoreError) -> ToolError {
    let message = format!("The world state cannot be reached in the store: {error}");
    ToolError::new(ErrorCode::WorkspaceStorageFailed, message).because(error.code())
}

fn read<T: serde::de::DeserializeOwned>(
    workspace: &WorkspaceId,
    text: &str,
) -> Result<T, ToolError> {
    serde_json::from_str(text).map_err(|error| {
        ToolError::failed(format!(
            "The world state of '{workspace}' cannot be read ({error}): check the database with 'innkeeper doctor'"
        ))
        .because("state.damaged")
        .permanent()
    })
}

/// That of the run which a call belongs to.
pub(super) struct WorldOfRun(pub(super) Workspaces);

#[async_trait]
impl StateHome for WorldOfRun {
    async fn read(&self, call: &Invocation) -> Result<Versioned, ToolError> {
        let desk = self.0.of_call(call)?.door()?.states();
        let world = desk.worlds.read(&desk.workspace).await?;
        Ok(Versioned {
            value: Arc::new(world.value),
            version: world.version,
        })
    }

    async fn update(
        &self,
        call: &Invocation,
        changes: &[Change],
        expected: Option<u64>,
    ) -> Result<Updated, ToolError> {
        let place = self.0.desk(call)?;
        let desk = place.session.door()?.states();
        let request = desk.request(&place.call, &call.context.call_id);
        let by = desk.author(&place.call);
        let updated = desk
            .worlds
            .update(&desk.workspace, by, Some(request), changes, expected)
            .await?;
        if !updated.paths.is_empty() {
            let change = WorldChange {
                version: updated.version,
                paths: updated.paths.clone(),
            };
            desk.changed(&place.call, change);
        }
        Ok(updated)
    }
}
