//! `innkeeper tools …`: seeing, calling, looking back.

use serde_json::{Value, json};

use super::home::{House, Plugin, players};

#[test]
fn the_list_can_be_narrowed() {
    let house = House::new();
    house.run(&["tools", "list"]).shows(&[
        "TOOL",
        "SOURCE",
        "DESCRIPTION",
        "File.Read",
        "dice.roll",
        "builtin",
    ]);
    house
        .run(&["tools", "list", "--lang", "zh"])
        .shows(&["工具", "来源", "说明", "File.Read"]);
    let ids = |words: &[&str]| -> Vec<String> {
        let words = [&["tools", "list"][..], words].concat();
        let found = house.json(&words);
        let ids = found.as_array().unwrap().iter();
        ids.map(|tool| tool["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&["file.Rea*"]), ["File.Read"]);
    assert_eq!(ids(&["FileOperator.ReadFile"]), ["File.Read"]);
    assert!(ids(&["--source", "plugin:*"]).is_empty());
    assert!(
        ids(&["--tag", "file"])
            .iter()
            .all(|id| id.starts_with("File."))
    );
    let none = house.run(&["tools", "list", "nothing.*"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("No tool fits"), "{}", none.stderr);
    let quiet = house.run(&["tools", "list", "nothing.*", "--quiet"]);
    assert_eq!(quiet.stderr, "");
}

#[test]
fn tools_are_found_by_what_they_do() {
    let house = House::new();
    house
        .run(&["tools", "search", "roll", "some dice"])
        .shows(&["TOOL", "dice.roll", "builtin"]);
    house
        .run(&["tools", "search", "读取文件", "--lang", "zh"])
        .shows(&["工具", "File.Read"]);
    let found = house.json(&["tools", "search", "read a file", "--limit", "2"]);
    let found = found.as_array().unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0]["id"], "File.Read");
    assert!(found[0]["score"].as_f64() > found[1]["score"].as_f64());
    assert!(found[0]["parameters"]["properties"]["file_path"].is_object());
    let none = house.run(&["tools", "search", "xyzzy"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    assert!(none.stderr.contains("No tool fits"), "{}", none.stderr);
    house
        .run(&["tools", "search", "?!"])
        .is_refused(2, &["WORDS", "'?!'", "say what the tool should do"]);
    house
        .run(&["--lang", "zh", "tools", "search", "?!"])
        .is_refused(2, &["请说出工具要做什么"]);
    house
        .run(&["tools", "search", "dice", "--limit", "0"])
        .is_refused(2, &["--limit"]);
}

#[test]
fn one_tool_in_words_and_as_it_is() {
    let house = House::new();
    house.run(&["tools", "show", "File.Read"]).shows(&[
        "File.Read",
        "PARAMETER",
        "file_path",
        "start_line",
        "integer",
        "yes",
    ]);
    house
        .run(&["tools", "show", "fileoperator.readfile", "--lang", "zh"])
        .shows(&["参数", "必需", "是", "File.Read"]);
    let tool = house.json(&["tools", "show", "File.Read"]);
    assert_eq!(tool["parameters"]["required"], json!(["file_path"]));
    house.run(&["tools", "show", "File.Raed"]).is_refused(
        2,
        &[
            "no tool 'File.Raed'",
            "did you mean File.Read",
            "[tool.unknown]",
        ],
    );
    house
        .run(&["--lang", "zh", "tools", "show", "xyzzy"])
        .is_refused(2, &["没有工具“xyzzy”", "tools list"]);
}

#[test]
fn a_person_calls_a_tool() {
    let house = House::new();
    let content = "file_path=n.md";
    house
        .run(&["tools", "call", "File.Write", content, "content=a = b"])
        .shows(&["\"created\": true"]);
    let read = house.json(&["tools", "call", "File.Read", content]);
    assert_eq!(read["outcome"], "success");
    assert_eq!(read["result"]["content"], "a = b");
    // By a JSON object, from the command line and from standard input.
    let arguments = r#"{"file_path": "n.md", "line_count": 1}"#;
    let run = house.run(&["tools", "call", "File.Read", "--args", arguments]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let run = house.fed(&["tools", "call", "File.Read", "--args", "-"], arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let log = house.json(&["tools", "audit", "--limit", "1"]);
    assert_eq!(log[0]["actor"], "person");
}

#[test]
fn every_wrong_parameter_is_named_at_once() {
    let house = House::new();
    let words = [
        "tools",
        "call",
        "File.Read",
        "file=a.md",
        "start_line=soon",
        "x=1",
    ];
    let run = house.run(&words);
    run.is_refused(
        1,
        &[
            "'file'",
            "did you mean 'file_path'?",
            "start_line",
            "'x'",
            "[tool.invalid_arguments]",
        ],
    );
    let run = house.run(&[&words[..], &["--json"]].concat());
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    assert!(
        run.json()["problems"].as_array().unwrap().len() >= 3,
        "{}",
        run.stdout
    );
    // The names are exact: what a model may write loosely, a person mistyped.
    house
        .run(&["tools", "call", "File.Read", "filePath=a.md"])
        .is_refused(
            1,
            &["Unknown parameter 'filePath', did you mean 'file_path'?"],
        );
}

#[test]
fn what_cannot_be_a_call() {
    let house = House::new();
    let call = |words: &[&str]| house.run(&[&["tools", "call"][..], words].concat());
    call(&[]).is_refused(
        2,
        &[
            "<ID> is missing",
            "innkeeper tools call --help",
            "[cli.usage]",
        ],
    );
    call(&["Nope"]).is_refused(2, &["no tool 'Nope'", "[tool.unknown]"]);
    call(&["dice.roll", "2d6"]).is_refused(2, &["'2d6'", "NAME=VALUE", "[cli.usage]"]);
    call(&["dice.roll", "=2d6"]).is_refused(2, &["'=2d6'"]);
    call(&["dice.roll", "--args", "[1]"]).is_refused(2, &["--args", "[input.not_json]"]);
    call(&["dice.roll", "--args", "{"]).is_refused(2, &["--args", "not a JSON object"]);
    call(&["--lang", "zh", "dice.roll", "2d6"]).is_refused(2, &["不接受“2d6”", "名称=值"]);
}

#[test]
fn what_a_rule_asks_the_person_has_answered_and_what_it_forbids_stays_forbidden() {
    let house = House::new();
    house.settings(
        "[[policy.rules]]\ntool = \"dice.*\"\ndecision = \"ask\"\n\
         [[policy.rules]]\ntool = \"File.*\"\ndecision = \"deny\"\n",
    );
    let run = house.run(&["tools", "call", "dice.roll", "formula=2d6"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    house
        .run(&["tools", "call", "File.List"])
        .is_refused(1, &["File.List", "[tool.policy_denied]"]);
}

#[test]
fn a_tool_in_the_background() {
    let house = House::new();
    house.plugin(&Plugin {
        mode: "async",
        ..players()
    });
    let words = ["tools", "call", "GetPlayerInfo", "player_id=1"];
    let run = house.run(&words);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.stdout, "{\n  \"name\": \"Hero\"\n}\n");
    let handle = house.json(&[&words[..], &["--no-wait"]].concat());
    assert_eq!(handle["outcome"], "async_started");
}

#[test]
fn what_a_script_prints_cannot_break_the_line() {
    let house = House::new();
    house.plugin(&Plugin {
        script: r#"cat > /dev/null; printf '{"success": false, "error": "a\\u001b[2J\\nb"}'; exit 1"#,
        ..players()
    });
    let run = house.run(&["tools", "call", "GetPlayerInfo", "player_id=1"]);
    run.is_refused(1, &["GetPlayerInfo"]);
    assert!(!run.stderr.contains('\u{1b}'), "{:?}", run.stderr);
}

#[test]
fn manifests_are_what_a_model_reads() {
    let house = House::new();
    let manifest = |words: &[&str]| {
        let words = [&["tools", "manifest", "--tools", "dice.*"][..], words].concat();
        house.run(&words)
    };
    manifest(&[]).shows(&["dice.roll", "<|[REQUEST_TOOL]|>"]);
    manifest(&["--protocol", "action"]).shows(&["<ACTION>"]);
    manifest(&["--protocol", "tool-call"]).shows(&["<tool_call"]);
    manifest(&["--locale", "zh"]).shows(&["工具"]);
    let by_lang = manifest(&["--lang", "zh"]).stdout;
    assert_eq!(by_lang, manifest(&["--locale", "zh"]).stdout);
    let json = manifest(&["--json"]).json();
    assert_eq!(json["protocol"], "tam");
    let text = json["text"].as_str().unwrap();
    assert_eq!(manifest(&[]).stdout.trim_end(), text.trim_end());
    for provider in ["openai", "anthropic", "gemini"] {
        let declared = manifest(&["--protocol", provider, "--json"]).json();
        assert!(
            declared.to_string().contains("dice"),
            "{provider}: {declared}"
        );
    }
    manifest(&["--protocol", "xml"]).is_refused(2, &["'xml'", "tam, action, tool-call, openai"]);
}

#[test]
fn the_log_is_asked_and_checked() {
    let house = House::new();
    let empty = house.run(&["tools", "audit"]);
    assert_eq!((empty.code, empty.stdout.as_str()), (Some(0), ""));
    house.run(&["tools", "call", "dice.roll", "formula=1d4"]);
    house.run(&["tools", "call", "File.Read", "file_path=none"]);
    let log = |words: &[&str]| -> Vec<Value> {
        let words = [&["tools", "audit"][..], words].concat();
        house.json(&words).as_array().unwrap().clone()
    };
    let all = log(&[]);
    assert_eq!(all.len(), 2);
    assert_eq!(all[0]["tool"], "File.Read");
    assert_eq!(log(&["--tool", "dice.*"]).len(), 1);
    assert_eq!(log(&["--outcome", "ERROR"]).len(), 1);
    assert_eq!(log(&["--limit", "1"]).len(), 1);
    assert_eq!(log(&["--since", "1h"]).len(), 2);
    assert_eq!(log(&["--since", "2999-01-01"]).len(), 0);
    assert_eq!(log(&["--run", all[1]["run"].as_str().unwrap()]).len(), 1);
    house
        .run(&["tools", "audit"])
        .shows(&["OUTCOME", "success", "error", "dice.roll"]);
    house
        .run(&["tools", "audit", "--lang", "zh"])
        .shows(&["结果", "dice.roll"]);
    house
        .run(&["tools", "audit", "--verify"])
        .shows(&["Intact: 2 records"]);
    assert_eq!(house.json(&["tools", "audit", "--verify"])["records"], 2);
    for (words, fragments) in [
        (
            &["--since", "soon"][..],
            &["'soon'", "--since", "[cli.usage]"][..],
        ),
        (
            &["--outcome", "fine"],
            &["'fine'", "success, error, denied"],
        ),
        (
            &["--verify", "--run", "x"],
            &["--verify", "--run", "cannot stand beside"],
        ),
        (&["--limit", "many"], &["'many'", "--limit"]),
    ] {
        let words = [&["tools", "audit"][..], words].concat();
        house.run(&words).is_refused(2, fragments);
    }
}

#[test]
fn grants_are_listed_and_taken_back() {
    let house = House::new();
    assert_eq!(house.json(&["tools", "grants"]), json!([]));
    let none = house.run(&["tools", "grants"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), ""));
    house
        .run(&["tools", "grants", "--revoke", "7"])
        .is_refused(2, &["no grant 7", "[grant.unknown]"]);
    house
        .run(&["tools", "grants", "--revoke", "seven"])
        .is_refused(2, &["'seven'", "--revoke"]);
}

#[test]
fn a_command_behind_tools_is_needed() {
    for (words, fragment) in [
        (&["tools"][..], "innkeeper tools needs a command"),
        (&["tools", "--lang", "zh"], "innkeeper tools 后面缺少命令"),
        (&["tools", "lst"], "did you mean list?"),
    ] {
        let run = House::new().run(words);
        run.is_refused(2, &[fragment, "innkeeper tools --help", "[cli.usage]"]);
    }
}

#[test]
fn a_log_that_somebody_changed_is_found_out() {
    let house = House::new();
    house.run(&["tools", "call", "dice.roll", "formula=3d4"]);
    let database = house.path().join("innkeeper.db");
    let mut bytes = std::fs::read(&database).unwrap();
    let at: Vec<usize> = (0..bytes.len().saturating_sub(3))
        .filter(|at| &bytes[*at..*at + 3] == b"3d4")
        .collect();
    assert!(
        !at.is_empty(),
        "the log is in the file once the command has ended"
    );
    for at in at {
        bytes[at] = b'9';
    }
    std::fs::write(&database, bytes).unwrap();
    for (lang, word) in [("en", "Broken: record 1"), ("zh", "已被改动：第 1 条")] {
        let run = house.run(&["tools", "audit", "--verify", "--lang", lang]);
        assert_eq!(run.code, Some(1), "{}", run.stderr);
        assert!(run.stdout.contains(word), "{}", run.stdout);
    }
    let run = house.run(&["tools", "audit", "--verify", "--json"]);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.json()["broken"]["id"], 1);
}

#[test]
fn a_person_gets_the_whole_result_and_gives_exact_texts() {
    let house = House::new();
    let long = "line\n".repeat(10_000);
    house.write("projects/default/long.txt", &long);
    let words = ["tools", "call", "Text.Count", "--args"];
    let args = serde_json::json!({ "text": long }).to_string();
    assert_eq!(
        house.json(&[&words[..], &[&args]].concat())["outcome"],
        "success"
    );
    let run = house.run(&[
        "tools",
        "call",
        "Text.Replace",
        "--args",
        &serde_json::json!({"text": long, "find": "line", "replace": "row"}).to_string(),
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(run.stdout.len() > 40_000, "{}", run.stdout.len());

    for _ in 0..2 {
        let run = house.run(&[
            "tools",
            "call",
            "File.Append",
            "file_path=log.txt",
            "content= a\n",
        ]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let log = std::fs::read_to_string(house.path().join("projects/default/log.txt")).unwrap();
    assert_eq!(log, " a\n a\n");
}
