//! What a run wants, what it tells, and why it takes an input or not.

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{
    CommitId, EventScope, InvocationId, Level, RunEventKind, RunStatus,
};

/// What to do next. It stays the same until an input changes it, so whoever takes a run over can simply ask.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Feed `WorkspaceReady`.
    PrepareWorkspace,
    /// Feed `ContextReady`.
    PrepareContext,
    /// Put the next request together and feed `ModelAsked`.
    Ask {
        round: u32,
    },
    /// What was asked last is too long (`AgentRun::compacting`): feed `Compacted` or `CompactionSkipped`.
    Compact {
        round: u32,
    },
    /// Send what was asked last (`AgentRun::sent`); feed `ModelReplied` or `ModelFailed`.
    Deliberate {
        round: u32,
        attempt: u32,
    },
    /// Wait, then feed `Rested`.
    Rest {
        millis: u64,
    },
    /// Run the calls of this block of the last reply that have no end yet; feed `CallStarted`, `CallEnded` for each and
    /// `BlockEnded` at last.
    RunBlock {
        block: usize,
    },
    /// Nothing can go on before a background call ends; feed `TaskEnded`.
    AwaitTasks {
        tasks: Vec<String>,
    },
    /// Asked of the host by a process that is gone; feed `CommitResolved` or `CommitFailed`. Then the block goes on, and
    /// its call finds the answer (`AgentRun::commit_of`).
    AwaitHostCommit {
        commit: CommitId,
    },
    /// Keep what changed in `persist`; feed `PersistCommitted` or `PersistFailed`.
    CommitPersist,
    /// Tell the host what was kept: feed `MetadataUpdateRequested` where there is no id yet, then `MetadataUpdated` or
    /// `MetadataUpdateFailed`.
    UpdateMetadata {
        update_id: Option<String>,
    },
    /// Stop everything that is under way; feed `Stopped`.
    Stop,
    /// Stays where it is until a person resumes it.
    Paused,
    Over {
        status: RunStatus,
    },
}

/// An event that has no number yet. After a `CheckpointCreated`, the files of `AgentRun::workspace` are its tree; after a
/// `DirectOutputCaptured`, the text of the last reply is the content of that file.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub kind: RunEventKind,
    /// The kind's own if nothing is said.
    pub level: Option<Level>,
    pub scope: Option<EventScope>,
}

impl Draft {
    pub(super) fn new(kind: RunEventKind) -> Self {
        let scope = EventScope {
            invocation_id: InvocationId::root(),
            related_invocation_ids: Vec::new(),
        };
        Self {
            kind,
            level: None,
            scope: Some(scope),
        }
    }
}

impl Draft {
    /// What one agent of a run has to do with others.
    pub(super) fn between(
        kind: RunEventKind,
        of: &InvocationId,
        related: &[&InvocationId],
    ) -> Self {
        let scope = EventScope {
            invocation_id: of.clone(),
            related_invocation_ids: related.iter().map(|id| (*id).clone()).collect(),
        };
        Self {
            kind,
            level: None,
            scope: Some(scope),
        }
    }
}

impl From<RunEventKind> for Draft {
    fn from(kind: RunEventKind) -> Self {
        Self::new(kind)
    }
}

/// An input that this run cannot be fed now. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Misfit {
    pub why: Why,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It does not follow on what was before: a fault of whoever feeds the run.
    Unfit,
    /// It was fed before; whoever asks for it has what they want.
    Already,
    /// The run is over.
    Over,
    /// The run is being cancelled, and nothing new begins.
    Cancelling,
    /// Whoever asked is told: the model as an observation, a person as an error.
    Refused {
        code: ErrorCode,
        /// The finer code.
        reason: &'static str,
    },
}

impl Misfit {
    pub(super) fn unfit(message: impl Into<String>) -> Self {
        Self {
            why: Why::Unfit,
            message: message.into(),
        }
    }

    pub(super) fn already(message: impl Into<String>) -> Self {
        Self {
            why: Why::Already,
            message: message.into(),
        }
    }

    pub(super) fn refused(
        code: ErrorCode,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Self {
            why: Why::Refused { code, reason },
            message: message.into(),
        }
    }
}
