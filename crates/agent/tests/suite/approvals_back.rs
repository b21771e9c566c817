//! Answers that were taken back, answers to those who work for others, secrets in answers, and leaving a run that asks.

use std::sync::atomic::Ordering;

use innkeeper_agent::instance::ApproveToolCall;
use innkeeper_agent::run::Remember;
use innkeeper_protocol::event::{InvocationId, RunId, RunStatus};
use innkeeper_store::journal::Followed;
use serde_json::json;

use super::approvals::{Inn, asks, call, count, map, yes};
use super::cast::{Stage, delegate, given, task_return, write_file};
use super::harness::{Say, names, start};
use super::undo::{to, write};

/// Policy *ask* × how long the answer is good × where the run is taken back to × restart in between: is it asked again?
#[tokio::test]
async fn an_answer_for_the_run_is_taken_back_with_the_run() {
    for (remember, back_to, asked_again) in [
        (Remember::Once, "1", true),
        (Remember::Once, "2", true),
        (Remember::Run, "1", true),
        (Remember::Run, "2", false),
        (Remember::Always, "1", false),
        (Remember::Always, "2", false),
    ] {
        for restarts in [false, true] {
            let cell = format!("{remember:?} × {back_to} × {restarts}");
            let mut inn = Inn::new(asks()).await;
            inn.script.say(&write("output/main.md", "one"));
            inn.script.say(&call("pay"));
            inn.script.say(&write("output/main.md", "two"));
            inn.script.say("Done.");
            let run = start(&inn.runtime, "worker", "Work").await.run_id;
            let asked = inn.asked(&run, 1).await.remove(0);
            let answer = ApproveToolCall {
                remember,
                ..yes(&asked)
            };
            inn.runtime.approve(answer).await.unwrap();
            assert_eq!(inn.end(&run).await.0, RunStatus::Completed);
            if restarts {
                inn = inn.again().await;
            }
            let back = inn.runtime.rollback(to(&run, back_to)).await.unwrap();
            let told = back.rolled_back.extra.get("withdrawnGrants");
            let is_gone = remember != Remember::Once && back_to == "1";
            assert_eq!(told.is_some(), is_gone, "{cell}");
            if restarts {
                inn = inn.again().await;
            }
            inn.script.say(&call("pay"));
            inn.script.say("Done.");
            inn.runtime.resume(&run, None, None).await.unwrap();
            if asked_again {
                let again = inn.asked(&run, 1).await.remove(0);
                assert_eq!(inn.done(), 1, "{cell}: nothing without an answer");
                inn.runtime.approve(yes(&again)).await.unwrap();
            }
            let status = inn.runtime.wait(&run).await.unwrap().status;
            assert_eq!((status, inn.done()), (RunStatus::Completed, 2), "{cell}");
            let events = inn.events(&run).await;
            let expected = 1 + usize::from(asked_again);
            let asked = count(&events, "tool_call_awaiting_approval");
            assert_eq!(asked, expected, "{cell}");
            inn.runtime.close().await;
        }
    }
}

/// A person is asked about `gate`.
fn careful(stage: &Stage) {
    let rules = json!([{"tool": "*", "decision": "allow"}, {"tool": "gate", "decision": "ask"}]);
    let rules = rules.as_array().unwrap().clone();
    let policy = innkeeper_tools::policy::Policy::read(rules).unwrap();
    stage.tools.set_policy(policy);
}

/// Until somebody is asked.
async fn asked(stage: &Stage, run: &RunId) -> ApproveToolCall {
    let mut follower = stage.runtime.follow(run, 0);
    loop {
        let waiting = stage.runtime.pending_approvals(Some(run)).await.unwrap();
        if let Some(asked) = waiting.first() {
            assert_ne!(asked.invocation_id, InvocationId::root());
            return yes(asked);
        }
        match follower.next().await {
            Followed::Events(_) | Followed::Lagged { .. } => {}
            end => panic!("nobody is asked: {end:?}"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Said {
    Once,
    Run,
    Always,
    Deny,
    EditInvalid,
}

/// The same for one who works for another: answer × restart before it.
#[tokio::test]
async fn every_answer_to_one_who_works_for_another_has_its_stated_outcome() {
    for (said, ran) in [
        (Said::Once, 1),
        (Said::Run, 1),
        (Said::Always, 1),
        (Said::Deny, 0),
        (Said::EditInvalid, 0),
    ] {
        for restarts in [false, true] {
            let cell = format!("{said:?} × {restarts}");
            let mut stage = Stage::new().await;
            careful(&stage);
            stage.cast.says("boss", delegate("helper", "Go through."));
            stage
                .cast
                .says("boss", super::cast::call("agent.await", &[]));
            stage.cast.says("helper", super::cast::call("gate", &[]));
            let run = stage.start().await;
            stage.told(&run, "tool_call_awaiting_approval").await;
            if restarts {
                // The boss waits by then, so that whoever goes on knows what comes next.
                stage.told(&run, "agent_await_started").await;
                stage = stage.again().await;
                careful(&stage);
            }
            stage.cast.says("helper", task_return("I have tried."));
            stage.cast.says("boss", "Good.");
            if restarts {
                stage.runtime.recover().await.unwrap();
            }
            stage.gate.leave.notify_one();
            let answer = asked(&stage, &run).await;
            let answer = match said {
                Said::Once => answer,
                Said::Run => ApproveToolCall {
                    remember: Remember::Run,
                    ..answer
                },
                Said::Always => ApproveToolCall {
                    remember: Remember::Always,
                    ..answer
                },
                Said::Deny => ApproveToolCall {
                    approved: false,
                    ..answer
                },
                Said::EditInvalid => {
                    let edit = ApproveToolCall {
                        arguments: Some(map(json!({"wide": true}))),
                        ..answer.clone()
                    };
                    let refused = stage.runtime.approve(edit).await.unwrap_err();
                    let reason = refused.reason.as_deref();
                    assert_eq!(reason, Some("agent.approval_edit_invalid"), "{cell}");
                    ApproveToolCall {
                        approved: false,
                        ..answer
                    }
                }
            };
            let receipt = stage.runtime.approve(answer).await.unwrap();
            assert_eq!(receipt.question.unwrap().tool, "gate");
            let (status, events) = stage.end(&run).await;
            assert_eq!(status, RunStatus::Completed, "{cell} {:?}", names(&events));
            assert_eq!(*stage.gate.calls.lock().unwrap(), ran, "{cell}");
            let (child, _) = given(&events).remove(0);
            assert_eq!(receipt.invocation_id.unwrap().as_str(), child);
            assert_eq!(count(&events, "tool_call_approved") as u32, ran, "{cell}");
            let state = stage.runtime.reader().state(&run).await.unwrap();
            let remembered = matches!(said, Said::Run | Said::Always);
            assert_eq!(state.grants().len(), usize::from(remembered), "{cell}");
            stage.runtime.close().await;
        }
    }
}

/// What one agent of the run was allowed, all are; and all are asked again when the run is taken back behind it.
#[tokio::test]
async fn what_one_who_works_for_another_was_allowed_is_taken_back_with_the_run() {
    let stage = Stage::new().await;
    careful(&stage);
    let through = || {
        stage.cast.says("boss", delegate("helper", "Go through."));
        stage
            .cast
            .says("boss", super::cast::call("agent.await", &[]));
        stage.cast.says("boss", "Good.");
        stage.cast.says("helper", super::cast::call("gate", &[]));
        stage.cast.says("helper", task_return("I am through."));
        stage.gate.leave.notify_one();
    };
    stage.cast.says("boss", write_file("output/main.md", "one"));
    through();
    let run = stage.start().await;
    let answer = ApproveToolCall {
        remember: Remember::Run,
        ..asked(&stage, &run).await
    };
    stage.runtime.approve(answer).await.unwrap();
    assert_eq!(stage.end(&run).await.0, RunStatus::Completed);
    let reader = stage.runtime.reader();
    assert_eq!(reader.state(&run).await.unwrap().grants().len(), 1);

    stage.runtime.rollback(to(&run, "1")).await.unwrap();
    assert!(reader.state(&run).await.unwrap().grants().is_empty());
    through();
    stage.runtime.resume(&run, None, None).await.unwrap();
    let answer = asked(&stage, &run).await;
    assert_eq!(*stage.gate.calls.lock().unwrap(), 1, "it is asked again");
    let state = reader.state(&run).await.unwrap();
    assert!(state.grants().is_empty(), "nor has another agent kept it");
    stage.runtime.approve(answer).await.unwrap();
    assert_eq!(stage.end(&run).await.0, RunStatus::Completed);
    assert_eq!(*stage.gate.calls.lock().unwrap(), 2);
}

#[tokio::test]
async fn no_secret_of_an_answer_gets_into_the_events() {
    for approved in [true, false] {
        let inn = Inn::new(asks()).await;
        let secret = innkeeper_protocol::Secret::new("correct-horse-battery".to_owned());
        let known = [("key".to_owned(), &secret)];
        let redactor = innkeeper_tools::Redactor::new(known.into_iter());
        inn.tools.set_redactor(redactor);
        inn.script.say(&call("pay"));
        inn.script.say("Done.");
        let run = start(&inn.runtime, "worker", "Work").await.run_id;
        let asked = inn.asked(&run, 1).await.remove(0);
        let edit = map(json!({"to": "Ann", "pin": "correct-horse-battery"}));
        let answer = ApproveToolCall {
            approved,
            reason: Some("the pin is correct-horse-battery".to_owned()),
            arguments: approved.then_some(edit),
            ..yes(&asked)
        };
        inn.runtime.approve(answer.clone()).await.unwrap();
        let (_, events) = inn.end(&run).await;
        let told = serde_json::to_string(&events).unwrap();
        assert!(!told.contains("correct-horse"), "{told}");
        assert!(told.contains("the pin is [secret key]"), "{told}");
        // What is left for another process has none either.
        let message = innkeeper_agent::instance::RunMessage::Approve(ApproveToolCall {
            arguments: None,
            ..answer
        });
        inn.runtime.leave_message(&run, &message).await.unwrap();
        let left = inn.tools.store().control().waiting(0).await.unwrap();
        let left = left[0].message.to_string();
        assert!(!left.contains("correct-horse"), "{left}");
    }
}

/// Side by side, one of them asked about.
fn two() -> Say {
    Say::Native(vec![
        ("a", "side", json!({"to": "asked"})),
        ("b", "side", json!({"to": "free"})),
    ])
}

#[tokio::test]
async fn a_run_that_only_asks_is_left_and_goes_on_with_the_answer() {
    let rules = json!([
        {"tool": "*", "decision": "allow"},
        {"name": "careful", "tool": "side", "arguments": {"to": "asked"}, "decision": "ask"},
    ]);
    let inn = Inn::new(rules.clone()).await;
    inn.world.holds.store(true, Ordering::SeqCst);
    inn.script.push(two());
    let run = start(&inn.runtime, "native", "Work").await.run_id;
    let asked = inn.asked(&run, 1).await.remove(0);
    inn.world.entered.notified().await;
    assert!(!inn.runtime.leave_asking(&run).await.unwrap());
    assert!(inn.runtime.is_alive(&run), "the other call is at work");
    inn.runtime.cancel(&run).await.unwrap();
    inn.runtime.wait(&run).await.unwrap();
    assert!(!inn.runtime.leave_asking(&run).await.unwrap());
    drop(asked);

    let inn = Inn::new(rules).await;
    inn.script.push(two());
    let run = start(&inn.runtime, "native", "Work").await.run_id;
    let asked = inn.asked(&run, 1).await.remove(0);
    let mut follower = inn.runtime.follow(&run, 0);
    while !inn.runtime.leave_asking(&run).await.unwrap() {
        follower.next().await;
    }
    assert!(!inn.runtime.is_alive(&run));
    assert_eq!(inn.done(), 1, "what need not be asked was done before");
    let record = inn.runtime.record(&run).await.unwrap();
    assert_eq!(record.status, RunStatus::AwaitingApproval);
    // Nobody drives it any more, and an answer changes nothing of that.
    inn.runtime.note_approval(yes(&asked)).await.unwrap();
    assert!(!inn.runtime.is_alive(&run));
    assert_eq!(inn.done(), 1);
    inn.script.say("Done.");
    inn.runtime.resume(&run, None, None).await.unwrap();
    assert_eq!(inn.end(&run).await.0, RunStatus::Completed);
    assert_eq!(inn.done(), 2);
}
