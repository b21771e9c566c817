//! Rollbacks, summaries and agents that work for others, all in one run and in any order, beside a model that copies
//! everything at each checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::event::{CheckpointId, InvocationId, RollbackScope, RunEventKind, TaskId};
use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::testing::{Scene, compaction, failed, file, native, written};
use super::*;
use crate::workspace::state::FileInfo;

/// What a run is at a moment.
#[derive(Debug, Clone, PartialEq)]
struct Copied {
    files: BTreeMap<String, FileInfo>,
    sent: Vec<Arc<Json>>,
    dropped: Vec<Dropped>,
    open: Vec<String>,
}

impl Copied {
    fn of(run: &AgentRun) -> Self {
        let open = run.open_children().map(|child| child.task.to_string());
        Self {
            files: run.workspace().files.clone(),
            sent: run.sent().to_vec(),
            dropped: run.dropped().to_vec(),
            open: open.collect(),
        }
    }
}

struct Play {
    scene: Scene,
    copies: BTreeMap<String, Copied>,
    heard: usize,
}

fn turn(calls: Vec<Json>) -> ModelTurn {
    ModelTurn {
        tool_calls: calls,
        message: json!({"role": "assistant", "content": "hm"}),
        usage: json!({"total_tokens": 3}),
        ..ModelTurn::default()
    }
}

fn asked(run: &AgentRun, n: usize, oversize: Option<Oversize>) -> Input {
    Input::ModelAsked {
        keep: run.sent().len(),
        add: vec![
            Arc::new(json!({"role": "assistant", "content": n})),
            Arc::new(json!({"role": "user", "content": n})),
        ],
        request: json!({}),
        guidance: 0,
        arrived: run.arrived().len(),
        oversize,
    }
}

fn ended(call: &str, change: crate::workspace::state::WorkspaceChange) -> Input {
    Input::CallEnded {
        call: call.into(),
        observation: Arc::new(Observation::success("w", call)),
        elapsed_ms: 1,
        change,
        skill_chars: 0,
        worlds: Vec::new(),
        used: None,
        full: None,
    }
}

impl Play {
    fn new() -> Self {
        let scene = Scene::chat(json!({
            "tools": {"allow": ["*"], "maxRounds": 500, "maxCallsPerRun": 500},
            "delegation": {"canDelegate": true, "maxConcurrentInvocations": 64, "maxInvocationsPerRun": 100},
        }));
        let start = Copied::of(&scene.run);
        Self {
            scene,
            copies: BTreeMap::from([("start".to_owned(), start)]),
            heard: 0,
        }
    }

    /// One input, and what was made of it.
    fn feed(&mut self, input: Input) {
        let before = Copied::of(&self.scene.run);
        self.scene.feed(input);
        for draft in &self.scene.drafts[self.heard..] {
            if let RunEventKind::CheckpointCreated(made) = &draft.kind {
                let copy = match made.reason.as_str() {
                    "before_rollback" => Copied {
                        open: Vec::new(),
                        ..before.clone()
                    },
                    _ => Copied::of(&self.scene.run),
                };
                self.copies.insert(made.checkpoint_id.to_string(), copy);
            }
        }
        self.heard = self.scene.drafts.len();
    }

    fn feed_child(&mut self, child: &InvocationId, input: Input) {
        self.feed(Input::Child {
            invocation: child.clone(),
            input: Box::new(input),
        });
    }

    /// A round of whoever has the run, perhaps with a shorter request, that ends with these calls.
    fn round(&mut self, n: usize, is_long: bool, calls: Vec<Json>) {
        let oversize = is_long.then_some(Oversize {
            estimate: 20,
            budget: 10,
            is_hard: false,
        });
        let input = asked(&self.scene.run, n, oversize);
        self.feed(input);
        if is_long {
            let up_to = self.scene.run.sent().len() - 1;
            let kept = [0];
            let kept = &kept[..usize::from(up_to > 1)];
            let mut made = compaction(up_to, kept);
            made.dropped = innkeeper_store::BlobId::of(format!("{n}").as_bytes());
            self.feed(Input::Compacted(Arc::new(made)));
        }
        self.feed(Input::ModelReplied(Arc::new(turn(calls))));
    }

    fn begin(&mut self, call: &str) {
        self.feed(Input::CallStarted {
            call: call.into(),
            idempotent: false,
        });
    }

    fn end_block(&mut self) {
        self.feed(Input::BlockEnded {
            block: 0,
            notes: Vec::new(),
        });
    }

    fn writes(&mut self, n: usize, by: u8) {
        let call = format!("w{n}");
        let calls = vec![native(&call, "w", json!({"n": n}))];
        self.round(n, by.is_multiple_of(3), calls);
        self.begin(&call);
        let path = format!("output/{}.md", by % 3);
        self.feed(ended(&call, written(&path, &format!("{n}"))));
        self.end_block();
    }

    fn gives(&mut self, n: usize, by: u8) {
        let call = format!("d{n}");
        let calls = vec![native(&call, "agent.delegate", json!({"n": n}))];
        self.round(n, by.is_multiple_of(4), calls);
        self.begin(&call);
        let assignment = Assignment {
            call: call.as_str().into(),
            task: TaskId::new(format!("task_{n}")),
            invocation: InvocationId::new(format!("inv_{n}")),
            profile_id: "helper".into(),
            profile_source: "file:helper".to_owned(),
            profile: testing::profile(json!({"tools": {"allow": ["*"]}})),
            title: String::new(),
            brief: json!({"role": "user", "content": "Find out"}),
            model: String::new(),
            skills: crate::skills::RunSkills::default(),
            max_rounds: None,
            max_calls: None,
            keeps_state: true,
            edition: Edition::LATEST,
        };
        self.feed(Input::Delegated(Arc::new(assignment)));
        self.feed(ended(&call, Default::default()));
        self.end_block();
    }

    fn works(&mut self, n: usize, by: u8) {
        let children = self.scene.run.children();
        let living: Vec<_> = children
            .iter()
            .filter(|(_, child)| !child.is_over())
            .map(|(id, _)| (*id).clone())
            .collect();
        if living.is_empty() {
            return;
        }
        let child = living[usize::from(by) % living.len()].clone();
        let part = |play: &Self| play.scene.run.of_invocation(&child).clone();
        if part(self).next() == Step::PrepareContext {
            self.feed_child(
                &child,
                Input::ContextReady {
                    binding: json!({}),
                    request: json!({}),
                    tools: json!([]),
                },
            );
        }
        let is_long = by.is_multiple_of(5) && part(self).sent().len() > 2;
        let oversize = is_long.then_some(Oversize {
            estimate: 20,
            budget: 10,
            is_hard: false,
        });
        let input = asked(&part(self), n, oversize);
        self.feed_child(&child, input);
        if is_long {
            let up_to = part(self).sent().len() - 1;
            self.feed_child(&child, Input::Compacted(Arc::new(compaction(up_to, &[0]))));
        }
        let returns = by.is_multiple_of(2);
        let tool = if returns { "task.return" } else { "w" };
        let call = format!("k{n}");
        let calls = vec![native(&call, tool, json!({"n": n}))];
        self.feed_child(&child, Input::ModelReplied(Arc::new(turn(calls))));
        self.feed_child(
            &child,
            Input::CallStarted {
                call: call.as_str().into(),
                idempotent: true,
            },
        );
        let mut change = Default::default();
        if returns {
            let result = TaskReturn {
                status: ReturnStatus::Completed,
                summary: "So.".to_owned(),
                confidence: None,
                artifacts: Vec::new(),
                findings: Vec::new(),
                warnings: Vec::new(),
                suggested_next_actions: Vec::new(),
                questions_for_caller: Vec::new(),
                file: file(&format!("so {n}")),
            };
            self.feed_child(
                &child,
                Input::TaskReturned {
                    call: call.as_str().into(),
                    result: Arc::new(result),
                },
            );
        } else {
            change = written("scratch/a.md", &format!("{n}"));
        }
        self.feed_child(&child, ended(&call, change));
        self.feed_child(
            &child,
            Input::BlockEnded {
                block: 0,
                notes: Vec::new(),
            },
        );
    }

    fn past(&self, id: &str) -> AgentRun {
        let (mut run, _) = AgentRun::begin(&self.scene.fed[0]).unwrap();
        for input in &self.scene.fed[1..] {
            let before = run.clone();
            let told = run.apply(input).unwrap();
            let found = told.iter().find_map(|draft| match &draft.kind {
                RunEventKind::CheckpointCreated(made) if made.checkpoint_id.as_str() == id => {
                    Some(made.reason.as_str())
                }
                _ => None,
            });
            match found {
                Some("before_rollback") => return before,
                Some(_) => return run,
                None if id == "start" && matches!(input.input, Input::ContextReady { .. }) => {
                    return run;
                }
                None => {}
            }
        }
        panic!("no {id}");
    }

    fn takes_back(&mut self, by: u8) -> Result<(), TestCaseError> {
        if !self.scene.run.is_over() {
            self.feed(Input::CancelRequested);
            self.feed(Input::Stopped);
        }
        let at = usize::from(by) % self.copies.len();
        let id = self.copies.keys().nth(at).unwrap().clone();
        let past = self.past(&id);
        let back = RolledBack {
            rollback_id: format!("back_{}", self.scene.fed.len()),
            checkpoint: CheckpointId::new(id.as_str()),
            event_seq: 1,
            scope: RollbackScope::Workspace,
            reason: None,
            restored: self.scene.run.way_back(&past),
        };
        self.feed(Input::RolledBack(Arc::new(back)));
        let run = &self.scene.run;
        let (then, now) = (&self.copies[&id], Copied::of(run));
        prop_assert_eq!(&now.files, &then.files, "{}", id);
        prop_assert_eq!(&now.sent, &then.sent);
        prop_assert_eq!(&now.dropped, &then.dropped);
        prop_assert!(now.open.is_empty() && !run.has_living_children());
        // Whoever was at work then is told to be so no more, once.
        for task in &then.open {
            let ends = run
                .arrived()
                .iter()
                .filter(|end| end.task.as_deref() == Some(task));
            let ends: Vec<_> = ends.collect();
            prop_assert_eq!(ends.len(), 1, "{}", task);
            let is_cancelled = matches!(ends[0].outcome, Outcome::Cancelled { .. });
            prop_assert!(is_cancelled);
        }
        // A fork from there is told the same.
        let forked = past.forked(CheckpointId::new(id.as_str()), 1, false);
        let told = serde_json::to_value(&forked).unwrap()["arrived"].to_string();
        for task in &then.open {
            prop_assert!(told.contains(task), "{} is not told of {}", id, task);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn files_conversation_and_tasks_are_what_they_were(ops in proptest::collection::vec((0_u8..9, any::<u8>()), 1..30)) {
        let mut play = Play::new();
        for (n, (op, by)) in ops.into_iter().enumerate() {
            if play.scene.run.is_over() {
                let resumed = Input::Resumed { additional_rounds: None };
                if play.scene.try_feed(resumed).is_err() {
                    break;
                }
                play.heard = play.scene.drafts.len();
            }
            if play.scene.run.next() == Step::PrepareContext {
                play.feed(Input::ContextReady { binding: json!({}), request: json!({}), tools: json!([]) });
            }
            match op {
                0 | 1 => play.writes(n, by),
                2 | 3 => play.gives(n, by),
                4..=6 => play.works(n, by),
                7 => play.feed(failed(ErrorCode::AgentTransient)),
                _ => play.takes_back(by)?,
            }
            if matches!(play.scene.run.next(), Step::Stop) {
                play.feed(Input::Stopped);
            }
        }
        let (mut again, mut told) = AgentRun::begin(&play.scene.fed[0]).unwrap();
        for input in &play.scene.fed[1..] {
            told.extend(again.apply(input).unwrap());
            again = serde_json::from_str(&serde_json::to_string(&again).unwrap()).unwrap();
        }
        prop_assert!(again == play.scene.run);
        prop_assert!(told == play.scene.drafts);
    }
}
