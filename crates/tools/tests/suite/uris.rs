//! `uri_x`: the content of a file as the value of `x`.

use serde_json::json;

use super::harness::{World, codes, object, tam, told};

#[tokio::test]
async fn a_file_becomes_a_value() {
    for path in [
        "fam://p/dir/a.txt",
        "user://projects/p/dir/a.txt",
        "fam://user/projects/p/dir/a.txt",
        "fam://p/./dir/../dir/a.txt",
        "FAM://p/dir/a.txt",
    ] {
        let world = World::new().await;
        // Exactly as it stands in the file.
        world.write("fam://p/dir/a.txt", "  one\n\ttwo «««\n").await;
        let said = world
            .say(&tam(&format!("command: Echo\n uri_text: {path}")))
            .await;
        assert_eq!(codes(&said), ["ok"], "{path}: {:?}", told(&said));
        assert_eq!(world.echoed(), ["  one\n\ttwo «««\n"], "{path}");
    }
}

#[tokio::test]
async fn a_plain_path_is_a_file_of_the_project() {
    let world = World::new().await;
    world.write("fam://default/notes/a.txt", "mine").await;
    world
        .say(&tam("command: Echo\n uri_text: notes/a.txt"))
        .await;
    assert_eq!(world.echoed(), ["mine"]);
}

#[tokio::test]
async fn the_content_becomes_the_declared_type() {
    for (hint, content, expected) in [
        ("", "7.5", json!({"n": 7.5})),
        ("type_hint_n: number", " 3 ", json!({"n": 3})),
    ] {
        let world = World::new().await;
        world.write("a", content).await;
        let said = world
            .say(&tam(&format!("command: Echo\n uri_n: a\n {hint}")))
            .await;
        assert_eq!(codes(&said), ["ok"], "{content}: {:?}", told(&said));
        assert_eq!(world.given("Echo"), [expected]);
    }
    let world = World::new().await;
    world.write("a.json", r#"{"deep": [1, 2]}"#).await;
    world
        .say(&tam(
            "command: Echo\n uri_data: a.json\n type_hint_data: json",
        ))
        .await;
    assert_eq!(world.given("Echo"), [json!({"data": {"deep": [1, 2]}})]);
}

#[tokio::test]
async fn the_content_is_checked_like_any_value() {
    let world = World::new().await;
    world.write("a", "many").await;
    let said = world.say(&tam("command: Echo\n uri_n: a")).await;
    assert_eq!(codes(&said), ["tool.invalid_arguments"]);
    assert!(world.ran().is_empty());
}

#[tokio::test]
async fn both_ways_at_once_is_an_error() {
    let world = World::new().await;
    world.write("a", "x").await;
    let said = world
        .say(&tam("command: Echo\n text: x\n uri_text: a"))
        .await;
    assert_eq!(
        codes(&said),
        ["tool.invalid_arguments"],
        "{:?}",
        told(&said)
    );
    assert!(world.ran().is_empty());
}

#[tokio::test]
async fn only_a_leading_uri_counts_and_a_declared_name_wins() {
    let world = World::new().await;
    let parameters = object(
        json!({"output_uri": {"type": "string"}, "uri_source": {"type": "string"}, "uri": {"type": "string"}}),
        &[],
    );
    let tool = world.tool(
        "Render",
        innkeeper_protocol::ExecutionMode::Sync,
        parameters,
        |_, _| Box::pin(async { Ok(json!(null)) }),
    );
    world.offer("plugin:render", vec![tool]);
    let said = world
        .say(&tam("command_1: Render\n output_uri_1: fam://p/x\n uri_source_1: fam://p/y\n uri_1: fam://p/z"))
        .await;
    assert_eq!(codes(&said), ["ok"], "{:?}", told(&said));
    assert_eq!(
        world.given("Render"),
        [json!({"output_uri": "fam://p/x", "uri_source": "fam://p/y", "uri": "fam://p/z"})]
    );
}

#[tokio::test]
async fn what_is_in_a_file_is_not_filled_in() {
    let world = World::new().await;
    world.write("a", "@{timestamp} @{request_id}").await;
    world
        .say(&tam("request_id: r\n command: Echo\n uri_text: a"))
        .await;
    assert_eq!(world.echoed(), ["@{timestamp} @{request_id}"]);
}

#[tokio::test]
async fn places_that_are_none() {
    for (path, code) in [
        ("not/there.txt", "workspace.file_not_found"),
        ("fam://p", "workspace.path_is_directory"),
        ("https://example.org/x", "workspace.path_denied"),
        ("file:///etc/passwd", "workspace.path_denied"),
    ] {
        let world = World::new().await;
        world.write("fam://p/x", "").await;
        let said = world
            .say(&tam(&format!("command: Echo\n uri_text: {path}")))
            .await;
        assert_eq!(codes(&said), [code], "{path}: {:?}", told(&said));
        assert!(world.ran().is_empty());
    }
}

#[tokio::test]
async fn bytes_go_in_as_base64() {
    let world = World::new().await;
    let files = world.manager.files();
    let caller = innkeeper_tools::Caller::person("setup".into());
    let uri = files.resolve(&caller, "a.png").unwrap();
    let mode = innkeeper_tools::file::WriteMode::Replace;
    files
        .write(&uri, vec![0xff, 0x00, 0xfe], mode)
        .await
        .unwrap();
    let said = world.say(&tam("command: Echo\n uri_text: a.png")).await;
    assert_eq!(codes(&said), ["tool.invalid_arguments"]);
    let parameters = object(
        json!({"image": {"type": "string", "contentEncoding": "base64"}}),
        &[],
    );
    let tool = world.tool(
        "View",
        innkeeper_protocol::ExecutionMode::Sync,
        parameters,
        |_, _| Box::pin(async { Ok(json!(null)) }),
    );
    world.offer("plugin:view", vec![tool]);
    world.say(&tam("command: View\n uri_image: a.png")).await;
    assert_eq!(world.given("View"), [json!({"image": "/wD+"})]);
}
