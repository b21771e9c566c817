//! Taking back and branching off, without a house around it. The law against a model that copies everything is at the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::event::{
    CheckpointId, Presentation, RollbackScope, RunEventKind, RunStatus,
};
use innkeeper_protocol::{ErrorCode, Outcome};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::testing::*;
use super::*;
use crate::context;
use crate::workspace::state::{FileChange, FileInfo, How, WorkspaceChange};

/// The run at that checkpoint, from what it was fed; the checkpoint before a rollback is made of what was before it.
fn at(scene: &Scene, id: &str) -> AgentRun {
    let (mut run, drafts) = AgentRun::begin(&scene.fed[0]).unwrap();
    let made = |drafts: &[Draft]| {
        let ids = drafts.iter().filter_map(|draft| match &draft.kind {
            RunEventKind::CheckpointCreated(made) => Some(made.checkpoint_id.as_str().to_owned()),
            _ => None,
        });
        ids.collect::<Vec<_>>()
    };
    if made(&drafts).iter().any(|made| made == id) {
        return run;
    }
    for input in &scene.fed[1..] {
        let before = run.clone();
        let drafts = run.apply(input).unwrap();
        match made(&drafts).iter().position(|made| made == id) {
            Some(0) if matches!(input.input, Input::RolledBack(_)) => return before,
            Some(_) => return run,
            None => {}
        }
        if id == "start" && matches!(input.input, Input::ContextReady { .. }) {
            return run;
        }
    }
    panic!("no {id}");
}

fn back(scene: &Scene, id: &str, scope: RollbackScope) -> Input {
    Input::RolledBack(Arc::new(RolledBack {
        rollback_id: format!("b{}", scene.fed.len()),
        checkpoint: CheckpointId::new(id),
        event_seq: 0,
        scope,
        reason: None,
        restored: scene.run.way_back(&at(scene, id)),
    }))
}

fn writes(scene: &mut Scene, call: &str, path: &str, text: &str) {
    scene.calls(&[native(call, "workspace.write_file", json!({"n": call}))]);
    scene.start(call);
    let outcome = Outcome::Success {
        result: "ok".into(),
        spilled: None,
    };
    scene
        .end_with(call, outcome, written(path, text))
        .block_end();
}

fn rolled_back(scene: &Scene) -> &innkeeper_protocol::event::RunRolledBack {
    let found = scene
        .drafts
        .iter()
        .rev()
        .find_map(|draft| match &draft.kind {
            RunEventKind::RunRolledBack(back) => Some(back),
            _ => None,
        });
    found.expect("it was not rolled back")
}

/// Writes twice, with a checkpoint each.
fn worked(scene: &mut Scene) {
    writes(scene, "c1", "output/main.md", "one");
    writes(scene, "c2", "output/main.md", "two");
}

#[test]
fn only_a_run_that_is_over_or_paused_is_rolled_back() {
    type Course = fn(&mut Scene);
    let rows: [(&str, Course, Option<&str>); 9] = [
        (
            "asks",
            |_| {},
            Some("cancel it, roll it back, then resume it"),
        ),
        (
            "asked",
            |scene| {
                scene.ask();
            },
            Some("cancel it"),
        ),
        (
            "acts",
            |scene| {
                scene.calls(&[native("c3", "x", json!({}))]).start("c3");
            },
            Some("cancel it"),
        ),
        (
            "is cancelled",
            |scene| {
                scene.feed(Input::CancelRequested);
            },
            Some("is being ended"),
        ),
        (
            "was cancelled",
            |scene| {
                scene.feed(Input::CancelRequested).feed(Input::Stopped);
            },
            None,
        ),
        (
            "failed",
            |scene| {
                scene.feed(failed(ErrorCode::AgentTransient));
            },
            None,
        ),
        (
            "failed in the middle of a call",
            |scene| {
                scene.calls(&[native("c3", "x", json!({}))]).start("c3");
                scene.feed(failed(ErrorCode::AgentTransient));
            },
            None,
        ),
        (
            "is complete",
            |scene| {
                scene.says("Done").persist();
            },
            None,
        ),
        (
            "is paused",
            |scene| {
                scene.calls(&[native("c3", "x", json!({}))]).start("c3");
                for _ in 0..crate::limits::MAX_TAKEOVERS {
                    scene.feed(Input::Recovered);
                }
            },
            None,
        ),
    ];
    for (name, course, refused) in rows {
        let mut scene = Scene::chat(json!({}));
        worked(&mut scene);
        course(&mut scene);
        let input = back(&scene, "cp_000001", RollbackScope::Workspace);
        let is_paused = scene.run.is_paused();
        let status = scene.run.status();
        match (scene.try_feed(input), refused) {
            (Ok(()), None) => {
                assert_eq!(
                    scene.run.workspace().files["output/main.md"],
                    file("one"),
                    "{name}"
                );
                assert_eq!(
                    scene.run.turn().unwrap().reply.tool_calls[0]["id"],
                    "c1",
                    "{name}"
                );
                assert_eq!(scene.run.is_paused(), is_paused, "{name}");
                assert!(is_paused || scene.run.status() == status, "{name}");
                // It goes on from there.
                scene.feed(Input::Resumed {
                    additional_rounds: None,
                });
                assert!(matches!(scene.run.next(), Step::Ask { .. }), "{name}");
                assert!(scene.run.set_back().is_some(), "{name}");
                assert_eq!(scene.ask().run.set_back(), None, "{name}");
            }
            (Err(misfit), Some(words)) => {
                assert!(misfit.message.contains(words), "{name}: {misfit}");
                let reason = "agent.rollback_unavailable";
                assert!(
                    matches!(misfit.why, Why::Refused { reason: found, .. } if found == reason)
                );
            }
            (found, _) => panic!("{name}: {found:?}"),
        }
    }
}

#[test]
fn what_was_looked_up_before_the_run_went_on_does_not_fit_any_more() {
    let mut scene = Scene::chat(json!({}));
    worked(&mut scene);
    scene.feed(failed(ErrorCode::AgentTransient));
    let first = back(&scene, "cp_000001", RollbackScope::Workspace);
    scene.feed(first.clone());
    let Why::Refused { reason, .. } = scene.refuses(first) else {
        panic!("it was taken");
    };
    assert_eq!(reason, "agent.rollback_unavailable");
    let mut scene = Scene::new(Presentation::Background, json!({}));
    scene.feed(failed(ErrorCode::AgentTransient));
    let restored = scene.run.way_back(&scene.run.clone());
    let begun = RolledBack {
        rollback_id: "b".to_owned(),
        checkpoint: "start".into(),
        event_seq: 1,
        scope: RollbackScope::Workspace,
        reason: None,
        restored,
    };
    let why = scene.refuses(Input::RolledBack(Arc::new(begun)));
    assert!(matches!(why, Why::Refused { .. }), "{why:?}");
}

#[test]
fn what_is_told_is_checkpointed_before_and_after_and_ends_again() {
    let mut scene = Scene::chat(json!({}));
    worked(&mut scene);
    scene.says("Done").persist();
    scene.heard();
    let input = back(&scene, "cp_000001", RollbackScope::Workspace);
    scene.feed(input);
    assert_eq!(
        scene.heard(),
        "run_resumed checkpoint_created run_rolled_back checkpoint_created run_completed"
    );
    let told = rolled_back(&scene);
    assert_eq!(told.before_checkpoint_id.as_str(), "cp_000003");
    assert_eq!(
        (told.files.added, told.files.modified, told.files.deleted),
        (0, 1, 0)
    );
    let spent = scene.run.spent().clone();
    // To the start, where nothing was.
    let input = back(&scene, "start", RollbackScope::Workspace);
    scene.feed(input);
    assert!(scene.run.workspace().files.is_empty() && scene.run.sent().is_empty());
    assert_eq!(rolled_back(&scene).files.deleted, 1);
    assert_eq!(scene.run.spent(), &spent, "what was spent was spent");
    // Undone twice: it is complete once more.
    let input = back(&scene, "cp_000003", RollbackScope::Workspace);
    scene.feed(input);
    assert_eq!(scene.run.workspace().files["output/main.md"], file("two"));
    let why = scene.refuses(Input::Resumed {
        additional_rounds: None,
    });
    assert!(matches!(
        why,
        Why::Refused {
            reason: "agent.resume_unavailable",
            ..
        }
    ));
    assert_ne!(scene.run.state_id(), "run_1", "a state never changes");
}

#[test]
fn a_call_that_was_open_then_is_answered_and_a_task_has_ended() {
    let mut scene = Scene::chat(json!({}));
    scene.calls(&[native("c1", "slow", json!({}))]).start("c1");
    let task = Outcome::AsyncStarted {
        task_id: "t1".to_owned(),
    };
    scene
        .end_with("c1", task, WorkspaceChange::default())
        .block_end();
    scene.calls(&[
        native("c2", "workspace.write_file", json!({})),
        native("c3", "x", json!({})),
        native("c4", "y", json!({})),
    ]);
    scene.start("c3").start("c2");
    let outcome = Outcome::Success {
        result: "ok".into(),
        spilled: None,
    };
    scene.end_with("c2", outcome, written("output/a", "1"));
    scene.end("c3");
    scene.start("c4").end("c4").block_end();
    scene.feed(task_ended("t1")).says("Done").persist();
    let input = back(&scene, "cp_000001", RollbackScope::Workspace);
    scene.feed(input);
    let turn = scene.run.turn().unwrap();
    let told: Vec<_> = turn
        .calls()
        .map(|call| (call.call.as_str(), &call.observation().unwrap().outcome))
        .collect();
    assert!(matches!(told[0], ("c2", Outcome::Success { .. })));
    assert!(
        matches!(told[1], ("c3", Outcome::OutcomeUnknown { .. })),
        "{told:?}"
    );
    assert!(
        matches!(told[2], ("c4", Outcome::Cancelled { reason }) if reason == "taken back by a person")
    );
    assert_eq!(scene.run.arrived()[0].task.as_deref(), Some("t1"));
    assert!(scene.run.open_tasks().is_empty());
}

#[test]
fn a_checkpoint_that_is_asked_for_twice_is_made_once() {
    let mut scene = Scene::chat(json!({}));
    let request = |id: &str| Input::CheckpointRequested {
        request_id: id.to_owned(),
        note: None,
    };
    scene.feed(request("r1"));
    assert_eq!(scene.refuses(request("r1")), Why::Already);
    for number in 0..crate::limits::MAX_REQUESTS_KNOWN {
        scene.feed(request(&format!("x{number}")));
    }
    let made = crate::limits::MAX_REQUESTS_KNOWN + 1;
    assert_eq!(scene.run.workspace().checkpoints, made as u64);
    let again = serde_json::to_value(&scene.run).unwrap();
    let again: AgentRun = serde_json::from_value(again).unwrap();
    assert!(again == scene.run);
}

fn allowed_for_run(scene: &mut Scene, call: &str) {
    scene.calls(&[native(call, "pay", json!({"n": call}))]);
    scene.feed(Input::ApprovalAsked {
        call: call.into(),
        approval_id: format!("approval_{call}"),
        reason: None,
        expires_at: None,
        question: Some(Arc::new(Question {
            tool: "pay".to_owned(),
            source: "builtin".to_owned(),
            description: String::new(),
            arguments: json!({}),
            rule: "careful".to_owned(),
            says: Some(format!("tool=pay {call}")),
            user: "default".to_owned(),
            actor: "agent:writer".to_owned(),
            project: "default".to_owned(),
            may_edit: false,
        })),
    });
    scene.feed(Input::ApprovalAnswered {
        call: call.into(),
        approved: true,
        reason: None,
        approval_id: None,
        remember: Remember::Run,
        edit: None,
        by: AnsweredBy::Person,
    });
    scene.start(call).end(call).block_end();
}

fn rules(scene: &Scene) -> Vec<&str> {
    let grants = scene.run.grants().iter();
    grants.map(|key| key.rule.as_str()).collect()
}

#[test]
fn what_was_allowed_for_the_run_since_then_is_asked_again() {
    let mut scene = Scene::chat(json!({}));
    allowed_for_run(&mut scene, "p1");
    writes(&mut scene, "c1", "output/main.md", "one");
    allowed_for_run(&mut scene, "p2");
    scene.says("Done").persist();
    assert_eq!(rules(&scene), ["tool=pay p1", "tool=pay p2"]);
    let input = back(&scene, "cp_000001", RollbackScope::Workspace);
    // Journals of earlier versions do not say what was allowed then: there it all stays.
    let Input::RolledBack(newer) = &input else {
        panic!("no rollback");
    };
    let mut older = serde_json::to_value(&**newer).unwrap();
    older["restored"].as_object_mut().unwrap().remove("grants");
    let older: RolledBack = serde_json::from_value(older).unwrap();
    let mut before = Scene::chat(json!({}));
    before.run = scene.run.clone();
    before.feed(Input::RolledBack(Arc::new(older)));
    assert_eq!(rules(&before), ["tool=pay p1", "tool=pay p2"]);

    scene.feed(input);
    assert_eq!(rules(&scene), ["tool=pay p1"]);
    let told = &rolled_back(&scene).extra["withdrawnGrants"];
    assert_eq!(told.as_array().unwrap().len(), 1, "{told}");
    assert_eq!(told[0]["rule"], "tool=pay p2");
    // Undone, it stays taken back: whoever allowed it may do so again.
    let input = back(&scene, "cp_000002", RollbackScope::Workspace);
    scene.feed(input);
    assert_eq!(rules(&scene), ["tool=pay p1"]);
    assert!(!rolled_back(&scene).extra.contains_key("withdrawnGrants"));
}

/// Two messages, the second one the work of two commits.
fn published() -> Scene {
    let mut scene = Scene::writer(json!({}));
    writes(&mut scene, "w1", "output/main.md", "one");
    for (call, commit, mode, message) in [
        ("p1", "k1", "replace", "1"),
        ("p2", "k2", "replace", "2"),
        ("p3", "k3", "append", "2"),
    ] {
        scene
            .calls(&[native(call, "workspace.commit", json!({}))])
            .start(call);
        scene.feed(Input::CommitRequested {
            commit: commit.into(),
            call: call.into(),
            path: "output/main.md".to_owned(),
            mode: mode.to_owned(),
            reason: None,
            file: file(commit),
        });
        scene.feed(Input::CommitResolved {
            commit: commit.into(),
            message_id: message.to_owned(),
            message_index: message.parse().ok(),
        });
        scene.end(call).block_end();
    }
    scene
}

#[test]
fn what_was_published_is_withdrawn_or_stays_as_the_scope_says() {
    // w1 is cp_1, the commits are 2, 3 and 4; a commit's checkpoint is from before it was published.
    for (to, scope, kept, withdrawn, told) in [
        ("cp_000001", RollbackScope::Workspace, 3, vec![], 3),
        (
            "cp_000001",
            RollbackScope::CommittedMessage,
            0,
            vec!["k1 deleteMessage", "k2 deleteMessage", "k3 deleteMessage"],
            0,
        ),
        (
            "cp_000003",
            RollbackScope::CommittedMessage,
            1,
            vec!["k2 deleteMessage", "k3 deleteMessage"],
            0,
        ),
        (
            "cp_000004",
            RollbackScope::CommittedMessage,
            2,
            vec!["k3 replaceMessage k2"],
            0,
        ),
    ] {
        let mut scene = published();
        scene.feed(failed(ErrorCode::AgentTransient));
        assert_eq!(scene.run.status(), RunStatus::PartialSuccess);
        let input = back(&scene, to, scope);
        scene.feed(input);
        assert_eq!(scene.run.commit_count(), kept, "{to} {scope:?}");
        let expected = match kept {
            0 => RunStatus::Failed,
            _ => RunStatus::PartialSuccess,
        };
        assert_eq!(scene.run.status(), expected, "{to} {scope:?}");
        let event = rolled_back(&scene);
        let found: Vec<String> = event
            .withdrawn_commits
            .iter()
            .map(|commit| {
                let with = commit
                    .replace_with
                    .iter()
                    .map(|other| format!(" {}", other.commit_id));
                let strategy = json!(commit.strategy);
                format!(
                    "{} {}{}",
                    commit.commit_id,
                    strategy.as_str().unwrap(),
                    with.collect::<String>()
                )
            })
            .collect();
        assert_eq!(found, withdrawn, "{to} {scope:?}");
        let Some(SetBack::Rollback { published, .. }) = scene.run.set_back() else {
            panic!("nothing is told");
        };
        assert_eq!(published.len(), told, "{to} {scope:?}");
        // Undone, the conversation speaks of them, so the model is told that they are gone.
        let before = event.before_checkpoint_id.as_str().to_owned();
        let input = back(&scene, &before, RollbackScope::Workspace);
        scene.feed(input);
        assert_eq!(scene.run.commit_count(), kept);
        let Some(SetBack::Rollback {
            withdrawn: gone, ..
        }) = scene.run.set_back()
        else {
            panic!("nothing is told");
        };
        assert_eq!(gone.len(), withdrawn.len(), "{to} {scope:?}");
    }
}

#[test]
fn a_writer_has_to_publish_anew_what_was_withdrawn() {
    let mut scene = published();
    scene.finish("f1").persist();
    scene.feed(Input::MetadataUpdateRequested {
        update_id: "u".to_owned(),
    });
    scene.feed(Input::MetadataUpdated {
        update_id: "u".to_owned(),
    });
    assert_eq!(scene.run.status(), RunStatus::Completed);
    let input = back(&scene, "cp_000001", RollbackScope::CommittedMessage);
    scene.feed(input);
    assert_eq!(
        rolled_back(&scene).withdrawn_state_id.as_deref(),
        Some("run_1")
    );
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    scene
        .calls(&[native("f2", "workspace.finish", json!({}))])
        .start("f2");
    let why = scene.refuses(Input::FinishCalled {
        call: "f2".into(),
        reason: None,
    });
    assert!(matches!(
        why,
        Why::Refused {
            code: ErrorCode::AgentForegroundCommitRequired,
            ..
        }
    ));
    scene.end("f2").block_end();
    scene.publish("p9", "k9").finish("f3");
    assert_eq!(scene.run.state_id(), "run_1.1");
}

#[test]
fn a_commit_that_the_host_confirms_late_does_not_count_once_it_was_withdrawn() {
    let mut scene = Scene::writer(json!({}));
    writes(&mut scene, "w1", "output/main.md", "one");
    scene
        .calls(&[native("p1", "workspace.commit", json!({}))])
        .start("p1")
        .request_commit("p1", "k1");
    scene.feed(Input::CancelRequested).feed(Input::Stopped);
    let input = back(&scene, "cp_000001", RollbackScope::CommittedMessage);
    scene.feed(input).resolve("k1");
    assert_eq!(scene.run.commit_count(), 0);
    assert!(scene.run.arrived().is_empty());
    assert_eq!(scene.run.status(), RunStatus::Cancelled);
}

/// A whole copy of what a run was.
#[derive(Debug, Clone)]
struct Copied {
    files: BTreeMap<String, FileInfo>,
    reads: BTreeMap<String, crate::workspace::state::ReadState>,
    sent: Vec<Json>,
    turn: Option<Turn>,
}

impl Copied {
    fn of(run: &AgentRun) -> Self {
        Self {
            files: run.workspace().files.clone(),
            reads: run.workspace().reads.clone(),
            sent: run
                .sent()
                .iter()
                .map(|message| Json::clone(message))
                .collect(),
            turn: run.turn().cloned(),
        }
    }

    /// The same run, but that what was open has an answer.
    fn check(&self, run: &AgentRun) -> Result<(), TestCaseError> {
        let now = Self::of(run);
        prop_assert_eq!(&now.files, &self.files);
        prop_assert_eq!(&now.reads, &self.reads);
        prop_assert_eq!(&now.sent, &self.sent);
        prop_assert_eq!(now.turn.is_some(), self.turn.is_some());
        let calls = |turn: &Option<Turn>| {
            turn.iter()
                .flat_map(|turn| turn.calls().cloned().collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        let (now, then) = (calls(&now.turn), calls(&self.turn));
        prop_assert_eq!(now.len(), then.len());
        for (now, then) in now.iter().zip(&then) {
            prop_assert_eq!(&now.call, &then.call);
            prop_assert!(!now.is_open());
            prop_assert!(then.is_open() || now == then);
        }
        Ok(())
    }
}

fn change(path: u8, text: Option<u8>, before: &AgentRun) -> WorkspaceChange {
    let path = format!("output/{}", path % 4);
    let old = before.workspace().files.get(&path).cloned();
    let new = text.map(|text| file(&text.to_string()));
    let read = new
        .as_ref()
        .map(|new| crate::workspace::state::ReadState::full(new.sha256.clone()));
    WorkspaceChange {
        files: vec![FileChange {
            path: path.clone(),
            how: match new {
                Some(_) => How::Written {
                    mode: "replace".to_owned(),
                },
                None => How::Deleted,
            },
            old,
            new,
        }],
        reads: read.into_iter().map(|read| (path.clone(), read)).collect(),
    }
}

/// Asks as the driver does, so that nothing of the turn is lost.
fn ask(scene: &mut Scene, n: usize) {
    let run = &scene.run;
    let mut add = run
        .turn()
        .map(|turn| context::after_turn(turn, run.arrived()))
        .unwrap_or_default();
    add.push(json!({"role": "user", "content": format!("go {n}")}));
    let input = Input::ModelAsked {
        keep: run.sent().len(),
        add: add.into_iter().map(Arc::new).collect(),
        request: json!({}),
        oversize: None,
        guidance: run.guidance().len(),
        arrived: run.arrived().len(),
    };
    scene.feed(input);
}

/// Everything that a run is at each of its checkpoints, as it was when it was made.
#[derive(Default)]
struct Model {
    copies: BTreeMap<String, Copied>,
    heard: usize,
}

impl Model {
    /// After every single input.
    fn hear(&mut self, scene: &Scene, before: Option<&AgentRun>) {
        let made = scene.drafts[self.heard..]
            .iter()
            .filter_map(|draft| match &draft.kind {
                RunEventKind::CheckpointCreated(made) => Some(made),
                _ => None,
            });
        for made in made {
            let run = match made.reason.as_str() {
                "before_rollback" => before.unwrap(),
                _ => &scene.run,
            };
            self.copies
                .insert(made.checkpoint_id.to_string(), Copied::of(run));
        }
        self.heard = scene.drafts.len();
    }

    fn any(&self, by: u8) -> Option<&str> {
        let at = usize::from(by) % self.copies.len().max(1);
        self.copies.keys().nth(at).map(String::as_str)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    /// Writes, deletes, checkpoints on request, ends, rollbacks, undone ones and forks, in any order.
    #[test]
    fn a_run_is_always_what_a_model_that_copies_everything_says(ops in proptest::collection::vec((0u8..9, any::<u8>(), any::<u8>()), 1..24)) {
        let mut scene = Scene::chat(json!({"tools": {"maxRounds": 200, "maxCallsPerRun": 400}}));
        let mut model = Model::default();
        model.copies.insert("start".to_owned(), Copied::of(&scene.run));
        for (n, (op, by, other)) in ops.into_iter().enumerate() {
            if scene.run.is_over() && op < 5 {
                let resumed = Input::Resumed { additional_rounds: None };
                if scene.try_feed(resumed).is_err() {
                    continue;
                }
            }
            // A fork that was taken back to its first step.
            if op < 5 && scene.run.next() == Step::PrepareContext {
                scene.feed(Input::ContextReady { binding: json!({"modelId": "m"}), request: json!({}), tools: json!([]) });
            }
            match op {
                // One or two calls; where it ends in between, the second is open.
                0..=3 => {
                    let call = |at: usize| format!("c{n}_{at}");
                    ask(&mut scene, n);
                    scene.reply(ModelTurn {
                        text: format!("turn {n}"),
                        tool_calls: vec![native(&call(1), "w", json!({"n": n})), native(&call(2), "x", json!({"n": n}))],
                        message: json!({"role": "assistant", "content": format!("turn {n}")}),
                        ..ModelTurn::default()
                    });
                    scene.start(&call(1));
                    let outcome = Outcome::Success { result: json!(n), spilled: None };
                    let change = change(by, (op != 3).then_some(other), &scene.run);
                    scene.end_with(&call(1), outcome, change);
                    model.hear(&scene, None);
                    if by.is_multiple_of(5) {
                        scene.feed(failed(ErrorCode::AgentTransient));
                    } else {
                        scene.start(&call(2)).end(&call(2)).block_end();
                    }
                }
                4 => {
                    scene.feed(Input::CheckpointRequested { request_id: n.to_string(), note: None });
                }
                5 => {
                    if !scene.run.is_over() {
                        scene.feed(failed(ErrorCode::AgentTransient));
                    }
                }
                6 | 7 => {
                    if !scene.run.is_over() {
                        scene.feed(Input::CancelRequested).feed(Input::Stopped);
                    }
                    let last = scene.drafts.iter().rev().find_map(|draft| match &draft.kind {
                        RunEventKind::RunRolledBack(back) => Some(back.before_checkpoint_id.to_string()),
                        _ => None,
                    });
                    let to = match last {
                        Some(undone) if op == 7 => undone,
                        _ => model.any(by).unwrap().to_owned(),
                    };
                    let before = scene.run.clone();
                    let input = back(&scene, &to, RollbackScope::Workspace);
                    scene.feed(input);
                    model.copies[&to].check(&scene.run)?;
                    model.hear(&scene, Some(&before));
                }
                _ => {
                    let from = model.any(by).unwrap().to_owned();
                    let Input::Created(created) = scene.fed[0].input.clone() else { unreachable!() };
                    let past = at(&scene, &from);
                    let created = Created {
                        run_id: format!("run_{n}").as_str().into(),
                        fork: Some(Arc::new(past.forked(CheckpointId::new(from.as_str()), 1, false))),
                        ..Created::clone(&created)
                    };
                    let mut fork = Scene::of(Input::Created(Arc::new(created)));
                    let copy = model.copies[&from].clone();
                    copy.check(&fork.run)?;
                    let mut forked = Model::default();
                    forked.hear(&fork, None);
                    let files = copy.files.clone().into_iter().collect();
                    fork.feed(Input::WorkspaceReady { files, is_missing: false });
                    fork.feed(Input::ContextReady { binding: json!({"modelId": "m"}), request: json!({}), tools: json!([]) });
                    copy.check(&fork.run)?;
                    prop_assert_eq!(fork.run.spent(), &Spent::default());
                    forked.copies.insert("start".to_owned(), Copied::of(&fork.run));
                    (scene, model) = (fork, forked);
                }
            }
            model.hear(&scene, None);
        }
        // Told again from its journal it is the same run, and every checkpoint is what it was.
        let journal: Vec<Stamped> = scene.fed.iter().map(|fed| serde_json::from_str(&serde_json::to_string(fed).unwrap()).unwrap()).collect();
        let (mut again, mut drafts) = AgentRun::begin(&journal[0]).unwrap();
        for input in &journal[1..] {
            drafts.extend(again.apply(input).unwrap());
        }
        let saved: AgentRun = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
        prop_assert_eq!(&saved, &again);
        prop_assert_eq!(&again, &scene.run);
        prop_assert_eq!(&drafts, &scene.drafts);
        for (id, copy) in &model.copies {
            let found = at(&scene, id);
            prop_assert_eq!(&found.workspace().files, &copy.files, "{}", id);
            prop_assert_eq!(found.sent().len(), copy.sent.len());
        }
    }
}

#[test]
fn a_fork_tells_where_it_comes_from_and_holds_its_files_from_the_first_step() {
    let mut scene = Scene::chat(json!({}));
    worked(&mut scene);
    let past = at(&scene, "cp_000001");
    let Input::Created(created) = scene.fed[0].input.clone() else {
        unreachable!()
    };
    let created = Created {
        fork: Some(Arc::new(past.forked("cp_000001".into(), 7, false))),
        ..Created::clone(&created)
    };
    let mut fork = Scene::of(Input::Created(Arc::new(created)));
    let RunEventKind::RunCreated(told) = &fork.drafts[0].kind else {
        panic!("{:?}", fork.drafts[0]);
    };
    assert_eq!(
        told.extra["forkedFrom"],
        json!({"runId": "run_1", "checkpointId": "cp_000001", "seq": 7})
    );
    assert!(fork.heard().contains("checkpoint_created"));
    assert_eq!(fork.run.workspace().files["output/main.md"], file("one"));
    assert!(matches!(fork.run.set_back(), Some(SetBack::Fork { .. })));
    // An id of the conversation that it has is not used again.
    fork.prepare();
    fork.calls(&[native("c1", "x", json!({}))]);
    assert_ne!(
        fork.run.turn().unwrap().blocks[0].calls[0].call.as_str(),
        "c1"
    );
}
