use innkeeper_protocol::Outcome;
use serde_json::{Value as Json, json};

use super::testing::*;
use super::*;

fn turn(text: &str, calls: &[Json], finish_reason: &str) -> ModelTurn {
    ModelTurn {
        text: text.to_owned(),
        tool_calls: calls.to_vec(),
        finish_reason: Some(finish_reason.to_owned()),
        ..ModelTurn::default()
    }
}

const HALF: &str = "<|[REQUEST_TOOL]|>\ncommand:»»»write«««\ncontent:»»»half of it";

#[test]
fn what_of_a_reply_is_run_and_what_the_model_is_told() {
    struct Row {
        name: &'static str,
        profile: Json,
        reply: ModelTurn,
        /// Calls that wait to be run.
        runs: usize,
        told: &'static [&'static str],
    }
    let call = |id: &str| native(id, "x", json!({"n": 1}));
    let many: Vec<_> = (0..66).map(|n| call(&format!("c{n}"))).collect();
    let rows = [
        Row {
            name: "calls with ids of their own",
            profile: json!({}),
            reply: turn("", &[call("a"), call("b")], "tool_calls"),
            runs: 2,
            told: &[],
        },
        Row {
            name: "the same id twice",
            profile: json!({}),
            reply: turn("", &[call("a"), call("a")], "tool_calls"),
            runs: 1,
            told: &["agent.duplicate_call_id"],
        },
        Row {
            name: "more calls than a reply may make",
            profile: json!({}),
            reply: turn("", &many, "tool_calls"),
            runs: 64,
            told: &["agent.too_many_calls", "agent.too_many_calls"],
        },
        Row {
            name: "more calls than the run has left",
            profile: json!({"tools": {"maxCallsPerRun": 1}}),
            reply: turn("", &[call("a"), call("b")], "tool_calls"),
            runs: 1,
            told: &["agent.tool_budget_exhausted"],
        },
        Row {
            name: "publishing and finishing need no budget",
            profile: json!({"tools": {"maxCallsPerRun": 1}}),
            reply: turn(
                "",
                &[
                    call("a"),
                    native("b", "workspace_commit", json!({})),
                    native("c", "workspace.finish", json!({})),
                ],
                "tool_calls",
            ),
            runs: 3,
            told: &[],
        },
        Row {
            name: "more calls than a tool has left, under another spelling",
            profile: json!({"tools": {"maxCallsPerTool": {"dice.roll": 1}}}),
            reply: turn(
                "",
                &[
                    native("a", "dice.roll", json!({})),
                    native("b", "dice_roll", json!({})),
                    native("c", "dice", json!({})),
                ],
                "tool_calls",
            ),
            runs: 2,
            told: &["agent.tool_budget_exhausted"],
        },
        Row {
            name: "a block without an end, of a reply that ended by itself",
            profile: json!({}),
            reply: turn(HALF, &[], "stop"),
            runs: 1,
            told: &[],
        },
        Row {
            name: "a block that was cut off",
            profile: json!({}),
            reply: turn(HALF, &[], "length"),
            runs: 0,
            told: &["agent.reply_cut_off"],
        },
        Row {
            name: "a whole block in a reply that was cut off behind it",
            profile: json!({}),
            reply: turn(
                &format!("{HALF}«««\n<|[END_TOOL]|>\nand then"),
                &[],
                "length",
            ),
            runs: 1,
            told: &[],
        },
        Row {
            name: "native arguments that were cut off",
            profile: json!({}),
            reply: turn(
                "",
                &[
                    json!({"id": "a", "type": "function", "function": {"name": "x", "arguments": "{\"n\": "}}),
                ],
                "length",
            ),
            runs: 0,
            told: &["tool.skipped", "invalid_json"],
        },
        Row {
            name: "broken XML",
            profile: json!({}),
            reply: turn("<ACTION><x><n>1</x></ACTION>", &[], "stop"),
            runs: 0,
            told: &["malformed_xml"],
        },
        Row {
            name: "a native call without a name",
            profile: json!({}),
            reply: turn("", &[json!({"id": "a"})], "tool_calls"),
            runs: 0,
            told: &["model.invalid_tool_call"],
        },
        Row {
            name: "nothing at all",
            profile: json!({}),
            reply: turn(" \n", &[], "stop"),
            runs: 0,
            told: &[],
        },
    ];
    for Row {
        name,
        profile,
        reply,
        runs,
        told,
    } in rows
    {
        let mut scene = Scene::writer(profile);
        scene.ask().reply(reply);
        let waiting = scene
            .run
            .turn()
            .unwrap()
            .calls()
            .filter(|call| call.is_open());
        assert_eq!(waiting.count(), runs, "{name}");
        assert_eq!(scene.told_model(), told, "{name}");
        let next = match runs {
            0 => Step::Ask { round: 2 },
            _ => Step::RunBlock { block: 0 },
        };
        assert_eq!(scene.run.next(), next, "{name}");
    }
}

#[test]
fn refused_calls_are_told_like_any_other() {
    let mut scene = Scene::writer(json!({"tools": {"maxCallsPerRun": 1}}));
    scene.ask().heard();
    scene.reply(turn(
        "",
        &[native("a", "x", json!({})), native("b", "x", json!({}))],
        "tool_calls",
    ));
    assert_eq!(
        scene.heard(),
        "model_response_stored model_completed tool_call_requested tool_call_requested \
         tool_result_stored tool_call_failed"
    );
}

#[test]
fn ids_are_unique_in_a_run() {
    let ids = |scene: &Scene| -> Vec<String> {
        let turn = scene.run.turn().unwrap();
        turn.calls().map(|call| call.call.to_string()).collect()
    };
    let mut scene = Scene::writer(json!({}));
    scene.round("call_0", "x", json!({"n": 1}));
    // Providers that count from zero in every reply.
    scene.calls(&[native("call_0", "x", json!({"n": 2}))]);
    assert_eq!(ids(&scene), ["call_2_1"]);
    let planned = scene.run.turn().unwrap().calls().next().unwrap();
    assert_eq!(planned.provider_id.as_deref(), Some("call_0"));
    scene.start("call_2_1").end("call_2_1").block_end();
    // A provider that knows our names, one that gives none, and one whose names are too long.
    let long = "x".repeat(257);
    scene.calls(&[
        native("call_3_2", "x", json!({})),
        native("", "x", json!({"n": 1})),
        native(&long, "x", json!({"n": 2})),
    ]);
    assert_eq!(ids(&scene), ["call_3_2", "call_3_2_2", "call_3_3"]);
}

#[test]
fn the_same_call_with_the_same_answer_leads_nowhere() {
    struct Row {
        name: &'static str,
        /// What is done in round n, from 1.
        act: fn(&mut Scene, u32),
        ends: bool,
    }
    fn again(scene: &mut Scene, round: u32) {
        scene.round(&round.to_string(), "x", json!({"n": 1}));
    }
    let rows = [
        Row {
            name: "the same",
            act: again,
            ends: true,
        },
        Row {
            name: "the same failure",
            act: |scene, round| {
                let id = round.to_string();
                scene.calls(&[native(&id, "x", json!({}))]);
                let outcome = Outcome::Cancelled {
                    reason: "no".to_owned(),
                };
                scene.start(&id);
                scene.end_with(&id, outcome, Default::default()).block_end();
            },
            ends: true,
        },
        Row {
            name: "other arguments in between",
            act: |scene, round| {
                let arguments = json!({"n": (round % 5 == 4)});
                scene.round(&round.to_string(), "x", arguments);
            },
            ends: false,
        },
        Row {
            name: "other answers",
            act: |scene, round| {
                let id = round.to_string();
                scene.calls(&[native(&id, "x", json!({}))]);
                let outcome = Outcome::Success {
                    result: round.into(),
                    spilled: None,
                };
                scene.start(&id);
                scene.end_with(&id, outcome, Default::default()).block_end();
            },
            ends: false,
        },
        Row {
            name: "a file that changes",
            act: |scene, round| {
                let id = round.to_string();
                scene.calls(&[native(&id, "x", json!({}))]);
                let outcome = Outcome::Success {
                    result: "ok".into(),
                    spilled: None,
                };
                scene.start(&id);
                scene
                    .end_with(&id, outcome, written("output/a", &id))
                    .block_end();
            },
            ends: false,
        },
        Row {
            name: "a file that is written and stays the same",
            act: |scene, round| {
                let id = round.to_string();
                scene.calls(&[native(&id, "x", json!({}))]);
                let outcome = Outcome::Success {
                    result: "ok".into(),
                    spilled: None,
                };
                scene.start(&id);
                scene
                    .end_with(&id, outcome, written("output/a", "same"))
                    .block_end();
            },
            ends: true,
        },
        Row {
            name: "a person who says something",
            act: |scene, round| {
                if round == 4 {
                    scene.feed(guidance("g", "try again"));
                }
                again(scene, round);
            },
            ends: false,
        },
        Row {
            name: "a task that is asked after",
            act: |scene, round| {
                if round == 1 {
                    scene.calls(&[native("s", "slow", json!({}))]).start("s");
                    let background = Outcome::AsyncStarted {
                        task_id: "t".to_owned(),
                    };
                    scene
                        .end_with("s", background, Default::default())
                        .block_end();
                }
                again(scene, round);
            },
            ends: false,
        },
    ];
    for Row { name, act, ends } in rows {
        let mut scene = Scene::writer(json!({}));
        for round in 1..=7 {
            if !scene.run.is_over() {
                act(&mut scene, round);
            }
        }
        assert_eq!(scene.run.is_over(), ends, "{name}");
        if ends {
            let code = ("tool.budget_exhausted", Some("agent.repeated_calls"));
            assert_eq!(scene.failure(), code, "{name}");
        }
    }
    let mut scene = Scene::writer(json!({}));
    for round in 1..=11 {
        scene.round(&round.to_string(), "x", json!({"n": round % 2}));
        assert!(!scene.run.is_over(), "{round}");
    }
    assert_eq!(scene.told_model().last().unwrap(), "agent.repeated_calls");
    scene.round("12", "x", json!({"n": 0}));
    let code = ("tool.budget_exhausted", Some("agent.repeated_calls"));
    assert_eq!(scene.failure(), code);
    let mut scene = Scene::writer(json!({}));
    again(&mut scene, 1);
    again(&mut scene, 2);
    assert!(scene.run.turn().unwrap().notes.is_empty());
    again(&mut scene, 3);
    assert_eq!(scene.told_model().last().unwrap(), "agent.repeated_calls");
}

#[test]
fn turns_that_come_to_nothing_end_a_run() {
    for (name, reply, profile, code) in [
        (
            "empty",
            turn("", &[], "stop"),
            json!({}),
            "model.upstream_invalid_response",
        ),
        (
            "unreadable",
            turn("<ACTION><x></ACTION>", &[], "stop"),
            json!({}),
            "protocol.malformed",
        ),
        (
            "refused",
            turn("", &[native("a", "x", json!({}))], "stop"),
            json!({"tools": {"maxCallsPerRun": 0}}),
            "tool.budget_exhausted",
        ),
    ] {
        let mut scene = Scene::writer(profile.clone());
        for round in 1..=3 {
            scene.ask().reply(reply.clone());
            assert_eq!(scene.run.next(), Step::Ask { round: round + 1 }, "{name}");
        }
        scene.ask().reply(reply.clone());
        assert_eq!(
            scene.failure(),
            (code, Some("agent.barren_turns")),
            "{name}"
        );

        // Something that works in between.
        let mut scene = Scene::writer(json!({}));
        for _ in 0..3 {
            scene.ask().reply(turn("", &[], "stop"));
        }
        assert_eq!(scene.run.nudge(), Some(&Nudge::EmptyTurn));
        scene.round("w", "x", json!({}));
        for _ in 0..3 {
            scene.ask().reply(turn("", &[], "stop"));
        }
        assert!(!scene.run.is_over());
    }
}

#[test]
fn budgets_end_a_run_before_the_model_is_asked_again() {
    let used = |usage: Json, cost: Option<f64>| ModelTurn {
        tool_calls: vec![native("a", "x", json!({}))],
        usage,
        cost,
        ..ModelTurn::default()
    };
    let nothing = || used(Json::Null, None);
    for (name, budget, reply, millis, reason) in [
        (
            "tokens in all",
            json!({"maxTokens": 100}),
            used(json!({"total_tokens": 100, "prompt_tokens": 1}), None),
            0,
            Some("agent.token_budget_exhausted"),
        ),
        (
            "tokens by part",
            json!({"maxTokens": 100}),
            used(json!({"prompt_tokens": 90, "completion_tokens": 10}), None),
            0,
            Some("agent.token_budget_exhausted"),
        ),
        (
            "tokens that are enough",
            json!({"maxTokens": 101}),
            used(json!({"total_tokens": 100}), None),
            0,
            None,
        ),
        (
            "money",
            json!({"maxCost": 0.5}),
            used(Json::Null, Some(0.5)),
            0,
            Some("agent.cost_budget_exhausted"),
        ),
        (
            "no money",
            json!({"maxCost": 0.5}),
            used(Json::Null, Some(-1.0)),
            0,
            None,
        ),
        (
            "time",
            json!({"maxWallTimeMs": 1000}),
            nothing(),
            1000,
            Some("agent.time_budget_exhausted"),
        ),
        (
            "time that is enough",
            json!({"maxWallTimeMs": 1000}),
            nothing(),
            999,
            None,
        ),
        (
            "a clock that was set back",
            json!({"maxWallTimeMs": 1000}),
            nothing(),
            -5000,
            None,
        ),
    ] {
        let mut scene = Scene::writer(json!({"agent": {"budget": budget}}));
        scene.ask().reply(reply);
        scene.start("a").after(millis).end("a").block_end();
        match reason {
            Some(reason) => {
                assert_eq!(
                    scene.failure(),
                    ("tool.budget_exhausted", Some(reason)),
                    "{name}"
                );
            }
            None => assert_eq!(scene.run.next(), Step::Ask { round: 2 }, "{name}"),
        }
    }
}

#[test]
fn a_failing_model_is_not_asked_beyond_the_budget() {
    let mut scene = Scene::writer(json!({"agent": {"budget": {"maxWallTimeMs": 1000}}}));
    scene.ask().after(1000).feed(model_down(true));
    let reason = Some("agent.time_budget_exhausted");
    assert_eq!(scene.failure(), ("tool.budget_exhausted", reason));
}

#[test]
fn waiting_for_people_is_no_work() {
    let mut scene = Scene::writer(json!({"agent": {"afterCrash": "pause"}}));
    scene.after(5).calls(&[native("a", "x", json!({}))]);
    scene.feed(Input::ApprovalAsked {
        call: "a".into(),
        approval_id: "p".to_owned(),
        reason: None,
        expires_at: None,
        question: None,
    });
    scene.after(1_000).feed(Input::ApprovalAnswered {
        call: "a".into(),
        approved: true,
        reason: None,
        approval_id: None,
        remember: Default::default(),
        edit: None,
        by: Default::default(),
    });
    scene.start("a").request_commit("a", "c");
    scene.after(10_000).resolve("c");
    scene.after(7).end("a").block_end();
    scene.after(100_000).feed(Input::Recovered);
    let resumed = Input::Resumed {
        additional_rounds: None,
    };
    scene.after(1_000_000).feed(resumed);
    scene.after(3).ask();
    assert_eq!(scene.run.spent().worked_ms, 15);
}
