use std::collections::HashSet;

use serde_json::json;

use super::*;

/// Each type with a payload as the catalogue draws it: every key, and nothing else.
pub(super) fn catalogue() -> Vec<(&'static str, Json)> {
    let invocation = json!({"invocationId": "inv_root"});
    let task = json!({"taskId": "task_1", "parentInvocationId": "inv_root", "childInvocationId": "inv_2",
        "targetProfileId": "p", "status": "running", "resultRef": "r", "error": null});
    let call =
        json!({"round": 1, "invocationId": "inv_root", "callId": "c1", "name": "File.Write"});
    let answered = json!({"round": 1, "invocationId": "inv_root", "callId": "c1", "name": "File.Write",
        "reason": "not there"});
    let ended = json!({"round": 1, "invocationId": "inv_root", "callId": "c1", "name": "File.Write", "isError": true,
        "errorCode": "tool.timeout", "message": "late", "elapsedMs": 5, "resourceRefs": ["a"]});
    let waiting = json!({"parentInvocationId": "inv_root", "mode": "allCompleted", "timedOut": false, "taskCount": 2});
    let returned = json!({"taskId": "t", "parentInvocationId": "inv_root", "childInvocationId": "inv_2",
        "status": "completed", "resultRef": "r", "summaryRef": "s"});
    let assembly = json!({"assemblyId": "a", "requestKind": "k"});
    let change = json!({"path": "persist/a.md", "kind": "added", "sha256": "0"});
    vec![
        (
            "run_created",
            json!({"workspaceId": "w", "stableChatId": "s", "persistBaseStateId": null,
            "presentation": "foreground"}),
        ),
        (
            "profile_resolved",
            json!({"profileId": "p", "source": "built_in"}),
        ),
        (
            "skill_scopes_resolved",
            json!({"scopes": [], "refs": {}, "effectiveSkills": [
            {"name": "n", "scope": "global", "installedHash": "h"}]}),
        ),
        ("generation_intent_recorded", json!({"anything": ["goes"]})),
        (
            "status_changed",
            json!({"status": "initializing_workspace"}),
        ),
        (
            "context_assembled",
            json!({"request": {"model": "m"}, "invocationId": "inv_root", "tools": [],
            "maxRounds": 80, "contextPolicy": {}, "modelRetry": {"maxRetries": 3}}),
        ),
        ("prompt_assembly_requested", assembly.clone()),
        ("prompt_assembly_completed", assembly.clone()),
        ("prompt_assembly_failed", assembly),
        (
            "user_guidance_submitted",
            json!({"guidanceId": "g", "clientGuidanceId": "c", "text": "go on"}),
        ),
        (
            "user_guidance_applied",
            json!({"guidanceIds": ["g"], "clientGuidanceIds": ["c"],
            "invocationId": "inv_root", "round": 2, "count": 1, "chars": 5, "words": 2, "preview": "go on",
            "messageIndex": 3, "requestMessageCount": 4, "status": "applied"}),
        ),
        ("user_guidance_discarded", json!({"reason": "cancelled"})),
        (
            "direct_output_captured",
            json!({"round": 1, "path": "output/direct_output.md", "chars": 1, "words": 1,
            "sha256": "0", "modelResponsePath": "m"}),
        ),
        (
            "drift_recovery_attempted",
            json!({"attempt": 1, "maxAttempts": 79, "maxRounds": 80, "limitReason": "r",
            "round": 1, "invocationId": "inv_root", "committedCount": 0, "reasonCode": "model.tool_call_required"}),
        ),
        (
            "agent_loop_finished",
            json!({"commitCount": 1, "round": 3, "invocationId": "inv_root"}),
        ),
        (
            "run_partial_success",
            json!({"code": "model.request_failed", "message": "m", "technicalMessage": "t",
            "retryable": false, "userRetryable": false, "details": {}, "preservedCommitCount": 1,
            "preservedCommits": [{"path": "p", "mode": "replace", "messageId": "1", "round": 2}]}),
        ),
        (
            "run_failed",
            json!({"code": "model.request_failed", "message": "m", "technicalMessage": "t",
            "retryable": true, "userRetryable": true, "details": {}}),
        ),
        ("run_cancelled", json!({"message": "m"})),
        (
            "run_paused",
            json!({"invocationId": "inv_root", "reason": "after_crash"}),
        ),
        (
            "run_recovered",
            json!({"invocationId": "inv_root", "takeovers": 1}),
        ),
        (
            "run_resumed",
            json!({"invocationId": "inv_root", "additionalRounds": 4, "round": 8, "maxRounds": 12}),
        ),
        (
            "run_rolled_back",
            json!({"rollbackId": "b", "invocationId": "inv_root", "checkpointId": "cp_000001", "eventSeq": 9,
            "beforeCheckpointId": "cp_000003", "scope": "committed-message", "reason": "no", "rounds": 2,
            "files": {"added": 0, "modified": 1, "deleted": 1, "paths": ["output/a.md", "output/b.md"]},
            "withdrawnCommits": [{"commitId": "k", "messageId": "7", "messageIndex": 7, "path": "p",
                "mode": "append", "checkpointId": "cp_000002", "strategy": "replaceMessage",
                "replaceWith": [{"commitId": "j", "path": "p", "mode": "replace", "sha256": "0"}]}],
            "withdrawnStateId": "s"}),
        ),
        (
            "agent_model_binding_resolved",
            json!({"mode": "currentPromptSnapshot", "chatCompletionSource": "openai",
            "customApiFormat": null, "modelId": "m"}),
        ),
        (
            "model_request_created",
            json!({"round": 1, "invocationId": "inv_root", "request": {}}),
        ),
        (
            "context_compacted",
            json!({"round": 9, "invocationId": "inv_root", "messagesBefore": 40, "messagesAfter": 12,
            "tokensBefore": 30000, "tokensAfter": 12000, "droppedRef": "0", "droppedCount": 29,
            "summaryChars": 900, "summaryBy": "model", "model": "m", "usage": {"prompt_tokens": 1}, "cost": 0.5}),
        ),
        (
            "model_call_attempt_started",
            json!({"round": 1, "invocationId": "inv_root", "attempt": 1, "maxRetries": 3}),
        ),
        (
            "model_call_attempt_failed",
            json!({"round": 1, "invocationId": "inv_root", "attempt": 1, "maxRetries": 3,
            "retryable": true, "willRetry": true, "message": "m"}),
        ),
        (
            "model_call_retry_scheduled",
            json!({"round": 1, "nextAttempt": 2, "intervalMs": 3000}),
        ),
        (
            "model_response_stored",
            json!({"round": 1, "invocationId": "inv_root", "path": "p", "responseId": "r",
            "model": "m"}),
        ),
        (
            "provider_state_updated",
            json!({"round": 1, "providerState": {}}),
        ),
        (
            "model_completed",
            json!({"round": 1, "invocationId": "inv_root", "modelResponsePath": "p",
            "toolCallCount": 1, "textChars": 2, "textWords": 1, "hasAssistantText": true, "assistantTextChars": 2,
            "assistantTextWords": 1, "hasReasoning": false, "reasoningChars": 0, "reasoningWords": 0,
            "narration": "Hm"}),
        ),
        (
            "tool_call_requested",
            json!({"round": 1, "invocationId": "inv_root", "callId": "c1", "name": "File.Write",
            "argumentsRef": "a", "providerMetadata": {}}),
        ),
        (
            "tool_call_awaiting_approval",
            json!({"round": 1, "invocationId": "inv_root", "callId": "c1",
            "name": "File.Write", "argumentsRef": "a", "reason": "writes outside"}),
        ),
        ("tool_call_approved", answered.clone()),
        ("tool_call_denied", answered),
        ("tool_call_started", call),
        (
            "tool_result_stored",
            json!({"round": 1, "callId": "c1", "path": "p"}),
        ),
        ("tool_call_completed", ended.clone()),
        ("tool_call_failed", ended),
        (
            "tool_task_ended",
            json!({"taskId": "t", "callId": "c1", "round": 1, "invocationId": "inv_root", "name": "Shell.Run",
            "isError": true, "errorCode": "tool.timeout", "message": "late", "resourceRefs": []}),
        ),
        (
            "workspace_initialized",
            json!({"workspaceId": "w", "stableChatId": "s"}),
        ),
        (
            "persistent_projection_initialized",
            json!({"roots": ["persist"]}),
        ),
        (
            "workspace_file_written",
            json!({"invocationId": "inv_root", "path": "p", "mode": "replace", "chars": 1,
            "words": 1, "sha256": "0"}),
        ),
        (
            "workspace_file_deleted",
            json!({"invocationId": "inv_root", "path": "output/a.md", "oldSha256": "0"}),
        ),
        (
            "workspace_patch_applied",
            json!({"invocationId": "inv_root", "path": "p", "chars": 1, "words": 1,
            "oldSha256": "1", "sha256": "0", "replacements": 1}),
        ),
        (
            "state_updated",
            json!({"invocationId": "inv_root", "callId": "call_1", "scope": "private", "version": 3,
            "paths": ["/mood/level"]}),
        ),
        (
            "checkpoint_created",
            json!({"checkpointId": "cp_000001", "reason": "chat_commit"}),
        ),
        (
            "persistent_changes_committed",
            json!({"stateId": "s", "baseStateId": null, "changeCount": 1,
            "changes": [change]}),
        ),
        ("persistent_changes_commit_failed", json!({"message": "m"})),
        (
            "persistent_state_metadata_update_requested",
            json!({"updateId": "u", "runId": "run_1", "workspaceId": "w",
            "stableChatId": "s", "chatRef": {}, "generationType": "normal", "profileId": "p", "messageId": "1",
            "stateId": "s", "baseStateId": null, "changeCount": 1, "changes": [change]}),
        ),
        (
            "persistent_state_metadata_updated",
            json!({"updateId": "u", "messageId": "1", "stateId": "s"}),
        ),
        (
            "persistent_state_metadata_update_failed",
            json!({"updateId": "u", "messageId": "1", "stateId": "s",
            "message": "m"}),
        ),
        (
            "chat_commit_started",
            json!({"commitId": "k", "invocationId": "inv_root", "callId": "c1", "path": "p",
            "mode": "replace", "reason": null}),
        ),
        (
            "chat_commit_requested",
            json!({"commitId": "k", "invocationId": "inv_root", "callId": "c1",
            "runId": "run_1", "workspaceId": "w", "stableChatId": "s", "chatRef": {"kind": "character"},
            "generationType": "normal", "profileId": "p", "persistBaseStateId": null, "path": "p",
            "mode": "replace", "reason": null, "chars": 1, "words": 1, "sha256": "0", "checkpointId": "cp_000001"}),
        ),
        (
            "chat_commit_completed",
            json!({"commitId": "k", "invocationId": "inv_root", "callId": "c1", "path": "p",
            "mode": "replace", "messageId": "7", "messageIndex": 7}),
        ),
        (
            "chat_commit_failed",
            json!({"commitId": "k", "invocationId": "inv_root", "callId": "c1", "path": "p",
            "mode": "replace", "message": "m"}),
        ),
        (
            "chat_commit_recorded",
            json!({"commitCount": 1, "path": "p", "mode": "replace", "messageId": "7"}),
        ),
        (
            "agent_invocation_created",
            json!({"invocationId": "inv_root", "parentInvocationId": null,
            "profileId": "p", "kind": "root", "status": "created", "exitPolicy": {}, "taskId": "t"}),
        ),
        ("agent_invocation_started", invocation.clone()),
        ("agent_invocation_completed", invocation.clone()),
        ("agent_invocation_failed", invocation.clone()),
        ("agent_child_invocation_failed", invocation),
        ("agent_task_registered", task.clone()),
        ("agent_task_queued", task.clone()),
        ("agent_task_started", task.clone()),
        ("agent_task_completed", task.clone()),
        ("agent_task_failed", task.clone()),
        ("agent_task_cancelled", task),
        (
            "agent_delegate_started",
            json!({"taskId": "t", "parentInvocationId": "inv_root", "targetProfileId": "p"}),
        ),
        ("agent_await_started", waiting.clone()),
        ("agent_await_completed", waiting),
        ("task_return_recorded", returned.clone()),
        ("task_return_completed", returned),
        (
            "agent_handoff_requested",
            json!({"taskId": "t", "sourceInvocationId": "inv_root", "targetProfileId": "p"}),
        ),
        (
            "agent_handoff_accepted",
            json!({"taskId": "t", "sourceInvocationId": "inv_root",
            "newInvocationId": "inv_2", "targetProfileId": "p", "workspaceKey": "k"}),
        ),
        ("run_completed", Json::Null),
        ("run_cancel_requested", Json::Null),
    ]
}

fn wire(kind: &str, payload: Json) -> Json {
    json!({"seq": 7, "id": "evt_1", "runId": "run_1", "timestamp": "2026-01-02T03:04:05Z", "level": "info",
        "type": kind, "payload": payload})
}

#[test]
fn the_catalogue_is_complete_and_every_kind_reads_back() {
    let catalogue = catalogue();
    let names: Vec<_> = catalogue.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, RunEventKind::NAMES);
    assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len());
    for (name, payload) in catalogue {
        let sent = wire(name, payload);
        let event: RunEvent = serde_json::from_value(sent.clone()).unwrap();
        assert!(
            !matches!(event.kind, RunEventKind::Other { .. }),
            "{name} was not understood"
        );
        assert_eq!(event.kind.name(), name);
        // Text, because `Value` would not see a change of the order of keys.
        assert_eq!(serde_json::to_string(&event).unwrap(), sent.to_string());
    }
}

#[test]
fn every_kind_carries_a_scope_behind_its_own_keys() {
    let scope = json!({"invocationId": "inv_2"});
    let odd = [
        ("session_message_appended", json!({"a": [1]})),
        ("session_message_appended", json!([1])),
    ];
    for (name, mut payload) in catalogue().into_iter().chain(odd) {
        let event: RunEvent = serde_json::from_value(wire(name, payload.clone())).unwrap();
        let event = RunEvent {
            scope: Some(EventScope {
                invocation_id: "inv_2".into(),
                related_invocation_ids: Vec::new(),
            }),
            ..event
        };
        if let Json::Object(fields) = &mut payload {
            fields.insert(SCOPE.to_owned(), scope.clone());
        }
        let sent = wire(name, payload).to_string();
        assert_eq!(serde_json::to_string(&event).unwrap(), sent);
        if sent.contains(SCOPE) {
            assert_eq!(serde_json::from_str::<RunEvent>(&sent).unwrap(), event);
        }
    }
}

#[test]
fn what_is_not_known_is_kept() {
    for (name, payload) in [
        ("session_message_appended", json!({"a": [1]})),
        ("status_changed", json!({"status": "dreaming"})),
        ("run_completed", json!({"unexpected": true})),
        ("tool_call_started", Json::Null),
        ("tool_call_started", json!({"eventScope": "odd"})),
    ] {
        let sent = wire(name, payload.clone());
        let event: RunEvent = serde_json::from_value(sent.clone()).unwrap();
        assert_eq!(
            event.kind,
            RunEventKind::Other {
                kind: name.to_owned(),
                payload
            }
        );
        assert_eq!(serde_json::to_value(&event).unwrap(), sent);
    }
    let sent = wire(
        "profile_resolved",
        json!({"profileId": "p", "source": "built_in", "later": {"x": 1}}),
    );
    let event: RunEvent = serde_json::from_value(sent.clone()).unwrap();
    assert!(matches!(event.kind, RunEventKind::ProfileResolved(_)));
    assert_eq!(serde_json::to_value(&event).unwrap(), sent);
}

#[test]
fn the_scope_travels_in_the_payload() {
    let sent = wire(
        "run_cancelled",
        json!({"message": "m", "eventScope": {"invocationId": "inv_root", "relatedInvocationIds": ["inv_2"]}}),
    );
    let event: RunEvent = serde_json::from_value(sent.clone()).unwrap();
    assert_eq!(
        event.scope,
        Some(EventScope {
            invocation_id: InvocationId::root(),
            related_invocation_ids: vec!["inv_2".into()],
        })
    );
    let RunEventKind::RunCancelled(cancelled) = &event.kind else {
        panic!("{event:?}")
    };
    assert!(cancelled.extra.is_empty());
    assert_eq!(serde_json::to_value(&event).unwrap(), sent);

    let bare = RunEvent {
        kind: RunEventKind::RunCompleted,
        ..event
    };
    let sent = serde_json::to_value(&bare).unwrap();
    assert_eq!(sent["payload"], Json::Null, "a null payload stays null");
}

#[test]
fn a_run_ends_with_one_of_four() {
    let terminal: Vec<_> = catalogue()
        .into_iter()
        .map(|(name, payload)| RunEventKind::read(name.to_owned(), payload))
        .filter(RunEventKind::is_terminal)
        .map(|kind| kind.name().to_owned())
        .collect();
    assert_eq!(
        terminal,
        [
            "run_partial_success",
            "run_failed",
            "run_cancelled",
            "run_completed"
        ]
    );
}

#[test]
fn old_records_are_read() {
    let old = json!({"workspaceId": "w", "stableChatId": "s"});
    let RunEventKind::RunCreated(created) = RunEventKind::read("run_created".into(), old) else {
        panic!("not understood")
    };
    assert_eq!(created.presentation, Presentation::Foreground);
    let old = json!({"status": "awaiting_commit"});
    let RunEventKind::StatusChanged(changed) = RunEventKind::read("status_changed".into(), old)
    else {
        panic!("not understood")
    };
    assert_eq!(changed.status, RunStatus::AwaitingHostCommit);
    assert!(!changed.status.is_terminal() && RunStatus::Failed.is_terminal());
}

#[test]
fn levels_have_defaults() {
    for (name, level) in [
        ("model_call_attempt_started", Level::Debug),
        ("tool_result_stored", Level::Debug),
        ("tool_call_failed", Level::Warn),
        ("drift_recovery_attempted", Level::Warn),
        ("run_failed", Level::Error),
        ("run_completed", Level::Info),
    ] {
        let (_, payload) = catalogue()
            .into_iter()
            .find(|(known, _)| *known == name)
            .unwrap();
        assert_eq!(
            RunEventKind::read(name.into(), payload).default_level(),
            level,
            "{name}"
        );
    }
}
