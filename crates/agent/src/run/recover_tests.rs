use innkeeper_protocol::ErrorCode;
use serde_json::json;

use super::testing::*;
use super::*;

#[test]
fn a_crash_costs_only_what_nobody_can_know() {
    struct Row {
        name: &'static str,
        scene: Scene,
        told: &'static str,
        next: Step,
    }
    let started = |idempotent| {
        let mut scene = Scene::writer(json!({}));
        scene.calls(&[native("a", "x", json!({}))]);
        scene.feed(Input::CallStarted {
            call: "a".into(),
            idempotent,
        });
        scene
    };
    let rows = [
        Row {
            name: "before anything",
            scene: Scene::new(Default::default(), json!({})),
            told: "run_recovered",
            next: Step::PrepareWorkspace,
        },
        Row {
            name: "while the model was asked",
            scene: {
                let mut scene = Scene::writer(json!({}));
                scene.ask().feed(model_down(true)).feed(Input::Rested);
                scene
            },
            told: "run_recovered model_call_attempt_started",
            next: Step::Deliberate {
                round: 1,
                attempt: 2,
            },
        },
        Row {
            name: "while it rested",
            scene: {
                let mut scene = Scene::writer(json!({}));
                scene.ask().feed(model_down(true));
                scene
            },
            told: "run_recovered",
            next: Step::Rest { millis: 3_000 },
        },
        Row {
            name: "in a call that may be run again",
            scene: started(true),
            told: "run_recovered",
            next: Step::RunBlock { block: 0 },
        },
        Row {
            name: "in a call that may not",
            scene: started(false),
            told: "run_recovered tool_result_stored tool_call_failed",
            next: Step::RunBlock { block: 0 },
        },
        Row {
            name: "while a person was asked",
            scene: {
                let mut scene = Scene::writer(json!({}));
                scene.calls(&[native("a", "x", json!({}))]);
                scene.feed(Input::ApprovalAsked {
                    call: "a".into(),
                    approval_id: "p".to_owned(),
                    reason: None,
                    expires_at: None,
                    question: None,
                });
                scene
            },
            told: "run_recovered",
            next: Step::RunBlock { block: 0 },
        },
        Row {
            name: "while the host was asked",
            scene: {
                let mut scene = started(false);
                scene.request_commit("a", "c1");
                scene
            },
            told: "run_recovered =awaiting_host_commit chat_commit_requested",
            next: Step::AwaitHostCommit {
                commit: "c1".into(),
            },
        },
        Row {
            name: "when the host had answered",
            scene: {
                let mut scene = started(false);
                scene.request_commit("a", "c1").resolve("c1");
                scene
            },
            told: "run_recovered",
            next: Step::RunBlock { block: 0 },
        },
        Row {
            name: "while it was being cancelled",
            scene: {
                let mut scene = started(true);
                scene.feed(Input::CancelRequested);
                scene
            },
            told: "run_recovered",
            next: Step::Stop,
        },
        Row {
            name: "while the host noted what was kept",
            scene: {
                let mut scene = Scene::writer(json!({}));
                scene.publish("a", "c1").finish("b").persist();
                scene.feed(Input::MetadataUpdateRequested {
                    update_id: "u1".to_owned(),
                });
                scene
            },
            told: "run_recovered persistent_state_metadata_update_requested",
            next: Step::UpdateMetadata {
                update_id: Some("u1".to_owned()),
            },
        },
    ];
    for Row {
        name,
        mut scene,
        told,
        next,
    } in rows
    {
        scene.heard();
        scene.feed(Input::Recovered);
        assert_eq!(scene.heard(), told, "{name}");
        assert_eq!(scene.run.next(), next, "{name}");
    }
}

#[test]
fn a_call_with_unknown_outcome_is_told_as_such() {
    let mut scene = Scene::writer(json!({}));
    scene.calls(&[native("a", "x", json!({}))]).start("a");
    scene.feed(Input::Recovered);
    assert_eq!(scene.told_model(), ["tool.outcome_unknown"]);
    scene.block_end();
    assert_eq!(scene.run.next(), Step::Ask { round: 2 });
}

#[test]
fn an_answer_of_the_host_is_found_by_the_call_that_is_run_again() {
    let mut scene = Scene::writer(json!({}));
    scene
        .calls(&[native("a", "workspace.commit", json!({}))])
        .start("a");
    scene.request_commit("a", "c1").feed(Input::Recovered);
    scene.resolve("c1");
    assert_eq!(scene.run.next(), Step::RunBlock { block: 0 });
    let found = scene.run.commit_of(&"a".into()).unwrap();
    assert_eq!(found.message_id(), Some("7"));
    scene.start("a").end("a").block_end();
    assert_eq!(scene.run.next(), Step::Ask { round: 2 });
}

#[test]
fn a_profile_may_want_a_pause_after_a_crash() {
    let resumed = Input::Resumed {
        additional_rounds: None,
    };
    let mut scene = Scene::writer(json!({"agent": {"afterCrash": "pause"}}));
    scene.ask().heard();
    assert_eq!(scene.refuses(resumed.clone()), Why::Already);
    scene.feed(Input::Recovered);
    assert_eq!(
        scene.heard(),
        "run_recovered model_call_attempt_started run_paused"
    );
    assert_eq!(scene.run.next(), Step::Paused);
    assert_eq!(
        scene.refuses(Input::ModelReplied(Default::default())),
        Why::Unfit
    );
    // Taken over once more, it is still paused, and says so no second time.
    scene.feed(Input::Recovered).heard();
    scene.feed(resumed);
    assert_eq!(scene.heard(), "run_resumed");
    assert!(matches!(scene.run.next(), Step::Deliberate { .. }));

    let mut cancelled = Scene::writer(json!({"agent": {"afterCrash": "pause"}}));
    cancelled
        .feed(Input::Recovered)
        .feed(Input::CancelRequested);
    assert_eq!(cancelled.run.next(), Step::Stop);
    // What is being cancelled is not paused.
    cancelled.heard();
    cancelled.feed(Input::Recovered);
    assert_eq!(cancelled.heard(), "run_recovered");
    assert!(!cancelled.run.is_paused());
}

#[test]
fn a_run_that_ends_its_process_again_and_again_is_paused() {
    let mut scene = Scene::writer(json!({}));
    for _ in 0..4 {
        scene.feed(Input::Recovered);
        assert_ne!(scene.run.next(), Step::Paused);
    }
    // A step in between is a sign of life.
    scene.ask();
    for _ in 0..4 {
        scene.feed(Input::Recovered);
        assert_ne!(scene.run.next(), Step::Paused);
    }
    scene.feed(Input::Recovered);
    assert_eq!(scene.run.next(), Step::Paused);
}

#[test]
fn a_run_that_is_over_can_go_on_from_where_it_was() {
    let resume = |additional_rounds| Input::Resumed { additional_rounds };
    struct Row {
        name: &'static str,
        scene: Scene,
        rounds: Option<u32>,
        told: &'static str,
        next: Step,
    }
    let rows = [
        Row {
            name: "no workspace",
            scene: {
                let mut scene = Scene::new(Default::default(), json!({}));
                scene.feed(failed(ErrorCode::WorkspaceStorageFailed));
                scene
            },
            rounds: None,
            told: "run_resumed agent_invocation_started =initializing_workspace",
            next: Step::PrepareWorkspace,
        },
        Row {
            name: "no model",
            scene: {
                let mut scene = Scene::writer(json!({"tools": {"maxRounds": 1}}));
                scene.ask().feed(model_down(false));
                scene
            },
            rounds: None,
            told: "run_resumed agent_invocation_started =calling_model model_call_attempt_started",
            next: Step::Deliberate {
                round: 1,
                attempt: 1,
            },
        },
        Row {
            name: "no rounds",
            scene: {
                let mut scene = Scene::writer(json!({"tools": {"maxRounds": 1}}));
                scene.round("a", "x", json!({}));
                scene
            },
            rounds: Some(2),
            told: "run_resumed agent_invocation_started =assembling_context",
            next: Step::Ask { round: 2 },
        },
        Row {
            name: "cancelled in a call",
            scene: {
                let mut scene = Scene::writer(json!({}));
                scene.calls(&[native("a", "x", json!({}))]).start("a");
                scene.feed(Input::CancelRequested).feed(Input::Stopped);
                scene
            },
            rounds: None,
            told: "run_resumed agent_invocation_started =assembling_context",
            next: Step::Ask { round: 2 },
        },
        Row {
            name: "partly a success",
            scene: {
                let mut scene = Scene::writer(json!({}));
                scene
                    .publish("a", "c1")
                    .feed(failed(ErrorCode::AgentTransient));
                scene
            },
            rounds: None,
            told: "run_resumed agent_invocation_started =assembling_context",
            next: Step::Ask { round: 2 },
        },
    ];
    for Row {
        name,
        mut scene,
        rounds,
        told,
        next,
    } in rows
    {
        assert!(scene.run.is_over(), "{name}");
        scene.heard();
        scene.feed(resume(rounds));
        assert_eq!(scene.heard(), told, "{name}");
        assert_eq!(scene.run.next(), next, "{name}");
        assert_eq!(scene.run.failure(), None, "{name}");
    }

    let invalid = |code: &'static str| Why::Refused {
        code: ErrorCode::AgentValidationError,
        reason: code,
    };
    let mut scene = Scene::writer(json!({"tools": {"maxRounds": 1}}));
    scene.round("a", "x", json!({}));
    for rounds in [None, Some(0), Some(1_001)] {
        assert_eq!(
            scene.refuses(resume(rounds)),
            invalid("agent.resume_rounds_invalid")
        );
    }
    let mut complete = Scene::chat(json!({}));
    complete.says("Done").persist();
    assert_eq!(
        complete.refuses(resume(Some(1))),
        invalid("agent.resume_unavailable")
    );
}

#[test]
fn a_finish_that_came_to_nothing_is_forgotten() {
    let mut scene = Scene::writer(json!({}));
    scene.publish("p", "c");
    scene.calls(&[native("a", "workspace.finish", json!({}))]);
    scene.start("a").feed(Input::FinishCalled {
        call: "a".into(),
        reason: None,
    });
    scene.feed(failed(ErrorCode::AgentTransient));
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    scene.round("b", "x", json!({}));
    assert_eq!(scene.run.next(), Step::Ask { round: 4 });
}

#[test]
fn whoever_resumes_grants_what_was_used_up() {
    let mut scene = Scene::writer(json!({
        "agent": {"budget": {"maxTokens": 10, "maxCost": 5.0}},
        "tools": {"maxCallsPerRun": 2, "maxCallsPerTool": {"x": 1}},
    }));
    let spend = |scene: &mut Scene, id: &str| {
        scene.ask().reply(ModelTurn {
            tool_calls: vec![native(id, "x", json!({}))],
            usage: json!({"total_tokens": 12}),
            cost: Some(1.0),
            ..ModelTurn::default()
        });
    };
    spend(&mut scene, "a");
    scene.start("a").end("a").block_end();
    assert_eq!(scene.failure().1, Some("agent.token_budget_exhausted"));
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    let left = scene.run.left();
    // What was not used up is what it was.
    assert_eq!(
        (left.tokens, left.cost, left.calls),
        (Some(10), Some(4.0), 1)
    );
    spend(&mut scene, "b");
    assert!(scene.run.call(&"b".into()).unwrap().is_open());
    assert_eq!(scene.run.spent().tokens, 24);
}

#[test]
fn a_run_that_waits_for_its_host_may_be_taken_over_for_ever() {
    let mut commit = Scene::writer(json!({}));
    commit
        .calls(&[native("a", "workspace.commit", json!({}))])
        .start("a")
        .request_commit("a", "c1");
    let mut update = Scene::writer(json!({}));
    update.publish("a", "c1").finish("b").persist();
    update.feed(Input::MetadataUpdateRequested {
        update_id: "u1".to_owned(),
    });
    for (name, mut scene) in [("commit", commit), ("update", update)] {
        let next = match name {
            "commit" => Step::AwaitHostCommit {
                commit: "c1".into(),
            },
            _ => scene.run.next(),
        };
        for _ in 0..20 {
            scene.feed(Input::Recovered);
            assert_eq!(scene.run.next(), next, "{name}");
        }
    }
}
