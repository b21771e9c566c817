//! Tasks, waits and handovers as the run decides them, without anybody who does them.

use std::sync::Arc;

use innkeeper_protocol::event::{InvocationId, RunEventKind, TaskId};
use innkeeper_protocol::{ErrorCode, Outcome};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::testing::{Scene, file, native, written};
use super::*;
use crate::workspace::state::WorkspaceChange;

fn boss(changes: Json) -> Scene {
    let mut all = json!({
        "delegation": {"canDelegate": true, "canHandoff": true},
        "agent": {"textTurn": "answers"},
    });
    for (section, fields) in changes.as_object().unwrap() {
        for (key, value) in fields.as_object().unwrap() {
            all[section][key] = value.clone();
        }
    }
    Scene::chat(all)
}

fn assignment(call: &str, name: &str) -> Assignment {
    Assignment {
        call: call.into(),
        task: TaskId::new(format!("task_{name}")),
        invocation: InvocationId::new(format!("inv_{name}")),
        profile_id: "helper".into(),
        profile_source: "file:helper".to_owned(),
        profile: testing::profile(json!({"tools": {"allow": ["*"]}})),
        title: "About tea".to_owned(),
        brief: json!({"role": "user", "content": "Find out"}),
        model: String::new(),
        skills: crate::skills::RunSkills::default(),
        max_rounds: None,
        max_calls: None,
        keeps_state: true,
        edition: Edition::LATEST,
    }
}

fn returned(status: ReturnStatus) -> Arc<TaskReturn> {
    Arc::new(TaskReturn {
        status,
        summary: "Tea is old.".to_owned(),
        confidence: None,
        artifacts: Vec::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
        suggested_next_actions: Vec::new(),
        questions_for_caller: Vec::new(),
        file: file("Tea is old."),
    })
}

impl Scene {
    /// A turn in which these tasks are given; the block is over.
    fn gives(&mut self, names: &[&str]) -> &mut Self {
        let calls: Vec<Json> = names
            .iter()
            .map(|name| native(&format!("d_{name}"), "agent.delegate", json!({})))
            .collect();
        self.calls(&calls);
        for name in names {
            let call = format!("d_{name}");
            self.start(&call);
            self.feed(Input::Delegated(Arc::new(assignment(&call, name))));
            self.end(&call);
        }
        self.block_end()
    }

    fn child(&mut self, name: &str, input: Input) -> &mut Self {
        self.feed(to(name, input))
    }

    fn child_ready(&mut self, name: &str) -> &mut Self {
        self.child(
            name,
            Input::ContextReady {
                binding: json!({}),
                request: json!({}),
                tools: json!([]),
            },
        )
    }

    fn child_calls(&mut self, name: &str, calls: &[Json]) -> &mut Self {
        let keep = self.run.of_invocation(&id(name)).sent().len();
        self.child(
            name,
            Input::ModelAsked {
                keep,
                add: vec![Arc::new(json!({"role": "user", "content": "go"}))],
                request: json!({}),
                guidance: 0,
                arrived: 0,
                oversize: None,
            },
        );
        let reply = ModelTurn {
            tool_calls: calls.to_vec(),
            usage: json!({"total_tokens": 10}),
            ..ModelTurn::default()
        };
        self.child(name, Input::ModelReplied(Arc::new(reply)))
    }

    fn child_ends_call(&mut self, name: &str, call: &str, change: WorkspaceChange) -> &mut Self {
        let start = Input::CallStarted {
            call: call.into(),
            idempotent: false,
        };
        self.child(name, start);
        self.child_ends(name, call, change)
    }

    fn child_ends(&mut self, name: &str, call: &str, change: WorkspaceChange) -> &mut Self {
        let end = Input::CallEnded {
            call: call.into(),
            observation: Arc::new(innkeeper_protocol::Observation::success("t", "ok")),
            elapsed_ms: 1,
            change,
            skill_chars: 0,
            full: None,
            worlds: Vec::new(),
            used: None,
        };
        self.child(name, end)
    }

    fn child_block_end(&mut self, name: &str) -> &mut Self {
        self.child(
            name,
            Input::BlockEnded {
                block: 0,
                notes: Vec::new(),
            },
        )
    }

    /// From its context to its return, in one turn.
    fn child_returns(&mut self, name: &str, status: ReturnStatus) -> &mut Self {
        let call = format!("r_{name}");
        self.child_ready(name);
        self.child_calls(name, &[native(&call, "task.return", json!({}))]);
        self.child(
            name,
            Input::CallStarted {
                call: call.as_str().into(),
                idempotent: true,
            },
        );
        self.child(
            name,
            Input::TaskReturned {
                call: call.as_str().into(),
                result: returned(status),
            },
        );
        self.child_ends(name, &call, WorkspaceChange::default());
        self.child_block_end(name)
    }
}

fn id(name: &str) -> InvocationId {
    InvocationId::new(format!("inv_{name}"))
}

fn to(name: &str, input: Input) -> Input {
    Input::Child {
        invocation: id(name),
        input: Box::new(input),
    }
}

fn reason(why: Why) -> &'static str {
    match why {
        Why::Refused { reason, .. } => reason,
        Why::Unfit => "unfit",
        Why::Already => "already",
        Why::Over => "over",
        Why::Cancelling => "cancelling",
    }
}

#[test]
fn who_may_be_given_a_task_is_bounded() {
    for (rules, given, expected) in [
        (
            json!({"canDelegate": false}),
            0,
            "agent.delegation_policy_denied",
        ),
        (
            json!({"maxConcurrentInvocations": 1}),
            1,
            "agent.max_concurrent_invocations_exhausted",
        ),
        (
            json!({"maxInvocationsPerRun": 2, "maxConcurrentInvocations": 9}),
            2,
            "agent.max_invocations_per_run_exhausted",
        ),
    ] {
        let mut scene = boss(json!({"delegation": rules}));
        let names: Vec<String> = (0..given).map(|number| format!("c{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if given > 0 {
            scene.gives(&names);
        }
        scene
            .calls(&[native("x", "agent.delegate", json!({}))])
            .start("x");
        let input = Input::Delegated(Arc::new(assignment("x", "more")));
        assert_eq!(reason(scene.refuses(input)), expected);
    }
    // Nothing is left that could be shared.
    let mut scene = boss(json!({"tools": {"maxCallsPerRun": 1}}));
    scene
        .calls(&[native("x", "agent.delegate", json!({}))])
        .start("x");
    let input = Input::Delegated(Arc::new(assignment("x", "more")));
    assert_eq!(
        reason(scene.refuses(input)),
        "agent.delegation_budget_exhausted"
    );
}

#[test]
fn a_child_has_its_own_limits_inside_those_of_its_caller() {
    for (own, asked, expected) in [
        (
            json!({"maxRounds": 50, "maxCallsPerRun": 50}),
            (None, None),
            (9, 9),
        ),
        (
            json!({"maxRounds": 4, "maxCallsPerRun": 3}),
            (None, None),
            (4, 3),
        ),
        (
            json!({"maxRounds": 4, "maxCallsPerRun": 3}),
            (Some(2), Some(9)),
            (2, 3),
        ),
    ] {
        let mut scene = boss(json!({"tools": {"maxRounds": 10, "maxCallsPerRun": 10},
            "agent": {"budget": {"maxTokens": 1000}}}));
        scene
            .calls(&[native("x", "agent.delegate", json!({}))])
            .start("x");
        let mut given = assignment("x", "a");
        given.profile = testing::profile(json!({"tools": own}));
        (given.max_rounds, given.max_calls) = asked;
        scene.feed(Input::Delegated(Arc::new(given)));
        let child = scene.run.of_invocation(&id("a"));
        let tools = &child.profile().tools;
        assert_eq!((tools.max_rounds, tools.max_calls_per_run), expected);
        assert_eq!(child.profile().agent.budget.max_tokens, Some(1000));
    }
}

#[test]
fn what_a_child_does_is_told_under_its_name_and_counts_for_the_run() {
    let mut scene = boss(json!({}));
    scene.gives(&["a"]);
    scene.heard();
    scene.drafts.clear();
    scene.child_ready("a");
    scene.child_calls("a", &[native("d_a", "t", json!({}))]);
    // The id was the boss's already.
    let own = scene.run.of_invocation(&id("a")).turn().unwrap().blocks[0].calls[0]
        .call
        .clone();
    assert_ne!(own.as_str(), "d_a");
    scene.child_ends_call("a", own.as_str(), written("scratch/x.md", "text"));
    assert!(!scene.run.workspace().files.contains_key("scratch/x.md"));
    assert_eq!(
        scene.heard(),
        "agent_task_started agent_invocation_started agent_model_binding_resolved context_assembled \
         model_request_created model_call_attempt_started model_response_stored model_completed tool_call_requested \
         tool_call_started tool_result_stored tool_call_completed workspace_file_written"
    );
    for draft in &scene.drafts {
        let scope = draft.scope.as_ref().unwrap();
        let expected = match draft.kind {
            RunEventKind::AgentTaskStarted(_) => InvocationId::root(),
            _ => id("a"),
        };
        assert_eq!(scope.invocation_id, expected, "{}", draft.kind.name());
    }
    assert_eq!((scene.run.spent().tokens, scene.run.spent().calls), (10, 2));
    scene.child_block_end("a");
    assert!(!scene.run.of_invocation(&id("a")).is_over());
}

#[test]
fn a_result_arrives_with_one_checkpoint_and_is_told_once() {
    for (status, task) in [
        (ReturnStatus::Completed, TaskStatus::Completed),
        (ReturnStatus::Failed, TaskStatus::Failed),
    ] {
        let mut scene = boss(json!({}));
        scene.gives(&["a"]);
        scene.child_returns("a", status);
        let (_, child) = scene.run.children().remove(0);
        assert_eq!((child.status, child.is_over()), (task, true));
        assert!(
            scene
                .run
                .workspace()
                .files
                .contains_key("summaries/helper-result.md")
        );
        assert_eq!(scene.run.workspace().checkpoints, 1);
        assert_eq!(scene.run.arrived().len(), 1);
        scene.says("Done.");
        assert!(scene.run.arrived().is_empty());
    }
}

#[test]
fn folders_are_named_after_the_profile() {
    let mut scene = boss(json!({}));
    scene.gives(&["a", "b", "c"]);
    let keys: Vec<_> = scene
        .run
        .children()
        .iter()
        .map(|(_, child)| child.workspace_key.clone())
        .collect();
    assert_eq!(keys, ["helper", "helper-002", "helper-003"]);
}

#[test]
fn words_wait_for_whoever_is_at_work() {
    let mut scene = boss(json!({}));
    scene.gives(&["a"]).says("I wait.");
    assert!(matches!(scene.run.next(), Step::AwaitTasks { tasks } if tasks == ["task_a"]));
    scene.child_returns("a", ReturnStatus::Completed);
    assert!(matches!(scene.run.next(), Step::Ask { .. }));
    scene.says("Done.");
    assert_eq!(scene.run.next(), Step::CommitPersist);
}

#[test]
fn a_wait_is_begun_once_and_what_it_told_is_not_told_again() {
    let mut scene = boss(json!({}));
    scene.gives(&["a", "b"]);
    scene
        .calls(&[native("w", "agent.await", json!({}))])
        .start("w");
    let begin = |tasks: &[&str]| Input::AwaitStarted {
        call: "w".into(),
        tasks: tasks.iter().map(|task| TaskId::new(*task)).collect(),
        mode: AwaitMode::NextCompleted,
        timeout_ms: 1000,
    };
    assert_eq!(
        reason(scene.refuses(begin(&["task_x"]))),
        "agent.await_task_not_found"
    );
    scene.feed(begin(&["task_a", "task_b"]));
    assert_eq!(reason(scene.refuses(begin(&["task_a"]))), "already");
    let tasks = scene.run.tasks_to_await();
    assert!(!scene.run.is_awaited(&tasks, AwaitMode::NextCompleted));
    scene.child_returns("a", ReturnStatus::Completed);
    assert!(scene.run.is_awaited(&tasks, AwaitMode::NextCompleted));
    assert!(!scene.run.is_awaited(&tasks, AwaitMode::AllCompleted));
    let over = Input::AwaitEnded {
        call: "w".into(),
        timed_out: false,
    };
    scene.feed(over.clone());
    assert_eq!(reason(scene.refuses(over)), "already");
    scene.end("w");
    assert!(scene.run.arrived().is_empty());
    // Without any task there is nothing to wait for.
    let mut scene = boss(json!({}));
    scene
        .calls(&[native("w", "agent.await", json!({}))])
        .start("w");
    assert_eq!(reason(scene.refuses(begin(&[]))), "agent.no_child_tasks");
}

#[test]
fn a_cancelled_task_is_over_at_once_and_its_agent_when_it_has_stopped() {
    let mut scene = boss(json!({}));
    scene.gives(&["a"]);
    scene.child_ready("a");
    scene.heard();
    scene.child("a", Input::CancelRequested);
    assert_eq!(scene.heard(), "agent_task_cancelled");
    assert_eq!(
        reason(scene.refuses(to("a", Input::CancelRequested))),
        "already"
    );
    assert!(scene.run.has_living_children() && scene.run.open_children().next().is_none());
    scene.child("a", Input::Stopped);
    assert_eq!(scene.heard(), "agent_child_invocation_failed");
    assert!(!scene.run.has_living_children());
    let Outcome::Cancelled { reason } = &scene.run.arrived()[0].outcome else {
        panic!("another outcome");
    };
    assert!(reason.contains("cancelled: a person ended it"), "{reason}");
}

#[test]
fn the_end_of_a_run_waits_for_everybody() {
    for end in [
        Input::CancelRequested,
        testing::failed(ErrorCode::AgentInternalError),
    ] {
        let mut scene = boss(json!({}));
        scene.gives(&["a"]);
        scene.child_ready("a");
        scene.feed(end);
        assert_eq!(scene.run.next(), Step::Stop);
        assert!(scene.run.of_invocation(&id("a")).is_cancelling());
        scene.child("a", Input::Stopped).feed(Input::Stopped);
        assert!(scene.run.is_over());
        let last = scene.drafts.last().unwrap();
        assert!(last.kind.is_terminal());
    }
    // Whoever is gone is not waited for.
    let mut scene = boss(json!({}));
    scene
        .gives(&["a"])
        .feed(Input::CancelRequested)
        .feed(Input::Stopped);
    assert!(scene.run.is_over() && !scene.run.has_living_children());
    // A finish stops them first.
    let mut scene = boss(json!({}));
    scene.gives(&["a"]).finish("f");
    assert_eq!(scene.run.next(), Step::Stop);
    scene.child("a", Input::Stopped);
    assert_eq!(scene.run.next(), Step::CommitPersist);
    scene.persist();
    assert!(scene.run.is_over());
}

#[test]
fn what_the_run_may_use_holds_for_all_of_it() {
    let mut scene = boss(json!({"agent": {"budget": {"maxTokens": 15}}}));
    scene.gives(&["a", "b"]);
    for name in ["a", "b"] {
        scene.child_ready(name);
        let call = format!("c_{name}");
        scene.child_calls(name, &[native(&call, "t", json!({}))]);
        scene.child_ends_call(name, &call, WorkspaceChange::default());
        scene.child_block_end(name);
    }
    // The first had used ten, both together more than there was.
    let statuses: Vec<_> = scene
        .run
        .children()
        .iter()
        .map(|(_, child)| child.status)
        .collect();
    assert_eq!(statuses, [TaskStatus::Running, TaskStatus::Failed]);
    let (_, failed) = scene.run.children().remove(1);
    let why = failed.error.as_ref().unwrap().reason.as_deref();
    assert_eq!(why, Some("agent.token_budget_exhausted"));
}

#[test]
fn calls_of_a_run_are_shared_by_everybody_in_it() {
    // Two are used for giving the tasks; each child was born with two.
    let mut scene = boss(json!({"tools": {"maxCallsPerRun": 4}}));
    scene.gives(&["a", "b"]);
    let mut ran = Vec::new();
    for name in ["a", "b"] {
        scene.child_ready(name);
        let calls: Vec<Json> = (0..2)
            .map(|number| native(&format!("c_{name}{number}"), "t", json!({"n": number})))
            .chain([native(&format!("r_{name}"), "task.return", json!({}))])
            .collect();
        scene.child_calls(name, &calls);
        let child = scene.run.of_invocation(&id(name));
        let open = child.turn().unwrap().calls().filter(|call| call.is_open());
        ran.push(open.map(|call| call.call.to_string()).collect::<Vec<_>>());
    }
    assert_eq!(ran[0], ["c_a0", "c_a1", "r_a"]);
    assert_eq!(ran[1], ["r_b"], "what is done can always be returned");
}

fn handoff(scene: &mut Scene, call: &str, name: &str) -> Result<(), Misfit> {
    scene.try_feed(Input::HandoffCalled {
        call: call.into(),
        to: Arc::new(assignment(call, name)),
    })
}

#[test]
fn a_handover_is_refused_where_it_would_leave_something_behind() {
    for (rules, tasks, expected) in [
        (
            json!({"canHandoff": false}),
            &[][..],
            "agent.handoff_policy_denied",
        ),
        (json!({}), &["a"][..], "agent.handoff_pending_tasks"),
        (
            json!({"maxHandoffDepth": 0}),
            &[][..],
            "agent.handoff_depth_exhausted",
        ),
    ] {
        let mut scene = boss(json!({"delegation": rules}));
        if !tasks.is_empty() {
            scene.gives(tasks);
        }
        scene
            .calls(&[native("h", "agent.handoff", json!({}))])
            .start("h");
        let why = handoff(&mut scene, "h", "next").unwrap_err().why;
        assert_eq!(reason(why), expected);
    }
}

#[test]
fn whoever_gets_the_run_goes_on_with_its_files_and_its_budget() {
    let mut scene = boss(json!({"agent": {"budget": {"maxTokens": 500}}}));
    scene.calls(&[native("w", "t", json!({}))]).start("w");
    let done = Outcome::Success {
        result: "ok".into(),
        spilled: None,
    };
    scene
        .end_with("w", done, written("plan/a.md", "plan"))
        .block_end();
    scene
        .calls(&[native("h", "agent.handoff", json!({}))])
        .start("h");
    handoff(&mut scene, "h", "next").unwrap();
    scene.end("h").heard();
    scene.drafts.clear();
    scene.block_end();
    assert_eq!(
        scene.heard(),
        "agent_handoff_accepted agent_invocation_completed agent_invocation_created agent_invocation_started"
    );
    assert_eq!(*scene.run.invocation(), id("next"));
    assert_eq!(scene.run.next(), Step::PrepareContext);
    assert!(scene.run.workspace().files.contains_key("plan/a.md"));
    assert_eq!((scene.run.spent().rounds, scene.run.spent().calls), (0, 0));
    assert_eq!(scene.run.profile().agent.budget.max_tokens, Some(500));
    scene.feed(Input::ContextReady {
        binding: json!({}),
        request: json!({}),
        tools: json!([]),
    });
    scene.says("Mine.");
    let told = scene
        .drafts
        .iter()
        .find(|draft| draft.kind.name() == "model_response_stored");
    let RunEventKind::ModelResponseStored(told) = &told.unwrap().kind else {
        panic!("another kind");
    };
    assert_eq!(told.path, "model-responses/inv_next/round-001.json");
    let timeline = scene.run.timeline();
    let shown: Vec<_> = timeline
        .invocations
        .iter()
        .map(|agent| (agent.kind, agent.status))
        .collect();
    assert_eq!(shown, [("root", "transferred"), ("handoff", "running")]);
    let edge = &timeline.delegation_edges[0];
    assert_eq!(edge.continuation, "transfer_control");
    assert!(!edge.title.is_empty(), "what it was handed over for");
}

#[test]
fn an_agent_that_works_for_nobody_returns_nothing() {
    let mut scene = boss(json!({}));
    scene
        .calls(&[native("r", "task.return", json!({}))])
        .start("r");
    let input = Input::TaskReturned {
        call: "r".into(),
        result: returned(ReturnStatus::Completed),
    };
    assert_eq!(reason(scene.refuses(input)), "agent.task_return_denied");
    // Nor is it told to call it again, where other calls stand behind it.
    let mut scene = boss(json!({}));
    scene.calls(&[
        native("r", "task.return", json!({})),
        native("x", "x", json!({})),
    ]);
    assert_eq!(scene.told_model(), ["agent.task_return_denied"]);
}

#[test]
fn the_timeline_shows_who_works_for_whom() {
    let mut scene = boss(json!({}));
    scene.gives(&["a", "b"]);
    scene.child_returns("b", ReturnStatus::Completed);
    let timeline = serde_json::to_value(scene.run.timeline()).unwrap();
    assert_eq!(timeline["foregroundInvocationIds"], json!(["inv_root"]));
    assert_eq!(timeline["invocations"][1]["status"], "created");
    assert_eq!(timeline["invocations"][2]["status"], "completed");
    assert_eq!(
        timeline["invocations"][2]["exitPolicy"],
        "task_return_required"
    );
    let edge = &timeline["delegationEdges"][1];
    assert_eq!(edge["status"], "completed");
    assert_eq!(edge["resultRef"], "agent-results/inv_b.json");
    assert_eq!(edge["continuation"], "return_to_parent");
}

/// What may happen next to one of three agents, or to the run.
fn moves() -> impl Strategy<Value = Vec<(u8, u8)>> {
    prop::collection::vec((0_u8..4, 0_u8..10), 0..60)
}

fn step(scene: &mut Scene, who: u8, what: u8, number: usize) {
    let name = ["a", "b", "c"][usize::from(who) % 3];
    let call = format!("x{number}");
    let input = match (who, what) {
        (3, 0) => Input::CancelRequested,
        (3, 1) => Input::Stopped,
        (3, 2) => Input::Recovered,
        (3, _) => testing::guidance(&call, "go on"),
        (_, 0) => to(name, Input::CancelRequested),
        (_, 1) => to(name, Input::Stopped),
        (_, 2) => to(name, testing::failed(ErrorCode::AgentInternalError)),
        (_, 3..=5) => {
            let part = scene.run.of_invocation(&id(name)).clone();
            match part.next() {
                Step::PrepareContext => to(
                    name,
                    Input::ContextReady {
                        binding: json!({}),
                        request: json!({}),
                        tools: json!([]),
                    },
                ),
                Step::Ask { .. } => to(
                    name,
                    Input::ModelAsked {
                        keep: part.sent().len(),
                        add: vec![Arc::new(json!({"role": "user", "content": "go"}))],
                        request: json!({}),
                        guidance: 0,
                        arrived: 0,
                        oversize: None,
                    },
                ),
                Step::Deliberate { .. } => {
                    let calls = match what {
                        3 => vec![native("same", "t", json!({"n": number}))],
                        4 => vec![native("r", "task.return", json!({}))],
                        _ => Vec::new(),
                    };
                    let reply = ModelTurn {
                        text: "words".to_owned(),
                        tool_calls: calls,
                        ..ModelTurn::default()
                    };
                    to(name, Input::ModelReplied(Arc::new(reply)))
                }
                Step::RunBlock { block } => {
                    let open = part
                        .turn()
                        .and_then(|turn| turn.calls().find(|call| call.is_open()).cloned());
                    match open {
                        None => to(
                            name,
                            Input::BlockEnded {
                                block,
                                notes: Vec::new(),
                            },
                        ),
                        Some(open) if open.state == CallState::Waiting => to(
                            name,
                            Input::CallStarted {
                                call: open.call,
                                idempotent: true,
                            },
                        ),
                        Some(open) if open.tool == "task.return" && what == 3 => to(
                            name,
                            Input::TaskReturned {
                                call: open.call,
                                result: returned(ReturnStatus::Completed),
                            },
                        ),
                        Some(open) => to(
                            name,
                            Input::CallEnded {
                                call: open.call,
                                observation: Arc::new(innkeeper_protocol::Observation::success(
                                    "t", "ok",
                                )),
                                elapsed_ms: 1,
                                change: written(&format!("scratch/{name}{number}.md"), "text"),
                                skill_chars: 0,
                                full: None,
                                worlds: Vec::new(),
                                used: None,
                            },
                        ),
                    }
                }
                _ => to(name, Input::Rested),
            }
        }
        _ => return,
    };
    // What does not fit changes nothing; `try_feed` sees to that.
    let _ = scene.try_feed(input);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens to those who work for a run: told again it is the same run, also from its saved form; its ids of
    /// calls are its own; and nothing is told behind its end.
    #[test]
    fn a_run_with_others_is_the_same_when_it_is_told_again(moves in moves()) {
        let mut scene = boss(json!({}));
        scene.gives(&["a", "b", "c"]);
        for (number, (who, what)) in moves.iter().enumerate() {
            step(&mut scene, *who, *what, number);
        }
        let (mut again, mut told) = AgentRun::begin(&scene.fed[0]).unwrap();
        for input in &scene.fed[1..] {
            told.extend(again.apply(input).unwrap());
            let saved = serde_json::to_string(&again).unwrap();
            again = serde_json::from_str(&saved).unwrap();
        }
        prop_assert!(again == scene.run);
        prop_assert!(told == scene.drafts);
        let terminal = told.iter().position(|draft| draft.kind.is_terminal());
        if let Some(at) = terminal {
            prop_assert_eq!(at + 1, told.len());
            prop_assert!(!scene.run.has_living_children());
        }
        let mut calls = std::collections::HashSet::new();
        for draft in &told {
            if let RunEventKind::ToolCallRequested(asked) = &draft.kind {
                prop_assert!(calls.insert(asked.call_id.clone()), "{} twice", asked.call_id);
            }
        }
        for (id, child) in scene.run.children() {
            prop_assert!(child.is_over() || !child.status.is_final() || child.status == TaskStatus::Cancelled);
            // Nothing is told of an agent once it is over.
            let own: Vec<_> = told
                .iter()
                .filter(|draft| draft.scope.as_ref().is_some_and(|scope| scope.invocation_id == *id))
                .map(|draft| draft.kind.name())
                .collect();
            let ends = own.iter().filter(|name| {
                matches!(**name, "agent_invocation_completed" | "agent_child_invocation_failed")
            });
            prop_assert_eq!(ends.count(), usize::from(child.is_over()), "{:?}", own);
        }
    }
}

#[test]
fn a_handover_that_was_agreed_is_taken_back_with_the_run() {
    let mut scene = boss(json!({}));
    let past = scene.run.clone();
    scene
        .calls(&[native("h", "agent.handoff", json!({}))])
        .start("h");
    handoff(&mut scene, "h", "next").unwrap();
    let agreed = scene.run.handoff.clone();
    scene.feed(Input::CancelRequested).feed(Input::Stopped);
    // However the run was left.
    scene.run.handoff = agreed;
    let back = RolledBack {
        rollback_id: "b1".to_owned(),
        checkpoint: "start".into(),
        event_seq: 0,
        scope: Default::default(),
        reason: None,
        restored: scene.run.way_back(&past),
    };
    scene.feed(Input::RolledBack(Arc::new(back)));
    assert!(scene.run.handoff.is_none());
}
