//! A thousand tools are not a thousand schemas in a prompt: a run is told of those that fit, finds others, and is told of the same
//! ones after a restart.

use std::sync::Arc;

use innkeeper_protocol::ToolDefinition;
use innkeeper_protocol::event::{RunEvent, RunStatus};
use innkeeper_tools::builtin;
use serde_json::{Value as Json, json};

use super::harness::{Does, House, Say, check_journal};

const TIDE: &str = "lunar.tide_table";

/// Nine hundred and ninety-nine, and one that is needed.
fn thousand() -> Vec<builtin::Tool> {
    let subjects = [
        "invoice", "parcel", "salary", "contract", "exam", "ticket", "backup", "video", "hotel",
    ];
    let verbs = [
        "create", "list", "archive", "approve", "rename", "merge", "export", "count", "watch",
    ];
    let mut all = builtin::search::tools();
    for number in 0..999 {
        let subject = subjects[number % subjects.len()];
        let verb = verbs[number / subjects.len() % verbs.len()];
        all.push(tool(
            &format!("{subject}{number}.{verb}"),
            &format!("Can {verb} the {subject} of department {number}"),
            &["department", "dry_run"],
        ));
    }
    all.push(tool(
        TIDE,
        "Tells when the water is high in a port",
        &["harbour"],
    ));
    all
}

fn tool(id: &str, description: &str, parameters: &[&str]) -> builtin::Tool {
    let named = |name: &&str| {
        (
            (*name).to_owned(),
            json!({"type": "string", "description": "Which one"}),
        )
    };
    let properties: serde_json::Map<String, Json> = parameters.iter().map(named).collect();
    let schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    let mut definition = ToolDefinition::new(id, description, schema);
    definition.source = builtin::SOURCE.to_owned();
    (definition, Arc::new(Does(|_| Ok(json!("at noon")))))
}

fn payloads(events: &[RunEvent], name: &str) -> Vec<Json> {
    let named = events.iter().filter(|event| event.kind.name() == name);
    named
        .map(|event| serde_json::to_value(event).unwrap()["payload"].clone())
        .collect()
}

fn search(query: &str) -> Say {
    Say::Native(vec![("s", "tools.search", json!({"query": query}))])
}

#[tokio::test]
async fn natively_what_is_found_is_declared_and_still_is_after_a_restart() {
    let house = House::with(thousand()).await;
    house.profile_with("worker", "native", |profile| {
        profile["agent"]["offer"] = json!({"most": 10, "pins": ["GetPlayerInfo"]});
    });
    house
        .script
        .push(search("when is high tide at the harbour"));
    house
        .script
        .push(Say::Native(vec![("t", TIDE, json!({"harbour": "Lisbon"}))]));
    house.script.push(Say::Hang);
    let run = house
        .start(
            "worker",
            "Count the exam of department 400, then take us to the sea",
        )
        .await
        .run_id;
    house.script.asked_times(3).await;

    let first = house.script.declared(0);
    assert!(first.len() < 24, "{first:?}");
    assert!(first.contains(&"exam400.watch".to_owned()), "{first:?}");
    for always in ["tools.search", "GetPlayerInfo", "workspace.write_file"] {
        assert!(first.contains(&always.to_owned()), "{always}: {first:?}");
    }
    assert!(!first.contains(&TIDE.to_owned()));
    // The beginning stays as it was for providers that keep it; what was found follows.
    let second = house.script.declared(1);
    assert_eq!(second[..first.len()], first);
    assert!(second.contains(&TIDE.to_owned()), "{second:?}");
    let answer = house.script.last_message(1);
    assert!(
        answer.contains(TIDE) && answer.contains("next reply"),
        "{answer}"
    );
    assert!(!answer.contains("\"parameters\""), "{answer}");
    assert!(house.script.last_message(2).contains("at noon"));
    let third = house.script.declared(2);
    assert_eq!(third, second);

    let house = house.again_with(thousand()).await;
    house.script.say("High water is at noon.");
    house.runtime.recover().await.unwrap();
    let (handle, events) = house.end_of(&run).await;
    assert_eq!(handle.status, RunStatus::Completed);
    check_journal(&events);
    assert_eq!(house.script.declared(0), third);

    let context = &payloads(&events, "context_assembled")[0];
    let told: Vec<_> = context["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| &tool["name"])
        .collect();
    assert_eq!(told, first.iter().collect::<Vec<_>>());
    assert_eq!(context["request"]["toolCount"], first.len());
    assert!(context["request"]["toolsLeftOut"].as_u64().unwrap() > 980);
    let asked = payloads(&events, "model_request_created");
    assert_eq!(asked[0]["request"].get("toolsAdded"), None);
    let added = &asked[1]["request"]["toolsAdded"][0];
    assert_eq!(
        (&added["name"], &added["modelName"]),
        (&json!(TIDE), &json!("lunar_tide_table"))
    );
    assert!(added["inputSchema"]["properties"]["harbour"].is_object());
    assert_eq!(asked[1]["request"]["toolCount"], second.len());
    let turn = house.runtime.model_turn(&run, 2, None).await.unwrap();
    assert_eq!(turn.tool_calls[0]["modelName"], "lunar_tide_table");
}

#[tokio::test]
async fn in_text_the_observation_says_how_to_call_what_was_found() {
    for (dialect, look, call) in [
        (
            "tam",
            "<|[REQUEST_TOOL]|>\ncommand:»»»tools.search«««\nquery:»»»high tide«««\n<|[END_TOOL]|>"
                .to_owned(),
            format!(
                "<|[REQUEST_TOOL]|>\ncommand:»»»{TIDE}«««\nharbour:»»»Lisbon«««\n<|[END_TOOL]|>"
            ),
        ),
        (
            "action",
            "<ACTION><tools.search><query>high tide</query></tools.search></ACTION>".to_owned(),
            "<ACTION><lunar.tide_table><harbour>Lisbon</harbour></lunar.tide_table></ACTION>"
                .to_owned(),
        ),
    ] {
        let house = House::with(thousand()).await;
        house.profile("worker", dialect);
        house.script.say(&look);
        house.script.say(&call);
        house.script.push(Say::Hang);
        let run = house.start("worker", "Take us to the sea").await.run_id;
        house.script.asked_times(3).await;
        let system = house.script.request(0)[0]["content"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(
            system.contains("tools.search") && !system.contains(TIDE),
            "{system}"
        );
        assert!(system.len() < 30_000, "{}", system.len());
        let found = house.script.last_message(1);
        assert!(
            found.contains("harbour") && found.contains("Which one"),
            "{dialect}: {found}"
        );
        assert!(
            house.script.last_message(2).contains("at noon"),
            "{}",
            house.script.last_message(2)
        );
        let sent = house.script.request(2);

        let house = house.again_with(thousand()).await;
        house.script.say("High water is at noon.");
        house.runtime.recover().await.unwrap();
        let (handle, events) = house.end_of(&run).await;
        assert_eq!(handle.status, RunStatus::Completed);
        check_journal(&events);
        assert_eq!(house.script.request(0), sent);
    }
}

#[tokio::test]
async fn few_tools_are_told_whole_and_need_no_search() {
    let house = House::with(builtin::search::tools()).await;
    house.profile("worker", "native");
    house.script.say("Hello.");
    let (_, events) = house.run("worker", "Hello").await;
    let told = house.script.declared(0);
    assert!(!told.contains(&"tools.search".to_owned()), "{told:?}");
    assert!(told.contains(&"ReadWorldStateTool".to_owned()), "{told:?}");
    let context = &payloads(&events, "context_assembled")[0];
    assert_eq!(context["request"].get("toolsLeftOut"), None);
}

#[tokio::test]
async fn only_what_the_agent_may_call_is_told_and_found() {
    let house = House::with(thousand()).await;
    house.profile_with("shy", "native", |profile| {
        profile["tools"] = json!({
            "allow": ["workspace.*", "invoice*", "lunar.*"],
            "deny": ["workspace.commit", "lunar.*"],
        });
    });
    house.script.push(search("high tide at the harbour"));
    house.script.push(search("approve an invoice"));
    house.script.say("There is none.");
    let (_, events) = house.run("shy", "When is high tide? And the exam?").await;
    let told = |number: usize| house.script.declared(number);
    assert!(!told(1).contains(&TIDE.to_owned()));
    assert!(
        !house.script.last_message(1).contains(TIDE),
        "{}",
        house.script.last_message(1)
    );
    let is_own = |id: &String| {
        ["workspace.", "invoice", "tools.search"]
            .iter()
            .any(|own| id.starts_with(own))
    };
    for number in 0..3 {
        assert!(told(number).iter().all(is_own), "{:?}", told(number));
    }
    assert!(told(2).len() > told(0).len());
    check_journal(&events);
}

#[tokio::test]
async fn what_is_called_without_having_been_told_is_told_from_then_on() {
    let house = House::with(thousand()).await;
    house.profile("worker", "native");
    house
        .script
        .push(Say::Native(vec![("t", TIDE, json!({"port": "Lisbon"}))]));
    house.script.say("I see.");
    house.run("worker", "Hello").await;
    assert!(!house.script.declared(0).contains(&TIDE.to_owned()));
    assert!(house.script.declared(1).contains(&TIDE.to_owned()));
    // It was of use, so it is told to a later run, whatever that is about.
    house
        .script
        .push(Say::Native(vec![("t", TIDE, json!({"harbour": "Lisbon"}))]));
    house.script.say("At noon.");
    house.run("worker", "Hello").await;
    let house = house.again_with(thousand()).await;
    house.script.say("Hello.");
    house.run("worker", "Hello").await;
    assert!(house.script.declared(0).contains(&TIDE.to_owned()));
}
