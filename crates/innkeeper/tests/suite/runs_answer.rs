//! What a person sees of what they answer, and of what became of it.
#![cfg(unix)]

use innkeeper_store::{GrantKey, Store};

use super::home::House;
use super::runs_process::Driver;
use super::terminal::Terminal;

/// A run that asks whether it may delete a file, and that nobody drives.
fn waiting(house: &House) -> String {
    let run = house.run(&["run", "ask for approval"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let list = house.json(&["runs", "list"]);
    list[0]["runId"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_answered_is_shown_and_whether_anybody_goes_on() {
    let house = House::new();
    let run = waiting(&house);
    let asked = house.json(&["runs", "approve", "--list"])[0].clone();
    let (call, id) = (
        asked["callId"].as_str().unwrap(),
        asked["approvalId"].as_str().unwrap(),
    );
    assert_eq!(asked["invocationId"], "inv_root");
    let all = house.run(&["runs", "approve", "last", "--list"]);
    all.shows(&[
        call,
        id,
        "wants to call File.Delete (from builtin) with\n{\n",
        "\"file_path\": \"",
        "The rule that asks: default:deleting",
        &format!("innkeeper runs approve {run} {call}, or --deny"),
    ]);
    // Only the answer has an effect.
    house
        .run(&["runs", "approve", "last", "approval_0000"])
        .is_refused(1, &["agent.approval_call_unknown"]);

    let given = house.run(&["runs", "approve", "last", &id.to_uppercase()[..20]]);
    given.shows(&[
        "wants to call File.Delete",
        "notes/scratch.md",
        &format!("{call} ({id}) is approved"),
        &format!("nobody drives {run}"),
    ]);
    let again = house.json(&["runs", "approve", "last", call]);
    assert_eq!(again["driven"], false, "{again}");
    assert_eq!(again["answeredBefore"], true, "{again}");
    assert_eq!(again["tool"], "File.Delete");
    assert_eq!(again["arguments"], asked["arguments"]);
    house
        .run(&["runs", "approve", "last", id])
        .shows(&["was approved before", "nobody drives"]);
    house
        .run(&["runs", "approve", "last"])
        .is_refused(1, &[call, "was approved before", "[run.nothing_waits]"]);
    // It is not at work, although its journal has come that far.
    house
        .run(&["runs", "list"])
        .shows(&["dispatching_tool, not driven"]);
    assert_eq!(house.json(&["runs", "list"])[0]["driven"], false);
    let resumed = house.run(&["runs", "resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let over = house.json(&["runs", "list"]);
    assert!(over[0].get("driven").is_none(), "{over}");
}

/// `x`, and something that nobody sees.
const HIDDEN: &str = "x\u{200b}\u{202e}\u{2066}\u{a0}\u{e0041}\u{fe0f}\u{2028}y";
const SHOWN: &str = r"x\u200b\u202e\u2066\u00a0\udb40\udc41\ufe0f\u2028y";

#[test]
fn what_nobody_sees_is_shown_by_its_number() {
    let house = House::new();
    house.settings(
        "[models]\nrehearsal = \"script.yaml\"\n\n[[policy.rules]]\nname = \"careful\"\ntool = \"File.Write\"\ndecision = \"ask\"\n",
    );
    let block = format!(
        "<|[REQUEST_TOOL]|>\ncommand:»»»File.Write«««\nfile_path:»»»a.md«««\ncontent:»»»{HIDDEN}«««\n<|[END_TOOL]|>"
    );
    let script = serde_json::json!({"name": "hidden", "scenes": [
        {"name": "write", "when": {"matches": "\\S"}, "reply": {"text": block}},
    ]});
    house.write("script.yaml", &script.to_string());
    let run = house.run(&["run", "hello"]);
    assert_eq!(run.code, Some(5), "{}", run.stderr);
    let is_hidden = |c: char| HIDDEN.contains(c) && !c.is_ascii();
    let line = |text: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.contains("waits for approval: "));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    let told = line(&run.stderr);
    assert!(told.contains(SHOWN) && !told.contains(is_hidden), "{told}");
    for words in [
        &["runs", "approve", "--list"][..],
        &["runs", "approve", "last", "--list"],
        &["runs", "approve", "last", "--deny"],
    ] {
        let shown = house.run(words);
        shown.shows(&[SHOWN]);
        assert!(!shown.stdout.contains(is_hidden), "{}", shown.stdout);
    }
    let mut command = house.command(&["run", "hello"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command);
    terminal.wait_for("wants to call").wait_for("Allow?");
    terminal.type_in("n\n");
    let (_, seen) = terminal.end();
    let from = seen.find("wants to call").unwrap();
    let question = &seen[from..from + seen[from..].find("Allow?").unwrap()];
    assert!(question.contains(SHOWN), "{question}");
    assert!(!question.contains(is_hidden), "{question}");
}

#[test]
fn a_rollback_is_what_was_agreed_to_or_none() {
    let house = House::new();
    let run = house.run(&["run", "default-writer", "write a letter about tea"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let main = ["runs", "show", "last", "--file", "output/main.md"];
    let mut command = house.command(&["runs", "rollback", "last", "1"]);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut terminal = Terminal::start(command);
    terminal.wait_for("[y/N]");
    let meanwhile = house.run(&["runs", "rollback", "last", "start", "--yes"]);
    assert_eq!(meanwhile.code, Some(0), "{}", meanwhile.stderr);
    let gone = house.run(&main);
    assert_eq!(gone.code, Some(1), "{}", gone.stdout);
    terminal.type_in("y\n");
    let (code, seen) = terminal.end();
    assert_eq!(code, Some(1), "{seen}");
    assert!(seen.contains("agent.rollback_moved"), "{seen}");
    assert_eq!(seen.matches("Back at cp_000001").count(), 2, "{seen}");
    assert_eq!(house.run(&main).code, Some(1), "nothing was changed");
    // What has been seen now can be agreed to.
    let back = house.run(&["runs", "rollback", "last", "1", "--yes"]);
    assert_eq!(back.code, Some(0), "{}", back.stderr);
    assert_eq!(house.run(&main).code, Some(0));
}

#[test]
fn an_answer_for_the_run_is_told_to_be_taken_back() {
    let house = House::new();
    waiting(&house);
    house.json(&["runs", "checkpoint", "last", "--note", "before the answer"]);
    house.json(&["runs", "approve", "last", "--remember", "run"]);
    let resumed = house.run(&["runs", "resume", "last"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let plan = house.run(&["runs", "rollback", "last", "1"]);
    assert!(
        plan.stderr.contains("File.Delete, allowed for agent:"),
        "{}",
        plan.stderr
    );
    let back = house.json(&["runs", "rollback", "last", "1", "--yes"]);
    assert_eq!(back["withdrawnGrants"][0]["tool"], "File.Delete", "{back}");
}

#[test]
fn a_checkpoint_is_made_whoever_drives_the_run() {
    // Nobody.
    let house = House::new();
    let run = waiting(&house);
    let made = house.json(&["runs", "checkpoint", "last", "--note", " by hand "]);
    assert_eq!(
        (&made["id"], &made["note"], &made["reason"]),
        (&"cp_000001".into(), &"by hand".into(), &"requested".into())
    );
    assert_eq!(made["runId"], run.as_str());
    let list = house.json(&["runs", "list"]);
    assert_eq!(list[0]["status"], "awaiting_approval", "it stays as it is");
    house
        .run(&["runs", "checkpoint", "last"])
        .shows(&["cp_000002; innkeeper runs rollback"]);
    house.json(&["runs", "cancel", "last"]);
    house
        .run(&["runs", "checkpoint", "last"])
        .is_refused(1, &["is over", "agent.checkpoint_unavailable"]);
    let long = "x".repeat(2_001);
    house
        .run(&["runs", "checkpoint", "last", "--note", &long])
        .is_refused(1, &["agent.checkpoint_reason_too_long"]);

    // Another process.
    let house = House::new();
    super::runs_process::script(&house, super::runs_process::NEVER);
    let mut driver = Driver::start(&house, &["run", "hello"]);
    driver.until("model_call_attempt_started");
    let made = house.json(&["runs", "checkpoint", "last", "--note", "from elsewhere"]);
    let heard = driver.until("checkpoint_created");
    assert_eq!(heard["seq"], made["eventSeq"], "{heard}");
    assert_eq!(heard["payload"]["note"], "from elsewhere");
    house.json(&["runs", "cancel", "last"]);
    driver.end();
}

#[test]
fn an_answer_that_no_rule_asks_for_any_more_is_marked() {
    let house = House::new();
    waiting(&house);
    house.json(&["runs", "approve", "last", "--remember", "always"]);
    let database = house.path().join("innkeeper.db");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let store = Store::open(&database).await.unwrap();
        // As earlier versions kept it: by the name of the rule.
        let key = GrantKey {
            user: "default".to_owned(),
            actor: "agent:innkeeper".to_owned(),
            tool: "File.Delete".to_owned(),
            source: "builtin".to_owned(),
            rule: "default:deleting".to_owned(),
        };
        store.grants().add(key, None).await.unwrap();
        store.close().await.unwrap();
    });
    let grants = house.json(&["tools", "grants"]);
    let used: Vec<_> = grants
        .as_array()
        .unwrap()
        .iter()
        .map(|grant| grant["used"].as_bool().unwrap())
        .collect();
    assert_eq!(used, [true, false], "{grants}");
    let list = house.run(&["tools", "grants"]);
    let id = grants[1]["id"].to_string();
    assert!(
        list.stderr.contains(&format!("--revoke {id}")),
        "{}",
        list.stderr
    );
}

#[test]
fn a_rule_that_forbids_what_was_made_of_a_call_is_named_once() {
    let house = House::new();
    waiting(&house);
    house.settings(
        "[[policy.rules]]\nname = \"mine\"\ntool = \"File.Delete\"\ndecision = \"deny\"\narguments = { file_path = \"user://projects/default/secret/*\" }\n",
    );
    for (path, lang, said) in [
        (
            "secret/a.md",
            "en",
            "the rule 'mine' forbids these arguments;",
        ),
        ("secret/a.md", "zh", "规则“mine”禁止这些参数；"),
        (
            "../../../../a",
            "en",
            "whether the rule 'mine' (deny) applies cannot be decided",
        ),
        (
            "../../../../a",
            "zh",
            "无法判断规则“mine”（deny）是否适用：“file_path”没有指明文件或文件夹",
        ),
    ] {
        let edit = serde_json::json!({"file_path": path}).to_string();
        let words = [
            "--lang",
            lang,
            "runs",
            "approve",
            "last",
            "--arguments",
            &edit,
        ];
        let refused = house.run(&words);
        refused.is_refused(1, &[said, "agent.approval_edit_invalid"]);
        assert_eq!(
            refused.stderr.matches("mine").count(),
            1,
            "{}",
            refused.stderr
        );
    }
}

/// Names and codes stay; no sentence does.
#[test]
fn what_is_said_of_answers_is_chinese_from_end_to_end() {
    let house = House::new();
    waiting(&house);
    let words = [
        "the ", " is ", " and ", " or ", " to ", "Unknown", "Missing", " was ",
    ];
    for (given, code, said) in [
        (&["runs", "approve", "last", "--list"][..], 0, "想调用"),
        (
            &[
                "runs",
                "approve",
                "last",
                "--arguments",
                r#"{"file_pth": "x"}"#,
            ],
            1,
            "是否想用",
        ),
        (
            &["runs", "approve", "last", "--arguments", "{}"],
            1,
            "缺少必需的参数",
        ),
        (
            &[
                "runs",
                "approve",
                "last",
                "--arguments",
                r#"{"file_path": [1]}"#,
            ],
            1,
            "参数",
        ),
        (&["runs", "checkpoint", "last"], 0, "可退回到这里"),
        (&["runs", "rollback", "last", "1"], 2, "退回到 cp_000001"),
        (&["runs", "approve", "last"], 0, "没有进程驱动"),
        (&["runs", "approve", "last"], 1, "此前已批准"),
        (&["runs", "list"], 0, "无进程驱动"),
        (&["runs", "cancel", "last"], 0, "已取消"),
        (&["runs", "checkpoint", "last"], 1, "运行已经结束"),
    ] {
        let mut whole = given.to_vec();
        whole.extend(["--lang", "zh"]);
        let run = house.run(&whole);
        let told = format!("{}{}", run.stdout, run.stderr);
        assert_eq!(run.code, Some(code), "{given:?}: {told}");
        assert!(told.contains(said), "{given:?}: {told}");
        for word in words {
            assert!(!told.contains(word), "{given:?}: {word:?} in {told}");
        }
    }
}
