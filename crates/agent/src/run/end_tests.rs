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
    // What was let go of in the middle may have taken effect.
    let told = ["tool.outcome_unknown", "tool.cancelled"];
    assert_eq!(scene.told_model(), told);
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
        timed_out: false,
    });
    assert_eq!(scene.heard(), "chat_commit_failed");
    scene.feed(Input::Stopped);
    assert_eq!(scene.run.status(), RunStatus::Cancelled);
    assert_eq!(scene.told_model(), ["agent.chat_commit_failed"]);
}

#[test]
fn what_the_host_published_after_it_was_given_up_is_not_published_again() {
    let resolved = || Input::CommitResolved {
        commit: "c1".into(),
        message_id: "7".to_owned(),
        message_index: None,
    };
    let timed_out = || Input::CommitFailed {
        commit: "c1".into(),
        message: "no answer".to_owned(),
        timed_out: true,
    };
    let ends: [(&str, Vec<Input>); 3] = [
        ("cancelled", vec![Input::CancelRequested, Input::Stopped]),
        ("timed out", vec![timed_out()]),
        ("failed", vec![failed(ErrorCode::AgentTransient)]),
    ];
    for (end, inputs) in ends {
        for is_resumed in [false, true] {
            let mut scene = Scene::writer(json!({}));
            scene
                .calls(&[native("a", "workspace.commit", json!({}))])
                .start("a");
            scene.request_commit("a", "c1");
            for input in inputs.clone() {
                scene.feed(input);
            }
            let status = scene.run.status();
            assert!(scene.run.is_over(), "{end}");
            let resume = || Input::Resumed {
                additional_rounds: None,
            };
            if is_resumed {
                // The model goes on, and has been told that nothing was published.
                scene.feed(resume()).ask();
            }
            scene.heard();
            scene.feed(resolved());
            assert_eq!(scene.run.commit_count(), 1, "{end}");
            assert_eq!(scene.refuses(resolved()), Why::Already, "{end}");
            match is_resumed {
                true => {
                    assert_eq!(scene.heard(), "chat_commit_completed chat_commit_recorded");
                    let told = &scene.run.arrived()[0];
                    assert!(format!("{told:?}").contains("after all"), "{end}");
                }
                false => {
                    let (told, status) = match status {
                        RunStatus::Cancelled => ("run_cancelled", RunStatus::Cancelled),
                        _ => (
                            "=partial_success run_partial_success",
                            RunStatus::PartialSuccess,
                        ),
                    };
                    let told =
                        format!("run_resumed chat_commit_completed chat_commit_recorded {told}");
                    assert_eq!(scene.heard(), told, "{end}");
                    assert_eq!(scene.run.status(), status, "{end}");
                    assert!(scene.run.is_over(), "{end}");
                    let call = scene.run.turn().unwrap().calls().next().unwrap();
                    let told = call.observation().unwrap();
                    assert!(matches!(told.outcome, Outcome::Success { .. }), "{end}");
                }
            }
        }
    }
}

#[test]
fn a_commit_is_answered_once() {
    let failed = |commit: &str| Input::CommitFailed {
        commit: commit.into(),
        message: "disk full".to_owned(),
        timed_out: false,
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
        skill_chars: 0,
        worlds: Vec::new(),
        used: None,
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
fn tasks_of_a_run_that_ends_are_stopped_and_told_before_the_end() {
    struct Row {
        name: &'static str,
        profile: serde_json::Value,
        end: fn(&mut Scene),
        /// What is told before the tasks are stopped, and behind their ends.
        before: &'static str,
        after: &'static str,
    }
    let rows = [
        Row {
            name: "cancelled",
            profile: json!({}),
            end: |scene| {
                scene.feed(Input::CancelRequested);
            },
            before: "run_cancel_requested =cancelling",
            after: " =cancelled run_cancelled",
        },
        Row {
            name: "failed",
            profile: json!({}),
            end: |scene| {
                scene.feed(failed(ErrorCode::AgentTransient));
            },
            before: "",
            after: " agent_invocation_failed =failed run_failed",
        },
        Row {
            name: "finished",
            profile: json!({}),
            end: |scene| {
                scene.finish("f");
                scene.heard();
            },
            before: "",
            after: "",
        },
    ];
    for row in rows {
        for told in [true, false] {
            let name = row.name;
            let mut scene = Scene::chat(row.profile.clone());
            scene.calls(&[native("a", "slow", json!({}))]).start("a");
            let background = Outcome::AsyncStarted {
                task_id: "t".to_owned(),
            };
            scene
                .end_with("a", background, Default::default())
                .block_end();
            scene.heard();
            (row.end)(&mut scene);
            assert_eq!(scene.heard(), row.before, "{name}");
            assert_eq!(scene.run.next(), Step::Stop, "{name}");
            assert!(!scene.run.is_over(), "{name}");
            if told {
                // It had come to its end by itself.
                scene.feed(task_ended("t"));
            }
            if scene.run.next() == Step::Stop {
                scene.feed(Input::Stopped);
            }
            let expected = format!("tool_task_ended{}", row.after);
            assert_eq!(scene.heard(), expected, "{name}");
            // A model that goes on is told.
            assert_eq!(scene.run.arrived().len(), 1, "{name}");
            let ended = scene.drafts.iter().find_map(|draft| match &draft.kind {
                RunEventKind::ToolTaskEnded(ended) => Some(ended.error_code.as_deref()),
                _ => None,
            });
            let code = (!told).then_some("tool.cancelled");
            assert_eq!(ended.unwrap(), code, "{name}");
            match name {
                "finished" => assert_eq!(scene.run.next(), Step::CommitPersist),
                _ => assert!(scene.run.is_over(), "{name}"),
            }
        }
    }
}

#[test]
fn a_run_that_is_failing_takes_nothing_new_and_survives_a_crash() {
    let mut scene = Scene::chat(json!({}));
    scene.calls(&[native("a", "slow", json!({}))]).start("a");
    let background = Outcome::AsyncStarted {
        task_id: "t".to_owned(),
    };
    scene.end_with("a", background, Default::default());
    scene.feed(failed(ErrorCode::AgentTransient)).heard();
    assert_eq!(scene.refuses(Input::CancelRequested), Why::Already);
    let deaf = Why::Refused {
        code: ErrorCode::AgentGuidanceInvalid,
        reason: "agent.guidance_run_not_accepting",
    };
    assert_eq!(scene.refuses(guidance("g", "x")), deaf);
    scene.feed(Input::Recovered);
    assert_eq!(scene.run.next(), Step::Stop);
    scene.feed(task_ended("t")).feed(Input::Stopped);
    assert_eq!(scene.failure(), ("agent.transient", None));
    assert_eq!(scene.run.status(), RunStatus::Failed);
}

#[test]
fn a_call_that_may_be_run_again_is_known_to_be_cancelled() {
    let mut scene = Scene::writer(json!({}));
    scene.calls(&[native("a", "x", json!({}))]);
    scene.feed(Input::CallStarted {
        call: "a".into(),
        idempotent: true,
    });
    scene.feed(failed(ErrorCode::ToolBudgetExhausted));
    assert_eq!(scene.told_model(), ["tool.cancelled"]);
}

#[test]
fn only_work_uses_up_time() {
    use std::time::Duration;
    let left = |scene: &Scene, at: i64| {
        let now = jiff::Timestamp::from_millisecond(at).unwrap();
        scene
            .run
            .time_left(now)
            .map(|left: Duration| left.as_millis())
    };
    let mut scene = Scene::writer(json!({"agent": {"budget": {"maxWallTimeMs": 1000}}}));
    scene.publish("p", "c");
    assert_eq!(left(&scene, 300), Some(700));
    assert_eq!(left(&scene, 5_000), Some(0));
    scene.after(300).finish("f").persist();
    scene.feed(Input::MetadataUpdateRequested {
        update_id: "u".to_owned(),
    });
    // The host takes its time.
    assert!(scene.run.is_parked());
    assert_eq!(left(&scene, 5_000), Some(700));
    assert_eq!(left(&Scene::writer(json!({})), 5_000), None);
}
