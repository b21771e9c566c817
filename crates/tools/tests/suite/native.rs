//! A provider's native calls: each stands for itself, and those that may run at once.

use innkeeper_protocol::{ToolDefinition, parse_response};
use serde_json::{Value as Json, json};

use super::harness::{World, codes, object, soon};

/// An answer in OpenAI's form.
fn response(calls: &[(&str, Json)]) -> Json {
    let calls: Vec<_> = calls
        .iter()
        .enumerate()
        .map(|(number, (name, arguments))| {
            let function = json!({"name": name, "arguments": arguments.to_string()});
            json!({"id": format!("c{number}"), "type": "function", "function": function})
        })
        .collect();
    json!({"choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}}]})
}

#[tokio::test]
async fn every_call_is_answered_under_its_id_and_none_stops_the_others() {
    let world = World::new().await;
    let reply = parse_response(&response(&[
        ("Echo", json!({"text": "one"})),
        ("Fail", json!({})),
        ("Nobody_Knows", json!({})),
        ("GetPlayerInfo", json!({"playerId": "p"})),
        ("Echo", json!({"text": "two"})),
    ]))
    .unwrap();
    let said = world.run("r").run_reply(&reply).await;
    assert_eq!(
        codes(&said),
        [
            "ok",
            "tool.execution_failed",
            "tool.unknown",
            "tool.invalid_arguments",
            "ok"
        ]
    );
    let ids: Vec<_> = said
        .iter()
        .map(|one| one.call_id.clone().unwrap())
        .collect();
    assert_eq!(ids, ["c0", "c1", "c2", "c3", "c4"]);
    assert_eq!(world.echoed(), ["one", "two"]);
}

#[tokio::test]
async fn the_name_that_a_provider_can_carry_works() {
    let world = World::new().await;
    let reply = parse_response(&response(&[
        ("task_list", json!({})),
        ("File_List", json!({"path": "."})),
    ]));
    let said = world.run("r").run_reply(&reply.unwrap()).await;
    assert_eq!(codes(&said)[0], "ok");
}

/// Two tools that wait for each other: they end only if they run at once.
#[tokio::test]
async fn tools_that_allow_it_run_side_by_side() {
    for parallel in [true, false] {
        let world = World::new().await;
        let tool = |id: &str, opens: &'static str, waits: &'static str| {
            let mut definition = ToolDefinition::new(id, "", object(json!({}), &[]));
            definition.source = "plugin:pair".to_owned();
            definition.execution.parallel = parallel;
            // Only the one that waits in vain needs an end.
            definition.execution.timeout_ms = (!parallel).then_some(50);
            world.defined(definition, move |seen, _| {
                Box::pin(async move {
                    seen.open(opens);
                    seen.pass(waits).await;
                    Ok(json!(null))
                })
            })
        };
        world.offer(
            "plugin:pair",
            vec![tool("Left", "l", "r"), tool("Right", "r", "l")],
        );
        let reply = parse_response(&response(&[("Left", json!({})), ("Right", json!({}))]));
        let said = soon(world.run("r").run_reply(&reply.unwrap())).await;
        let expected = match parallel {
            true => ["ok", "ok"],
            false => ["tool.timeout", "ok"],
        };
        assert_eq!(codes(&said), expected);
        let ids: Vec<_> = said
            .iter()
            .map(|one| one.call_id.as_deref().unwrap())
            .collect();
        assert_eq!(ids, ["c0", "c1"]);
    }
}
