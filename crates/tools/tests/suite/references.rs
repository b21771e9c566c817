//! `@{…}`: filled in by the platform, once, before anything else looks at the value.

use serde_json::json;

use super::harness::{World, codes, tam, told};

/// Step 1 gives this; step 2 echoes the given text.
const RESULT: &str = r#"{"name": "Ann", "age": 7, "tags": ["a", {"deep": true}], "none": null, "quote": "say \"hi\"\n\u0040{timestamp}"}"#;

async fn second_step(fields: &str) -> (World, Vec<&'static str>) {
    let world = World::new().await;
    let text = format!(
        "request_id: req-1
        common_dir: fam://x/today
        command_1: Json
        type_hint_value_1: json
        value_1: {RESULT}
        command_2: Echo
        {fields}"
    );
    let said = world.say(&tam(&text)).await;
    (world, codes(&said))
}

#[tokio::test]
async fn what_a_name_stands_for() {
    for (written, expected) in [
        ("@{common_dir}/cover.png", "fam://x/today/cover.png"),
        ("@{request_id}", "req-1"),
        ("@{Common-Dir}", "fam://x/today"),
        ("@{step_1.result.name}", "Ann"),
        ("@{step_1.result.age}", "7"),
        ("@{step_1.result.tags}", r#"["a",{"deep":true}]"#),
        ("@{step_1.result.tags.0}", "a"),
        ("@{step_1.result.tags.1.deep}", "true"),
        ("@{step_1.result.none}", "null"),
        ("@{step_1.result.name}@{step_1.result.age}", "Ann7"),
        // Written by another step under that very key.
        ("@{type_hint_value_1}", "json"),
        // No references at all.
        (
            "@ {common_dir} ${common_dir} @{} @{",
            "@ {common_dir} ${common_dir} @{} @{",
        ),
    ] {
        let (world, said) = second_step(&format!("text_2: {written}")).await;
        assert_eq!(said, ["ok", "ok"], "{written}");
        assert_eq!(world.echoed(), [expected], "{written}");
    }
}

#[tokio::test]
async fn what_was_filled_in_is_not_looked_at_again() {
    let (world, said) = second_step("text_2: @{step_1.result.quote}").await;
    assert_eq!(said, ["ok", "ok"]);
    assert_eq!(world.echoed(), ["say \"hi\"\n@{timestamp}"]);

    let world = World::new().await;
    let text = "request_id: r\n common_x: @{request_id}\n command: Echo\n text: @{common_x}";
    world.say(&tam(text)).await;
    assert_eq!(
        world.given("Echo"),
        [json!({"text": "@{request_id}", "x": "r"})]
    );
}

#[tokio::test]
async fn an_unknown_name_stays_and_is_mentioned() {
    let world = World::new().await;
    let said = world
        .say(&tam(
            "command_1: Echo\n text_1: a @{nobody} @{step_9.result} b",
        ))
        .await;
    assert_eq!(world.echoed(), ["a @{nobody} @{step_9.result} b"]);
    assert_eq!(codes(&said), ["ok", "note"]);
    let note = &told(&said)[1];
    assert!(
        note.contains("@{nobody}") && note.contains("@{step_9.result}"),
        "{note}"
    );
}

#[tokio::test]
async fn a_reference_without_a_value_is_an_error_of_its_step() {
    for written in [
        "@{step_1.result.nothing}",
        "@{step_1.result.tags.7}",
        "@{step_1.result.name.first}",
        "@{step_2.result}",
    ] {
        let (world, said) = second_step(&format!("text_2: {written}")).await;
        assert_eq!(said, ["ok", "tool.reference_unresolved"], "{written}");
        assert!(world.echoed().is_empty(), "{written}");
    }
}

#[tokio::test]
async fn a_failed_or_skipped_step_has_no_result() {
    let world = World::new().await;
    let text = "command_1: Fail\n on_error_1: continue
        command_2: Echo\n text_2: @{step_1.result}\n on_error_2: continue
        command_3: Echo\n text_3: @{step_2.result}\n on_error_3: continue
        command_4: Echo\n text_4: fine";
    let said = world.say(&tam(text)).await;
    let unresolved = "tool.reference_unresolved";
    assert_eq!(
        codes(&said),
        ["tool.execution_failed", unresolved, unresolved, "ok"]
    );
}

#[tokio::test]
async fn it_is_filled_in_before_the_hint_is_followed() {
    let (world, said) = second_step("n_2: @{step_1.result.age}.5\n type_hint_n_2: number").await;
    assert_eq!(said, ["ok", "ok"]);
    assert_eq!(world.given("Echo"), [json!({"n": 7.5})]);
}

#[tokio::test]
async fn inside_json_it_is_escaped() {
    for (written, expected) in [
        (
            r#"{"a": "@{step_1.result.quote}"}"#,
            json!({"a": "say \"hi\"\n@{timestamp}"}),
        ),
        (
            r#"{"a": "\"@{step_1.result.quote}"}"#,
            json!({"a": "\"say \"hi\"\n@{timestamp}"}),
        ),
        (
            r#"{"a": "<@{step_1.result.tags}>"}"#,
            json!({"a": r#"<["a",{"deep":true}]>"#}),
        ),
        (
            r#"{"a": @{step_1.result.tags}}"#,
            json!({"a": ["a", {"deep": true}]}),
        ),
        (r#"{"@{step_1.result.name}": 1}"#, json!({"Ann": 1})),
    ] {
        let (world, said) =
            second_step(&format!("data_2: {written}\n type_hint_data_2: json")).await;
        assert_eq!(said, ["ok", "ok"], "{written}");
        assert_eq!(
            world.given("Echo"),
            [json!({"data": expected})],
            "{written}"
        );
    }
}

#[tokio::test]
async fn all_steps_have_the_same_timestamp() {
    let world = World::new().await;
    let text = "command_1: Echo\n text_1: @{timestamp}\n command_2: Echo\n text_2: @{timestamp}";
    world.say(&tam(text)).await;
    let echoed = world.echoed();
    assert_eq!(echoed[0], echoed[1]);
    assert!(echoed[0].parse::<jiff::Timestamp>().is_ok(), "{echoed:?}");
}

#[tokio::test]
async fn uris_are_filled_in_too() {
    let world = World::new().await;
    world.write("fam://x/notes/a.txt", "the note").await;
    let text = "common_x: fam://x/notes\n command_1: Echo\n uri_text_1: @{common_x}/a.txt\n command_2: Echo";
    assert_eq!(codes(&world.say(&tam(text)).await), ["ok", "ok"]);
    assert_eq!(world.echoed()[0], "the note");
}

#[tokio::test]
async fn a_shared_key_keeps_its_value_where_a_step_has_its_own() {
    let world = World::new().await;
    let text = "common_x: shared\n command: Echo\n x: own\n text: @{common_x}";
    world.say(&tam(text)).await;
    assert_eq!(world.given("Echo"), [json!({"text": "shared", "x": "own"})]);
}

#[tokio::test]
async fn any_key_of_the_block_can_be_named() {
    let world = World::new().await;
    let text = "who: Ann\n command_1: Echo\n text_1: hello @{who}\n command_2: Echo\n text_2: bye @{text_1}";
    world.say(&tam(text)).await;
    assert_eq!(world.echoed(), ["hello Ann", "bye hello @{who}"]);
}

#[tokio::test]
async fn a_long_result_is_referred_to_whole() {
    let world = World::new().await;
    let text = "command_1: Big\n chars_1: 50000\n tail_1: END\n command_2: Echo\n text_2: @{step_1.result}";
    assert_eq!(codes(&world.say(&tam(text)).await), ["ok", "ok"]);
    let text = world.echoed().remove(0);
    assert_eq!(text.len(), 50_003);
    assert!(text.ends_with("END"));
}

#[tokio::test]
async fn filling_in_cannot_make_a_call_huge() {
    let world = World::new().await;
    let many = "@{step_1.result}".repeat(10);
    let text = format!("command_1: Big\n chars_1: 1000000\n command_2: Echo\n text_2: {many}");
    let said = world.say(&tam(&text)).await;
    assert_eq!(codes(&said), ["ok", "tool.reference_unresolved"]);
}
