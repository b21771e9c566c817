//! The private state of the run that a call belongs to: a file that is staged, journaled and kept like any other.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_tools::builtin::state::{
    Change, StateHome, StateScope, Updated, Versioned, version_conflict,
};
use innkeeper_tools::{Invocation, ToolError};

use super::decide::decide;
use super::desk::StateDesk;
use super::document::PrivateDocument;
use super::version::{StateVersion, changed_since};
use crate::workspace::state::How;
use crate::workspace::{NewFile, WorkspacePath, WorkspaceSession, Workspaces, measured};

pub(super) struct PrivateStates(pub(super) Workspaces);

#[async_trait]
impl StateHome for PrivateStates {
    async fn read(&self, call: &Invocation) -> Result<Versioned, ToolError> {
        let session = self.0.of_call(call)?;
        let desk = session.door()?.states();
        let document = document(&session, &desk).await?;
        Ok(Versioned {
            version: document.version,
            value: Arc::new(document.value),
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
        let session = home(&place.session)?;
        let _writing = session.writing().await;
        let document = document(&place.session, &desk).await?;
        if let Some(expected) = expected.filter(|expected| *expected != document.version) {
            let changed = changed_since(&document.history, expected);
            return Err(version_conflict(
                StateScope::Private,
                expected,
                document.version,
                &changed,
            ));
        }
        let schema = desk.schema.as_ref();
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
                at: desk.now(),
                by: desk.author(&place.call),
                changes: decided.changes,
            },
        );
        let (blob, info) = measured(next.write()?);
        let path = PrivateDocument::path(&desk.profile);
        let file = NewFile {
            path: WorkspacePath::parse(&path).map_err(|why| {
                ToolError::failed(format!("'{path}' is no path: {why}")).permanent()
            })?,
            how: How::State {
                call: place.call.clone(),
                version,
                paths: answer.paths.clone(),
            },
            blob,
            info,
            read: None,
        };
        session.put(&place.call, file)?;
        Ok(answer)
    }
}

/// Whose files it is among.
fn home(session: &Arc<WorkspaceSession>) -> Result<Arc<WorkspaceSession>, ToolError> {
    let shared = session.door()?.private_home();
    Ok(shared.unwrap_or_else(|| session.clone()))
}

pub(super) async fn document(
    session: &Arc<WorkspaceSession>,
    desk: &StateDesk,
) -> Result<PrivateDocument, ToolError> {
    let session = home(session)?;
    let path = PrivateDocument::path(&desk.profile);
    match session.file(&path) {
        None => Ok(PrivateDocument::initial(desk.initial.clone())),
        Some(file) => {
            let text = session.text(&path, &file.sha256).await?;
            PrivateDocument::read(&path, text.as_str())
        }
    }
}

impl StateDesk {
    /// The private state of the run as it is now, with what open calls have done.
    pub(crate) async fn private_state(
        &self,
        session: &Arc<WorkspaceSession>,
    ) -> Result<serde_json::Value, ToolError> {
        Ok(document(session, self).await?.value)
    }

    pub(crate) async fn world_state(&self) -> Result<serde_json::Value, ToolError> {
        Ok(self.worlds.read(&self.workspace).await?.value)
    }
}
