//! Whose event it is: an agent at work tells what happens as if it were alone, and here it gets the name under which the run
//! knows it.

use serde_json::Value as Json;

use super::{InvocationId, RunEventKind};

const RESPONSES: &str = "model-responses/";

impl RunEventKind {
    /// The same event of another invocation than the first: its id, and the paths that are its own.
    pub fn in_invocation(&mut self, id: &InvocationId) {
        if let Some(own) = self.invocation_mut() {
            own.clone_from(id);
        }
        match self {
            Self::ModelResponseStored(stored) => move_response(&mut stored.path, id),
            Self::ModelCompleted(completed) => {
                if let Some(path) = &mut completed.model_response_path {
                    move_response(path, id);
                }
            }
            Self::DirectOutputCaptured(captured) => {
                move_response(&mut captured.model_response_path, id);
            }
            Self::ProviderStateUpdated(updated) => {
                let session = updated.provider_state.get_mut("sessionId");
                if let Some(Json::String(session)) = session
                    && let Some((run, _)) = session.split_once(':')
                {
                    *session = format!("{run}:{id}");
                }
            }
            _ => {}
        }
    }

    /// Whose it is, where it says so in its payload.
    fn invocation_mut(&mut self) -> Option<&mut InvocationId> {
        Some(match self {
            Self::ContextAssembled(told) => &mut told.invocation_id,
            Self::UserGuidanceApplied(told) => &mut told.invocation_id,
            Self::DriftRecoveryAttempted(told) => &mut told.invocation_id,
            Self::AgentLoopFinished(told) => &mut told.invocation_id,
            Self::RunPaused(told) => &mut told.invocation_id,
            Self::RunRecovered(told) => &mut told.invocation_id,
            Self::RunResumed(told) => &mut told.invocation_id,
            Self::RunRolledBack(told) => &mut told.invocation_id,
            Self::ContextCompacted(told) => &mut told.invocation_id,
            Self::StateUpdated(told) => &mut told.invocation_id,
            Self::ModelRequestCreated(told) => &mut told.invocation_id,
            Self::ModelCallAttemptStarted(told) => &mut told.invocation_id,
            Self::ModelCallAttemptFailed(told) => &mut told.invocation_id,
            Self::ModelResponseStored(told) => &mut told.invocation_id,
            Self::ModelCompleted(told) => &mut told.invocation_id,
            Self::ToolCallRequested(told) => &mut told.invocation_id,
            Self::ToolCallAwaitingApproval(told) => &mut told.invocation_id,
            Self::ToolCallApproved(told) | Self::ToolCallDenied(told) => &mut told.invocation_id,
            Self::ToolCallStarted(told) => &mut told.invocation_id,
            Self::ToolCallCompleted(told) | Self::ToolCallFailed(told) => &mut told.invocation_id,
            Self::ToolTaskEnded(told) => &mut told.invocation_id,
            Self::WorkspaceFileWritten(told) => &mut told.invocation_id,
            Self::WorkspaceFileDeleted(told) => &mut told.invocation_id,
            Self::WorkspacePatchApplied(told) => &mut told.invocation_id,
            Self::ChatCommitStarted(told) => &mut told.invocation_id,
            Self::ChatCommitRequested(told) => &mut told.invocation_id,
            Self::ChatCommitCompleted(told) => &mut told.invocation_id,
            Self::ChatCommitFailed(told) => &mut told.invocation_id,
            Self::AgentInvocationCreated(told) => &mut told.invocation_id,
            Self::AgentInvocationStarted(told)
            | Self::AgentInvocationCompleted(told)
            | Self::AgentInvocationFailed(told)
            | Self::AgentChildInvocationFailed(told) => &mut told.invocation_id,
            _ => return None,
        })
    }
}

fn move_response(path: &mut String, id: &InvocationId) {
    if let Some(file) = path.strip_prefix(RESPONSES) {
        *path = format!("{RESPONSES}{id}/{file}");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::event::{ModelResponseStored, ProviderStateUpdated, RunEvent};

    /// What every known kind says of its invocation, by the wire form: none of them may be forgotten above.
    #[test]
    fn every_payload_with_an_invocation_of_its_own_gets_the_new_one() {
        let id = InvocationId::new("inv_x");
        for (name, payload) in crate::event::tests::catalogue() {
            if payload.get("invocationId").is_none() {
                continue;
            }
            let event = json!({"seq": 1, "id": "e", "runId": "r", "timestamp": "t", "level": "info",
                "type": name, "payload": payload});
            let mut event: RunEvent = serde_json::from_value(event).unwrap();
            event.kind.in_invocation(&id);
            let told = serde_json::to_value(&event).unwrap();
            assert_eq!(told["payload"]["invocationId"], "inv_x", "{name}");
        }
    }

    #[test]
    fn papers_lie_in_a_folder_of_the_invocation() {
        let id = InvocationId::new("inv_x");
        let mut stored = RunEventKind::ModelResponseStored(ModelResponseStored {
            round: 1,
            invocation_id: InvocationId::root(),
            path: "model-responses/round-001.json".to_owned(),
            response_id: None,
            model: None,
            extra: serde_json::Map::new(),
        });
        stored.in_invocation(&id);
        let RunEventKind::ModelResponseStored(stored) = stored else {
            panic!("another kind");
        };
        assert_eq!(stored.path, "model-responses/inv_x/round-001.json");
        let mut state = RunEventKind::ProviderStateUpdated(ProviderStateUpdated {
            round: 1,
            provider_state: json!({"sessionId": "run_1:inv_root"}),
            extra: serde_json::Map::new(),
        });
        state.in_invocation(&id);
        let RunEventKind::ProviderStateUpdated(state) = state else {
            panic!("another kind");
        };
        assert_eq!(state.provider_state["sessionId"], "run_1:inv_x");
    }
}
