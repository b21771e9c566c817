//! Limits of a run hold for all its agents together, whoever calls what beside whom, and also after a restart.

use std::collections::BTreeMap;
use std::sync::Arc;

use innkeeper_protocol::Observation;
use innkeeper_protocol::event::{InvocationId, TaskId};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::testing::{Scene, native};
use super::*;

/// What the whole run may do.
const RUN: Limits = Limits {
    calls: 25,
    of_x: 6,
    tokens: 900,
    tokens_of_x: 120,
};
/// And one of those who work for it.
const CHILD: Limits = Limits {
    calls: 9,
    of_x: 4,
    tokens: 400,
    tokens_of_x: 90,
};
/// As models write it, and as it calls itself.
const NAMES: [&str; 3] = ["x.y", "x_y", "the_alias"];

struct Limits {
    calls: u32,
    of_x: u32,
    tokens: u64,
    tokens_of_x: u64,
}

impl Limits {
    fn sections(&self) -> Json {
        json!({
            "tools": {"allow": ["*"], "maxRounds": 60, "maxCallsPerRun": self.calls, "maxCallsPerTool": {"x.y": self.of_x}},
            "agent": {"textTurn": "answers",
                "budget": {"maxTokens": self.tokens, "maxTokensPerTool": {"x.y": self.tokens_of_x}}},
            "delegation": {"canDelegate": true, "maxConcurrentInvocations": 3, "maxInvocationsPerRun": 8},
        })
    }
}

/// What was seen of an agent, or of all of them.
#[derive(Debug, Default, Clone)]
struct Seen {
    calls: u32,
    of_x: u32,
    tokens: u64,
    tokens_of_x: u64,
}

fn is_x(call: &PlannedCall) -> bool {
    call.meant() == "x.y" || call.tool == "x_y"
}

fn assignment(call: &PlannedCall, number: usize, edition: Edition) -> Assignment {
    let mut sections = CHILD.sections();
    sections["delegation"] = json!({});
    Assignment {
        call: call.call.clone(),
        task: TaskId::new(format!("task_{number}")),
        invocation: InvocationId::new(format!("inv_{number}")),
        profile_id: "helper".into(),
        profile_source: "file:helper".to_owned(),
        profile: testing::profile(sections),
        title: String::new(),
        brief: json!({"role": "user", "content": "Find out"}),
        model: String::new(),
        skills: crate::skills::RunSkills::default(),
        max_rounds: None,
        max_calls: None,
        keeps_state: true,
        edition,
    }
}

/// Several calls of one reply, by the bits of a number.
fn reply(by: u8, number: usize, is_boss: bool) -> ModelTurn {
    let call = |n: u8, tool: &str| {
        native(
            &format!("c{number}_{n}"),
            tool,
            json!({"n": number, "m": n}),
        )
    };
    let mut calls: Vec<Json> = (0..by % 4)
        .map(|n| match (by >> (2 + n)) % 4 {
            0 => call(n, "other"),
            which => call(n, NAMES[usize::from(which - 1)]),
        })
        .collect();
    if is_boss && by.is_multiple_of(3) {
        calls.push(call(7, "agent.delegate"));
    }
    ModelTurn {
        tool_calls: calls,
        meant: BTreeMap::from([
            ("the_alias".to_owned(), "x.y".to_owned()),
            ("x_y".to_owned(), "x.y".to_owned()),
        ]),
        usage: json!({"total_tokens": u64::from(by % 16)}),
        ..ModelTurn::default()
    }
}

struct Play {
    scene: Scene,
    run: Seen,
    agents: BTreeMap<InvocationId, Seen>,
    edition: Edition,
}

impl Play {
    fn new(edition: Edition) -> Self {
        Self {
            scene: Scene::chat(RUN.sections()),
            run: Seen::default(),
            agents: BTreeMap::new(),
            edition,
        }
    }

    fn see(&mut self, agent: &InvocationId, see: impl Fn(&mut Seen)) {
        see(&mut self.run);
        see(self.agents.entry(agent.clone()).or_default());
    }

    fn feed(&mut self, agent: &InvocationId, input: Input) -> bool {
        let input = match *agent == InvocationId::root() {
            true => input,
            false => Input::Child {
                invocation: agent.clone(),
                input: Box::new(input),
            },
        };
        self.scene.try_feed(input).is_ok()
    }

    fn part(&self, agent: &InvocationId) -> &AgentRun {
        self.scene.run.of_invocation(agent)
    }

    /// What leads on for that agent.
    fn step(&mut self, agent: &InvocationId, by: u8, number: usize) {
        let part = self.part(agent);
        let is_boss = part.task().is_none();
        match part.next() {
            Step::PrepareContext => {
                let input = Input::ContextReady {
                    binding: json!({}),
                    request: json!({}),
                    tools: json!([]),
                };
                self.feed(agent, input);
            }
            Step::Ask { .. } => {
                let input = Input::ModelAsked {
                    keep: part.sent().len(),
                    add: vec![Arc::new(json!({"role": "user", "content": "go"}))],
                    request: json!({}),
                    guidance: 0,
                    arrived: part.arrived().len(),
                    oversize: None,
                };
                self.feed(agent, input);
            }
            Step::Deliberate { .. } => {
                let turn = reply(by, number, is_boss);
                let used = ModelUse::of(1, &turn.usage, None).tokens();
                if self.feed(agent, Input::ModelReplied(Arc::new(turn))) {
                    self.see(agent, |seen| seen.tokens += used);
                    self.count_planned(agent);
                }
            }
            Step::RunBlock { block } => self.act(agent, block, by, number),
            Step::Stop => {
                self.feed(agent, Input::Stopped);
            }
            _ => {}
        }
    }

    /// What a reply has taken of the limits before anything of it runs.
    fn count_planned(&mut self, agent: &InvocationId) {
        let turn = self.part(agent).turn().cloned();
        let calls = turn.iter().flat_map(Turn::calls);
        let planned: Vec<bool> = calls.filter(|call| call.is_open()).map(is_x).collect();
        if planned.contains(&true) {
            assert!(self.run.tokens_of_x < RUN.tokens_of_x, "{:?}", self.run);
        }
        self.see(agent, |seen| {
            seen.calls += planned.len() as u32;
            seen.of_x += planned.iter().filter(|is_x| **is_x).count() as u32;
        });
    }

    fn act(&mut self, agent: &InvocationId, block: usize, by: u8, number: usize) {
        let turn = self.part(agent).turn().unwrap();
        // Side by side: whichever of them.
        let open: Vec<_> = turn
            .calls()
            .filter(|call| call.is_open())
            .cloned()
            .collect();
        if open.is_empty() {
            let notes = Vec::new();
            self.feed(agent, Input::BlockEnded { block, notes });
            return;
        }
        let call = &open[usize::from(by) % open.len()];
        if call.state == CallState::Waiting {
            let input = Input::CallStarted {
                call: call.call.clone(),
                idempotent: by.is_multiple_of(2),
            };
            self.feed(agent, input);
            if call.tool == "agent.delegate" {
                let given = assignment(call, number, self.edition);
                self.feed(agent, Input::Delegated(Arc::new(given)));
            }
            return;
        }
        let used = is_x(call).then(|| ModelUse::of(1, &json!({"total_tokens": by % 32}), None));
        let tokens = used.as_ref().map_or(0, ModelUse::tokens);
        let input = Input::CallEnded {
            call: call.call.clone(),
            observation: Arc::new(Observation::success(call.tool.as_str(), by)),
            elapsed_ms: 1,
            change: Default::default(),
            skill_chars: 0,
            worlds: Vec::new(),
            used,
            full: None,
        };
        if self.feed(agent, input) {
            self.see(agent, |seen| {
                seen.tokens += tokens;
                seen.tokens_of_x += tokens;
            });
        }
    }

    fn restart(&mut self) {
        let saved = serde_json::to_string(&self.scene.run).unwrap();
        self.scene.run = serde_json::from_str(&saved).unwrap();
        self.feed(&InvocationId::root(), Input::Recovered);
    }

    fn living(&self) -> Vec<InvocationId> {
        let children = self.scene.run.children().into_iter();
        let living = children.filter(|(_, child)| !child.is_over());
        let mut all = vec![InvocationId::root()];
        all.extend(living.map(|(id, _)| id.clone()));
        all
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_tree_of_agents_goes_beyond_a_limit(moves in prop::collection::vec((any::<u8>(), any::<u8>()), 1..400)) {
        let mut play = Play::new(Edition::LATEST);
        for (number, (who, by)) in moves.into_iter().enumerate() {
            if who == 0 {
                play.restart();
                continue;
            }
            let living = play.living();
            let agent = &living[usize::from(who) % living.len()];
            let before = (play.run.tokens, play.part(agent).next());
            play.step(agent, by, number);
            let is_asked = matches!(before.1, Step::Ask { .. })
                && matches!(play.part(agent).next(), Step::Deliberate { .. });
            prop_assert!(!is_asked || before.0 < RUN.tokens, "asked with {} tokens used", before.0);
            let run = &play.run;
            prop_assert!(run.calls <= RUN.calls && run.of_x <= RUN.of_x, "{:?}", run);
            prop_assert_eq!(play.scene.run.spent().calls, run.calls);
            prop_assert_eq!(play.scene.run.spent().tokens, run.tokens);
            for (id, own) in &play.agents {
                if *id != InvocationId::root() {
                    prop_assert!(own.calls <= CHILD.calls && own.of_x <= CHILD.of_x, "{} {:?}", id, own);
                }
            }
        }
    }
}

#[test]
fn a_task_does_not_bring_more_calls_of_a_tool() {
    let given = |edition| {
        let mut play = Play::new(edition);
        let root = InvocationId::root();
        let delegates = native("d", "agent.delegate", json!({}));
        play.scene.calls(&[delegates]).start("d");
        let call = play.scene.run.planned_call(&"d".into()).unwrap().clone();
        let assigned = assignment(&call, 0, edition);
        assert!(play.feed(&root, Input::Delegated(Arc::new(assigned))));
        play.scene.end("d").block_end();
        // Four of the six are the boss's.
        for n in 0..4 {
            play.scene.round(&format!("b{n}"), "x.y", json!({"n": n}));
        }
        let child = InvocationId::new("inv_0");
        play.step(&child, 0, 0);
        play.step(&child, 0, 0);
        let calls = (0..3).map(|n| native(&format!("k{n}"), "the_alias", json!({"n": n})));
        let turn = ModelTurn {
            tool_calls: calls.collect(),
            meant: BTreeMap::from([("the_alias".to_owned(), "x.y".to_owned())]),
            ..ModelTurn::default()
        };
        assert!(play.feed(&child, Input::ModelReplied(Arc::new(turn))));
        play.count_planned(&child);
        play.run.of_x
    };
    assert_eq!(given(Edition::LATEST), 2, "two were left");
    // Told again as it was, where it was begun before that was so.
    assert_eq!(given(Edition::First), 3);
}

#[test]
fn who_is_over_keeps_nothing_but_what_it_came_to() {
    let mut play = Play::new(Edition::LATEST);
    let root = InvocationId::root();
    play.scene
        .calls(&[native("d", "agent.delegate", json!({}))])
        .start("d");
    let call = play.scene.run.planned_call(&"d".into()).unwrap().clone();
    let assigned = assignment(&call, 0, Edition::LATEST);
    play.feed(&root, Input::Delegated(Arc::new(assigned)));
    play.scene.end("d").block_end();
    let child = InvocationId::new("inv_0");
    play.step(&child, 0, 0);
    play.step(&child, 0, 0);
    play.feed(
        &child,
        testing::failed(innkeeper_protocol::ErrorCode::AgentInternalError),
    );
    let was_asked = play.part(&child).sent().len();
    assert_eq!(was_asked, 1, "what ended it can be looked at");
    play.feed(&root, testing::guidance("g", "go on"));
    let part = play.part(&child);
    assert!(part.sent().is_empty() && part.created().messages.is_empty());
    assert_eq!(part.spent().rounds, 1);
    let (_, kept) = play.scene.run.children().remove(0);
    assert_eq!(kept.status, TaskStatus::Failed);
}

#[test]
fn what_came_to_nothing_is_paid_all_the_same() {
    let mut scene = Scene::chat(json!({"run": {"modelRetry": {"maxRetries": 3, "intervalMs": 1}}}));
    let used = |tokens: u64| ModelUse::of(1, &json!({"total_tokens": tokens}), Some(0.5));
    let down = |used: Option<ModelUse>| match testing::model_down(true) {
        Input::ModelFailed {
            code,
            message,
            reason,
            retryable,
            arrived,
            ..
        } => Input::ModelFailed {
            code,
            message,
            reason,
            retryable,
            arrived,
            used,
        },
        _ => unreachable!(),
    };
    scene.ask().feed(down(Some(used(7)))).feed(Input::Rested);
    scene.feed(down(None)).feed(Input::Rested);
    assert_eq!((scene.run.spent().tokens, scene.run.spent().cost), (7, 0.5));
    // Nothing is under way that could be given up.
    let given_up = |wanted| Input::AskingStopped {
        used: used(11),
        wanted,
    };
    scene.feed(Input::CancelRequested);
    scene.feed(given_up(Wanted::Reply));
    scene.feed(given_up(Wanted::Summary));
    scene.feed(Input::Stopped);
    assert_eq!(scene.refuses(given_up(Wanted::Reply)), Why::Over);
    let spent = scene.run.spent();
    assert_eq!((spent.tokens, spent.compaction.tokens), (29, 11));
    assert_eq!(spent.by_agent["writer"].requests, 3);
}

#[test]
fn a_tool_is_counted_once_by_whatever_names_it_is_called() {
    let mut play = Play::new(Edition::LATEST);
    for (n, name) in NAMES.into_iter().enumerate() {
        let root = InvocationId::root();
        play.step(&root, 0, n);
        let turn = ModelTurn {
            tool_calls: vec![native(&format!("c{n}"), name, json!({"n": n}))],
            meant: reply(0, 0, false).meant,
            ..ModelTurn::default()
        };
        play.scene.reply(turn);
        for _ in 0..3 {
            play.step(&root, 0, n);
        }
    }
    let by_tool = &play.scene.run.spent().by_tool;
    assert_eq!(by_tool.len(), 1, "{by_tool:?}");
    assert_eq!(by_tool["x.y"].calls, 3);
}
