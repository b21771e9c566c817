//! What a run is fed. Serialised into the journal, so a variant once released keeps its meaning.
//!
//! Large parts are shared (`Arc`), so that feeding a run copies nothing that it keeps.

use std::sync::Arc;

use innkeeper_protocol::event::{
    CallId, CommitId, InvocationId, Presentation, ProfileId, RunId, TaskId, WorkspaceId,
};
use innkeeper_protocol::{ErrorCode, Observation};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    AnsweredBy, Assignment, AwaitMode, Compaction, Edit, Forked, ModelTurn, ModelUse, Oversize,
    Question, Remember, RolledBack, TaskReturn, Wanted,
};
use crate::AgentProfile;
use crate::skills::RunSkills;
use crate::state::WorldChange;
use crate::workspace::state::{FileInfo, WorkspaceChange};

/// An input with its moment: all that a run knows of time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stamped {
    pub at: Timestamp,
    #[serde(flatten)]
    pub input: Input,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Input {
    /// The first of all.
    Created(Arc<Created>),
    /// The workspace is there, with what earlier runs of the chat left in `persist`.
    WorkspaceReady {
        files: Vec<(String, FileInfo)>,
        /// What they left is not there any more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_missing: bool,
    },
    /// Which model and which tools it will work with; `tools` as they are told to the model. Where it may call more than
    /// these, `request` says how many ([`LEFT_OUT`](super::told::LEFT_OUT)).
    ContextReady {
        binding: Json,
        request: Json,
        tools: Json,
    },
    GuidanceSubmitted {
        guidance_id: String,
        client_guidance_id: Option<String>,
        text: String,
    },
    /// Somebody wants the files as they are now to be found again. `note` is why, in their words.
    CheckpointRequested {
        request_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The model is about to be asked. The first `keep` messages are those that were sent before; `add` follows them.
    ModelAsked {
        keep: usize,
        add: Vec<Arc<Json>>,
        /// What is told of the request: `{chatCompletionSource, model, messageCount, toolCount}`, and the tools that are
        /// told from it on ([`ADDED`](super::told::ADDED)).
        request: Json,
        /// So many of the pending pieces of guidance, the oldest first, are its last message. What came in while the
        /// request was put together waits for the next.
        #[serde(default)]
        guidance: usize,
        /// So many of the ends of background tasks are in it.
        #[serde(default)]
        arrived: usize,
        /// It is longer than it should be: its oldest part gives way before it goes out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        oversize: Option<Oversize>,
    },
    /// A part of what is asked has given way to a summary.
    Compacted(Arc<Compaction>),
    /// Nothing of it can give way, or not enough to be worth it; it goes out as it is.
    CompactionSkipped,
    ModelReplied(Arc<ModelTurn>),
    /// Asked in vain. Whether it is asked again is decided here.
    ModelFailed {
        code: ErrorCode,
        message: String,
        reason: Option<String>,
        retryable: bool,
        /// What of an answer had come before it broke off.
        arrived: Option<String>,
        /// What it took all the same.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
    },
    /// A request was given up in the middle, because the run is being stopped or nobody drives it any more. What it took.
    AskingStopped {
        used: ModelUse,
        wanted: Wanted,
    },
    /// The pause before the next attempt is over.
    Rested,
    /// A call is about to act. Without an end after a crash, it is run again only if it is idempotent.
    CallStarted {
        call: CallId,
        idempotent: bool,
    },
    /// A person is asked; nothing has been done.
    ApprovalAsked {
        call: CallId,
        /// The same for the same question.
        approval_id: String,
        reason: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires_at: Option<Timestamp>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<Arc<Question>>,
    },
    /// To the question that the call waits with.
    ApprovalAnswered {
        call: CallId,
        approved: bool,
        reason: Option<String>,
        /// Only if it is this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval_id: Option<String>,
        #[serde(default)]
        remember: Remember,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        edit: Option<Arc<Edit>>,
        #[serde(default)]
        by: AnsweredBy,
    },
    /// Also without a start: what was refused was never begun.
    CallEnded {
        call: CallId,
        observation: Arc<Observation>,
        elapsed_ms: u64,
        /// What it did to the workspace: takes effect with this input and not before.
        #[serde(default, skip_serializing_if = "WorkspaceChange::is_empty")]
        change: WorkspaceChange,
        /// Characters of skills that it has read.
        #[serde(default, skip_serializing_if = "is_zero")]
        skill_chars: u64,
        /// What it did to the world that the agents of its chat share: done already, and told with this input.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        worlds: Vec<WorldChange>,
        /// What it asked of models itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
        /// The result in full where a later step of the block may refer to it and it is longer than what is observed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        full: Option<Arc<Json>>,
    },
    /// What a block has to say beyond its calls: what could not be read, what was ignored.
    BlockEnded {
        block: usize,
        notes: Vec<Observation>,
    },
    /// A call that went on in the background has ended; `task` of the observation says which.
    TaskEnded {
        observation: Arc<Observation>,
        /// What it asked of models itself while nobody waited for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        used: Option<ModelUse>,
    },
    /// `workspace.commit` asks the host to publish a file. Fed once for a call, also where the call is run again.
    CommitRequested {
        commit: CommitId,
        call: CallId,
        path: String,
        mode: String,
        reason: Option<String>,
        file: FileInfo,
    },
    CommitResolved {
        commit: CommitId,
        message_id: String,
        message_index: Option<u64>,
    },
    CommitFailed {
        commit: CommitId,
        message: String,
        /// The host did not say so: it did not answer in time.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        timed_out: bool,
    },
    /// `workspace.finish` was called. Refused where the run may not end yet; the model is told why.
    FinishCalled {
        call: CallId,
        reason: Option<String>,
    },
    /// What of `persist` changed is kept for later runs.
    PersistCommitted {
        state_id: String,
    },
    PersistFailed {
        message: String,
    },
    MetadataUpdateRequested {
        update_id: String,
    },
    MetadataUpdated {
        update_id: String,
    },
    MetadataUpdateFailed {
        update_id: String,
        message: String,
    },
    /// `agent.delegate`: another agent is to work on a task. Fed once for a call, also where the call is run again.
    Delegated(Arc<Assignment>),
    /// What an agent is fed that works on a task in this run.
    Child {
        invocation: InvocationId,
        input: Box<Input>,
    },
    /// `task.return`, of an agent that works on a task: it is over after this turn.
    TaskReturned {
        call: CallId,
        result: Arc<TaskReturn>,
    },
    /// `agent.await` begins to wait. Fed once for a call.
    AwaitStarted {
        call: CallId,
        tasks: Vec<TaskId>,
        mode: AwaitMode,
        timeout_ms: u64,
    },
    AwaitEnded {
        call: CallId,
        timed_out: bool,
    },
    /// `agent.handoff`: another agent gets the run after this turn.
    HandoffCalled {
        call: CallId,
        to: Arc<Assignment>,
    },
    CancelRequested,
    /// Everything under way has stopped.
    Stopped,
    /// The process that drove it is gone, and another has taken it over.
    Recovered,
    /// A person wants a run that stopped or failed to go on.
    Resumed {
        additional_rounds: Option<u32>,
    },
    /// A person wants it as it was at an earlier moment. Only of a run that is over or paused.
    RolledBack(Arc<RolledBack>),
    /// Something that no model can mend.
    Failed {
        code: ErrorCode,
        message: String,
        reason: Option<String>,
    },
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// All that a run begins with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Created {
    pub run_id: RunId,
    pub workspace_id: WorkspaceId,
    pub stable_chat_id: String,
    pub chat_ref: Json,
    pub generation_type: String,
    pub profile_id: ProfileId,
    /// `built_in` or `file:<id>`.
    pub profile_source: String,
    pub profile: AgentProfile,
    pub presentation: Presentation,
    pub persist_base_state_id: Option<String>,
    pub generation_intent: Option<Json>,
    /// The conversation so far, in the chat form, the newest last: from a prompt snapshot, or one user message.
    pub messages: Vec<Json>,
    /// Everything else of the snapshot's payload: model, temperature …
    #[serde(default)]
    pub parameters: serde_json::Map<String, Json>,
    /// The host has put `messages` into order, and kept to the context policy.
    #[serde(default)]
    pub is_snapshot: bool,
    pub world_info: Option<Json>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skill_scope_refs: Option<Json>,
    /// The skills that its agent sees, as they were at its start.
    #[serde(default, skip_serializing_if = "RunSkills::is_empty")]
    pub skills: RunSkills,
    /// The chat that `chat.search` and `chat.read_messages` see; that of the snapshot where the host gives none.
    #[serde(default)]
    pub chat: Vec<Json>,
    #[serde(default)]
    pub private_state: Json,
    /// Which model; empty for the default.
    #[serde(default)]
    pub model: String,
    /// Of whom, for files and policies.
    #[serde(default)]
    pub user: String,
    #[serde(default)]
    pub project: String,
    /// What of another run it goes on from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fork: Option<Arc<Forked>>,
    /// What a person allows the whole run, whoever has it. Children have rounds of their own, inside those of their caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rounds: Option<u32>,
}
