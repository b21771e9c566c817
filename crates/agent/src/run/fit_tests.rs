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
    let native_calls = |tools: &[&str]| ModelTurn {
        tool_calls: tools
            .iter()
            .map(|tool| native(tool, tool, json!({})))
            .collect(),
        ..ModelTurn::default()
    };
    let text = |text: &str| ModelTurn {
        text: text.to_owned(),
        ..ModelTurn::default()
    };
    let early = "agent.tool_after_finish";
    let tam =
        "<|[REQUEST_TOOL]|>\ncommand_1:»»»workspace.finish«««\ncommand_2:»»»x«««\n<|[END_TOOL]|>";
    let one = |tool: &str| format!("<|[REQUEST_TOOL]|>\ncommand:»»»{tool}«««\n<|[END_TOOL]|>\n");
    for (name, reply, block) in [
        ("native", native_calls(&["workspace.finish", "x"]), 0),
        ("one TAM block", text(tam), 0),
        (
            "two TAM blocks",
            text(&format!("{}{}", one("workspace.finish"), one("x"))),
            1,
        ),
        (
            "ACTION",
            text("<ACTION><workspace.finish/><x/></ACTION>"),
            0,
        ),
    ] {
        let mut scene = Scene::writer(json!({}));
        scene.publish("p", "c").ask().reply(reply);
        assert_eq!(scene.told_model(), [early], "{name}");
        assert_eq!(scene.run.next(), Step::RunBlock { block }, "{name}");
        let calls = scene.run.turn().unwrap().calls();
        let open: Vec<_> = calls.filter(|call| call.is_open()).cloned().collect();
        assert_eq!(open.len(), 1, "{name}");
        assert_eq!(open[0].tool, "x", "{name}");
        let call = open[0].call.as_str();
        // What stands behind it runs, and then the model may finish again.
        scene.start(call).end(call).block_end();
        assert_eq!(scene.run.next(), Step::Ask { round: 3 }, "{name}");
        scene.finish("last");
        assert_eq!(scene.run.next(), Step::CommitPersist, "{name}");
    }
    // Of two, the last one counts.
    let mut scene = Scene::writer(json!({}));
    scene.publish("p", "c");
    scene.says(&one("workspace.finish").repeat(2));
    assert_eq!(scene.told_model(), [early]);
    scene.start("call_2_2").feed(finish("call_2_2"));
    scene.end("call_2_2").block_end();
    assert_eq!(scene.run.next(), Step::CommitPersist);
    // Under a name that only the tools know.
    let mut scene = Scene::writer(json!({}));
    scene.publish("p", "c").ask();
    scene.reply(native_calls(&["end", "x"])).start("end");
    let behind = Why::Refused {
        code: ErrorCode::AgentToolAfterFinish,
        reason: early,
    };
    assert_eq!(scene.refuses(finish("end")), behind);
    scene.start("x");
    assert_eq!(scene.refuses(finish("end")), behind);
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
            scene.refuses(failed(ErrorCode::AgentInternalError)),
        ]
    };
    let mut scene = Scene::writer(json!({}));
    scene
        .calls(&[native("a", "x", json!({}))])
        .feed(Input::CancelRequested);
    assert_eq!(begin(&mut scene), [Why::Cancelling; 3]);
    scene.feed(Input::Stopped);
    assert_eq!(begin(&mut scene), [Why::Over; 3]);
    assert_eq!(scene.refuses(Input::CancelRequested), Why::Over);
    assert_eq!(scene.run.status(), RunStatus::Cancelled);
}

#[test]
fn inputs_out_of_order_are_refused() {
    let mut scene = Scene::writer(json!({}));
    for input in [
        Input::WorkspaceReady {
            files: Vec::new(),
            is_missing: false,
        },
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
