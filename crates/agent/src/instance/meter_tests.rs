use futures_util::future::poll_immediate;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::run::{Input, ModelTurn, Oversize, Stamped, testing};

/// To whom, for which tool, and of what how much.
type Left<'l> = (&'l str, Option<&'l str>, Option<u64>, Option<f64>);

fn agent(name: &str) -> AgentMeter {
    AgentMeter {
        run: Arc::default(),
        agent: InvocationId::new(name),
    }
}

impl AgentMeter {
    /// Another agent of the same run.
    fn beside(&self, name: &str) -> Self {
        Self {
            run: self.run.clone(),
            agent: InvocationId::new(name),
        }
    }

    fn allow(&self, left: &[Left<'_>]) {
        let mut counted = self.run.lock();
        counted.root = Some(InvocationId::new("root"));
        counted.left = left
            .iter()
            .map(|(agent, tool, tokens, cost)| Allowance {
                agent: InvocationId::new(*agent),
                tool: tool.map(str::to_owned),
                tokens: *tokens,
                cost: *cost,
            })
            .collect();
    }

    fn reserve_nothing(&self) {
        let mut counted = self.run.lock();
        for request in counted.open.values_mut().flat_map(BTreeMap::values_mut) {
            request.reserved = 0;
        }
    }

    fn now(&self, call: Option<&str>) -> Result<u64, NodeError> {
        let asked = ModelCall::default();
        let asking = self.asking(call, &asked);
        futures_util::FutureExt::now_or_never(asking).expect("it waits")
    }

    fn uses(&self, call: &str, usage: Json) {
        let request = self.now(Some(call)).unwrap();
        self.used(Some(call), request, &usage);
        self.ended(Some(call), request);
    }
}

fn long() -> ModelCall {
    let message = json!({"role": "user", "content": "a word and another ".repeat(40)});
    ModelCall {
        messages: vec![message].into(),
        ..ModelCall::default()
    }
}

#[test]
fn what_is_used_up_is_asked_for_no_more() {
    let root = agent("root");
    let asked = root.now(None).unwrap();
    root.used(None, asked, &json!({"total_tokens": 7}));
    let used = root.take_deliberation().unwrap();
    assert_eq!(used.unpriced, 1, "no limit, no price");
    root.run.lock().open.clear();
    root.allow(&[
        ("root", None, Some(100), None),
        ("root", Some("tool.a"), None, Some(0.5)),
    ]);
    root.run.begin("a", "tool_a");
    root.run.begin("b", "other");
    let first = root.now(Some("a")).unwrap();
    root.used(Some("a"), first, &json!({"total_tokens": 10, "cost": 0.2}));
    // A later word replaces an earlier one.
    root.used(Some("a"), first, &json!({"total_tokens": 30, "cost": 0.6}));
    let refused = root.now(Some("a")).unwrap_err();
    assert_eq!(refused.code, "agent.tool_model_budget_exhausted");
    root.uses("b", json!({"prompt_tokens": 60, "completion_tokens": 9}));
    let used = root.take_call("a").unwrap();
    assert_eq!((used.requests, used.cost, used.unpriced), (1, Some(0.6), 0));
    assert_eq!(root.take_call("a"), None, "once");
    assert!(root.now(Some("a")).is_err(), "what was taken counts on");
    root.uses("b", json!({"prompt_tokens": 1}));
    let refused = root.now(Some("c")).unwrap_err();
    assert_eq!(refused.code, "agent.model_budget_exhausted");
    let used = root.take_call("b").unwrap();
    assert_eq!((used.requests, used.tokens(), used.unpriced), (2, 70, 2));
}

#[test]
fn calls_side_by_side_and_agents_side_by_side_share_a_limit() {
    let root = agent("root");
    let (one, two) = (root.beside("one"), root.beside("two"));
    root.allow(&[
        ("root", Some("novel"), Some(50), None),
        ("one", Some("novel"), Some(20), None),
    ]);
    for call in ["a", "b", "of_one", "of_two"] {
        root.run.begin(call, "novel");
    }
    root.uses("a", json!({"total_tokens": 20}));
    one.uses("of_one", json!({"total_tokens": 20}));
    assert!(one.now(Some("of_one")).is_err(), "its own is used up");
    two.uses("of_two", json!({"total_tokens": 10}));
    for (meter, call) in [(&root, "b"), (&two, "of_two"), (&one, "of_one")] {
        assert!(meter.now(Some(call)).is_err(), "{call}");
    }
    // Of another tool nothing is said.
    root.run.begin("poem", "poem");
    two.uses("poem", json!({"total_tokens": 1_000}));
}

#[tokio::test]
async fn who_might_find_nothing_left_waits_for_those_under_way() {
    let root = agent("root");
    let child = root.beside("child");
    let asked = long();
    let size = asked.messages.iter().map(context::tokens).sum::<u64>();
    root.allow(&[("root", None, Some(size), None)]);
    let first = root.asking(Some("a"), &asked).await.unwrap();
    let mut second = Box::pin(child.asking(Some("b"), &asked));
    assert!(poll_immediate(&mut second).await.is_none(), "it waits");
    // Parts of one call do not wait for each other.
    assert!(
        poll_immediate(root.asking(Some("a"), &asked))
            .await
            .is_some()
    );
    root.used(Some("a"), first, &json!({"total_tokens": size / 2}));
    root.reserve_nothing();
    root.ended(Some("a"), first);
    let second = second.await.unwrap();
    child.used(Some("b"), second, &json!({"total_tokens": size}));
    assert!(root.asking(Some("c"), &asked).await.is_err());
}

/// A run at work, with what it may use.
fn at_work(budget: Json) -> AgentRun {
    use innkeeper_protocol::event::Presentation;
    let at = jiff::Timestamp::UNIX_EPOCH;
    let created = testing::created(
        Presentation::Background,
        json!({"agent": {"budget": budget}}),
    );
    let (mut run, _) = AgentRun::begin(&Stamped { at, input: created }).unwrap();
    for input in [
        Input::WorkspaceReady {
            files: Vec::new(),
            is_missing: false,
        },
        Input::ContextReady {
            binding: json!({}),
            request: json!({}),
            tools: json!([]),
        },
        Input::ModelAsked {
            keep: 0,
            add: vec![Arc::new(json!(1)), Arc::new(json!(2))],
            request: json!({}),
            guidance: 0,
            arrived: 0,
            oversize: Some(Oversize {
                estimate: 20,
                budget: 10,
                is_hard: false,
            }),
        },
    ] {
        run.apply(&Stamped { at, input }).unwrap();
    }
    run
}

#[tokio::test]
async fn what_the_journal_has_is_not_counted_twice() {
    let mut run = at_work(json!({"maxTokens": 70}));
    let root = agent(InvocationId::root().as_str());
    let mut feed = |input: Input| {
        let at = jiff::Timestamp::UNIX_EPOCH;
        run.apply(&Stamped { at, input }).unwrap();
        root.run.refresh(&run);
        let open = root.run.lock().open.len();
        (run.spent().tokens, open)
    };
    feed(testing::guidance("g", "go on"));
    let summary = root.own(Wanted::Summary);
    let request = root.run.ask(&summary, &ModelCall::default()).await.unwrap();
    root.run
        .used(&summary, request, &json!({"total_tokens": 40}));
    root.run.ended(&summary, request);
    root.run.tell(&summary);
    assert_eq!(
        feed(testing::guidance("h", "go on")),
        (0, 1),
        "not there yet"
    );
    let made = Arc::new(testing::compaction(1, &[]));
    assert_eq!(feed(Input::Compacted(made)), (40, 0));
    // With the 40 once more it would have nothing left.
    let reply = root.own(Wanted::Reply);
    let request = root.run.ask(&reply, &ModelCall::default()).await.unwrap();
    root.run.used(&reply, request, &json!({"total_tokens": 10}));
    root.run.tell(&reply);
    let turn = ModelTurn {
        text: "Well.".to_owned(),
        usage: json!({"total_tokens": 10}),
        ..ModelTurn::default()
    };
    assert_eq!(feed(Input::ModelReplied(Arc::new(turn))), (50, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whoever asks, in whatever order and however many at once: nothing goes out where what is used, and what is sure to be
    /// used by those under way, is as much as there is.
    #[test]
    fn nothing_goes_out_beyond_a_limit(
        moves in prop::collection::vec((0_usize..3, 0_usize..4, 0_u8..4, 1_u64..400), 1..80),
        whole in 50_u64..2_000, of_tool in 50_u64..1_000, of_child in 50_u64..1_000,
    ) {
        let root = agent("root");
        let agents = [root.beside("root"), root.beside("one"), root.beside("two")];
        root.allow(&[
            ("root", None, Some(whole), None),
            ("root", Some("x"), Some(of_tool), None),
            ("one", None, Some(of_child), None),
        ]);
        let tool = |call: usize| if call.is_multiple_of(2) { "x" } else { "y" };
        let name = |agent: usize, call: usize| format!("{agent}-{call}");
        for agent in 0..3 {
            for call in 0..4 {
                root.run.begin(&name(agent, call), tool(call));
            }
        }
        let size = long().messages.iter().map(context::tokens).sum::<u64>();
        // Agent, call, number, what it used.
        let mut requests: Vec<(usize, usize, u64, Option<u64>, bool)> = Vec::new();
        for (who, call, what, usage) in moves {
            let meter = &agents[who];
            let id = name(who, call);
            let mine = requests.iter().position(|(agent, own, .., over)| (*agent, *own, *over) == (who, call, false));
            match (what, mine) {
                (0 | 1, _) | (_, None) => {
                    let asked = long();
                    let asking = meter.asking(Some(&id), &asked);
                    let Some(Ok(request)) = futures_util::FutureExt::now_or_never(asking) else { continue };
                    for (left, is_its) in [
                        (whole, &(|_: usize, _: usize| true) as &dyn Fn(usize, usize) -> bool),
                        (of_tool, &|_, call| tool(call) == "x"),
                        (of_child, &|agent, _| agent == 1),
                    ] {
                        if !is_its(who, call) { continue }
                        let sure: u64 = requests.iter().filter(|(agent, call, ..)| is_its(*agent, *call)).map(|(agent, own, _, used, over)| match used {
                            Some(used) => *used,
                            None if *over || (*agent, *own) == (who, call) => 0,
                            None => size,
                        }).sum();
                        prop_assert!(sure < left, "{sure} of {left}");
                    }
                    requests.push((who, call, request, None, false));
                }
                (2, Some(mine)) => {
                    let (.., request, used, _) = &mut requests[mine];
                    *used = Some(usage);
                    meter.used(Some(&id), *request, &json!({"total_tokens": usage}));
                }
                (_, Some(mine)) => {
                    let (.., request, _, over) = &mut requests[mine];
                    *over = true;
                    meter.ended(Some(&id), *request);
                }
            }
        }
    }
}
