//! What is told about profiles in their folders. The wire forms are those that pages and extensions know.

use innkeeper_protocol::event::ProfileId;
use serde::Serialize;

use super::{AgentProfile, Problem};

/// A profile that can be used.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    pub profile: AgentProfile,
    pub source: ProfileSource,
    pub warnings: Vec<Problem>,
}

/// On the wire, `built_in` or `file:<id>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProfileSource {
    BuiltIn,
    File {
        id: ProfileId,
        /// As people know it.
        path: String,
    },
}

impl std::fmt::Display for ProfileSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built_in"),
            Self::File { id, .. } => write!(f, "file:{id}"),
        }
    }
}

/// What there is, and what cannot be used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ProfileList {
    pub profiles: Vec<ProfileSummary>,
    pub issues: Vec<Issue>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileSummary {
    pub id: ProfileId,
    pub display_name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub direct_runnable: bool,
}

/// A file that cannot be used as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Issue {
    /// The name of the file without its ending: what a repair is asked for by.
    pub profile_id: String,
    pub file_name: String,
    pub kind: IssueKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recommended_action: Option<RecommendedAction>,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum IssueKind {
    InvalidJson,
    /// The id inside is not the name of the file.
    InvalidFileIdentity,
    InvalidProfile,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RecommendedAction {
    Delete,
    NormalizeIdentity,
}

/// Which profiles now use another preset.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retargeted {
    pub updated: usize,
    pub profile_ids: Vec<ProfileId>,
}
