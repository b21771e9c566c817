//! Several steps in one block: their order, what a failure does to the rest, what they share.

use serde_json::json;

use super::harness::{World, codes, say, tam, told};

#[tokio::test]
async fn steps_run_in_the_order_of_their_numbers() {
    let world = World::new().await;
    let text = "command_10: Echo
        text_10: ten
        command_2: Echo
        text_2: two
        command_1: Echo
        text_1: one
        command_7: Echo
        text_7: seven";
    let observations = world.say(&tam(text)).await;
    assert_eq!(world.echoed(), ["one", "two", "seven", "ten"]);
    let numbers: Vec<_> = observations.iter().map(|one| one.index).collect();
    assert_eq!(numbers, [1, 2, 7, 10]);
}

#[tokio::test]
async fn what_a_failing_step_does_to_the_rest() {
    let rest = "command_2: Echo\n text_2: two\n command_3: Echo\n text_3: three";
    let failed = [
        ("command_1: Fail", "tool.execution_failed"),
        ("command_1: Nobody.Knows", "tool.unknown"),
        ("command_1: Echo\n txet_1: x", "tool.invalid_arguments"),
        ("command_1: Echo\n n_1: many", "tool.invalid_arguments"),
        ("command_1: Panic", "tool.execution_failed"),
        (
            "command_1: Echo\n text_1: @{step_2.result}",
            "tool.reference_unresolved",
        ),
        (
            "command_1: Echo\n uri_text_1: nothing/here.txt",
            "workspace.file_not_found",
        ),
    ];
    for (first, code) in failed {
        let world = World::new().await;
        let stopped = world.say(&tam(&format!("{first}\n{rest}"))).await;
        assert_eq!(
            codes(&stopped),
            [code, "tool.skipped", "tool.skipped"],
            "{first}"
        );
        assert!(world.echoed().is_empty(), "{first}");

        for word in ["continue", " Continue "] {
            let world = World::new().await;
            let text = tam(&format!("{first}\n on_error_1: {word}\n{rest}"));
            assert_eq!(
                codes(&world.say(&text).await),
                [code, "ok", "ok"],
                "{first}"
            );
            assert_eq!(world.echoed(), ["two", "three"], "{first}");
        }
        let world = World::new().await;
        let text = tam(&format!("{first}\n on_error_1: stop\n{rest}"));
        assert_eq!(codes(&world.say(&text).await).len(), 3, "{first}");
        assert!(world.echoed().is_empty(), "{first}");
    }
}

#[tokio::test]
async fn a_skipped_step_is_told_why() {
    let world = World::new().await;
    let said = world
        .say(&tam("command_4: Fail\n command_9: Echo\n text_9: x"))
        .await;
    assert_eq!(
        told(&said)[1],
        "Observation: Error - Tool Echo failed (tool.skipped): step 4 failed, and what follows it was not run"
    );
}

#[tokio::test]
async fn continue_is_for_one_step_only() {
    let world = World::new().await;
    let said = world
        .say(&tam(
            "command_1: Fail\n on_error_1: continue\n command_2: Fail\n command_3: Echo",
        ))
        .await;
    assert_eq!(
        codes(&said),
        [
            "tool.execution_failed",
            "tool.execution_failed",
            "tool.skipped"
        ]
    );
}

#[tokio::test]
async fn shared_parameters_reach_every_step_and_yield_to_its_own() {
    let world = World::new().await;
    let text = "common_x: shared\n command_1: Echo\n command_2: Echo\n x_2: own\n command_3: Echo";
    assert_eq!(codes(&world.say(&tam(text)).await), ["ok"; 3]);
    assert_eq!(
        world.given("Echo"),
        [
            json!({"x": "shared"}),
            json!({"x": "own"}),
            json!({"x": "shared"})
        ]
    );
}

#[tokio::test]
async fn comments_and_control_fields_never_reach_a_tool() {
    let world = World::new().await;
    let text = "request_id: r\n comment: a note\n command_1: Echo\n text_1: x\n comment_1: more\n on_error_1: continue\n retry_1: 2\n type_hint_text_1: text";
    world.say(&tam(text)).await;
    assert_eq!(world.given("Echo"), [json!({"text": "x"})]);
}

#[tokio::test]
async fn a_bare_command_beside_a_numbered_one_is_step_0() {
    let world = World::new().await;
    let said = world
        .say(&tam("command_1: Echo\n text_1: one\n command: Echo"))
        .await;
    let numbers: Vec<_> = said.iter().map(|one| one.index).collect();
    assert_eq!(numbers, [0, 1]);
}

#[tokio::test]
async fn an_unnumbered_parameter_of_several_steps_goes_to_none_and_is_told() {
    let world = World::new().await;
    let said = world
        .say(&tam("command_1: Echo\n command_2: Echo\n text: lost"))
        .await;
    assert_eq!(world.given("Echo"), [json!({}), json!({})]);
    let note = told(&said).join("\n");
    assert!(note.contains("common_"), "{note}");
}

/// A block with an error is reported and never run, not even its good steps.
#[tokio::test]
async fn a_block_that_is_written_wrongly_runs_not_at_all() {
    for wrong in [
        "retry_2: 11",
        "retry_2: often",
        "on_error_2: ignore",
        "text_2: a\n type_hint_text_2: poem",
        "text_2: a\n uri_text_2: b.txt",
    ] {
        let world = World::new().await;
        let text = tam(&format!(
            "command_1: Echo\n text_1: one\n command_2: Echo\n {wrong}"
        ));
        let said = world.say(&text).await;
        assert!(world.ran().is_empty(), "{wrong}: {:?}", told(&said));
        assert!(said.iter().any(|one| one.error_code().is_some()), "{wrong}");
    }
}

#[tokio::test]
async fn blocks_run_one_after_the_other() {
    let world = World::new().await;
    let text = [
        tam("command: Echo\n text: one"),
        tam("command_1: Fail\n command_2: Echo\n text_2: never"),
        tam("command: Echo\n text: three"),
    ]
    .join("\nand then\n");
    let said = world.say(&text).await;
    assert_eq!(
        codes(&said),
        ["ok", "tool.execution_failed", "tool.skipped", "ok"]
    );
    assert_eq!(world.echoed(), ["one", "three"]);
}

#[tokio::test]
async fn calls_of_an_action_block_run_in_order() {
    let world = World::new().await;
    let said = world
        .say("<ACTION><Echo><text>one</text></Echo><Echo><text>got @{step_1.result}</text></Echo></ACTION>")
        .await;
    assert_eq!(codes(&said), ["ok", "ok"]);
    assert_eq!(world.echoed(), ["one", "got one"]);
}

#[tokio::test]
async fn a_stopped_run_runs_nothing_more() {
    let world = World::new().await;
    let run = world.run("r");
    let text = tam("command_1: Gate.Sync\n gate_1: a\n on_error_1: continue\n command_2: Echo");
    let mut running = Box::pin(say(&run, &text));
    world.until_at("a", &mut running).await;
    run.stop();
    let said = running.await;
    assert_eq!(codes(&said), ["tool.cancelled", "tool.skipped"]);
    let later = say(&run, &tam("command: Echo")).await;
    assert_eq!(codes(&later), ["tool.cancelled"]);
    assert!(world.echoed().is_empty());
}
