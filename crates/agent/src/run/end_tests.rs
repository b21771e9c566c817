use std::sync::Arc;

use innkeeper_protocol::event::{RunEventKind, RunStatus};
use innkeeper_protocol::{ErrorCode, Outcome};
use serde_json::json;

use super::testing::*;
use super::*;

#[test]
fn failures_carry_their_code_and_what_may_be_done() {
    for (code, retryable, user_retryable) in [
        (ErrorCode::AgentRateLimited, true, true),
        (ErrorCode::AgentTransient, true, true),
        (ErrorCode::ModelRequestFailed, true, true),
        (ErrorCode::ModelProviderRateLimited, true, true),
        (ErrorCode::ModelToolCallRequired, false, true),
        (ErrorCode::AgentToolAfterFinish, false, true),
        (ErrorCode::AgentMaxToolRoundsExceeded, false, true),
        (ErrorCode::AgentInternalError, false, false),
        (ErrorCode::AgentValidationError, false, false),
        (ErrorCode::AgentUnauthorized, false, false),
    ] {
        let mut scene = Scene::writer(json!({}));
        scene.feed(failed(code));
        let Some(RunEventKind::RunFailed(payload)) = scene.drafts.last().map(|last| &last.kind)
        else {
            panic!("{code} did not end in run_failed");
        };
        assert_eq!(payload.code, code.as_str());
        assert_eq!(payload.retryable, retryable, "{code}");
        assert_eq!(payload.user_retryable, user_retryable, "{code}");
        assert_eq!(payload.details, json!({}), "{code}");
    }
}

#[test]
fn what_was_published_makes_a_failure_a_partial_success() {
    let mut scene = Scene::writer(json!({}));
    scene.publish("a", "commit_1");
    scene.heard();
    scene.feed(failed(ErrorCode::AgentTransient));
    assert_eq!(
        scene.heard(),
        "agent_invocation_failed =partial_success run_partial_success"
    );
    let RunEventKind::RunPartialSuccess(payload) = &scene.drafts.last().unwrap().kind else {
        panic!("no partial success");
    };
    assert!(!payload.retryable && !payload.user_retryable);
    assert_eq!(payload.preserved_commit_count, 1);
    let kept = &payload.preserved_commits[0];
    let kept = (kept.path.as_str(), kept.message_id.as_str(), kept.round);
    assert_eq!(kept, ("output/main.md", "7", 1));
}

#[test]
fn a_failure_answers_every_open_call() {
    let mut scene = Scene::writer(json!({}));
    scene.calls(&[native("a", "x", json!({})), native("b", "x", json!({}))]);
    scene.start("a").feed(guidance("g", "x")).heard();
    scene.feed(failed(ErrorCode::AgentInternalError));
    assert_eq!(
        scene.heard(),
        "tool_result_stored tool_call_failed tool_result_stored tool_call_failed user_guidance_discarded \
         agent_invocation_failed =failed run_failed"
    );
    assert_eq!(scene.told_model(), ["tool.cancelled", "tool.cancelled"]);
}

#[test]
fn a_cancel_leaves_a_clean_transcript() {
    let mut scene = Scene::writer(json!({}));
    scene.publish("p", "c1");
    scene.calls(&[
        native("a", "workspace.commit", json!({})),
        native("b", "x", json!({})),
        native("c", "x", json!({})),
    ]);
    scene.start("a").request_commit("a", "c2").start("b");
    scene.feed(guidance("g", "x")).heard();
    scene.feed(Input::CancelRequested);
    assert_eq!(
        scene.heard(),
        "run_cancel_requested user_guidance_discarded =cancelling"
    );
    assert_eq!(scene.run.next(), Step::Stop);
    assert_eq!(scene.refuses(Input::CancelRequested), Why::Already);
    // What was under way may still come to its end.
    scene.end("b").heard();
    scene.feed(Input::Stopped);
    assert_eq!(
        scene.heard(),
        "chat_commit_failed tool_result_stored tool_call_failed tool_result_stored tool_call_failed \
         =cancelled run_cancelled"
    );
    let seen = scene.told_model();
    assert_eq!(seen[0], "tool.cancelled");
    assert_eq!(seen[2], "tool.cancelled");
    // Though something was published.
    assert_eq!(scene.run.status(), RunStatus::Cancelled);
}

#[test]
fn a_host_that_fails_a_cancelled_run_does_not_make_it_fail() {
    let mut scene = Scene::writer(json!({}));
    scene
        .calls(&[native("a", "workspace.commit", json!({}))])
        .start("a");
    scene.request_commit("a", "c1").feed(Input::CancelRequested);
    scene.heard();
    scene.feed(Input::CommitFailed {
        commit: "c1".into(),
        message: "gone".to_owned(),
    });
    assert_eq!(scene.heard(), "chat_commit_failed");
    scene.feed(Input::Stopped);
    assert_eq!(scene.run.status(), RunStatus::Cancelled);
    assert_eq!(scene.told_model(), ["agent.chat_commit_failed"]);
}

#[test]
fn a_commit_is_answered_once() {
    let failed = |commit: &str| Input::CommitFailed {
        commit: commit.into(),
        message: "disk full".to_owned(),
    };
    let resolved = |commit: &str| Input::CommitResolved {
        commit: commit.into(),
        message_id: "7".to_owned(),
        message_index: None,
    };
    let mut scene = Scene::writer(json!({}));
    scene
        .calls(&[native("a", "workspace.commit", json!({}))])
        .start("a");
    let unknown = Why::Refused {
        code: ErrorCode::AgentNotFound,
        reason: "agent.chat_commit_not_pending",
    };
    assert_eq!(scene.refuses(resolved("c1")), unknown);
    scene.request_commit("a", "c1");
    let again = |commit: &str| Input::CommitRequested {
        commit: commit.into(),
        call: "a".into(),
        path: "output/main.md".to_owned(),
        mode: "replace".to_owned(),
        reason: None,
        file: file("text"),
    };
    // The same call asks for nothing anew, under whatever name.
    assert_eq!(scene.refuses(again("c1")), Why::Already);
    assert_eq!(scene.refuses(again("c2")), Why::Already);
    // A call does not end before its host has answered.
    let end = Input::CallEnded {
        call: "a".into(),
        observation: Arc::new(innkeeper_protocol::Observation::success("x", "y")),
        elapsed_ms: 0,
        change: Default::default(),
        full: None,
    };
    assert_eq!(scene.refuses(end), Why::Unfit);
    scene.resolve("c1");
    assert_eq!(scene.refuses(resolved("c1")), Why::Already);
    assert_eq!(scene.refuses(failed("c1")), Why::Already);
    assert_eq!(scene.run.commit_count(), 1);

    let mut scene = Scene::writer(json!({}));
    scene
        .calls(&[native("a", "workspace.commit", json!({}))])
        .start("a");
    scene.request_commit("a", "c1").heard();
    scene.feed(failed("c1"));
    assert_eq!(
        scene.heard(),
        "chat_commit_failed tool_result_stored tool_call_failed agent_invocation_failed =failed run_failed"
    );
    let code = ("commit.save_failed", Some("agent.chat_commit_failed"));
    assert_eq!(scene.failure(), code);
    assert_eq!(scene.told_model(), ["agent.chat_commit_failed"]);
    assert_eq!(scene.refuses(resolved("c1")), Why::Already);
    assert_eq!(scene.refuses(resolved("c9")), Why::Over);
}

#[test]
fn what_cannot_be_kept_is_no_success() {
    let mut scene = Scene::chat(json!({}));
    scene.says("Done").heard();
    scene.feed(Input::PersistFailed {
        message: "disk full".to_owned(),
    });
    assert_eq!(
        scene.heard(),
        "persistent_changes_commit_failed agent_invocation_failed =failed run_failed"
    );
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    assert_eq!(scene.run.next(), Step::CommitPersist);

    let mut scene = Scene::writer(json!({}));
    scene.publish("a", "c1").finish("b").persist();
    let id = "u1".to_owned();
    scene.feed(Input::MetadataUpdateRequested {
        update_id: id.clone(),
    });
    let wrong = Input::MetadataUpdated {
        update_id: "u2".to_owned(),
    };
    assert!(matches!(scene.refuses(wrong), Why::Refused { .. }));
    scene.feed(Input::MetadataUpdateFailed {
        update_id: id,
        message: "gone".to_owned(),
    });
    assert_eq!(scene.run.status(), RunStatus::PartialSuccess);
}

#[test]
fn tasks_of_a_run_that_ends_are_ended() {
    let mut scene = Scene::chat(json!({}));
    scene.calls(&[native("a", "slow", json!({}))]).start("a");
    let background = Outcome::AsyncStarted {
        task_id: "t".to_owned(),
    };
    scene
        .end_with("a", background, Default::default())
        .block_end();
    scene.heard();
    scene.feed(Input::CancelRequested).feed(Input::Stopped);
    assert_eq!(
        scene.heard(),
        "run_cancel_requested =cancelling tool_task_ended =cancelled run_cancelled"
    );
    // A model that goes on is told.
    assert_eq!(scene.run.arrived().len(), 1);
    let ended = scene.drafts.iter().find_map(|draft| match &draft.kind {
        RunEventKind::ToolTaskEnded(ended) => Some(ended),
        _ => None,
    });
    assert_eq!(ended.unwrap().error_code.as_deref(), Some("tool.cancelled"));
}
