//! Questions about calls, as the run sees them.

use std::sync::Arc;

use innkeeper_protocol::Outcome;
use innkeeper_protocol::event::{RunEventKind, RunStatus};
use jiff::Timestamp;
use serde_json::json;

use super::approval::Answer;
use super::testing::*;
use super::*;

fn question(tool: &str) -> Question {
    Question {
        tool: tool.to_owned(),
        source: "builtin".to_owned(),
        description: String::new(),
        arguments: json!({"to": "a"}),
        rule: "careful".to_owned(),
        says: None,
        user: "default".to_owned(),
        actor: "agent:writer".to_owned(),
        project: "default".to_owned(),
        may_edit: true,
    }
}

fn asked(call: &str, id: &str, tool: &str) -> Input {
    Input::ApprovalAsked {
        call: call.into(),
        approval_id: id.to_owned(),
        reason: Some("it is careful".to_owned()),
        expires_at: None,
        question: Some(Arc::new(question(tool))),
    }
}

fn answer(call: &str, approved: bool, remember: Remember) -> Input {
    Input::ApprovalAnswered {
        call: call.into(),
        approved,
        reason: None,
        approval_id: None,
        remember,
        edit: None,
        by: AnsweredBy::Person,
    }
}

fn edited(call: &str, remember: Remember) -> Input {
    let arguments = json!({"to": "b"});
    Input::ApprovalAnswered {
        call: call.into(),
        approved: true,
        reason: None,
        approval_id: None,
        remember,
        edit: Some(Arc::new(Edit {
            arguments: arguments.as_object().unwrap().clone(),
            shown: arguments,
        })),
        by: AnsweredBy::Person,
    }
}

fn start(call: &str) -> Input {
    Input::CallStarted {
        call: call.into(),
        idempotent: false,
    }
}

fn three() -> Scene {
    let mut scene = Scene::writer(json!({}));
    let calls = ["a", "b", "c"].map(|id| native(id, "x", json!({"n": id})));
    scene.calls(&calls).heard();
    scene
}

fn refusal(scene: &mut Scene, input: Input) -> &'static str {
    match scene.refuses(input) {
        Why::Refused { reason, .. } => reason,
        Why::Already => "already",
        Why::Unfit => "unfit",
        why => panic!("{why:?}"),
    }
}

#[test]
fn a_question_and_its_answer_outlive_whoever_drives_the_run() {
    let mut scene = three();
    scene.feed(asked("a", "p1", "x"));
    let before = scene.run.planned_call(&"a".into()).unwrap().asked.clone();
    for _ in 0..3 {
        scene.feed(Input::Recovered);
        let call = scene.run.planned_call(&"a".into()).unwrap();
        assert_eq!(call.asked, before);
        assert!(call.is_asked_about());
        assert_eq!(scene.run.status(), RunStatus::AwaitingApproval);
        assert_eq!(refusal(&mut scene, start("a")), "unfit");
    }
    scene
        .feed(answer("a", true, Remember::Once))
        .feed(Input::Recovered);
    // Whoever drives it finds the answer, and need not ask.
    assert_eq!(refusal(&mut scene, asked("a", "p1", "x")), "already");
    scene.feed(start("a"));
}

#[test]
fn what_was_denied_is_not_done() {
    let mut scene = three();
    scene
        .feed(asked("a", "p1", "x"))
        .feed(answer("a", false, Remember::Once));
    assert_eq!(refusal(&mut scene, start("a")), "unfit");
    // Another question of the same call may be answered otherwise; then that counts.
    scene
        .feed(asked("a", "p2", "y"))
        .feed(answer("a", true, Remember::Once));
    scene.feed(start("a"));
}

#[test]
fn several_questions_are_answered_in_any_order() {
    for order in [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]] {
        let mut scene = three();
        for call in ["a", "b", "c"] {
            scene.feed(asked(call, call, "x"));
        }
        scene.heard();
        let [first, second, third] = order;
        scene.feed(answer(first, true, Remember::Once));
        assert_eq!(scene.heard(), "tool_call_approved");
        scene.feed(start(first));
        // What the run waits for is said of it, whatever else it does.
        assert_eq!(scene.heard(), "tool_call_started");
        scene.feed(answer(second, false, Remember::Once));
        assert_eq!(scene.heard(), "tool_call_denied");
        scene.feed(answer(third, true, Remember::Once));
        assert_eq!(scene.heard(), "tool_call_approved =dispatching_tool");
    }
}

#[test]
fn an_answer_for_the_run_settles_what_it_covers() {
    for (remember, by) in [
        (Remember::Run, AnsweredBy::Run),
        (Remember::Always, AnsweredBy::Always),
    ] {
        let mut scene = three();
        scene
            .feed(asked("a", "p1", "x"))
            .feed(asked("b", "p2", "x"))
            .feed(asked("c", "p3", "other"));
        scene.heard();
        scene.feed(answer("a", true, remember));
        assert_eq!(scene.heard(), "tool_call_approved tool_call_approved");
        let of = |id: &str| {
            let call = scene.run.planned_call(&id.into()).unwrap();
            call.asked[0].answer.as_ref().map(|answer| answer.by)
        };
        assert_eq!(
            (of("a"), of("b"), of("c")),
            (Some(AnsweredBy::Person), Some(by), None)
        );
        assert_eq!(scene.run.grants(), [question("x").key()]);
        // A person who says yes to what is allowed says nothing new.
        assert_eq!(
            refusal(&mut scene, answer("b", true, Remember::Once)),
            "already"
        );
        assert_eq!(
            refusal(&mut scene, answer("b", false, Remember::Once)),
            "agent.approval_answered"
        );
    }
    let mut scene = three();
    scene
        .feed(asked("a", "p1", "x"))
        .feed(asked("b", "p2", "x"));
    scene.feed(answer("a", false, Remember::Run));
    assert!(scene.run.grants().is_empty(), "a refusal is no leave");
    assert!(
        scene
            .run
            .planned_call(&"b".into())
            .unwrap()
            .is_asked_about()
    );
}

#[test]
fn what_cannot_be_answered_is_said() {
    let mut scene = three();
    let once = |call| answer(call, true, Remember::Once);
    assert_eq!(
        refusal(&mut scene, once("nobody")),
        "agent.approval_call_unknown"
    );
    assert_eq!(refusal(&mut scene, once("a")), "agent.approval_not_pending");
    scene.feed(asked("a", "p1", "x"));
    let mut other = once("a");
    if let Input::ApprovalAnswered { approval_id, .. } = &mut other {
        *approval_id = Some("p9".to_owned());
    }
    assert_eq!(refusal(&mut scene, other), "agent.approval_not_pending");
    scene.feed(once("a"));
    assert_eq!(refusal(&mut scene, once("a")), "already");
    assert_eq!(
        refusal(&mut scene, answer("a", true, Remember::Run)),
        "agent.approval_answered"
    );
    assert_eq!(
        refusal(&mut scene, answer("a", false, Remember::Once)),
        "agent.approval_answered"
    );
    scene
        .feed(asked("b", "p2", "x"))
        .feed(Input::CancelRequested);
    assert_eq!(refusal(&mut scene, once("b")), "agent.approval_run_over");
    scene.feed(Input::Stopped);
    assert_eq!(refusal(&mut scene, once("b")), "agent.approval_run_over");
}

#[test]
fn who_answers_too_late_has_not_answered() {
    let mut scene = three();
    let mut late = asked("a", "p1", "x");
    if let Input::ApprovalAsked { expires_at, .. } = &mut late {
        *expires_at = Some(Timestamp::MIN);
    }
    scene.feed(late);
    let once = answer("a", true, Remember::Once);
    assert_eq!(refusal(&mut scene, once), "agent.approval_expired");
    let mut expired = answer("a", false, Remember::Once);
    if let Input::ApprovalAnswered { by, .. } = &mut expired {
        *by = AnsweredBy::Expiry;
    }
    scene.heard();
    scene.feed(expired);
    assert_eq!(scene.heard(), "tool_call_denied =dispatching_tool");
}

#[test]
fn changed_arguments_are_told_and_only_where_they_can_be() {
    let mut scene = three();
    scene.feed(asked("a", "p1", "x"));
    assert_eq!(
        refusal(&mut scene, edited("a", Remember::Run)),
        "agent.approval_edit_invalid"
    );
    scene.feed(edited("a", Remember::Once));
    let told = scene
        .drafts
        .iter()
        .rev()
        .find_map(|draft| match &draft.kind {
            RunEventKind::ToolCallApproved(answered) => Some(answered.extra.clone()),
            _ => None,
        });
    let told = told.unwrap();
    assert_eq!(
        (&told["argumentsEdited"], &told["arguments"]),
        (&json!(true), &json!({"to": "b"}))
    );
    assert_eq!(refusal(&mut scene, edited("a", Remember::Once)), "already");
    scene.feed(start("a"));
    let done = Outcome::Success {
        result: json!(1),
        spilled: None,
    };
    scene.end_with("a", done, Default::default());
    let notes = &scene.run.turn().unwrap().blocks[0].notes;
    assert!(
        matches!(&notes[..], [note] if format!("{:?}", note.outcome).contains(r#"{\"to\":\"b\"}"#)),
        "{notes:?}"
    );
    // Something that the call does on its way is not its arguments.
    let mut fixed = asked("b", "p2", "x");
    if let Input::ApprovalAsked {
        question: Some(question),
        ..
    } = &mut fixed
    {
        Arc::make_mut(question).may_edit = false;
    }
    scene.feed(fixed);
    assert_eq!(
        refusal(&mut scene, edited("b", Remember::Once)),
        "agent.approval_edit_invalid"
    );
}

/// As earlier versions wrote them.
#[test]
fn old_journals_are_read() {
    let old =
        json!({"kind": "approval_asked", "call": "a", "approvalId": "call_1", "reason": null});
    let input: Input = serde_json::from_value(old).unwrap();
    let mut scene = three();
    scene.feed(input);
    let old = json!({"kind": "approval_answered", "call": "a", "approved": true, "reason": null});
    let input: Input = serde_json::from_value(old).unwrap();
    scene.feed(input).feed(start("a"));
    let call = scene.run.planned_call(&"a".into()).unwrap();
    let answer = Answer {
        approved: true,
        reason: None,
        remember: Remember::Once,
        edit: None,
        by: AnsweredBy::Person,
    };
    assert_eq!(call.asked[0].answer, Some(answer));
}
