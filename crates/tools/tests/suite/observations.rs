//! What the model is told, in the specification's own words.

use innkeeper_protocol::{Outcome, ParameterProblem};
use serde_json::json;

use super::harness::{World, codes, object, tam, told};

/// A wrong name, the observation, the corrected call.
#[tokio::test]
async fn a_wrong_parameter_name_is_told_in_these_words() {
    let world = World::new().await;
    let said = world
        .say(
            "I'll try to get the player's name.
<ACTION>
    <GetPlayerInfo>
        <playerId>player123</playerId> <!-- 假设正确的参数名是 player_id -->
    </GetPlayerInfo>
</ACTION>",
        )
        .await;
    assert_eq!(
        told(&said),
        [
            "Observation: Error - Invalid parameters for GetPlayerInfo: Unknown parameter 'playerId', did you mean 'player_id'?"
        ]
    );
    assert!(world.ran().is_empty());
    let said = world
        .say(
            "My apologies, I used the wrong parameter name. Let me try again to get the player's information.
<ACTION>
    <GetPlayerInfo>
        <player_id>player123</player_id>
    </GetPlayerInfo>
</ACTION>",
        )
        .await;
    assert_eq!(codes(&said), ["ok"]);
    assert_eq!(
        world.given("GetPlayerInfo"),
        [json!({"player_id": "player123"})]
    );
}

/// A call with one parameter.
#[tokio::test]
async fn a_result_is_told_in_these_words() {
    let world = World::new().await;
    let parameters = object(
        json!({"path": {"type": "string"}, "default_value": {}}),
        &["path"],
    );
    let tool = world.tool(
        "ReadWorldStateTool",
        innkeeper_protocol::ExecutionMode::Sync,
        parameters,
        |_, _| Box::pin(async { Ok(json!("sunny")) }),
    );
    world.offer("plugin:world", vec![tool]);
    let said = world
        .say(
            "Okay, I need to check the current weather to answer the player's question.
<ACTION>
    <ReadWorldStateTool>
        <path>environment.weather.current_conditions</path>
        <default_value>unknown</default_value>
    </ReadWorldStateTool>
</ACTION>",
        )
        .await;
    assert_eq!(
        told(&said),
        ["Observation: Tool ReadWorldStateTool executed successfully. Result: sunny"]
    );
    assert_eq!(
        world.given("ReadWorldStateTool"),
        [json!({"path": "environment.weather.current_conditions", "default_value": "unknown"})]
    );
}

fn problems(outcome: &Outcome) -> &[ParameterProblem] {
    match outcome {
        Outcome::Error(failure) => &failure.problems,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn all_that_is_wrong_is_told_at_once() {
    let world = World::new().await;
    for text in [
        "<ACTION><GetPlayerInfo><playerId>p</playerId><level>99</level><mode>lnog</mode></GetPlayerInfo></ACTION>",
        "<tool_call name=\"GetPlayerInfo\"><param name=\"playerId\">p</param><param name=\"level\">99</param><param name=\"mode\">lnog</param></tool_call>",
    ] {
        let said = world.say(text).await;
        assert_eq!(codes(&said), ["tool.invalid_arguments"], "{text}");
        let found = problems(&said[0].outcome);
        let mut paths: Vec<_> = found.iter().map(|problem| problem.path.as_str()).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["/level", "/mode", "/playerId"], "{found:?}");
        for problem in found {
            assert!(
                problem.expected.is_some() && problem.received.is_some(),
                "{problem:?}"
            );
        }
        let words = &told(&said)[0];
        assert!(
            words.contains("Unknown parameter 'playerId', did you mean 'player_id'?"),
            "{words}"
        );
        assert!(
            words.contains("'level' must be 10 or less, received 99"),
            "{words}"
        );
        assert!(words.contains("did you mean 'long'?"), "{words}");
    }
    assert!(world.ran().is_empty());
}

#[tokio::test]
async fn each_kind_of_fault_names_path_expectation_and_what_came() {
    for (fields, path, code) in [
        ("level: 0", "/level", "too_small"),
        ("level: x", "/level", "wrong_type"),
        ("level: 1.5", "/level", "wrong_type"),
        ("mode: medium", "/mode", "invalid_value"),
        ("colour: red", "/colour", "unknown_parameter"),
    ] {
        let world = World::new().await;
        let said = world
            .say(&tam(&format!(
                "command: GetPlayerInfo\n player_id: p\n {fields}"
            )))
            .await;
        let found = problems(&said[0].outcome);
        assert_eq!(found.len(), 1, "{fields}: {found:?}");
        assert_eq!(
            (found[0].path.as_str(), found[0].code.as_str()),
            (path, code),
            "{found:?}"
        );
        assert!(found[0].expected.is_some(), "{found:?}");
        assert!(found[0].received.is_some(), "{found:?}");
    }
    let world = World::new().await;
    let said = world.say(&tam("command: GetPlayerInfo")).await;
    let found = problems(&said[0].outcome);
    assert_eq!(
        (found[0].path.as_str(), found[0].code.as_str()),
        ("/player_id", "missing_parameter")
    );
}

#[tokio::test]
async fn a_fault_deep_inside_has_its_path() {
    let world = World::new().await;
    let parameters = object(
        json!({"items": {"type": "array", "items": {
            "type": "object",
            "properties": {"count": {"type": "integer", "maximum": 3}, "a/b": {"type": "string"}},
            "required": ["count"],
        }}}),
        &[],
    );
    let tool = world.tool(
        "Order",
        innkeeper_protocol::ExecutionMode::Sync,
        parameters,
        |_, _| Box::pin(async { Ok(json!(null)) }),
    );
    world.offer("plugin:order", vec![tool]);
    let said = world
        .say(&tam(r#"command: Order
            type_hint_items: json
            items: [{"count": 2}, {"count": 9}, {}, {"count": 1, "a/b": [5]}]"#))
        .await;
    let mut paths: Vec<_> = problems(&said[0].outcome)
        .iter()
        .map(|one| one.path.as_str())
        .collect();
    paths.sort_unstable();
    assert_eq!(paths, ["/items/1/count", "/items/2/count", "/items/3/a~1b"]);
}

#[tokio::test]
async fn tam_forgives_the_spelling_of_names() {
    let world = World::new().await;
    for name in ["playerId", "Player-ID", "PLAYER_ID", "player id"] {
        let said = world
            .say(&tam(&format!("command: GetPlayerInfo\n {name}: p")))
            .await;
        assert_eq!(codes(&said), ["ok"], "{name}: {:?}", told(&said));
    }
    assert!(
        world
            .given("GetPlayerInfo")
            .iter()
            .all(|given| *given == json!({"player_id": "p"}))
    );
}

#[tokio::test]
async fn broken_xml_is_told_in_these_words() {
    let world = World::new().await;
    let said = told(&world.say("<ACTION><Echo><text>x</Echo></ACTION>").await);
    assert!(
        said[0].starts_with("Observation: Error - Malformed XML in ACTION block"),
        "{said:?}"
    );
    assert!(world.ran().is_empty());
}
