//! What a profile offers is all that its agent can call, be told of, or guess at.

use innkeeper_protocol::{ExecutionMode, ToolDefinition};
use innkeeper_tools::{Caller, Pattern, Reach, RunOptions, ToolRun};
use serde_json::json;

use super::harness::{World, codes, object, say, tam, told};

fn run(world: &World, allow: &[&str], deny: &[&str]) -> ToolRun {
    let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(*text)).collect();
    let reach = Reach {
        allow: patterns(allow),
        deny: patterns(deny),
    };
    let caller = Caller::agent("narrow", "r".into(), reach);
    world.manager.begin(caller, RunOptions::default())
}

#[tokio::test]
async fn only_what_is_offered_can_be_called() {
    for (allow, deny, asked, runs) in [
        (&["*"][..], &[][..], "Echo", true),
        (&[], &[], "Echo", false),
        (&["Echo"], &[], "Echo", true),
        (&["Echo"], &[], "echo", true),
        (&["E*"], &[], "Echo", true),
        (&["Json"], &[], "Echo", false),
        (&["*"], &["Echo"], "Echo", false),
        (&["*"], &["Echo"], "ECHO", false),
        (&["*"], &["echo"], "Echo", false),
        (&["*"], &["E*"], "echo", false),
        (&["Echo"], &["*"], "Echo", false),
        (&["File.*"], &["File.Delete"], "File.List", true),
        (&["File.*"], &["File.Delete"], "file:delete", false),
        // An alias is another name for the same tool.
        (&["*"], &["FileOperator.AppendFile"], "File.Append", false),
        (&["*"], &["File.Append"], "FileOperator.AppendFile", false),
    ] {
        let world = World::new().await;
        let said = say(
            &run(&world, allow, deny),
            &tam(&format!("command: {asked}")),
        )
        .await;
        let denied = codes(&said) == ["tool.policy_denied"];
        assert_eq!(
            denied,
            !runs,
            "{allow:?} {deny:?} {asked}: {:?}",
            told(&said)
        );
        assert!(runs || world.ran().is_empty());
    }
}

/// Refused before anything else is looked at: an agent does not learn what a tool wants that it may not call.
#[tokio::test]
async fn a_tool_out_of_reach_says_nothing_about_itself() {
    let world = World::new().await;
    world.write("a.txt", "x").await;
    let said = say(
        &run(&world, &["Json"], &[]),
        &tam("command: GetPlayerInfo\n playerid: 1"),
    )
    .await;
    assert_eq!(codes(&said), ["tool.policy_denied"]);
    assert!(!told(&said)[0].contains("player_id"));
}

#[tokio::test]
async fn suggestions_and_lists_name_only_what_is_in_reach() {
    let world = World::new().await;
    let narrow = run(&world, &["File.*"], &["File.Write"]);
    let said = told(&say(&narrow, &tam("command: File.Writ\n a: b")).await);
    assert!(!said[0].contains("'File.Write'"), "{said:?}");
    let ids: Vec<_> = narrow
        .snapshot()
        .definitions(&narrow.caller().reach)
        .map(|tool| tool.id.to_string())
        .collect();
    assert!(ids.contains(&"File.Read".to_owned()));
    assert!(
        ids.iter()
            .all(|id| id.starts_with("File.") && id != "File.Write"),
        "{ids:?}"
    );
}

#[tokio::test]
async fn the_nearest_tool_in_reach_is_suggested_even_behind_many_others() {
    let world = World::new().await;
    let many = (0..20)
        .map(|number| {
            let definition =
                ToolDefinition::new(format!("Hidden.Wrote{number}"), "", object(json!({}), &[]));
            world.defined(definition, |_, _| Box::pin(async { Ok(json!(null)) }))
        })
        .chain([world.tool(
            "Shown.Wroted",
            ExecutionMode::Sync,
            object(json!({}), &[]),
            |_, _| Box::pin(async { Ok(json!(null)) }),
        )])
        .collect();
    world.offer("plugin:many", many);
    let said = told(
        &say(
            &run(&world, &["Shown.*"], &[]),
            &tam("command: Hidden.Wroted"),
        )
        .await,
    );
    assert!(said[0].contains("'Shown.Wroted'"), "{said:?}");
}

#[tokio::test]
async fn system_files_are_out_of_reach_for_agents() {
    let world = World::new().await;
    for text in [
        "command: File.Read\n file_path: system://config/a.toml",
        "command: File.Read\n file_path: fam://system/config/a.toml",
        "command: File.Write\n file_path: system://config/a.toml\n content: x",
        "command: Echo\n uri_text: system://config/a.toml",
        "command: Echo\n uri_text: fam://x/../../../etc/passwd",
        "command: File.Read\n file_path: ../../x",
    ] {
        let said = world.say(&tam(text)).await;
        assert_eq!(
            codes(&said),
            ["workspace.path_denied"],
            "{text}: {:?}",
            told(&said)
        );
    }
}
