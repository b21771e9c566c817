use innkeeper_protocol::ErrorCode as Code;
use serde_json::{Value as Json, json};

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

/// What is read is shown: an answer is never cut behind the tool's back.
#[tokio::test]
async fn no_more_is_read_than_is_shown() {
    let text = "\"quoted\" and 引 some more\n".repeat(3_000);
    let house = House::new(&[("output/a.md", &text)]);
    let read = |arguments: Json| {
        let mut arguments = arguments;
        arguments["path"] = json!("output/a.md");
        house.call(READ, arguments)
    };
    for (arguments, fits) in [
        (json!({}), false),
        (json!({"line_count": 1200}), false),
        (json!({"start_char": 0, "max_chars": 40_000}), false),
        (json!({"start_line": 1}), true),
        (json!({"start_char": 5}), true),
        (json!({"line_count": 600}), true),
    ] {
        let answer = read(arguments.clone()).await;
        match answer {
            Ok(answer) => {
                assert!(fits, "{arguments}");
                assert_eq!(answer["truncated"], true);
                assert!(answer.to_string().chars().count() <= MAX_SHOWN_READ_CHARS);
            }
            Err(error) => {
                assert!(!fits, "{arguments}: {error}");
                assert_eq!(error.code, Code::WorkspaceReadTooLarge);
            }
        }
    }
    // In parts, each as long as it may be, all of it comes to be known.
    let mut start = 0;
    while !house
        .session
        .read_state("output/a.md")
        .is_some_and(|read| read.full)
    {
        let answer = read(json!({"start_char": start})).await.unwrap();
        start = answer["endChar"].as_u64().unwrap();
    }
    let (_, executor) = house
        .tools()
        .iter()
        .find(|(tool, _)| tool.id.as_str() == READ)
        .unwrap();
    assert_eq!(executor.most_shown(), MAX_SHOWN_READ_CHARS);
}
