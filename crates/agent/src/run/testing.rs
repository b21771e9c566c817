//! Runs in short: what is fed, and what is told in one line.

use std::sync::Arc;

use innkeeper_protocol::event::{Presentation, ProfileId, RunEventKind, RunId, WorkspaceId};
use innkeeper_protocol::{ErrorCode, Observation, Outcome};
use innkeeper_store::BlobId;
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::*;
use crate::AgentProfile;
use crate::workspace::state::{FileChange, FileInfo, How, WorkspaceChange};

pub(super) struct Scene {
    pub(super) run: AgentRun,
    pub(super) fed: Vec<Stamped>,
    /// All that was told, statuses as `=calling_model`.
    pub(super) told: Vec<String>,
    pub(super) drafts: Vec<Draft>,
    millis: i64,
}

pub(crate) fn profile(changes: Json) -> AgentProfile {
    let mut profile = json!({
        "id": "writer", "displayName": "Writer",
        "preset": {}, "model": {}, "run": {}, "context": {}, "delegation": {}, "instructions": {},
        "tools": {}, "skills": {}, "workspace": {}, "plan": {}, "agent": {},
        "output": {"artifacts": [{"id": "main", "path": "output/main.md", "kind": "markdown", "target": "messageBody"}]},
    });
    for (section, fields) in changes.as_object().unwrap() {
        for (key, value) in fields.as_object().unwrap() {
            profile[section][key] = value.clone();
        }
    }
    serde_json::from_value(profile).unwrap()
}

pub(crate) fn created(presentation: Presentation, changes: Json) -> Input {
    Input::Created(Arc::new(Created {
        run_id: RunId::from("run_1"),
        workspace_id: WorkspaceId::from("chat_1"),
        stable_chat_id: "abc".to_owned(),
        chat_ref: json!({"kind": "character", "characterId": "A", "fileName": "B"}),
        generation_type: "normal".to_owned(),
        profile_id: ProfileId::from("writer"),
        profile_source: "built_in".to_owned(),
        profile: profile(changes),
        presentation,
        persist_base_state_id: None,
        generation_intent: None,
        messages: vec![json!({"role": "user", "content": "Write"})],
        is_snapshot: false,
        parameters: serde_json::Map::new(),
        world_info: None,
        chat: Vec::new(),
        private_state: Json::Null,
        model: String::new(),
        user: String::new(),
        project: String::new(),
        skill_scope_refs: None,
        skills: crate::skills::RunSkills::default(),
        fork: None,
        max_rounds: None,
    }))
}

/// A native call.
pub(crate) fn native(id: &str, tool: &str, arguments: Json) -> Json {
    json!({"id": id, "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}})
}

pub(super) fn file(text: &str) -> FileInfo {
    FileInfo {
        sha256: BlobId::of(text.as_bytes()),
        bytes: text.len() as u64,
        chars: text.chars().count() as u64,
        words: 1,
    }
}

pub(super) fn written(path: &str, text: &str) -> WorkspaceChange {
    WorkspaceChange {
        files: vec![FileChange {
            path: path.to_owned(),
            how: How::Written {
                mode: "replace".to_owned(),
            },
            old: None,
            new: Some(file(text)),
        }],
        reads: Vec::new(),
    }
}

pub(super) fn model_down(retryable: bool) -> Input {
    Input::ModelFailed {
        code: ErrorCode::ModelRequestFailed,
        message: "no answer".to_owned(),
        reason: None,
        retryable,
        arrived: None,
        used: None,
    }
}

pub(super) fn failed(code: ErrorCode) -> Input {
    Input::Failed {
        code,
        message: "broken".to_owned(),
        reason: None,
    }
}

pub(crate) fn guidance(id: &str, text: &str) -> Input {
    Input::GuidanceSubmitted {
        guidance_id: id.to_owned(),
        client_guidance_id: None,
        text: text.to_owned(),
    }
}

pub(super) fn task_ended(task: &str) -> Input {
    Input::TaskEnded {
        observation: Arc::new(Observation {
            task: Some(task.to_owned()),
            ..Observation::success("slow", "done")
        }),
        used: None,
    }
}

/// A summary of what stands before `up_to`, by a model that took 40 tokens for it.
pub(crate) fn compaction(up_to: usize, kept: &[usize]) -> Compaction {
    Compaction {
        up_to,
        kept: kept.to_vec(),
        summary: Arc::new(json!({"role": "user", "content": "in short"})),
        summary_chars: 8,
        is_cut: false,
        by: SummaryBy::Model,
        dropped: BlobId::of(b"[]"),
        dropped_count: (up_to - kept.len()) as u64,
        tokens_before: 20,
        tokens_after: 9,
        model: Some("small".to_owned()),
        usage: json!({"prompt_tokens": 30, "completion_tokens": 10}),
        requests: 1,
        cost: Some(0.25),
    }
}

impl Scene {
    pub(super) fn new(presentation: Presentation, changes: Json) -> Self {
        Self::of(created(presentation, changes))
    }

    pub(super) fn of(created: Input) -> Self {
        let first = Stamped {
            at: Timestamp::from_millisecond(0).unwrap(),
            input: created,
        };
        let (run, drafts) = AgentRun::begin(&first).unwrap();
        let mut scene = Self {
            run,
            fed: vec![first],
            told: Vec::new(),
            drafts: Vec::new(),
            millis: 0,
        };
        scene.hear(drafts);
        scene
    }

    /// A writer in the foreground, about to ask its model.
    pub(super) fn writer(changes: Json) -> Self {
        let mut scene = Self::new(Presentation::Foreground, changes);
        scene.prepare();
        scene
    }

    /// An agent whose plain words are its answer.
    pub(super) fn chat(changes: Json) -> Self {
        let mut scene = Self::new(Presentation::Background, changes);
        scene.prepare();
        scene
    }

    pub(super) fn prepare(&mut self) {
        self.feed(Input::WorkspaceReady {
            files: Vec::new(),
            is_missing: false,
        });
        self.feed(Input::ContextReady {
            binding: json!({"mode": "connectionRef", "modelId": "m"}),
            request: json!({"model": "m"}),
            tools: json!([]),
        });
    }

    fn hear(&mut self, drafts: Vec<Draft>) {
        for draft in &drafts {
            self.told.push(match &draft.kind {
                RunEventKind::StatusChanged(changed) => {
                    format!("={}", json!(changed.status).as_str().unwrap())
                }
                kind => kind.name().to_owned(),
            });
        }
        self.drafts.extend(drafts);
    }

    pub(super) fn after(&mut self, millis: i64) -> &mut Self {
        self.millis += millis;
        self
    }

    pub(super) fn try_feed(&mut self, input: Input) -> Result<(), Misfit> {
        let stamped = Stamped {
            at: Timestamp::from_millisecond(self.millis).unwrap(),
            input,
        };
        let before = self.run.clone();
        match self.run.apply(&stamped) {
            Ok(drafts) => {
                self.hear(drafts);
                self.fed.push(stamped);
                Ok(())
            }
            Err(misfit) => {
                assert!(
                    self.run == before,
                    "an unfit {:?} changed the run",
                    stamped.input
                );
                Err(misfit)
            }
        }
    }

    #[track_caller]
    pub(super) fn feed(&mut self, input: Input) -> &mut Self {
        let shown = format!("{input:?}");
        if let Err(misfit) = self.try_feed(input) {
            panic!("{misfit}: {shown}");
        }
        self
    }

    #[track_caller]
    pub(super) fn refuses(&mut self, input: Input) -> Why {
        self.try_feed(input).expect_err("it was taken").why
    }

    /// What was told since this was last asked.
    pub(super) fn heard(&mut self) -> String {
        std::mem::take(&mut self.told).join(" ")
    }

    #[track_caller]
    pub(super) fn ask(&mut self) -> &mut Self {
        let (guidance, arrived) = (self.run.guidance().len(), self.run.arrived().len());
        self.feed(Input::ModelAsked {
            oversize: None,
            keep: self.run.sent().len(),
            add: vec![Arc::new(json!({"role": "user", "content": "go"}))],
            request: json!({}),
            guidance,
            arrived,
        })
    }

    #[track_caller]
    pub(super) fn reply(&mut self, turn: ModelTurn) -> &mut Self {
        self.feed(Input::ModelReplied(Arc::new(turn)))
    }

    /// The model is asked and answers in words.
    #[track_caller]
    pub(super) fn says(&mut self, text: &str) -> &mut Self {
        self.ask().reply(ModelTurn {
            text: text.to_owned(),
            ..ModelTurn::default()
        })
    }

    /// The model is asked and calls.
    #[track_caller]
    pub(super) fn calls(&mut self, calls: &[Json]) -> &mut Self {
        self.ask().reply(ModelTurn {
            tool_calls: calls.to_vec(),
            ..ModelTurn::default()
        })
    }

    #[track_caller]
    pub(super) fn start(&mut self, call: &str) -> &mut Self {
        self.feed(Input::CallStarted {
            call: call.into(),
            idempotent: false,
        })
    }

    #[track_caller]
    pub(super) fn end_with(
        &mut self,
        call: &str,
        outcome: Outcome,
        change: WorkspaceChange,
    ) -> &mut Self {
        self.feed(Input::CallEnded {
            skill_chars: 0,
            worlds: Vec::new(),
            used: None,
            call: call.into(),
            observation: Arc::new(Observation::new("t", outcome)),
            elapsed_ms: 1,
            change,
            full: None,
        })
    }

    #[track_caller]
    pub(super) fn end(&mut self, call: &str) -> &mut Self {
        let outcome = Outcome::Success {
            result: "ok".into(),
            spilled: None,
        };
        self.end_with(call, outcome, WorkspaceChange::default())
    }

    #[track_caller]
    pub(super) fn block_end(&mut self) -> &mut Self {
        let Step::RunBlock { block } = self.run.next() else {
            panic!("no block runs: {:?}", self.run.next());
        };
        self.feed(Input::BlockEnded {
            block,
            notes: Vec::new(),
        })
    }

    /// One round with one call that does nothing.
    #[track_caller]
    pub(super) fn round(&mut self, id: &str, tool: &str, arguments: Json) -> &mut Self {
        self.calls(&[native(id, tool, arguments)]);
        let call = self.run.turn().unwrap().blocks[0].calls[0].call.clone();
        self.start(call.as_str()).end(call.as_str()).block_end()
    }

    #[track_caller]
    pub(super) fn request_commit(&mut self, call: &str, commit: &str) -> &mut Self {
        self.feed(Input::CommitRequested {
            commit: commit.into(),
            call: call.into(),
            path: "output/main.md".to_owned(),
            mode: "replace".to_owned(),
            reason: None,
            file: file("text"),
        })
    }

    #[track_caller]
    pub(super) fn resolve(&mut self, commit: &str) -> &mut Self {
        self.feed(Input::CommitResolved {
            commit: commit.into(),
            message_id: "7".to_owned(),
            message_index: Some(7),
        })
    }

    /// A whole round that publishes.
    #[track_caller]
    pub(super) fn publish(&mut self, call: &str, commit: &str) -> &mut Self {
        self.calls(&[native(call, "workspace.commit", json!({}))]);
        self.start(call).request_commit(call, commit);
        self.resolve(commit).end(call).block_end()
    }

    #[track_caller]
    pub(super) fn finish(&mut self, call: &str) -> &mut Self {
        self.calls(&[native(call, "workspace.finish", json!({}))]);
        self.start(call);
        self.feed(Input::FinishCalled {
            call: call.into(),
            reason: Some("done".to_owned()),
        });
        self.end(call).block_end()
    }

    #[track_caller]
    pub(super) fn persist(&mut self) -> &mut Self {
        self.feed(Input::PersistCommitted {
            state_id: "run_1".to_owned(),
        })
    }

    pub(super) fn failure(&self) -> (&'static str, Option<&str>) {
        let failure = self.run.failure().expect("it has not failed");
        (failure.code.as_str(), failure.reason.as_deref())
    }

    /// Codes of what the model is told about its last reply.
    pub(super) fn told_model(&self) -> Vec<String> {
        let turn = self.run.turn().expect("no turn");
        let of_calls = turn
            .calls()
            .filter_map(|call| call.observation())
            .map(|seen| &**seen);
        let of_blocks = turn.blocks.iter().flat_map(|block| &block.notes);
        let all = of_calls.chain(of_blocks).chain(&turn.notes);
        all.map(|seen| match &seen.outcome {
            Outcome::Error(failure) => failure.reason.clone().unwrap_or(failure.code.to_string()),
            Outcome::Notice { reason, .. } => reason.clone(),
            other => seen
                .error_code()
                .map_or(format!("{other:?}"), |code| code.to_string()),
        })
        .collect()
    }
}
