//! Every error code of the platform, in one table.
//!
//! A code is a type, never cut back out of a sentence. The table says of each code whether trying again
//! can help, and whether the model is told (it may correct itself) or the run ends. `docs/errors.md` has a
//! section for each; a test sees to that.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::{Serialize, Serializer};

/// Who has to deal with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Audience {
    /// It becomes an observation, and the run goes on.
    Model,
    /// It ends the run, or refuses what was asked of one.
    Run,
}

/// Whether the same request, sent again unchanged, may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Again {
    Useful,
    Useless,
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $name:ident = $wire:literal, $audience:ident, $again:ident;)*) => {
        /// Stable name of an error. The wire form never changes once released.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum ErrorCode { $($(#[$doc])* $name,)* }

        impl ErrorCode {
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }

            pub const fn audience(self) -> Audience {
                match self { $(Self::$name => Audience::$audience,)* }
            }

            const fn again(self) -> Again {
                match self { $(Self::$name => Again::$again,)* }
            }
        }
    };
}

error_codes! {
    // Starting a run, and the run itself.
    AgentChatCompletionRequired = "agent.phase2b_chat_completion_required", Run, Useless;
    AgentExternalToolsUnsupported = "agent.external_tools_unsupported_phase2b", Run, Useless;
    AgentExternalToolTurnsUnsupported = "agent.external_tool_turns_unsupported_phase2b", Run, Useless;
    AgentPresentationInvalid = "agent.presentation_invalid", Run, Useless;
    AgentInvalidProfile = "agent.invalid_profile", Run, Useless;
    AgentProfileStorageFailed = "agent.profile_storage_failed", Run, Useful;
    AgentOptionsInvalid = "agent.options_invalid", Run, Useless;
    AgentPromptSnapshotInvalid = "agent.prompt_snapshot_invalid", Run, Useless;
    AgentValidationError = "agent.validation_error", Run, Useless;
    AgentNotFound = "agent.not_found", Run, Useless;
    AgentUnauthorized = "agent.unauthorized", Run, Useless;
    AgentPermissionDenied = "agent.permission_denied", Run, Useless;
    AgentRateLimited = "agent.rate_limited", Run, Useful;
    AgentTransient = "agent.transient", Run, Useful;
    AgentCancelled = "agent.cancelled", Run, Useless;
    AgentInternalError = "agent.internal_error", Run, Useless;
    AgentInterrupted = "agent.interrupted", Run, Useful;
    AgentWorkspaceInUse = "agent.workspace_in_use", Run, Useful;
    AgentMaxToolRoundsExceeded = "agent.max_tool_rounds_exceeded", Run, Useless;
    AgentToolAfterFinish = "agent.tool_after_finish", Model, Useless;
    AgentForegroundCommitRequired = "agent.foreground_commit_required", Model, Useless;
    AgentDelegationDenied = "agent.delegation_policy_denied", Model, Useless;
    AgentDelegationBudgetExhausted = "agent.delegation_budget_exhausted", Model, Useless;
    AgentTargetProfileNotFound = "agent.target_profile_not_found", Model, Useless;
    AgentTaskNotFound = "agent.await_task_not_found", Model, Useless;
    AgentHandoffDenied = "agent.handoff_policy_denied", Model, Useless;
    AgentGuidanceInvalid = "agent.guidance_invalid", Run, Useless;
    AgentGuidanceMailboxFull = "agent.guidance_mailbox_full", Run, Useful;

    // What the model wrote.
    ProtocolMalformed = "protocol.malformed", Model, Useless;
    ProtocolRequestIdConflict = "protocol.request_id_conflict", Model, Useless;

    // Calling a tool.
    ToolUnknown = "tool.unknown", Model, Useless;
    ToolInvalidArguments = "tool.invalid_arguments", Model, Useless;
    ToolPolicyDenied = "tool.policy_denied", Model, Useless;
    ToolApprovalDenied = "tool.approval_denied", Model, Useless;
    ToolBudgetExhausted = "tool.budget_exhausted", Model, Useless;
    ToolExecutionFailed = "tool.execution_failed", Model, Useless;
    ToolTimeout = "tool.timeout", Model, Useful;
    ToolUnavailable = "tool.unavailable", Model, Useful;
    ToolCancelled = "tool.cancelled", Model, Useless;
    /// The call was sent and nobody knows whether it took effect: trying again may do it twice.
    ToolOutcomeUnknown = "tool.outcome_unknown", Model, Useless;
    ToolResultInvalid = "tool.result_invalid", Model, Useless;
    ToolSkipped = "tool.skipped", Model, Useless;
    ToolReferenceUnresolved = "tool.reference_unresolved", Model, Useless;

    // The workspace of a run.
    WorkspacePathDenied = "workspace.path_denied", Model, Useless;
    WorkspaceRequiredArtifactMissing = "workspace.required_artifact_missing", Model, Useless;
    WorkspaceFileNotFound = "workspace.file_not_found", Model, Useless;
    WorkspacePathIsDirectory = "workspace.path_is_directory", Model, Useless;
    WorkspaceInvalidRange = "workspace.invalid_range", Model, Useless;
    WorkspaceReadTooLarge = "workspace.read_too_large", Model, Useless;
    WorkspaceWriteTooLarge = "workspace.write_too_large", Model, Useless;
    WorkspaceWriteRequiresRead = "workspace.write_requires_read", Model, Useless;
    WorkspaceWriteStaleFile = "workspace.write_stale_file", Model, Useless;
    WorkspacePatchFailed = "workspace.patch_failed", Model, Useless;
    WorkspaceModeInvalid = "workspace.mode_invalid", Model, Useless;
    WorkspaceStorageFailed = "workspace.storage_failed", Run, Useful;

    // The chat and the world info of a run.
    ChatNotFound = "chat.not_found", Model, Useless;
    ChatMessageNotFound = "chat.message_not_found", Model, Useless;
    ChatInvalidMessageRange = "chat.invalid_message_range", Model, Useless;
    ChatReadTooLarge = "chat.read_too_large", Model, Useless;
    WorldinfoActivationUnavailable = "worldinfo.activation_unavailable", Model, Useless;
    WorldinfoEntryNotFound = "worldinfo.entry_not_found", Model, Useless;
    WorldinfoInvalidEntryRange = "worldinfo.invalid_entry_range", Model, Useless;
    WorldinfoReadTooLarge = "worldinfo.read_too_large", Model, Useless;

    // Skills.
    SkillNotFound = "skill.not_found", Model, Useless;
    SkillNotVisible = "skill.not_visible", Model, Useless;
    SkillPolicyDenied = "skill.policy_denied", Model, Useless;
    SkillInvalidRequest = "skill.invalid_request", Model, Useless;
    SkillReadBudgetExceeded = "skill.read_budget_exceeded", Model, Useless;
    SkillReadBudgetExhausted = "skill.read_budget_exhausted", Model, Useless;
    SkillStorageFailed = "skill.storage_failed", Model, Useful;
    SkillInvalidPackage = "skill.invalid_package", Run, Useless;
    SkillConflict = "skill.conflict", Run, Useless;
    SkillStaleFile = "skill.stale_file", Run, Useless;

    // The model and its provider.
    ModelRequestFailed = "model.request_failed", Run, Useful;
    ModelProviderRateLimited = "model.provider_rate_limited", Run, Useful;
    ModelUnauthorized = "model.unauthorized", Run, Useless;
    ModelUpstreamInvalidResponse = "model.upstream_invalid_response", Run, Useful;
    ModelInvalidToolCall = "model.invalid_tool_call", Model, Useless;
    ModelToolCallRequired = "model.tool_call_required", Run, Useless;
    ModelNativeMetadataLost = "model.native_metadata_lost", Run, Useless;
    ModelContextTooLong = "model.context_too_long", Run, Useless;

    // Publishing to the chat.
    CommitSaveFailed = "commit.save_failed", Run, Useful;
    CommitChatMismatch = "commit.chat_mismatch", Run, Useless;
    CommitModeInvalid = "commit.mode_invalid", Model, Useless;

    // The doors to the network.
    HttpHostRefused = "http.host_refused", Run, Useless;
    HttpOriginRefused = "http.origin_refused", Run, Useless;
    HttpUnauthorized = "http.unauthorized", Run, Useless;
    HttpForbidden = "http.forbidden", Run, Useless;
    HttpPairingRefused = "http.pairing_refused", Run, Useless;
    HttpNotFound = "http.not_found", Run, Useless;
    HttpMethodNotAllowed = "http.method_not_allowed", Run, Useless;
    HttpInvalidRequest = "http.invalid_request", Run, Useless;
    HttpConflict = "http.conflict", Run, Useless;
    HttpTooLarge = "http.too_large", Run, Useless;
    HttpUnsupportedMediaType = "http.unsupported_media_type", Run, Useless;
    HttpRateLimited = "http.rate_limited", Run, Useful;
    HttpTimeout = "http.timeout", Run, Useful;
    HttpSlowRequest = "http.slow_request", Run, Useful;
    HttpClosing = "http.closing", Run, Useful;
    HttpInternal = "http.internal_error", Run, Useless;
}

impl ErrorCode {
    /// Whether the same request, sent again unchanged, may succeed. It says nothing about whether it is
    /// safe to: an effect whose outcome is unknown is never repeated without asking.
    pub const fn retryable(self) -> bool {
        matches!(self.again(), Again::Useful)
    }

    /// The model gets it as an observation; otherwise it ends the run.
    pub const fn tells_model(self) -> bool {
        matches!(self.audience(), Audience::Model)
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an error code")]
pub struct UnknownErrorCode(pub String);

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|code| code.as_str() == text)
            .ok_or_else(|| UnknownErrorCode(text.to_owned()))
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(D::Error::custom)
    }
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
