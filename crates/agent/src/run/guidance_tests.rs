use innkeeper_protocol::ErrorCode;
use serde_json::json;

use super::testing::*;
use super::*;

#[test]
fn guidance_is_told_with_the_next_request() {
    let mut scene = Scene::writer(json!({}));
    scene.ask().feed(guidance("g1", "shorter  please"));
    scene.heard();
    scene.reply(ModelTurn {
        tool_calls: vec![native("a", "x", json!({}))],
        ..ModelTurn::default()
    });
    scene.start("a").end("a").block_end();
    // One more comes in while the request is put together.
    scene.feed(guidance("g2", "and kinder"));
    scene.heard();
    let keep = scene.run.sent().len();
    scene.feed(Input::ModelAsked {
        oversize: None,
        keep,
        add: vec![std::sync::Arc::new(json!({}))],
        request: json!({}),
        guidance: 1,
        arrived: 0,
    });
    assert_eq!(
        scene.heard(),
        "user_guidance_applied =calling_model model_request_created model_call_attempt_started"
    );
    assert_eq!(scene.run.guidance()[0].id, "g2");
}

#[test]
fn nothing_ends_over_the_head_of_whoever_guides() {
    let mut words = Scene::chat(json!({}));
    words.ask().feed(guidance("g", "wait"));
    words.reply(ModelTurn {
        text: "Done".to_owned(),
        ..ModelTurn::default()
    });
    assert_eq!(words.run.next(), Step::Ask { round: 2 });

    let mut finish = Scene::writer(json!({}));
    finish.publish("a", "commit_1");
    finish.calls(&[native("b", "workspace.finish", json!({}))]);
    finish.start("b").feed(Input::FinishCalled {
        call: "b".into(),
        reason: None,
    });
    finish.feed(guidance("g", "wait")).end("b").block_end();
    assert_eq!(finish.run.next(), Step::Ask { round: 3 });
    finish.says("Goodbye");
    assert_eq!(finish.run.next(), Step::CommitPersist);
}

#[test]
fn whoever_waits_for_a_task_can_be_spoken_to() {
    let mut scene = Scene::chat(json!({}));
    scene.calls(&[native("a", "slow", json!({}))]).start("a");
    let background = innkeeper_protocol::Outcome::AsyncStarted {
        task_id: "t".to_owned(),
    };
    scene
        .end_with("a", background, Default::default())
        .block_end();
    scene.says("It is under way");
    assert!(matches!(scene.run.next(), Step::AwaitTasks { .. }));
    scene.feed(guidance("g", "never mind"));
    assert_eq!(scene.run.next(), Step::Ask { round: 3 });
}

#[test]
fn guidance_has_its_limits() {
    let refused = |code, reason| Why::Refused { code, reason };
    let invalid = ErrorCode::AgentGuidanceInvalid;
    let mut scene = Scene::writer(json!({}));
    for (text, why) in [
        (String::from("  "), refused(invalid, "agent.guidance_empty")),
        (
            "x".repeat(16_001),
            refused(invalid, "agent.guidance_too_large"),
        ),
    ] {
        assert_eq!(scene.refuses(guidance("g", &text)), why);
    }
    for at in 0..4 {
        scene.feed(guidance(&at.to_string(), &"x".repeat(16_000)));
    }
    let full = refused(
        ErrorCode::AgentGuidanceMailboxFull,
        "agent.guidance_mailbox_full",
    );
    assert_eq!(scene.refuses(guidance("g", "x")), full);

    let mut scene = Scene::chat(json!({}));
    for at in 0..8 {
        scene.feed(guidance(&at.to_string(), "x"));
    }
    assert_eq!(scene.refuses(guidance("g", "x")), full);
    scene.says("done");
    let closed = refused(invalid, "agent.guidance_mailbox_closed");
    assert_eq!(scene.refuses(guidance("g", "x")), closed);
}

#[test]
fn the_same_piece_of_the_same_client_is_taken_once() {
    let piece = |id: &str, client: &str, text: &str| Input::GuidanceSubmitted {
        guidance_id: id.to_owned(),
        client_guidance_id: Some(client.to_owned()),
        text: text.to_owned(),
    };
    let mut scene = Scene::chat(json!({}));
    scene.feed(piece("g1", "mine", "wait"));
    assert_eq!(scene.refuses(piece("g2", "mine", "wait")), Why::Already);
    // Also when the model has read it.
    scene.round("a", "x", json!({}));
    assert!(scene.run.guidance().is_empty());
    assert_eq!(scene.refuses(piece("g2", "mine", "wait")), Why::Already);
    assert_eq!(scene.run.guided("mine", "wait"), Some("g1"));
    scene.feed(piece("g3", "mine", "something else"));
    scene.feed(piece("g4", "other", "wait"));
    assert_eq!(scene.run.guidance().len(), 2);
    // Not for ever.
    for n in 0..crate::limits::MAX_KNOWN_GUIDANCE {
        scene.round(&format!("c{n}"), "x", json!({"n": n}));
        scene.feed(piece("g", &n.to_string(), "more"));
    }
    assert_eq!(scene.run.guided("mine", "wait"), None);
}

#[test]
fn whoever_speaks_to_a_run_that_ends_is_told_so() {
    let deaf = Why::Refused {
        code: ErrorCode::AgentGuidanceInvalid,
        reason: "agent.guidance_run_not_accepting",
    };
    let mut scene = Scene::writer(json!({}));
    scene.feed(Input::CancelRequested);
    assert_eq!(scene.refuses(guidance("g", "x")), deaf);
    scene.feed(Input::Stopped);
    assert_eq!(scene.refuses(guidance("g", "x")), deaf);
}
