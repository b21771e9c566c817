//! Laws that hold for every course that a run can take.

use std::sync::Arc;

use innkeeper_protocol::event::{CallId, Presentation};
use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use proptest::prelude::*;
use serde_json::json;

use super::testing::*;
use super::*;

/// What the world does next: a number that is read in the light of what the run waits for.
fn world() -> impl Strategy<Value = Vec<(u8, u8)>> {
    proptest::collection::vec((any::<u8>(), any::<u8>()), 1..120)
}

fn open_call(run: &AgentRun) -> Option<(CallId, CallState)> {
    let turn = run.turn()?;
    let block = turn.blocks.iter().find(|block| !block.ended)?;
    let call = block.calls.iter().find(|call| call.is_open())?;
    Some((call.call.clone(), call.state.clone()))
}

fn is_denied(run: &AgentRun, call: &CallId) -> bool {
    let last = run.planned_call(call).and_then(|call| call.asked.last());
    let answer = last.and_then(|asked| asked.answer.as_ref());
    answer.is_some_and(|answer| !answer.approved)
}

fn question(by: u8) -> Question {
    Question {
        tool: "x".to_owned(),
        source: String::new(),
        description: String::new(),
        arguments: json!({}),
        rule: (by % 2).to_string(),
        says: None,
        user: String::new(),
        actor: String::new(),
        project: String::new(),
        may_edit: false,
    }
}

fn reply(by: u8) -> ModelTurn {
    let call = |tool: &str| native(&by.to_string(), tool, json!({"n": by % 3}));
    let (text, tool_calls) = match by % 9 {
        0 => ("words", Vec::new()),
        1 => ("", Vec::new()),
        2 => ("<ACTION><x>", Vec::new()),
        3 => ("", vec![call("workspace.finish")]),
        4 | 5 => ("", vec![call("workspace.commit"), call("x")]),
        6 => (
            "<ACTION><x><n>1</n></x><y/></ACTION> <tool_call name=\"z\"></tool_call>",
            Vec::new(),
        ),
        _ => ("hm", vec![call("x"), native("other", "y", json!({}))]),
    };
    ModelTurn {
        text: text.to_owned(),
        tool_calls,
        usage: json!({"total_tokens": by}),
        ..ModelTurn::default()
    }
}

fn of_block(run: &AgentRun, by: u8, n: usize) -> Input {
    let Some((call, state)) = open_call(run) else {
        return Input::BlockEnded {
            block: run
                .turn()
                .unwrap()
                .blocks
                .iter()
                .position(|block| !block.ended)
                .unwrap(),
            notes: Vec::new(),
        };
    };
    let pending = run.pending_commit().map(|commit| commit.commit.clone());
    let end = |outcome| Input::CallEnded {
        skill_chars: 0,
        worlds: Vec::new(),
        used: None,
        call: call.clone(),
        observation: Arc::new(Observation::new("x", outcome)),
        elapsed_ms: 1,
        change: match by % 4 {
            0 => written("persist/a", &by.to_string()),
            _ => Default::default(),
        },
        full: None,
    };
    match (state, pending) {
        (CallState::AwaitingApproval { .. }, _) => Input::ApprovalAnswered {
            call,
            approved: by.is_multiple_of(2),
            reason: None,
            approval_id: None,
            remember: match by % 3 {
                0 => Remember::Run,
                1 => Remember::Always,
                _ => Remember::Once,
            },
            edit: None,
            by: match by % 5 {
                0 => AnsweredBy::Expiry,
                1 => AnsweredBy::Rule,
                _ => AnsweredBy::Person,
            },
        },
        (CallState::Started { .. }, Some(commit)) if by.is_multiple_of(8) => Input::CommitFailed {
            commit,
            message: "no".to_owned(),
            timed_out: by.is_multiple_of(16),
        },
        (CallState::Started { .. }, Some(commit)) => Input::CommitResolved {
            commit,
            message_id: "1".to_owned(),
            message_index: None,
        },
        (CallState::Started { .. }, None) => match by % 5 {
            0 if run.commit_of(&call).is_none() => Input::CommitRequested {
                commit: format!("commit_{n}").as_str().into(),
                call,
                path: "output/main.md".to_owned(),
                mode: "replace".to_owned(),
                reason: None,
                file: file("x"),
            },
            1 => end(Outcome::AsyncStarted {
                task_id: format!("t{n}"),
            }),
            2 => end(Outcome::Cancelled {
                reason: String::new(),
            }),
            _ => end(Outcome::Success {
                result: (by % 4).into(),
                spilled: None,
            }),
        },
        (_, _) if is_denied(run, &call) => end(Outcome::Denied {
            reason: "no".to_owned(),
        }),
        (_, _) if by.is_multiple_of(7) => Input::ApprovalAsked {
            call,
            approval_id: format!("p{n}"),
            reason: None,
            expires_at: None,
            question: Some(Arc::new(question(by))),
        },
        _ => Input::CallStarted {
            call,
            idempotent: by.is_multiple_of(2),
        },
    }
}

/// What leads on from a step. There is always something.
fn onward(run: &AgentRun, by: u8, n: usize) -> Option<Input> {
    Some(match run.next() {
        Step::PrepareWorkspace => Input::WorkspaceReady {
            files: vec![("persist/a".to_owned(), file("a"))],
            is_missing: false,
        },
        Step::PrepareContext => Input::ContextReady {
            binding: json!({}),
            request: json!({}),
            tools: json!([]),
        },
        Step::Ask { round } => Input::ModelAsked {
            oversize: by.is_multiple_of(4).then_some(Oversize {
                estimate: 20,
                budget: 10,
                is_hard: by.is_multiple_of(8),
            }),
            keep: run.sent().len().min(usize::from(by)),
            add: vec![Arc::new(json!(round))],
            request: json!({}),
            guidance: run.guidance().len().min(usize::from(by % 3)),
            arrived: run.arrived().len().min(usize::from(by % 3)),
        },
        Step::Compact { .. } if run.sent().len() < 2 || by.is_multiple_of(5) => {
            Input::CompactionSkipped
        }
        Step::Compact { .. } => {
            let up_to = 1 + usize::from(by) % run.sent().len();
            Input::Compacted(Arc::new(compaction(
                up_to,
                &[usize::from(by) % up_to][..usize::from(up_to > 1)],
            )))
        }
        Step::Deliberate { .. } if by % 10 == 8 => Input::ModelFailed {
            code: ErrorCode::ModelContextTooLong,
            message: "too long".to_owned(),
            reason: None,
            retryable: false,
            arrived: None,
            used: None,
        },
        Step::Deliberate { .. } if by % 10 == 9 => model_down(by % 20 == 9),
        Step::Deliberate { .. } => Input::ModelReplied(Arc::new(reply(by))),
        Step::Rest { .. } => Input::Rested,
        Step::RunBlock { .. } => of_block(run, by, n),
        Step::AwaitTasks { tasks } => task_ended(&tasks[usize::from(by) % tasks.len()]),
        Step::AwaitHostCommit { commit } => Input::CommitResolved {
            commit,
            message_id: "1".to_owned(),
            message_index: None,
        },
        Step::CommitPersist if by.is_multiple_of(6) => Input::PersistFailed {
            message: "no".to_owned(),
        },
        Step::CommitPersist => Input::PersistCommitted {
            state_id: "s".to_owned(),
        },
        Step::UpdateMetadata { update_id: None } => Input::MetadataUpdateRequested {
            update_id: "u".to_owned(),
        },
        Step::UpdateMetadata {
            update_id: Some(update_id),
        } => Input::MetadataUpdated { update_id },
        Step::Stop => Input::Stopped,
        Step::Paused => Input::Resumed {
            additional_rounds: None,
        },
        Step::Over { .. } => return None,
    })
}

/// What may come at any time, fit or not.
fn out_of_the_blue(run: &AgentRun, by: u8, n: usize) -> Input {
    let call = open_call(run).map_or("nobody".into(), |(call, _)| call);
    match by % 14 {
        0 => Input::CancelRequested,
        1..=3 => Input::Recovered,
        4 => guidance(&format!("g{n}"), "please"),
        5 => Input::Resumed {
            additional_rounds: Some(2),
        },
        6 => failed(ErrorCode::AgentTransient),
        7 => task_ended(&run.open_tasks().keys().next().cloned().unwrap_or_default()),
        8 => Input::FinishCalled { call, reason: None },
        9 => Input::Stopped,
        10 => Input::CommitResolved {
            commit: format!("commit_{}", by).as_str().into(),
            message_id: "1".to_owned(),
            message_index: None,
        },
        11 => Input::Rested,
        12 => Input::BlockEnded {
            block: 0,
            notes: Vec::new(),
        },
        _ => Input::CallStarted {
            call,
            idempotent: true,
        },
    }
}

fn is_terminal(name: &str) -> bool {
    [
        "run_completed",
        "run_partial_success",
        "run_failed",
        "run_cancelled",
    ]
    .contains(&name)
}

fn saved(run: &AgentRun) -> AgentRun {
    let text = serde_json::to_string(run).unwrap();
    serde_json::from_str(&text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_course_keeps_the_laws(world in world(), pauses in any::<bool>(), front in any::<bool>()) {
        let profile = json!({
            "tools": {"maxRounds": 12, "maxCallsPerRun": 20},
            "agent": {"afterCrash": if pauses { "pause" } else { "continue" }, "budget": {"maxTokens": 1500}},
        });
        let presentation = if front { Presentation::Foreground } else { Presentation::Background };
        let mut scene = Scene::new(presentation, profile);
        let mut copy: Option<AgentRun> = None;
        for (n, (what, by)) in world.into_iter().enumerate() {
            let before = scene.told.len();
            let input = match what % 5 {
                0 => out_of_the_blue(&scene.run, by, n),
                _ => match onward(&scene.run, by, n) {
                    Some(input) => input,
                    None => Input::Resumed { additional_rounds: Some(1) },
                },
            };
            // An unfit one changes nothing; `try_feed` sees to that.
            let taken = scene.try_feed(input.clone()).is_ok();
            if taken && let Some(copy) = &mut copy {
                // A run that was saved and read back goes the same way.
                let drafts = copy.apply(scene.fed.last().unwrap()).unwrap();
                prop_assert_eq!(&drafts[..], &scene.drafts[before..]);
            }
            if what.is_multiple_of(11) {
                copy = Some(saved(&scene.run));
            }
            // Over exactly if the last event is terminal.
            let last = scene.told.last().unwrap();
            prop_assert_eq!(is_terminal(last), scene.run.is_over());
            prop_assert_eq!(scene.run.status().is_terminal(), scene.run.is_over());
            // No approval, no effect: nothing begins that is asked about or was denied.
            if taken && let Input::CallStarted { call, .. } = &input {
                let call = scene.run.planned_call(call).unwrap();
                let mut answers = call.asked.iter().map(|asked| asked.answer.as_ref().map(|answer| answer.approved));
                prop_assert!(answers.next_back().is_none_or(|last| last == Some(true)), "{:?}", call.asked);
            }
            // Whatever waits for a person is what the run waits for.
            let asks = scene.run.asking().next().is_some();
            prop_assert!(!asks || scene.run.status() == innkeeper_protocol::event::RunStatus::AwaitingApproval);
            // Never stuck: what the step asks for is taken.
            if let Some(input) = onward(&scene.run, by, n) {
                let at = scene.fed.last().unwrap().at;
                let fed = scene.run.clone().apply(&Stamped { at, input: input.clone() });
                prop_assert!(fed.is_ok(), "{:?} does not take {:?}: {:?}", scene.run.next(), input, fed);
            }
            if scene.run.is_over() {
                // Every call has its answer.
                let open = scene.run.turn().into_iter().flat_map(|turn| turn.calls()).filter(|call| call.is_open()).count();
                prop_assert_eq!(open, 0);
                prop_assert!(scene.run.pending_commit().is_none());
                prop_assert!(scene.run.open_tasks().is_empty());
            }
        }
        // One terminal event behind each `run_resumed`, and it is the last of its part.
        for part in scene.told.split(|name| name == "run_resumed") {
            let ends = part.iter().filter(|name| is_terminal(name)).count();
            prop_assert!(ends <= 1);
            prop_assert!(ends == 0 || is_terminal(part.last().unwrap()));
        }
        // Fed again from the journal, it is the same run and tells the same.
        let journal: Vec<String> = scene.fed.iter().map(|fed| serde_json::to_string(fed).unwrap()).collect();
        let inputs: Vec<Stamped> = journal.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let (mut again, mut drafts) = AgentRun::begin(&inputs[0]).unwrap();
        for input in &inputs[1..] {
            drafts.extend(again.apply(input).unwrap());
        }
        prop_assert_eq!(&again, &scene.run);
        prop_assert_eq!(&drafts, &scene.drafts);
        if let Some(copy) = copy {
            prop_assert_eq!(&copy, &scene.run);
        }
    }
}
