//! The script that ships, and the scripts of the page about models.

use innkeeper_protocol::{Observation, Outcome, parse, render_observation};
use serde_json::{Value as Json, json};

use super::Rehearsal;
use super::tests::{ask, rehearsal, said};
use crate::{Message, ModelErrorKind, Part, messages_from_chat};

#[tokio::test]
async fn the_demo_rolls_and_tells_what_came_of_it() {
    let model = Rehearsal::demo().unwrap();
    let table = [
        ("roll 2d6+3", "2d6+3"),
        ("Please roll me a D20, will you?", "D20"),
        ("roll the dice", "d20"),
        ("帮我掷 3d8", "3d8"),
        ("掷骰子", "d20"),
    ];
    for (line, formula) in table {
        let text = said(&model, &[Message::user(line)]).await;
        let reply = parse(&text);
        assert!(reply.all_diagnostics().is_empty(), "{text}");
        let calls: Vec<_> = reply.calls().collect();
        assert_eq!(calls.len(), 1, "{text}");
        assert_eq!(calls[0].tool, "dice.roll");
        assert_eq!(
            Json::Object(calls[0].params()),
            json!({"formula": formula}),
            "{line}"
        );
        assert!(!reply.response_text.is_empty());
    }
    let result = json!({"formula": "2d6+3", "modifier": 3, "total": 12, "min": 5, "max": 15, "rolls": [4, 5]});
    let observation = Observation::new(
        "dice.roll",
        Outcome::Success {
            result: result.clone(),
            spilled: None,
        },
    );
    let told = render_observation(&observation);
    let answer = "You rolled 2d6+3 and the dice show 4,5: that makes 12.";
    let talk = [
        Message::user("roll 2d6+3"),
        Message::assistant("…"),
        Message::user(&told),
    ];
    assert_eq!(said(&model, &talk).await, answer);
    let native = [
        Message::user("roll 2d6+3"),
        Message::tool_result("c", result.to_string()),
    ];
    assert_eq!(said(&model, &native).await, answer);
}

#[tokio::test]
async fn the_demo_has_a_scene_for_what_a_newcomer_tries() {
    let model = Rehearsal::demo().unwrap();
    let summariser = Message::system("Summarise what you are given in two sentences.");
    let user = Message::user;
    let table = [
        (vec![user("Hello there")], "Hello! This is a rehearsal"),
        (vec![user("你好")], "你好！这是一次排练"),
        (
            vec![user("Summarise: The inn is full. Nobody sleeps.")],
            "In short: The inn is full. (A rehearsal",
        ),
        (
            vec![user(
                "Please summarize the following text:\n\nTea is a drink! It is hot.",
            )],
            "In short: Tea is a drink. ",
        ),
        (
            vec![summariser, user("Rain fell. It stopped.")],
            "In short: Rain fell. ",
        ),
        (
            vec![user("总结：客栈已满。无人入睡。")],
            "简而言之：客栈已满。",
        ),
        (
            vec![user("请总结下面的文字：\n茶是饮料。")],
            "简而言之：茶是饮料。",
        ),
        (
            vec![user("Write a report about green tea.")],
            "# Report on green tea\n\n## What was asked\nWrite a report",
        ),
        (
            vec![user("I need a report")],
            "# Report on nothing in particular",
        ),
        (vec![user("写一份关于茶的报告")], "# 茶：报告"),
        (
            vec![user("Observation: Error - Unknown tool ID 'x'")],
            "That did not work. I was told: Unknown tool ID 'x'",
        ),
        (
            vec![user(
                "Observation: Tool clock executed successfully. Result: noon",
            )],
            "The tool answered: noon",
        ),
        (
            vec![Message::tool_result("c", "noon")],
            "The tool answered: noon",
        ),
        (
            vec![Message::tool_result("c", "")],
            "The tool answered: nothing",
        ),
        (
            vec![user("What is the meaning of life?")],
            "This is a rehearsal",
        ),
        (vec![user("人生的意义是什么？")], "这是一次排练"),
    ];
    for (messages, wanted) in table {
        let text = said(&model, &messages).await;
        assert!(text.starts_with(wanted), "{messages:?}: {text}");
        assert_eq!(parse(&text).blocks.len(), 0, "{text}");
    }
}

/// The examples of the page are what it says they are.
#[tokio::test]
async fn the_page_about_models_shows_scripts_that_play() {
    let page = include_str!("../../../../docs/models.md");
    let examples: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!examples.is_empty());
    for example in &examples {
        rehearsal(example);
    }
    let model = rehearsal(examples[0]);
    let talk =
        messages_from_chat(&json!([{"role": "user", "content": "What is the weather in Oslo?"}]))
            .unwrap();
    let reply = ask(&model, &talk).await.unwrap();
    let text = reply.text();
    let parsed = parse(&text);
    let calls: Vec<_> = parsed
        .calls()
        .map(|call| Json::Object(call.params()))
        .collect();
    assert_eq!(calls, [json!({"city": "Oslo"})]);
    assert!(
        reply
            .parts
            .iter()
            .any(|part| matches!(part, Part::Reasoning { .. }))
    );
    let seen = said(&model, &[Message::tool_result("c", "sunny, 21 degrees")]).await;
    assert_eq!(seen, "It is sunny, 21 degrees.");
    let limited = ask(&model, &[Message::user("too fast")]).await.unwrap_err();
    assert_eq!(limited.kind, ModelErrorKind::RateLimited);
}
