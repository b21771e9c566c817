//! Which tool a name means, and what happens to those who are at work while the registry changes.

use std::time::Instant;

use innkeeper_protocol::{ExecutionMode, ToolDefinition, ToolId};
use innkeeper_tools::registry::{Lookup, Offer, Prepared, RegisterError, Source};
use serde_json::json;

use super::harness::{World, codes, object, result, say, tam, told};

fn named(world: &World, id: &str, aliases: &[&str], answer: &'static str) -> Offer {
    let mut definition = ToolDefinition::new(id, "", object(json!({}), &[]));
    definition.aliases = aliases.iter().map(|alias| ToolId::new(*alias)).collect();
    definition.source = "plugin:names".to_owned();
    world.defined(definition, move |_, _| {
        Box::pin(async move { Ok(json!(answer)) })
    })
}

/// Exact, alias, letter case, `.` for `:` (only if one tool is meant), otherwise the nearest names.
#[tokio::test]
async fn how_a_tool_is_found() {
    let world = World::new().await;
    let tools = [
        ("File.Read2", &[][..], "dot"),
        ("file.read2", &[], "lower"),
        ("Plugin:tool", &["Old.Name", "workflow__x"], "plugin"),
        ("Twin:one", &[], "twin colon"),
        ("Twin.one", &[], "twin dot"),
        ("Case.A", &[], "case A"),
        ("CASE.A", &[], "CASE A"),
        ("workflow:summarise", &[], "workflow"),
        ("Alias.Owner", &["Exact.Other"], "owner"),
        ("exact.other", &[], "exact"),
    ];
    let tools = tools.map(|(id, aliases, answer)| named(&world, id, aliases, answer));
    world.offer("plugin:names", tools.into());
    for (asked, expected) in [
        ("File.Read2", Some("dot")),
        ("file.read2", Some("lower")),
        ("FILE.READ2", None),
        ("Plugin:tool", Some("plugin")),
        ("plugin:TOOL", Some("plugin")),
        ("Plugin.tool", Some("plugin")),
        ("plugin.Tool", Some("plugin")),
        ("Old.Name", Some("plugin")),
        ("old.name", Some("plugin")),
        ("Old:Name", Some("plugin")),
        ("workflow__x", Some("plugin")),
        ("Twin:one", Some("twin colon")),
        ("Twin.one", Some("twin dot")),
        ("twin:one", Some("twin colon")),
        ("twin.ONE", Some("twin dot")),
        ("Case.A", Some("case A")),
        ("case.a", None),
        ("case:a", None),
        ("workflow.summarise", Some("workflow")),
        ("Exact.Other", Some("owner")),
        ("exact.other", Some("exact")),
        ("Plugin-tool", None),
        ("Plugintool", None),
    ] {
        let said = world.say(&tam(&format!("command: {asked}"))).await;
        match expected {
            Some(answer) => assert_eq!(result(&said[0]), answer, "{asked}"),
            None => assert_eq!(codes(&said), ["tool.unknown"], "{asked}"),
        }
    }
}

#[tokio::test]
async fn an_unknown_name_gets_the_nearest() {
    let world = World::new().await;
    for (asked, near) in [
        ("File.Raed", "File.Read"),
        ("FileRead", "File.Read"),
        ("GetPlayerInf", "GetPlayerInfo"),
        ("get_player_info", "GetPlayerInfo"),
        ("Ehco", "Echo"),
    ] {
        let said = told(&world.say(&tam(&format!("command: {asked}"))).await);
        assert_eq!(
            said,
            [format!(
                "Observation: Error - Unknown tool ID '{asked}', did you mean '{near}'?"
            )]
        );
    }
    let said = told(&world.say(&tam("command: Zzyzx.Qwrtp")).await);
    assert_eq!(said, ["Observation: Error - Unknown tool ID 'Zzyzx.Qwrtp'"]);
}

#[tokio::test]
async fn the_xml_name_of_a_tool_works() {
    let world = World::new().await;
    world.offer(
        "workflow:x",
        vec![named(&world, "workflow:summarize_text", &[], "summary")],
    );
    let text = "<ACTION><workflow__summarize_text></workflow__summarize_text></ACTION>";
    let said = world.say(text).await;
    assert_eq!(codes(&said), ["ok"], "{:?}", told(&said));
}

#[tokio::test]
async fn a_run_keeps_the_tools_it_began_with() {
    let world = World::new().await;
    world.offer("plugin:names", vec![named(&world, "Version", &[], "old")]);
    let before = world.run("before");
    let text = tam("command_1: Gate.Sync\n gate_1: a\n command_2: Version");
    let mut running = Box::pin(say(&before, &text));
    world.until_at("a", &mut running).await;
    world.offer("plugin:names", vec![named(&world, "Version", &[], "new")]);
    let after = world.run("after");
    assert_eq!(
        result(&say(&after, &tam("command: Version")).await[0]),
        "new"
    );
    world.open("a");
    assert_eq!(result(&running.await[1]), "old");
    world.manager.registry().remove("plugin:names");
    assert_eq!(
        result(&say(&before, &tam("command: Version")).await[0]),
        "old"
    );
    assert_eq!(
        codes(&say(&world.run("last"), &tam("command: Version")).await),
        ["tool.unknown"]
    );
    assert_eq!(
        result(&say(&after, &tam("command: Version")).await[0]),
        "new"
    );
}

#[tokio::test]
async fn a_task_outlives_its_tool() {
    let world = World::new().await;
    let run = world.run("r");
    say(&run, &tam("command: Gate.Async\n gate: a")).await;
    world.manager.registry().remove("plugin:test");
    world.open("a");
    run.settle().await;
    assert_eq!(codes(&run.finished_tasks()), ["ok"]);
}

#[tokio::test]
async fn a_source_that_does_not_fit_changes_nothing() {
    let world = World::new().await;
    let registry = world.manager.registry();
    let generation = registry.snapshot().generation();
    for tools in [
        vec![
            named(&world, "New.One", &[], ""),
            named(&world, "Echo", &[], ""),
        ],
        vec![named(&world, "New.One", &["Echo"], "")],
        vec![named(&world, "New.One", &["File.Read"], "")],
        vec![
            named(&world, "New.One", &[], ""),
            named(&world, "New.One", &[], ""),
        ],
    ] {
        let source = Source {
            tools,
            ..Source::default()
        };
        let refused = registry.replace("plugin:bad", source);
        assert!(
            matches!(refused, Err(RegisterError::Taken { .. })),
            "{refused:?}"
        );
        assert_eq!(registry.snapshot().generation(), generation);
        assert!(matches!(
            registry.snapshot().find("New.One"),
            Lookup::Unknown { .. }
        ));
    }
}

#[test]
fn declarations_that_make_no_sense_are_refused() {
    let tool = |id: &str, parameters| Prepared::new(ToolDefinition::new(id, "", parameters));
    for (id, parameters) in [
        ("", object(json!({}), &[])),
        ("with blank", object(json!({}), &[])),
        ("Long", json!({"type": "objekt"})),
        (
            "Twice",
            object(json!({"filePath": {}, "file_path": {}}), &[]),
        ),
        ("Bad", object(json!({"x": {"pattern": "("}}), &[])),
        (
            "Remote",
            object(
                json!({"x": {"$ref": "https://example.org/schema.json"}}),
                &[],
            ),
        ),
        (
            "Dangling",
            object(json!({"x": {"$ref": "#/$defs/nothing"}}), &[]),
        ),
    ] {
        assert!(tool(id, parameters.clone()).is_err(), "{id} {parameters}");
    }
}

#[tokio::test]
async fn ten_thousand_tools_are_no_burden() {
    let world = World::new().await;
    let started = Instant::now();
    let tools = (0..10_000)
        .map(|number| named(&world, &format!("Many.Tool{number}"), &[], "one of many"))
        .collect();
    world.offer("plugin:many", tools);
    let run = world.run("r");
    assert_eq!(
        run.snapshot().definitions(&run.caller().reach).count(),
        world.manager.registry().snapshot().tools().len()
    );
    let said = say(
        &run,
        &tam("command_1: Many.Tool9999\n command_2: many.tool1\n command_3: Many.Toll5000"),
    )
    .await;
    assert_eq!(codes(&said), ["ok", "ok", "tool.unknown"]);
    println!(
        "10,000 tools loaded, listed and called in {:?}",
        started.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn changes_and_calls_at_the_same_time() {
    let world = World::new().await;
    let calls = (0..40).map(|number| {
        let run = world.run(&format!("r{number}"));
        tokio::spawn(async move { say(&run, &tam("command_1: Echo\n command_2: Echo")).await })
    });
    let calls: Vec<_> = calls.collect();
    for number in 0..40 {
        let id = format!("Extra.{number}");
        let extra = world.tool(&id, ExecutionMode::Sync, object(json!({}), &[]), |_, _| {
            Box::pin(async { Ok(json!(null)) })
        });
        world.offer("plugin:extra", vec![extra]);
        tokio::task::yield_now().await;
    }
    for call in calls {
        assert_eq!(codes(&call.await.unwrap()), ["ok", "ok"]);
    }
}
