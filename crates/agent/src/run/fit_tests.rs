use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunStatus;
use serde_json::json;

use super::testing::*;
use super::*;

#[test]
fn finishing_is_the_last_thing_that_a_turn_does() {
    let finish = |call: &str| Input::FinishCalled {
        call: call.into(),
        reason: None,
    };
    let behind = Why::Refused {
        code: ErrorCode::AgentToolAfterFinish,
        reason: "agent.tool_after_finish",
    };
    // In the same block, in a later one, and beside it.
    let mut scene = Scene::writer(json!({}));
    scene.publish("p", "c");
    scene.calls(&[
        native("a", "workspace.finish", json!({})),
        native("b", "x", json!({})),
    ]);
    scene.start("a");
    assert_eq!(scene.refuses(finish("a")), behind);
    scene.start("b");
    assert_eq!(scene.refuses(finish("a")), behind);
    // What stands behind it runs, and then the model may finish again.
    scene.end("a").end("b").block_end();
    assert_eq!(scene.run.next(), Step::Ask { round: 3 });
    scene.finish("c");
    assert_eq!(scene.run.next(), Step::CommitPersist);

    let mut scene = Scene::writer(json!({}));
    scene.publish("p", "c");
    let text = "<|[REQUEST_TOOL]|>\ncommand:»»»workspace.finish«««\n<|[END_TOOL]|>\n";
    scene.says(&text.repeat(2));
    scene.start("call_2_1");
    assert_eq!(scene.refuses(finish("call_2_1")), behind);
}

#[test]
fn a_writer_publishes_before_it_finishes() {
    let needs = Why::Refused {
        code: ErrorCode::AgentForegroundCommitRequired,
        reason: "agent.foreground_commit_required",
    };
    for (name, mut scene, refused) in [
        ("a writer", Scene::writer(json!({})), Some(needs)),
        (
            "an agent that answers in words",
            Scene::writer(json!({"agent": {"textTurn": "answers"}})),
            None,
        ),
        ("one in the background", Scene::chat(json!({})), None),
    ] {
        scene
            .calls(&[native("a", "workspace.finish", json!({}))])
            .start("a");
        let finish = Input::FinishCalled {
            call: "a".into(),
            reason: None,
        };
        let got = scene.try_feed(finish).err().map(|misfit| misfit.why);
        assert_eq!(got, refused, "{name}");
    }
}

#[test]
fn nothing_begins_after_a_cancel_or_an_end() {
    let begin = |scene: &mut Scene| {
        [
            scene.refuses(Input::CallStarted {
                call: "a".into(),
                idempotent: true,
            }),
            scene.refuses(Input::ModelReplied(Default::default())),
            scene.refuses(guidance("g", "x")),
            scene.refuses(failed(ErrorCode::AgentInternalError)),
        ]
    };
    let mut scene = Scene::writer(json!({}));
    scene
        .calls(&[native("a", "x", json!({}))])
        .feed(Input::CancelRequested);
    assert_eq!(begin(&mut scene), [Why::Cancelling; 4]);
    scene.feed(Input::Stopped);
    assert_eq!(begin(&mut scene), [Why::Over; 4]);
    assert_eq!(scene.refuses(Input::CancelRequested), Why::Over);
    assert_eq!(scene.run.status(), RunStatus::Cancelled);
}

#[test]
fn inputs_out_of_order_are_refused() {
    let mut scene = Scene::writer(json!({}));
    for input in [
        Input::WorkspaceReady { files: Vec::new() },
        Input::ModelReplied(Default::default()),
        Input::Rested,
        Input::Stopped,
        Input::BlockEnded {
            block: 0,
            notes: Vec::new(),
        },
        Input::PersistCommitted {
            state_id: "s".to_owned(),
        },
        created(Default::default(), json!({})),
    ] {
        assert_eq!(scene.refuses(input), Why::Unfit);
    }
    scene.calls(&[native("a", "x", json!({})), native("b", "x", json!({}))]);
    let end = Input::BlockEnded {
        block: 0,
        notes: Vec::new(),
    };
    scene.start("a").end("a");
    // A call has no end yet.
    assert_eq!(scene.refuses(end), Why::Unfit);
    let text = "<|[REQUEST_TOOL]|>\ncommand:»»»x«««\n<|[END_TOOL]|>\n";
    scene.start("b").end("b").block_end().says(&text.repeat(2));
    // The second block has not been reached.
    let second = Input::CallStarted {
        call: "call_2_2".into(),
        idempotent: true,
    };
    assert_eq!(scene.refuses(second), Why::Unfit);
}
