//! Agents at work within a run: invocations, tasks given to others, handing over.

use serde_json::Value as Json;

use super::{InvocationId, ProfileId, TaskId, payloads};

payloads! {
    InvocationCreated {
        invocation_id: InvocationId,
        parent_invocation_id: Option<InvocationId>,
        profile_id: ProfileId,
        kind: String,
        status: String,
        exit_policy: Json,
        #[serde(skip_serializing_if = "Option::is_none")]
        task_id: Option<TaskId>,
    }
    InvocationChanged {
        invocation_id: InvocationId,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    }
    TaskChanged {
        task_id: TaskId,
        parent_invocation_id: InvocationId,
        child_invocation_id: Option<InvocationId>,
        target_profile_id: ProfileId,
        status: String,
        result_ref: Option<String>,
        error: Option<Json>,
    }
    DelegateStarted {
        task_id: TaskId,
        parent_invocation_id: InvocationId,
        target_profile_id: ProfileId,
    }
    AwaitChanged {
        parent_invocation_id: InvocationId,
        mode: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        timed_out: Option<bool>,
        task_count: u64,
    }
    TaskReturned {
        task_id: TaskId,
        parent_invocation_id: InvocationId,
        child_invocation_id: InvocationId,
        status: String,
        result_ref: Option<String>,
        summary_ref: Option<String>,
    }
    HandoffRequested {
        task_id: TaskId,
        source_invocation_id: InvocationId,
        target_profile_id: ProfileId,
    }
    HandoffAccepted {
        task_id: TaskId,
        source_invocation_id: InvocationId,
        new_invocation_id: InvocationId,
        target_profile_id: ProfileId,
        workspace_key: String,
    }
}
