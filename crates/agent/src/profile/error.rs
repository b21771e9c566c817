//! What can go wrong with profiles in their folders.

use std::io;

use innkeeper_protocol::ErrorCode;

use super::problem::InvalidProfile;

#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    #[error("the profile '{id}' cannot be used: {why}")]
    Invalid { id: String, why: InvalidProfile },
    #[error("there is no profile '{id}'{near}")]
    NotFound {
        id: String,
        /// `, did you mean 'x'?`, or nothing.
        near: String,
    },
    /// What was asked for makes no sense, whatever lies in the folders.
    #[error("{message}")]
    Request {
        reason: &'static str,
        message: String,
    },
    #[error("{place} cannot be {doing}: {source}")]
    Storage {
        place: String,
        doing: &'static str,
        source: io::Error,
    },
}

impl ProfileError {
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Invalid { .. } => ErrorCode::AgentInvalidProfile,
            Self::NotFound { .. } => ErrorCode::AgentNotFound,
            Self::Request { .. } => ErrorCode::AgentValidationError,
            Self::Storage { .. } => ErrorCode::AgentProfileStorageFailed,
        }
    }

    /// The fine name that travels in `details.reason`.
    pub fn reason(&self) -> Option<&'static str> {
        match self {
            Self::Invalid { why, .. } => Some(why.reason()),
            Self::NotFound { .. } => Some("agent.profile_not_found"),
            Self::Request { reason, .. } => Some(reason),
            Self::Storage { .. } => None,
        }
    }
}
