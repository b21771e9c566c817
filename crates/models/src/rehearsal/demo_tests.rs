//! What the script that ships says, and the scripts of the page about models.

use innkeeper_protocol::{Observation, Outcome, parse, render_observation};
use serde_json::{Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::Rehearsal;
use super::tests::{ask, rehearsal, said};
use crate::{
    Message, Model, ModelErrorKind, ModelEvent, ModelRequest, Part, Retrying, messages_from_chat,
};

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
            vec![user("Help me")],
            "This is a rehearsal: a script answers, not a language model. The tools are real. Type",
        ),
        (
            vec![user("帮我")],
            "这是一次排练：回答你的是脚本，不是语言模型；工具是真的。",
        ),
        (
            vec![
                user("请求批准"),
                user("Observation: Error - Tool x was denied: nobody is there to be asked"),
            ],
            "没有得到允许，所以没有做。在终端里",
        ),
        (
            vec![
                user("请求批准"),
                user("Observation: Error - Tool x was denied: 今天不行"),
            ],
            "没有得到允许，所以没有做。理由是：今天不行。",
        ),
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
            "# Report on green tea\n\n## What was found",
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

#[tokio::test(start_paused = true)]
async fn the_demo_is_limited_first_and_then_answers() {
    for (line, wanted) in [
        ("hit the rate limit", "The first attempt was refused"),
        ("触发限流", "第一次请求被拒绝了"),
    ] {
        let model = Rehearsal::demo().unwrap();
        let error = ask(&model, &[Message::user(line)]).await.unwrap_err();
        assert_eq!(error.kind, ModelErrorKind::RateLimited);
        assert!(error.retryable() && error.retry_after.is_some());
        let request = ModelRequest::new("", vec![Message::user(line)]);
        let stream = Retrying::new(model).stream(request, CancellationToken::new());
        let text = stream.collect().await.unwrap().text();
        assert!(text.starts_with(wanted), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_story_is_thought_over_and_comes_in_many_pieces() {
    let model = Rehearsal::demo().unwrap();
    for line in ["tell me a story", "讲个故事"] {
        let request = ModelRequest::new("", vec![Message::user(line)]);
        let mut stream = model.stream(request, CancellationToken::new());
        let (mut thoughts, mut pieces) = (0, 0);
        while let Some(event) = stream.next().await {
            match event.unwrap() {
                ModelEvent::Reasoning(_) => thoughts += 1,
                ModelEvent::Text(_) => pieces += 1,
                _ => {}
            }
        }
        assert!(thoughts > 3 && pieces > 30, "{thoughts} {pieces}");
    }
}

/// Answers to what came of calls, in the language of the question.
#[tokio::test]
async fn the_demo_tells_what_came_of_each_call() {
    let model = Rehearsal::demo().unwrap();
    let done = |tool: &str, result: Json| {
        render_observation(&Observation::new(
            tool,
            Outcome::Success {
                result,
                spilled: None,
            },
        ))
    };
    let note = "user://projects/default/notes/hello.md";
    let file = json!({"path": note, "bytes": 25, "created": true});
    let content = json!({"path": note, "content": "Hello.\nAgain.", "startLine": 1});
    let tour = [
        done("File.Write", file.clone()),
        done("File.Read", content.clone()),
    ];
    let dice = json!({"formula": "2d6", "total": 7, "rolls": [3, 4]});
    let now = json!({"iso": "2026-11-15T09:00:00Z"});
    let at_once = [
        done("dice.roll", dice.clone()),
        done("dice.roll", dice.clone()),
        done("system:get_current_time", now.clone()),
    ];
    let denied = "Observation: Error - Tool File.Delete was denied: the person said no";
    let half = format!("{}\n{denied}", done("File.Write", file.clone()));
    let table = [
        (done("dice.roll", dice), "You rolled 2d6", "掷了 2d6"),
        (
            at_once.join("\n"),
            "Three calls in one reply: the dice gave 7 and 7",
            "三个调用一次完成",
        ),
        (
            tour.join("\n"),
            "Written, read back and listed, in three steps. The file says: “Hello.”",
            "写好、读回、列出",
        ),
        (
            done("File.Write", file),
            "Written: user://projects/default/notes/hello.md, 25 bytes.",
            "写好了：user://",
        ),
        (
            done("File.Read", content),
            "user://projects/default/notes/hello.md begins: “Hello.”",
            "user://projects/default/notes/hello.md 里写着：“Hello.”",
        ),
        (
            done("File.List", json!({"path": "x", "entries": []})),
            "The project holds: nothing yet",
            "项目里有：还什么都没有",
        ),
        (
            done("File.Delete", json!({"path": note, "kind": "file"})),
            "With your leave, user://",
            "得到允许之后",
        ),
        (
            half,
            "That was not allowed, so it was not done. The reason: the person said no.",
            "没有得到允许",
        ),
        (
            done(
                "CodeInterpreter:execute",
                json!({"exit": 0, "stdout": "5050\n", "stderr": ""}),
            ),
            "The program ran in the sandbox and printed: 5050",
            "程序在沙箱里运行完毕，输出：5050",
        ),
        (
            done(
                "CodeInterpreter:execute",
                json!({"exit": 3, "stdout": "", "stderr": "File \"a\"\nValueError: no such tea\n"}),
            ),
            "The program failed in the sandbox (exit code 3): ValueError: no such tea",
            "程序在沙箱里失败了（退出码 3）",
        ),
        (
            done(
                "workflow:report",
                json!({"report": "# Tea", "path": "user://r.md"}),
            ),
            "The workflow asked its model three times, put the parts together and kept the report: user://r.md",
            "工作流问了模型三次",
        ),
        (
            done(
                "workflow:summarise",
                json!({"summary": "Short.", "method": "model"}),
            ),
            "The workflow (model) says: Short.",
            "工作流（方式：model）",
        ),
        (
            done(
                "workflow:summarise",
                json!({"summary": "Short.", "method": "none"}),
            ),
            "It is short enough already, so the workflow left it as it is: Short.",
            "原文已经够短，工作流没有改动：Short.",
        ),
        (
            done("Http.Request", json!({"status": 204})),
            "The server answered with status 204.",
            "服务器回答了，状态码 204。",
        ),
        (
            done("system:get_current_time", now),
            "It is 2026-11-15T09:00:00Z.",
            "现在是 2026-11-15T09:00:00Z。",
        ),
        (
            "Observation: Error - the tool broke".to_owned(),
            "That did not work. I was told: the tool broke",
            "没有成功。工具说：the tool broke",
        ),
    ];
    for (observation, english, chinese) in table {
        for (asked, wanted) in [("do it", english), ("做吧", chinese)] {
            let talk = [
                Message::user(asked),
                Message::assistant("…"),
                Message::user(&observation),
            ];
            let text = said(&model, &talk).await;
            assert!(text.starts_with(wanted), "{observation}: {text}");
            assert_eq!(parse(&text).blocks.len(), 0, "{text}");
        }
    }
}

#[tokio::test]
async fn anything_else_is_told_what_this_is_and_how_to_connect_a_real_model() {
    let model = Rehearsal::demo().unwrap();
    for line in [
        "help",
        "帮助",
        "What is love?",
        "爱是什么？",
        "空はなぜ青い",
    ] {
        let text = said(&model, &[Message::user(line)]).await;
        for part in [
            "innkeeper models discover",
            "innkeeper models add <provider>",
            "docs/models.md",
        ] {
            assert!(text.contains(part), "{line}: {text}");
        }
        assert_eq!(parse(&text).blocks.len(), 0, "{text}");
    }
    // Every line of the help does something else than say that it knows nothing.
    for help in ["help", "帮助"] {
        let text = said(&model, &[Message::user(help)]).await;
        let lines = text.lines().filter_map(|line| line.strip_prefix("- "));
        let sentences: Vec<&str> = lines.flat_map(|line| line.split(" | ")).collect();
        assert!(sentences.len() > 18, "{text}");
        for sentence in sentences {
            let talk = [Message::user(sentence)];
            let Ok(reply) = ask(&model, &talk).await else {
                continue;
            };
            let text = reply.text();
            assert!(
                !text.contains("no scene for this") && !text.contains("没有这一句"),
                "{sentence}"
            );
        }
    }
}

/// What the page tells to type is known.
#[tokio::test(start_paused = true)]
async fn the_page_about_models_names_sentences_that_are_known() {
    let page = include_str!("../../../../docs/models.md");
    let table = page.split("### What can be typed").nth(1).unwrap();
    let table = table.split("\n### ").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.filter_map(|row| row.split(" | ").next());
    let sentences: Vec<&str> = cells
        .flat_map(|cell| cell.trim_end_matches('`').split("`, `"))
        .collect();
    assert!(sentences.len() > 30, "{sentences:?}");
    let model = Rehearsal::demo().unwrap();
    for sentence in sentences {
        if let Ok(reply) = ask(&model, &[Message::user(sentence)]).await {
            let text = reply.text();
            let is_known = !text.contains("no scene for this") && !text.contains("没有这一句");
            assert!(is_known, "{sentence}: {text}");
        }
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
