//! The private state of an agent as a file of its chat: the value, its version, and how it came to be so.

use innkeeper_protocol::event::ProfileId;
use innkeeper_tools::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::version::StateVersion;
use crate::limits::{MAX_PRETTY_STATE_BYTES, MAX_PRIVATE_HISTORY_BYTES, MAX_PRIVATE_VERSIONS};

/// No file tool sees it, whatever the profile says: what is in it is held to a schema.
pub(crate) const STATE_FOLDER: &str = "persist/.state";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PrivateDocument {
    pub(super) version: u64,
    pub(super) value: Json,
    /// The newest first.
    #[serde(default)]
    pub(super) history: Vec<StateVersion>,
}

/// Ids of profiles are names of files too.
pub(crate) fn private_state_path(profile: &ProfileId) -> String {
    format!("{STATE_FOLDER}/{profile}.json")
}

impl PrivateDocument {
    pub(super) fn path(profile: &ProfileId) -> String {
        private_state_path(profile)
    }

    /// Whose it is, where a path is that of one.
    pub(super) fn owner(path: &str) -> Option<ProfileId> {
        let name = path.strip_prefix(STATE_FOLDER)?.strip_prefix('/')?;
        name.strip_suffix(".json").map(ProfileId::new)
    }

    pub(super) fn initial(value: Json) -> Self {
        Self {
            version: 0,
            value,
            history: Vec::new(),
        }
    }

    pub(super) fn read(path: &str, text: &str) -> Result<Self, ToolError> {
        serde_json::from_str(text).map_err(|error| {
            ToolError::failed(format!(
                "The private state in '{path}' cannot be read ({error}): go back to a checkpoint before it was damaged"
            ))
            .because("state.damaged")
            .permanent()
        })
    }

    /// With a line for each value, so that comparing two of them tells which; a large one as short as can be.
    pub(super) fn write(&self) -> Result<String, ToolError> {
        let failed = |error: serde_json::Error| ToolError::failed(error.to_string()).permanent();
        let short = serde_json::to_string(self).map_err(failed)?;
        let mut text = match short.len() > MAX_PRETTY_STATE_BYTES {
            true => short,
            false => serde_json::to_string_pretty(self).map_err(failed)?,
        };
        text.push('\n');
        Ok(text)
    }

    /// The oldest versions go where there are too many.
    pub(super) fn next(mut self, value: Json, version: StateVersion) -> Self {
        self.version = version.version;
        self.value = value;
        self.history.insert(0, version.bounded());
        self.history.truncate(MAX_PRIVATE_VERSIONS);
        let mut bytes = 0;
        let fitting = self.history.iter().take_while(|version| {
            bytes += serde_json::to_string(version).map_or(0, |text| text.len());
            bytes <= MAX_PRIVATE_HISTORY_BYTES
        });
        let fitting = fitting.count().max(1);
        self.history.truncate(fitting);
        self
    }
}
