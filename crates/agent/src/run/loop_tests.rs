use innkeeper_protocol::event::{Presentation, RunStatus};
use serde_json::json;

use super::testing::*;
use super::*;

#[test]
fn a_whole_run_is_told_in_order() {
    let mut scene = Scene::new(Presentation::Foreground, json!({}));
    assert_eq!(
        scene.heard(),
        "run_created profile_resolved skill_scopes_resolved =initializing_workspace"
    );
    assert_eq!(scene.run.next(), Step::PrepareWorkspace);
    scene.prepare();
    assert_eq!(
        scene.heard(),
        "workspace_initialized agent_invocation_created agent_invocation_started \
         persistent_projection_initialized agent_model_binding_resolved =assembling_context context_assembled"
    );
    assert_eq!(scene.run.next(), Step::Ask { round: 1 });
    scene.ask();
    assert_eq!(
        scene.heard(),
        "=calling_model model_request_created model_call_attempt_started"
    );
    let deliberate = Step::Deliberate {
        round: 1,
        attempt: 1,
    };
    assert_eq!(scene.run.next(), deliberate);
    scene.reply(ModelTurn {
        tool_calls: vec![native(
            "a",
            "workspace.write_file",
            json!({"path": "output/main.md"}),
        )],
        ..ModelTurn::default()
    });
    assert_eq!(
        scene.heard(),
        "model_response_stored model_completed tool_call_requested"
    );
    assert_eq!(scene.run.next(), Step::RunBlock { block: 0 });
    scene.start("a");
    assert_eq!(scene.heard(), "=dispatching_tool tool_call_started");
    let ok = innkeeper_protocol::Outcome::Success {
        result: "ok".into(),
        spilled: None,
    };
    scene.end_with("a", ok, written("output/main.md", "text"));
    assert_eq!(
        scene.heard(),
        "tool_result_stored tool_call_completed =creating_checkpoint workspace_file_written checkpoint_created"
    );
    scene.block_end();
    assert_eq!(scene.heard(), "");
    assert_eq!(scene.run.next(), Step::Ask { round: 2 });

    scene.calls(&[native("b", "workspace.commit", json!({}))]);
    scene.start("b");
    scene.heard();
    scene.request_commit("b", "commit_1");
    assert_eq!(
        scene.heard(),
        "chat_commit_started =creating_checkpoint checkpoint_created =awaiting_host_commit chat_commit_requested"
    );
    // Whoever runs the call waits in it.
    assert_eq!(scene.run.next(), Step::RunBlock { block: 0 });
    scene.resolve("commit_1");
    assert_eq!(scene.heard(), "chat_commit_completed chat_commit_recorded");
    scene.end("b").block_end();
    assert_eq!(scene.heard(), "tool_result_stored tool_call_completed");

    scene.finish("c");
    assert!(scene.heard().ends_with("agent_loop_finished =finishing"));
    assert_eq!(scene.run.next(), Step::CommitPersist);
    scene.persist();
    assert_eq!(scene.heard(), "persistent_changes_committed");
    assert_eq!(scene.run.next(), Step::UpdateMetadata { update_id: None });
    let update_id = "persist_update_1".to_owned();
    scene.feed(Input::MetadataUpdateRequested {
        update_id: update_id.clone(),
    });
    assert_eq!(scene.heard(), "persistent_state_metadata_update_requested");
    scene.feed(Input::MetadataUpdated { update_id });
    assert_eq!(
        scene.heard(),
        "persistent_state_metadata_updated agent_invocation_completed =completed run_completed"
    );
    let over = Step::Over {
        status: RunStatus::Completed,
    };
    assert_eq!(scene.run.next(), over);
}

#[test]
fn payloads_say_where_things_are() {
    let mut scene = Scene::writer(json!({}));
    scene.calls(&[native("call_1", "x", json!({}))]);
    scene.start("call_1").end("call_1");
    let payload = |name: &str| {
        let draft = scene.drafts.iter().find(|draft| draft.kind.name() == name);
        let event = innkeeper_protocol::RunEvent {
            seq: 1,
            id: "e".into(),
            run_id: "r".into(),
            timestamp: "t".into(),
            level: innkeeper_protocol::event::Level::Info,
            scope: None,
            kind: draft.unwrap().kind.clone(),
        };
        serde_json::to_value(event).unwrap()["payload"].clone()
    };
    for (event, key, value) in [
        (
            "model_response_stored",
            "path",
            json!("model-responses/round-001.json"),
        ),
        (
            "model_completed",
            "modelResponsePath",
            json!("model-responses/round-001.json"),
        ),
        ("model_completed", "toolCallCount", json!(1)),
        (
            "tool_call_requested",
            "argumentsRef",
            json!("tool-args/call_74196fe72e4cdc13.json"),
        ),
        (
            "tool_result_stored",
            "path",
            json!("tool-results/call_74196fe72e4cdc13.json"),
        ),
        ("context_assembled", "maxRounds", json!(80)),
        (
            "context_assembled",
            "modelRetry",
            json!({"maxRetries": 3, "intervalMs": 3000}),
        ),
        ("agent_model_binding_resolved", "modelId", json!("m")),
        (
            "agent_invocation_created",
            "invocationId",
            json!("inv_root"),
        ),
        (
            "agent_invocation_created",
            "exitPolicy",
            json!("run_finish_allowed"),
        ),
    ] {
        assert_eq!(payload(event)[key], value, "{event}.{key}");
    }
}

#[test]
fn a_failing_model_is_asked_again_as_the_profile_says() {
    let retry = json!({"run": {"modelRetry": {"maxRetries": 2, "intervalMs": 50}}});
    for (name, retryable, tries, told, status) in [
        (
            "a lasting failure ends it at once",
            false,
            1,
            "model_call_attempt_failed agent_invocation_failed =failed run_failed",
            RunStatus::Failed,
        ),
        (
            "the first of three attempts",
            true,
            1,
            "model_call_attempt_failed model_call_retry_scheduled",
            RunStatus::CallingModel,
        ),
        (
            "the last of three attempts",
            true,
            3,
            "model_call_attempt_failed agent_invocation_failed =failed run_failed",
            RunStatus::Failed,
        ),
    ] {
        let mut scene = Scene::writer(retry.clone());
        scene.ask();
        for attempt in 1..tries {
            scene.feed(model_down(retryable));
            assert_eq!(scene.run.next(), Step::Rest { millis: 50 }, "{name}");
            scene.feed(Input::Rested);
            let next = Step::Deliberate {
                round: 1,
                attempt: attempt + 1,
            };
            assert_eq!(scene.run.next(), next, "{name}");
        }
        scene.heard();
        scene.feed(model_down(retryable));
        assert_eq!(scene.heard(), told, "{name}");
        assert_eq!(scene.run.status(), status, "{name}");
    }
}

#[test]
fn what_a_reply_in_words_means() {
    struct Row {
        name: &'static str,
        scene: Scene,
        told: &'static str,
        next: Step,
    }
    let completes = "model_response_stored model_completed agent_loop_finished =finishing";
    let nudged = "model_response_stored model_completed direct_output_captured checkpoint_created drift_recovery_attempted";
    let answers = json!({"agent": {"textTurn": "answers"}});
    let rows = [
        Row {
            name: "an agent in the background has answered",
            scene: Scene::chat(json!({})),
            told: completes,
            next: Step::CommitPersist,
        },
        Row {
            name: "so has one in the foreground whose profile says so",
            scene: Scene::writer(answers),
            told: completes,
            next: Step::CommitPersist,
        },
        Row {
            name: "a writer is nudged",
            scene: Scene::writer(json!({})),
            told: nudged,
            next: Step::Ask { round: 2 },
        },
        Row {
            name: "a background agent that has to use tools is nudged",
            scene: Scene::chat(json!({"agent": {"textTurn": "nudges"}})),
            told: nudged,
            next: Step::Ask { round: 2 },
        },
        Row {
            name: "a writer that has published something has ended",
            scene: {
                let mut scene = Scene::writer(json!({}));
                scene.publish("a", "commit_1");
                scene
            },
            told: completes,
            next: Step::CommitPersist,
        },
        Row {
            name: "a writer without rounds has failed",
            scene: Scene::writer(json!({"tools": {"maxRounds": 1}})),
            told: "model_response_stored model_completed direct_output_captured checkpoint_created \
                   agent_invocation_failed =failed run_failed",
            next: Step::Over {
                status: RunStatus::Failed,
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
        scene.ask().heard();
        scene.reply(ModelTurn {
            text: "Once upon a time".to_owned(),
            ..ModelTurn::default()
        });
        assert_eq!(scene.heard(), told, "{name}");
        assert_eq!(scene.run.next(), next, "{name}");
    }
}

#[test]
fn a_captured_answer_is_a_file_that_the_model_knows() {
    let mut scene = Scene::writer(json!({}));
    scene.says("Once");
    let nudge = Nudge::ToolCallRequired {
        captured: Some("output/direct_output.md".to_owned()),
        attempt: 1,
    };
    assert_eq!(scene.run.nudge(), Some(&nudge));
    let workspace = scene.run.workspace();
    assert_eq!(
        workspace.files["output/direct_output.md"].sha256,
        file("Once").sha256
    );
    assert!(workspace.reads["output/direct_output.md"].full);
    assert_eq!(workspace.checkpoints, 1);
    // The nudge is for one request.
    scene.ask();
    assert_eq!(scene.run.nudge(), None);
    // A call in between is a new beginning.
    let attempt = |scene: &Scene| match scene.run.nudge() {
        Some(Nudge::ToolCallRequired { attempt, .. }) => *attempt,
        other => panic!("{other:?}"),
    };
    let words = || ModelTurn {
        text: "words".to_owned(),
        ..ModelTurn::default()
    };
    scene.reply(words());
    assert_eq!(attempt(&scene), 2);
    scene.round("a", "x", json!({})).says("words");
    assert_eq!(attempt(&scene), 1);
}

#[test]
fn drifting_to_the_last_round_has_its_own_code() {
    let mut scene = Scene::writer(json!({"tools": {"maxRounds": 3}}));
    for _ in 0..3 {
        scene.says("words");
    }
    assert_eq!(scene.failure(), ("model.tool_call_required", None));
    let mut scene = Scene::writer(json!({"tools": {"maxRounds": 2}}));
    scene.says("words").round("a", "x", json!({}));
    assert_eq!(scene.failure(), ("agent.max_tool_rounds_exceeded", None));
}

#[test]
fn words_wait_for_background_tasks() {
    let background = innkeeper_protocol::Outcome::AsyncStarted {
        task_id: "t1".to_owned(),
    };
    let mut scene = Scene::chat(json!({}));
    scene.calls(&[native("a", "slow", json!({"n": 1}))]);
    scene.start("a");
    scene
        .end_with("a", background, Default::default())
        .block_end();
    assert_eq!(scene.run.open_tasks()["t1"].call.as_str(), "a");
    scene.says("It is under way");
    let waits = Step::AwaitTasks {
        tasks: vec!["t1".to_owned()],
    };
    assert_eq!(scene.run.next(), waits);
    scene.heard();
    scene.feed(task_ended("t1"));
    assert_eq!(scene.heard(), "tool_task_ended");
    assert_eq!(scene.refuses(task_ended("t1")), Why::Already);
    assert_eq!(scene.run.arrived().len(), 1);
    scene.says("Here it is");
    assert!(scene.run.arrived().is_empty());
    assert_eq!(scene.run.next(), Step::CommitPersist);
}

#[test]
fn what_changed_in_persist_is_told() {
    let mut scene = Scene::new(Presentation::Background, json!({}));
    let found = |path: &str, text: &str| (path.to_owned(), file(text));
    scene.feed(Input::WorkspaceReady {
        files: vec![
            found("persist/same", "1"),
            found("persist/old", "2"),
            found("persist/gone", "3"),
        ],
        is_missing: false,
    });
    scene.feed(Input::ContextReady {
        binding: json!({}),
        request: json!({}),
        tools: json!([]),
    });
    scene.calls(&[native("a", "x", json!({}))]);
    let mut change = written("persist/old", "2b");
    change.files.extend(written("persist/new", "4").files);
    change.files.extend(written("persistent", "5").files);
    change.files.push(crate::workspace::state::FileChange {
        path: "persist/gone".to_owned(),
        how: crate::workspace::state::How::Deleted,
        old: Some(file("3")),
        new: None,
    });
    let ok = innkeeper_protocol::Outcome::Success {
        result: "ok".into(),
        spilled: None,
    };
    scene.start("a").heard();
    scene.end_with("a", ok, change);
    assert_eq!(
        scene.heard(),
        "tool_result_stored tool_call_completed =creating_checkpoint workspace_file_written workspace_file_written \
         workspace_file_written workspace_file_deleted checkpoint_created"
    );
    let changes = scene.run.persist_changes();
    let shown: Vec<_> = changes
        .iter()
        .map(|change| format!("{} {}", change.path, json!(change.kind).as_str().unwrap()))
        .collect();
    assert_eq!(
        shown,
        [
            "persist/gone deleted",
            "persist/new added",
            "persist/old modified"
        ]
    );
}

#[test]
fn calls_can_be_asked_about() {
    let mut scene = Scene::writer(json!({}));
    scene.calls(&[native("a", "x", json!({}))]).heard();
    scene.feed(Input::ApprovalAsked {
        call: "a".into(),
        approval_id: "p1".to_owned(),
        reason: None,
        expires_at: None,
        question: None,
    });
    assert_eq!(
        scene.heard(),
        "=awaiting_approval tool_call_awaiting_approval"
    );
    assert_eq!(
        scene.refuses(Input::CallStarted {
            call: "a".into(),
            idempotent: true
        }),
        Why::Unfit
    );
    let answer = |approved| Input::ApprovalAnswered {
        call: "a".into(),
        approved,
        reason: None,
        approval_id: None,
        remember: Default::default(),
        edit: None,
        by: Default::default(),
    };
    scene.feed(answer(false));
    assert_eq!(scene.heard(), "tool_call_denied =dispatching_tool");
    assert_eq!(scene.refuses(answer(false)), Why::Already);
    let other = Why::Refused {
        code: innkeeper_protocol::ErrorCode::AgentValidationError,
        reason: "agent.approval_answered",
    };
    assert_eq!(scene.refuses(answer(true)), other);
    let denied = innkeeper_protocol::Outcome::Denied {
        reason: "no".to_owned(),
    };
    scene.end_with("a", denied, Default::default());
    assert_eq!(scene.heard(), "tool_result_stored tool_call_failed");
}

#[test]
fn requests_keep_what_was_sent() {
    let mut scene = Scene::writer(json!({}));
    let message = |text: &str| std::sync::Arc::new(json!(text));
    let asked = |keep, add: &[&str]| Input::ModelAsked {
        oversize: None,
        keep,
        add: add.iter().map(|text| message(text)).collect(),
        request: json!({}),
        guidance: 0,
        arrived: 0,
    };
    assert_eq!(scene.refuses(asked(1, &["a"])), Why::Unfit);
    assert_eq!(scene.refuses(asked(0, &[])), Why::Unfit);
    scene.feed(asked(0, &["system", "old", "user"]));
    scene.reply(ModelTurn {
        tool_calls: vec![native("a", "x", json!({}))],
        ..ModelTurn::default()
    });
    scene.start("a").end("a").block_end();
    scene.feed(asked(1, &["summary"]));
    let sent: Vec<_> = scene
        .run
        .sent()
        .iter()
        .map(|message| (**message).clone())
        .collect();
    assert_eq!(sent, [json!("system"), json!("summary")]);
}

#[test]
fn what_is_captured_spoils_nothing() {
    let captured = |scene: &Scene| match scene.run.nudge() {
        Some(Nudge::ToolCallRequired { captured, .. }) => captured.clone(),
        other => panic!("{other:?}"),
    };
    let write = |scene: &mut Scene, id: &str, change| {
        scene.calls(&[native(id, "x", json!({}))]).start(id);
        let outcome = innkeeper_protocol::Outcome::Success {
            result: "ok".into(),
            spilled: None,
        };
        scene.end_with(id, outcome, change).block_end();
    };
    let first = Some("output/direct_output.md".to_owned());
    let second = Some("output/direct_output_2.md".to_owned());
    // Nothing but the last capture lies there.
    let mut scene = Scene::writer(json!({}));
    scene.says("one").says("two");
    assert_eq!(captured(&scene), first);
    // The model has made something of it.
    write(&mut scene, "w", written("output/direct_output.md", "own"));
    scene.says("three");
    assert_eq!(captured(&scene), second);
    let files = &scene.run.workspace().files;
    assert_eq!(files["output/direct_output.md"], file("own"));
    // It is the name of the message itself, or of a folder.
    let body = json!({"output": {"artifacts": [
        {"id": "main", "path": "output/direct_output.md", "kind": "markdown", "target": "messageBody"}
    ]}});
    let mut scene = Scene::writer(body);
    scene.says("one");
    assert_eq!(captured(&scene), second);
    let mut scene = Scene::writer(json!({}));
    write(&mut scene, "w", written("output/direct_output.md/x", "own"));
    scene.says("one");
    assert_eq!(captured(&scene), second);
    // There is no room: too long, too many files.
    let mut scene = Scene::writer(json!({}));
    let most = crate::limits::MAX_WORKSPACE_FILE_BYTES as usize;
    scene.says(&"x".repeat(most + 1));
    assert_eq!(captured(&scene), None);
    assert!(!scene.heard().contains("direct_output_captured"));
    scene.says(&"x".repeat(most));
    assert_eq!(captured(&scene), first);
    let mut scene = Scene::writer(json!({}));
    let mut many = written("output/0", "x");
    let one = many.files[0].clone();
    many.files = (0..crate::limits::MAX_WORKSPACE_FILES)
        .map(|n| crate::workspace::state::FileChange {
            path: format!("output/{n}"),
            ..one.clone()
        })
        .collect();
    write(&mut scene, "w", many);
    scene.says("one");
    assert_eq!(captured(&scene), None);
}
