//! Beginning, course and end of a run.

use serde_json::Value as Json;

use super::{InvocationId, ProfileId, WorkspaceId, payloads};

/// Where a run stands. The last four of the normal course and its exceptions are final.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    Created,
    InitializingWorkspace,
    AssemblingContext,
    CallingModel,
    DispatchingTool,
    /// A person is asked whether a call may run.
    AwaitingApproval,
    ApplyingWorkspacePatch,
    CreatingCheckpoint,
    #[serde(alias = "awaiting_commit")]
    AwaitingHostCommit,
    Finishing,
    Completed,
    PartialSuccess,
    Cancelling,
    Cancelled,
    Failed,
}

impl RunStatus {
    pub const fn is_terminal(self) -> bool {
        matches!(
            self,
            Self::Completed | Self::PartialSuccess | Self::Cancelled | Self::Failed
        )
    }
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Presentation {
    #[default]
    Foreground,
    Background,
}

payloads! {
    RunCreated {
        workspace_id: WorkspaceId,
        stable_chat_id: String,
        persist_base_state_id: Option<String>,
        #[serde(default)]
        presentation: Presentation,
    }
    ProfileResolved {
        profile_id: ProfileId,
        /// `built_in` or `file:<id>`.
        source: String,
    }
    SkillScopesResolved {
        scopes: Json,
        refs: Json,
        effective_skills: Vec<EffectiveSkill>,
    }
    EffectiveSkill {
        name: String,
        scope: Json,
        installed_hash: Option<String>,
    }
    StatusChanged {
        status: RunStatus,
    }
    ContextAssembled {
        request: Json,
        invocation_id: InvocationId,
        /// The tools as they are told to the model.
        tools: Json,
        max_rounds: u32,
        context_policy: Json,
        model_retry: Json,
    }
    PromptAssembly {
        assembly_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        request_kind: Option<String>,
    }
    GuidanceSubmitted {
        guidance_id: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        client_guidance_id: Option<String>,
        text: String,
    }
    GuidanceApplied {
        guidance_ids: Vec<String>,
        client_guidance_ids: Vec<String>,
        invocation_id: InvocationId,
        round: u32,
        count: u64,
        chars: u64,
        words: u64,
        preview: String,
        message_index: u64,
        request_message_count: u64,
        status: String,
    }
    GuidanceDiscarded {
        reason: String,
    }
    /// The model answered without a tool where one was needed.
    DirectOutputCaptured {
        round: u32,
        path: String,
        chars: u64,
        words: u64,
        sha256: String,
        model_response_path: String,
    }
    DriftRecoveryAttempted {
        attempt: u32,
        max_attempts: u32,
        max_rounds: u32,
        limit_reason: Option<String>,
        round: u32,
        invocation_id: InvocationId,
        committed_count: u64,
        reason_code: String,
    }
    AgentLoopFinished {
        commit_count: u64,
        round: u32,
        invocation_id: InvocationId,
        /// `text_turn` where a plain answer ended it.
        #[serde(skip_serializing_if = "Option::is_none")]
        ended_by: Option<String>,
    }
    RunFailed {
        /// An error code; a plain string, so that journals of other versions stay readable.
        code: String,
        message: String,
        technical_message: Option<String>,
        retryable: bool,
        user_retryable: bool,
        details: Json,
    }
    RunPartialSuccess {
        code: String,
        message: String,
        technical_message: Option<String>,
        retryable: bool,
        user_retryable: bool,
        details: Json,
        preserved_commit_count: u64,
        preserved_commits: Vec<PreservedCommit>,
    }
    PreservedCommit {
        path: String,
        mode: String,
        message_id: String,
        round: u32,
    }
    RunCancelled {
        message: String,
    }
    /// It goes on when a person says so.
    RunPaused {
        invocation_id: InvocationId,
        /// `after_crash`, `taken_over_too_often`.
        reason: String,
    }
    /// The process that drove it has gone; another one took it up.
    RunRecovered {
        invocation_id: InvocationId,
        /// How often that has happened without the run getting on.
        takeovers: u32,
    }
    /// A person wants it to go on. It follows on a pause, or on the run's end, which it takes back.
    RunResumed {
        invocation_id: InvocationId,
        additional_rounds: u32,
        round: u32,
        max_rounds: u32,
    }
}
