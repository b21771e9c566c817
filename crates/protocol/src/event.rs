//! What happens in a run, as a numbered journal that pages and extensions read.
//!
//! Events are an enum; the wire form (`type`, camel-case `payload`) is derived from it and never written by
//! hand. A type this version does not know, and a payload that does not fit its type, are kept as they came
//! (`Other`), so an older reader loses nothing. Time and ids are given by the caller.

mod commit;
mod id;
mod model;
mod rollback;
mod run;
mod scope;
mod task;
mod tool;
mod workspace;

use serde::de::{Deserialize, Deserializer};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};

pub use commit::*;
pub use id::*;
pub use model::*;
pub use rollback::*;
pub use run::*;
pub use task::*;
pub use tool::*;
pub use workspace::*;

/// One line of a run's journal.
#[derive(Debug, Clone, PartialEq)]
pub struct RunEvent {
    /// 1, 2, 3 … without a gap.
    pub seq: u64,
    pub id: EventId,
    pub run_id: RunId,
    pub timestamp: Timestamp,
    pub level: Level,
    /// Whom it concerns. On the wire it is `payload.eventScope`; a payload that is no object has none.
    pub scope: Option<EventScope>,
    pub kind: RunEventKind,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Debug,
    Info,
    Warn,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EventScope {
    pub invocation_id: InvocationId,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_invocation_ids: Vec<InvocationId>,
}

/// Declares payloads. Every one keeps keys it does not know.
macro_rules! payloads {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name {
                $($(#[$field_doc])* pub $field: $kind,)*
                /// Keys beyond these.
                #[serde(flatten)]
                pub extra: serde_json::Map<String, serde_json::Value>,
            }
        )*
    };
}
pub(crate) use payloads;

macro_rules! kinds {
    (
        with_payload { $($name:ident($payload:ty) = $wire:literal, $level:ident;)* }
        without { $($bare:ident = $bare_wire:literal, $bare_level:ident;)* }
    ) => {
        /// What happened.
        #[derive(Debug, Clone, PartialEq)]
        pub enum RunEventKind {
            $($name($payload),)*
            $($bare,)*
            /// Of a type, or with a payload, that this version does not know.
            Other { kind: String, payload: Json },
        }

        impl RunEventKind {
            /// Every type name that is known.
            pub const NAMES: &'static [&'static str] = &[$($wire,)* $($bare_wire,)*];

            /// `type` on the wire.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$name(_) => $wire,)*
                    $(Self::$bare => $bare_wire,)*
                    Self::Other { kind, .. } => kind,
                }
            }

            /// How loud an event of this kind is unless the caller says otherwise.
            pub const fn default_level(&self) -> Level {
                match self {
                    $(Self::$name(_) => Level::$level,)*
                    $(Self::$bare => Level::$bare_level,)*
                    Self::Other { .. } => Level::Info,
                }
            }

            /// There is nothing to tell but that it happened.
            const fn is_bare(&self) -> bool {
                matches!(self, $(Self::$bare)|*)
            }

            fn write_payload<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$name(payload) => payload.serialize(serializer),)*
                    $(Self::$bare => serializer.serialize_unit(),)*
                    Self::Other { payload, .. } => payload.serialize(serializer),
                }
            }

            fn read(kind: String, payload: Json) -> Self {
                let read = match kind.as_str() {
                    $($wire => <$payload as Deserialize>::deserialize(&payload).ok().map(Self::$name),)*
                    $($bare_wire => payload.is_null().then_some(Self::$bare),)*
                    _ => None,
                };
                read.unwrap_or(Self::Other { kind, payload })
            }
        }
    };
}

kinds! {
    with_payload {
    RunCreated(RunCreated) = "run_created", Info;
    ProfileResolved(ProfileResolved) = "profile_resolved", Info;
    SkillScopesResolved(SkillScopesResolved) = "skill_scopes_resolved", Info;
    GenerationIntentRecorded(Json) = "generation_intent_recorded", Info;
    StatusChanged(StatusChanged) = "status_changed", Info;
    ContextAssembled(ContextAssembled) = "context_assembled", Info;
    PromptAssemblyRequested(PromptAssembly) = "prompt_assembly_requested", Info;
    PromptAssemblyCompleted(PromptAssembly) = "prompt_assembly_completed", Info;
    PromptAssemblyFailed(PromptAssembly) = "prompt_assembly_failed", Error;
    UserGuidanceSubmitted(GuidanceSubmitted) = "user_guidance_submitted", Info;
    UserGuidanceApplied(GuidanceApplied) = "user_guidance_applied", Info;
    UserGuidanceDiscarded(GuidanceDiscarded) = "user_guidance_discarded", Info;
    DirectOutputCaptured(DirectOutputCaptured) = "direct_output_captured", Info;
    DriftRecoveryAttempted(DriftRecoveryAttempted) = "drift_recovery_attempted", Warn;
    AgentLoopFinished(AgentLoopFinished) = "agent_loop_finished", Info;
    RunPartialSuccess(RunPartialSuccess) = "run_partial_success", Warn;
    RunFailed(RunFailed) = "run_failed", Error;
    RunCancelled(RunCancelled) = "run_cancelled", Info;
    RunPaused(RunPaused) = "run_paused", Info;
    RunRecovered(RunRecovered) = "run_recovered", Info;
    RunResumed(RunResumed) = "run_resumed", Info;
    RunRolledBack(RunRolledBack) = "run_rolled_back", Info;

    AgentModelBindingResolved(ModelBindingResolved) = "agent_model_binding_resolved", Info;
    ModelRequestCreated(ModelRequestCreated) = "model_request_created", Info;
    ContextCompacted(ContextCompacted) = "context_compacted", Info;
    ModelCallAttemptStarted(ModelCallAttempt) = "model_call_attempt_started", Debug;
    ModelCallAttemptFailed(ModelCallAttemptFailed) = "model_call_attempt_failed", Warn;
    ModelCallRetryScheduled(ModelCallRetryScheduled) = "model_call_retry_scheduled", Warn;
    ModelResponseStored(ModelResponseStored) = "model_response_stored", Debug;
    ProviderStateUpdated(ProviderStateUpdated) = "provider_state_updated", Debug;
    ModelCompleted(ModelCompleted) = "model_completed", Info;

    ToolCallRequested(ToolCallRequested) = "tool_call_requested", Info;
    ToolCallAwaitingApproval(ToolCallAwaitingApproval) = "tool_call_awaiting_approval", Info;
    ToolCallApproved(ToolCallAnswered) = "tool_call_approved", Info;
    ToolCallDenied(ToolCallAnswered) = "tool_call_denied", Info;
    ToolCallStarted(ToolCallStarted) = "tool_call_started", Info;
    ToolResultStored(ToolResultStored) = "tool_result_stored", Debug;
    ToolCallCompleted(ToolCallEnded) = "tool_call_completed", Info;
    ToolCallFailed(ToolCallEnded) = "tool_call_failed", Warn;
    ToolTaskEnded(ToolTaskEnded) = "tool_task_ended", Info;

    WorkspaceInitialized(WorkspaceInitialized) = "workspace_initialized", Info;
    PersistentProjectionInitialized(PersistentProjectionInitialized) = "persistent_projection_initialized", Info;
    WorkspaceFileWritten(WorkspaceFileWritten) = "workspace_file_written", Info;
    WorkspaceFileDeleted(WorkspaceFileDeleted) = "workspace_file_deleted", Info;
    WorkspacePatchApplied(WorkspacePatchApplied) = "workspace_patch_applied", Info;
    StateUpdated(StateUpdated) = "state_updated", Info;
    CheckpointCreated(CheckpointCreated) = "checkpoint_created", Info;
    PersistentChangesCommitted(PersistentChangesCommitted) = "persistent_changes_committed", Info;
    PersistentChangesCommitFailed(PersistentChangesCommitFailed) = "persistent_changes_commit_failed", Error;
    PersistentStateMetadataUpdateRequested(MetadataUpdateRequested) = "persistent_state_metadata_update_requested", Info;
    PersistentStateMetadataUpdated(MetadataUpdated) = "persistent_state_metadata_updated", Info;
    PersistentStateMetadataUpdateFailed(MetadataUpdateFailed) = "persistent_state_metadata_update_failed", Error;

    ChatCommitStarted(ChatCommitStarted) = "chat_commit_started", Info;
    ChatCommitRequested(ChatCommitRequested) = "chat_commit_requested", Info;
    ChatCommitCompleted(ChatCommitCompleted) = "chat_commit_completed", Info;
    ChatCommitFailed(ChatCommitFailed) = "chat_commit_failed", Error;
    ChatCommitRecorded(ChatCommitRecorded) = "chat_commit_recorded", Info;

    AgentInvocationCreated(InvocationCreated) = "agent_invocation_created", Info;
    AgentInvocationStarted(InvocationChanged) = "agent_invocation_started", Info;
    AgentInvocationCompleted(InvocationChanged) = "agent_invocation_completed", Info;
    AgentInvocationFailed(InvocationChanged) = "agent_invocation_failed", Error;
    AgentChildInvocationFailed(InvocationChanged) = "agent_child_invocation_failed", Warn;
    AgentTaskRegistered(TaskChanged) = "agent_task_registered", Info;
    AgentTaskQueued(TaskChanged) = "agent_task_queued", Info;
    AgentTaskStarted(TaskChanged) = "agent_task_started", Info;
    AgentTaskCompleted(TaskChanged) = "agent_task_completed", Info;
    AgentTaskFailed(TaskChanged) = "agent_task_failed", Warn;
    AgentTaskCancelled(TaskChanged) = "agent_task_cancelled", Info;
    AgentDelegateStarted(DelegateStarted) = "agent_delegate_started", Info;
    AgentAwaitStarted(AwaitChanged) = "agent_await_started", Info;
    AgentAwaitCompleted(AwaitChanged) = "agent_await_completed", Info;
    TaskReturnRecorded(TaskReturned) = "task_return_recorded", Info;
    TaskReturnCompleted(TaskReturned) = "task_return_completed", Info;
    AgentHandoffRequested(HandoffRequested) = "agent_handoff_requested", Info;
    AgentHandoffAccepted(HandoffAccepted) = "agent_handoff_accepted", Info;
    }
    without {
    RunCompleted = "run_completed", Info;
    RunCancelRequested = "run_cancel_requested", Info;
    }
}

impl RunEventKind {
    /// The last event of its run; there is exactly one, unless the run is resumed.
    pub const fn is_terminal(&self) -> bool {
        matches!(
            self,
            Self::RunCompleted
                | Self::RunPartialSuccess(_)
                | Self::RunFailed(_)
                | Self::RunCancelled(_)
        )
    }

    /// Takes the end of its run back: the one event that may follow on a terminal one.
    pub fn is_resumption(&self) -> bool {
        match self {
            Self::RunResumed(_) => true,
            // With a payload of another version.
            Self::Other { kind, .. } => kind == "run_resumed",
            _ => false,
        }
    }
}

impl RunEvent {
    /// See [`RunEventKind::is_terminal`].
    pub const fn is_terminal(&self) -> bool {
        self.kind.is_terminal()
    }

    /// See [`RunEventKind::is_resumption`].
    pub fn is_resumption(&self) -> bool {
        self.kind.is_resumption()
    }
}

/// Written as it lies: a run tells ten of these in a turn, and each is written at least once.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'e, P> {
    seq: u64,
    id: &'e EventId,
    run_id: &'e RunId,
    timestamp: &'e Timestamp,
    level: Level,
    #[serde(rename = "type")]
    kind: &'e str,
    payload: P,
}

struct Payload<'e>(&'e RunEventKind);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.write_payload(serializer)
    }
}

/// Of a payload that has fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Scoped<'e> {
    #[serde(flatten)]
    payload: Payload<'e>,
    #[serde(rename = "eventScope")]
    scope: &'e EventScope,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope {
    seq: u64,
    id: EventId,
    run_id: RunId,
    timestamp: Timestamp,
    level: Level,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    payload: Json,
}

const SCOPE: &str = "eventScope";

impl Serialize for RunEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(scope) = &self.scope else {
            return self.written(Payload(&self.kind)).serialize(serializer);
        };
        match &self.kind {
            RunEventKind::GenerationIntentRecorded(payload)
            | RunEventKind::Other { payload, .. } => {
                let mut payload = payload.clone();
                if let Json::Object(fields) = &mut payload {
                    let scope = serde_json::to_value(scope).map_err(serde::ser::Error::custom)?;
                    fields.insert(SCOPE.to_owned(), scope);
                }
                self.written(payload).serialize(serializer)
            }
            kind if kind.is_bare() => self.written(Payload(kind)).serialize(serializer),
            kind => {
                let payload = Payload(kind);
                self.written(Scoped { payload, scope })
                    .serialize(serializer)
            }
        }
    }
}

impl RunEvent {
    fn written<P>(&self, payload: P) -> Written<'_, P> {
        Written {
            seq: self.seq,
            id: &self.id,
            run_id: &self.run_id,
            timestamp: &self.timestamp,
            level: self.level,
            kind: self.kind.name(),
            payload,
        }
    }
}

impl<'de> Deserialize<'de> for RunEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut read = Envelope::deserialize(deserializer)?;
        let scope = take_scope(&mut read.payload);
        Ok(Self {
            seq: read.seq,
            id: read.id,
            run_id: read.run_id,
            timestamp: read.timestamp,
            level: read.level,
            scope,
            kind: RunEventKind::read(read.kind, read.payload),
        })
    }
}

/// A scope of another shape stays where it is.
fn take_scope(payload: &mut Json) -> Option<EventScope> {
    let fields: &mut Map<String, Json> = payload.as_object_mut()?;
    let scope = EventScope::deserialize(fields.get(SCOPE)?).ok()?;
    // Keeps the order of the other keys.
    fields.shift_remove(SCOPE);
    Some(scope)
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
