//! Requests that are too long, and what is counted by whom.

use std::sync::Arc;

use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::RunEventKind;
use serde_json::{Value as Json, json};

use super::testing::*;
use super::*;

fn words(text: &str) -> Arc<Json> {
    Arc::new(json!({"role": "user", "content": text}))
}

fn asked(scene: &Scene, add: &[&str], oversize: bool) -> Input {
    Input::ModelAsked {
        keep: scene.run.sent().len(),
        add: add.iter().map(|text| words(text)).collect(),
        request: json!({}),
        guidance: 0,
        arrived: 0,
        oversize: oversize.then_some(Oversize {
            estimate: 20,
            budget: 10,
            is_hard: false,
        }),
    }
}

fn too_long() -> Input {
    Input::ModelFailed {
        code: ErrorCode::ModelContextTooLong,
        message: "at most 9 tokens".to_owned(),
        reason: None,
        retryable: false,
        arrived: None,
        used: None,
    }
}

fn sent(scene: &Scene) -> Vec<&str> {
    let sent = scene.run.sent().iter();
    sent.map(|message| message["content"].as_str().unwrap())
        .collect()
}

#[test]
fn what_gives_way_is_replaced_before_the_request_goes_out() {
    let mut scene = Scene::chat(json!({}));
    scene.feed(asked(&scene, &["a", "b", "c", "d"], true));
    assert_eq!(scene.run.next(), Step::Compact { round: 1 });
    scene.heard();
    for (up_to, kept) in [
        (0, vec![]),
        (5, vec![]),
        (1, vec![0]),
        (3, vec![2, 1]),
        (2, vec![2]),
    ] {
        let unfit = Compaction {
            kept,
            up_to,
            ..compaction(4, &[])
        };
        let why = scene.refuses(Input::Compacted(Arc::new(unfit)));
        assert_eq!(why, Why::Unfit, "{up_to}");
    }
    scene.feed(Input::Compacted(Arc::new(compaction(3, &[0]))));
    assert_eq!(sent(&scene), ["a", "in short", "d"]);
    assert_eq!(
        scene.heard(),
        "context_compacted model_call_attempt_started"
    );
    let told = scene.drafts.iter().find_map(|draft| match &draft.kind {
        RunEventKind::ContextCompacted(told) => Some(told),
        _ => None,
    });
    let told = told.unwrap();
    assert_eq!((told.messages_before, told.messages_after), (4, 3));
    assert_eq!((told.dropped_count, told.summary_by.as_str()), (2, "model"));
    assert_eq!(
        scene.run.next(),
        Step::Deliberate {
            round: 1,
            attempt: 1
        }
    );
    scene.refuses(Input::CompactionSkipped);
    // It counts, and is told apart.
    let spent = scene.run.spent();
    assert_eq!((spent.tokens, spent.cost), (40, 0.25));
    assert_eq!(spent.compaction.tokens, 40);
    assert_eq!(spent.by_agent["writer"].requests, 1);
    // What follows goes on from there.
    scene.reply(ModelTurn {
        tool_calls: vec![native("1", "x", json!({}))],
        ..ModelTurn::default()
    });
    scene.start("1").end("1").feed(Input::BlockEnded {
        block: 0,
        notes: Vec::new(),
    });
    scene.feed(asked(&scene, &["e"], true));
    scene.feed(Input::Compacted(Arc::new(compaction(3, &[0]))));
    assert_eq!(sent(&scene), ["a", "in short", "e"]);
    assert_eq!(scene.run.dropped().len(), 2);
}

#[test]
fn what_cannot_be_made_shorter_goes_out_as_it_is() {
    let mut scene = Scene::chat(json!({}));
    scene.feed(asked(&scene, &["a"], true));
    scene.feed(Input::Recovered);
    assert_eq!(scene.run.next(), Step::Compact { round: 1 });
    scene.feed(Input::CompactionSkipped);
    assert_eq!(sent(&scene), ["a"]);
    scene.reply(ModelTurn {
        text: "Done".to_owned(),
        ..ModelTurn::default()
    });
}

#[test]
fn a_provider_that_finds_it_too_long_is_heard_once_a_round() {
    let mut scene = Scene::chat(json!({}));
    scene
        .feed(asked(&scene, &["a", "b"], false))
        .feed(too_long());
    assert_eq!(scene.run.next(), Step::Compact { round: 1 });
    let compacting = scene.run.compacting().unwrap();
    let refusal = compacting.refusal.as_ref().unwrap();
    assert_eq!(refusal.message, "at most 9 tokens");
    scene.heard();
    scene.feed(Input::Compacted(Arc::new(compaction(1, &[]))));
    assert_eq!(
        scene.heard(),
        "context_compacted model_call_attempt_started"
    );
    scene.feed(too_long());
    let failure = scene.run.failure().unwrap();
    assert_eq!(failure.code, ErrorCode::ModelContextTooLong);
    // Whoever resumes it sends it once more.
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    assert!(matches!(scene.run.next(), Step::Deliberate { .. }));

    let off = json!({"agent": {"compaction": {"enabled": false}}});
    let mut scene = Scene::chat(off);
    scene
        .feed(asked(&scene, &["a", "b"], false))
        .feed(too_long());
    assert!(scene.run.is_over());
}

#[test]
fn a_summary_that_uses_up_the_budget_is_the_last_request() {
    let mut scene = Scene::chat(json!({"agent": {"budget": {"maxTokens": 40}}}));
    scene.feed(asked(&scene, &["a", "b"], true));
    scene.feed(Input::Compacted(Arc::new(compaction(1, &[]))));
    let failure = scene.run.failure().unwrap();
    assert_eq!(
        failure.reason.as_deref(),
        Some("agent.token_budget_exhausted")
    );
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    assert!(matches!(scene.run.next(), Step::Deliberate { .. }));
}

#[test]
fn a_run_that_failed_over_its_length_is_looked_at_again() {
    let mut scene = Scene::chat(json!({}));
    scene.feed(asked(&scene, &["a", "b"], true));
    scene.feed(failed(ErrorCode::ModelContextTooLong));
    assert!(scene.run.is_over());
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    assert_eq!(scene.run.next(), Step::Compact { round: 1 });
}

fn used(tokens: u64, cost: Option<f64>) -> ModelUse {
    ModelUse::of(
        1,
        &json!({"prompt_tokens": tokens, "cached_tokens": 2}),
        cost,
    )
}

fn call_with(scene: &mut Scene, number: u32, tool: &str, used: Option<ModelUse>) {
    let id = format!("c{number}");
    scene.calls(&[native(&id, tool, json!({"n": number}))]);
    if scene
        .run
        .turn()
        .unwrap()
        .calls()
        .all(|call| !call.is_open())
    {
        return;
    }
    scene.start(&id).feed(Input::CallEnded {
        call: id.as_str().into(),
        observation: Arc::new(innkeeper_protocol::Observation::success(tool, "ok")),
        elapsed_ms: 7,
        change: Default::default(),
        skill_chars: 0,
        worlds: Vec::new(),
        used,
        full: None,
    });
    scene.feed(Input::BlockEnded {
        block: 0,
        notes: Vec::new(),
    });
}

#[test]
fn what_tools_ask_of_models_is_theirs_and_the_runs() {
    let mut scene = Scene::chat(json!({"agent": {"budget": {"maxCost": 1.0}}}));
    call_with(&mut scene, 1, "novel", Some(used(100, Some(0.4))));
    call_with(&mut scene, 2, "novel", Some(used(10, None)));
    call_with(&mut scene, 3, "dice.roll", None);
    let spent = scene.run.spent();
    let novel = &spent.by_tool["novel"];
    assert_eq!((novel.calls, novel.elapsed_ms, novel.failed), (2, 14, 0));
    assert!(novel.shown_chars > 0 && novel.shown_tokens > 0);
    assert_eq!((novel.models.tokens, novel.models.requests), (110, 2));
    assert_eq!((novel.models.cached_tokens, novel.models.unpriced), (4, 1));
    assert_eq!((spent.tokens, spent.unpriced), (110, 1));
    assert_eq!(spent.by_tool["dice.roll"].models, Used::default());
    assert!(!scene.run.is_over());
    call_with(&mut scene, 4, "novel", Some(used(1, Some(0.6))));
    let failure = scene.run.failure().unwrap();
    assert_eq!(
        failure.reason.as_deref(),
        Some("agent.cost_budget_exhausted")
    );
}

#[test]
fn a_tool_stops_at_its_own_limit_and_the_others_go_on() {
    let budget = json!({"maxTokensPerTool": {"novel.write": 50}, "maxCostPerTool": {"poem": 0.5}});
    let mut scene = Scene::chat(json!({"agent": {"budget": budget}}));
    call_with(&mut scene, 1, "novel_write", Some(used(60, None)));
    call_with(&mut scene, 2, "poem", Some(used(60, Some(0.1))));
    assert_eq!(scene.run.left_for_tool("novel_write"), (Some(0), None));
    let (tokens, cost) = scene.run.left_for_tool("poem");
    assert!(tokens.is_none() && (cost.unwrap() - 0.4).abs() < 1e-9);
    call_with(&mut scene, 3, "novel_write", None);
    let refused = scene.run.turn().unwrap().calls().next().unwrap();
    let code = refused.observation().unwrap().error_code();
    assert_eq!(code, Some(ErrorCode::ToolBudgetExhausted));
    call_with(&mut scene, 4, "poem", Some(used(1, Some(0.5))));
    assert_eq!(scene.run.left_for_tool("poem"), (None, Some(0.0)));
    // Whoever resumes the run grants as much again.
    scene.feed(failed(ErrorCode::AgentTransient));
    scene.feed(Input::Resumed {
        additional_rounds: None,
    });
    assert_eq!(scene.run.left_for_tool("novel_write"), (Some(50), None));
    assert_eq!(scene.run.left_for_tool("poem"), (None, Some(0.5)));
}

#[test]
fn no_price_is_not_no_cost() {
    for (usage, cost, unpriced) in [
        (json!({"prompt_tokens": 5}), None, 1),
        (json!({"prompt_tokens": 5}), Some(0.0), 0),
        (json!({}), None, 0),
        (Json::Null, None, 0),
    ] {
        let mut scene = Scene::chat(json!({}));
        scene.ask().reply(ModelTurn {
            text: "Hm".to_owned(),
            usage,
            cost,
            ..ModelTurn::default()
        });
        assert_eq!(scene.run.spent().unpriced, unpriced);
    }
}

#[test]
fn tools_beyond_counting_are_counted_together() {
    let mut spent = Spent::default();
    for number in 0..crate::limits::MAX_COUNTED_TOOLS + 3 {
        spent.count_end(&format!("t{number}"), |tool| tool.calls += 1, None);
    }
    assert_eq!(spent.by_tool["*"].calls, 3);
    spent.count_end("t1", |tool| tool.calls += 1, None);
    assert_eq!(spent.by_tool["t1"].calls, 2);
}

#[test]
fn journals_from_before_are_still_read() {
    let asked = json!({"at": "2026-01-01T00:00:00Z", "kind": "model_asked", "keep": 0, "add": [1], "request": {}});
    let asked: Stamped = serde_json::from_value(asked).unwrap();
    assert!(matches!(
        asked.input,
        Input::ModelAsked { oversize: None, .. }
    ));
    let task = json!({"at": "2026-01-01T00:00:00Z", "kind": "task_ended",
        "observation": innkeeper_protocol::Observation::success("x", "y")});
    let task: Stamped = serde_json::from_value(task).unwrap();
    assert!(matches!(task.input, Input::TaskEnded { used: None, .. }));
    let mut state = json!(Scene::chat(json!({})).run);
    let fields = state.as_object_mut().unwrap();
    assert!(!fields.contains_key("dropped"));
    for name in ["byAgent", "byTool", "compaction", "unpriced"] {
        assert!(fields["spent"].get(name).is_none(), "{name}");
    }
}
