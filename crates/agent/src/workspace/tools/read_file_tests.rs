use innkeeper_protocol::{ErrorCode as Code, Observation, render_observation_within};
use serde_json::json;

use super::super::super::testing::House;
use crate::limits::MAX_SHOWN_READ_CHARS;

const READ: &str = "workspace.read_file";

#[tokio::test]
async fn reads_are_numbered_measured_and_remembered() {
    let text = "一二\r\nb 😀\r\n\r\nlast one";
    let house = House::new(&[("output/a.md", text), ("output/empty.md", "")]);
    let all = house
        .call(READ, json!({"path": "./output/a.md"}))
        .await
        .unwrap();
    assert_eq!(all["content"], "1 | 一二\n2 | b 😀\n3 | \n4 | last one");
    for (field, value) in [
        ("path", json!("output/a.md")),
        ("totalLines", json!(4)),
        ("startLine", json!(1)),
        ("endLine", json!(4)),
        ("bytes", json!(text.len())),
        ("chars", json!(text.chars().count())),
        ("words", json!(5)),
        ("totalChars", json!(text.chars().count())),
        ("startChar", json!(0)),
        ("truncated", json!(false)),
        ("fullRead", json!(true)),
        ("lineEnding", json!("crlf")),
    ] {
        assert_eq!(all[field], value, "{field}");
    }
    assert!(house.session.read_state("output/a.md").unwrap().full);

    let empty = house
        .call(READ, json!({"path": "output/empty.md"}))
        .await
        .unwrap();
    assert_eq!(
        (&empty["content"], &empty["fullRead"]),
        (&json!(""), &json!(true))
    );
    assert_eq!(
        (&empty["startLine"], &empty["endLine"]),
        (&json!(1), &json!(0))
    );

    for (arguments, content, lines, chars, truncated) in [
        (
            json!({"start_line": 2, "line_count": 1}),
            "2 | b 😀",
            (2, 2),
            (4, 9),
            true,
        ),
        (
            json!({"start_line": 3}),
            "3 | \n4 | last one",
            (3, 4),
            (9, 19),
            false,
        ),
        (json!({"line_count": 1}), "1 | 一二", (1, 1), (0, 4), true),
        (
            json!({"start_char": 1, "max_chars": 4}),
            "1 | 二\n2 | b",
            (1, 2),
            (1, 5),
            true,
        ),
        (
            json!({"start_char": 11}),
            "4 | last one",
            (4, 4),
            (11, 19),
            false,
        ),
    ] {
        let house = House::new(&[("output/a.md", text)]);
        let mut arguments = arguments;
        arguments["path"] = json!("output/a.md");
        let part = house.call(READ, arguments.clone()).await.unwrap();
        assert_eq!(part["content"], content, "{arguments}");
        let numbers = |a: &str, b: &str| (part[a].as_u64().unwrap(), part[b].as_u64().unwrap());
        assert_eq!(numbers("startLine", "endLine"), lines, "{arguments}");
        assert_eq!(numbers("startChar", "endChar"), chars, "{arguments}");
        assert_eq!(
            (&part["truncated"], &part["fullRead"]),
            (&json!(truncated), &json!(false))
        );
        let read = house.session.read_state("output/a.md").unwrap();
        assert_eq!(
            (read.full, read.ranges),
            (false, vec![chars]),
            "{arguments}"
        );
    }
}

/// As much as is promised is read at once, and all of it is shown: an answer is never cut behind the tool's back.
#[tokio::test]
async fn what_is_promised_is_read_and_shown() {
    let lines = |count: usize, line: &str| format!("{line}\n").repeat(count);
    let quarter = 256 * 1024;
    let files = [
        (
            "output/lines.md",
            lines(1_200, "\"quoted\" and 引 some more"),
        ),
        ("output/more.md", lines(1_201, "x")),
        ("output/full.md", "x".repeat(quarter)),
        ("output/over.md", "x".repeat(quarter + 1)),
        // The worst there is: each byte becomes six characters of the answer.
        ("output/worst.md", "\u{1}".repeat(quarter)),
        ("output/wide.md", lines(2_000, &"引".repeat(400))),
    ];
    let house = House::new(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
    for (path, arguments, read) in [
        ("output/lines.md", json!({}), Ok(true)),
        ("output/lines.md", json!({"line_count": 1200}), Ok(true)),
        ("output/more.md", json!({}), Err("workspace.read_too_large")),
        ("output/more.md", json!({"line_count": 1200}), Ok(false)),
        (
            "output/more.md",
            json!({"line_count": 1201}),
            Err("workspace.read_line_count_too_large"),
        ),
        ("output/full.md", json!({}), Ok(true)),
        ("output/worst.md", json!({}), Ok(true)),
        ("output/over.md", json!({}), Err("workspace.read_too_large")),
        ("output/over.md", json!({"max_chars": 80_000}), Ok(false)),
        (
            "output/over.md",
            json!({"max_chars": 80_001}),
            Err("workspace.read_char_count_too_large"),
        ),
        (
            "output/wide.md",
            json!({"start_char": 7, "max_chars": 80_000}),
            Ok(false),
        ),
        // Too much was asked for; where nobody said how much, less will do.
        (
            "output/wide.md",
            json!({"line_count": 1200}),
            Err("workspace.read_too_large"),
        ),
        ("output/wide.md", json!({"start_line": 1}), Ok(false)),
    ] {
        let mut arguments = arguments;
        arguments["path"] = json!(path);
        match (house.call(READ, arguments.clone()).await, read) {
            (Ok(answer), Ok(full)) => {
                assert_eq!(answer["fullRead"], full, "{arguments}");
                assert!(answer.to_string().chars().count() <= MAX_SHOWN_READ_CHARS);
                let observation = Observation::success(READ, answer);
                let told = render_observation_within(&observation, MAX_SHOWN_READ_CHARS);
                assert!(!told.contains("Result cut"), "{arguments}");
            }
            (Err(error), Err(reason)) => {
                assert_eq!(error.code, Code::WorkspaceReadTooLarge, "{arguments}");
                assert_eq!(error.reason.as_deref(), Some(reason), "{arguments}");
            }
            (answer, _) => panic!(
                "{arguments}: {:?}",
                answer.map(|answer| answer["chars"].clone())
            ),
        }
    }
    // In parts, each as long as it may be, all of it comes to be known.
    let mut start = 0;
    let is_known = || {
        house
            .session
            .read_state("output/wide.md")
            .is_some_and(|read| read.full)
    };
    while !is_known() {
        let part = json!({"path": "output/wide.md", "start_char": start});
        let answer = house.call(READ, part).await.unwrap();
        start = answer["endChar"].as_u64().unwrap();
    }
    let mut tools = house.tools().iter();
    let (_, executor) = tools.find(|(tool, _)| tool.id.as_str() == READ).unwrap();
    assert_eq!(executor.most_shown(), MAX_SHOWN_READ_CHARS);
}
