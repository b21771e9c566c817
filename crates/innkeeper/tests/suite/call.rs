//! `innkeeper call`: a model's text in, observations out.

use serde_json::{Value, json};

use super::home::{House, Plugin, players};

const TWO_STEPS: &str = "Let me note that.\n<|[REQUEST_TOOL]|>\n\
    command_1:»»»File.Write«««\nfile_path_1:»»»a.md«««\ncontent_1:»»»tea«««\n\
    command_2:»»»File.Read«««\nfile_path_2:»»»a.md«««\n<|[END_TOOL]|>\n";

#[test]
fn every_call_is_told_and_the_exit_code_tells_the_rest() {
    let house = House::new();
    let run = house.fed(&["call"], TWO_STEPS);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(lines[0].starts_with("Observation: Tool File.Write executed successfully."));
    assert!(lines[1].starts_with("Observation: Tool File.Read executed successfully."));
    assert!(lines[1].contains("tea"));
    let written = house.path().join("projects/default/a.md");
    assert_eq!(std::fs::read_to_string(written).unwrap(), "tea");
}

#[test]
fn the_same_from_file_dash_and_pipe_and_as_json() {
    let house = House::new();
    let file = house.write("reply.txt", TWO_STEPS);
    let file = file.to_str().unwrap();
    let told = house.json(&["call", file]);
    let records = told.as_array().unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0]["tool"], "File.Write");
    assert_eq!(records[1]["outcome"], "success");
    let text = records[1]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Observation: Tool File.Read executed"),
        "{text}"
    );
    for words in [&["call", file][..], &["call", "-"], &["call"]] {
        let run = house.fed(words, TWO_STEPS);
        assert_eq!(run.code, Some(0), "{words:?}: {}", run.stderr);
        assert_eq!(run.stdout.lines().nth(1), Some(text), "{words:?}");
    }
}

#[test]
fn a_failing_step_stops_the_rest_and_the_exit_code_is_1() {
    let house = House::new();
    let text = "<|[REQUEST_TOOL]|>\ncommand_1:»»»File.Read«««\nfile_path_1:»»»none.md«««\n\
                command_2:»»»File.Write«««\nfile_path_2:»»»b.md«««\ncontent_2:»»»x«««\n<|[END_TOOL]|>";
    let run = house.fed(&["call"], text);
    assert_eq!((run.code, run.stderr.as_str()), (Some(1), ""));
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert!(
        lines[0].contains("workspace.file_not_found"),
        "{}",
        lines[0]
    );
    assert!(lines[1].contains("tool.skipped"), "{}", lines[1]);
    assert!(!house.path().join("projects/default/b.md").exists());
}

#[test]
fn a_wrong_name_is_told_and_can_be_corrected() {
    let house = House::new();
    house.plugin(&players());
    let wrong = "I'll try to get the player's name.\n<ACTION>\n    <GetPlayerInfo>\n        \
                 <playerId>player123</playerId>\n    </GetPlayerInfo>\n</ACTION>\n";
    let run = house.fed(&["call"], wrong);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert_eq!(
        run.stdout,
        "Observation: Error - Invalid parameters for GetPlayerInfo: Unknown parameter 'playerId', \
         did you mean 'player_id'?\n"
    );
    let right = "<ACTION><GetPlayerInfo><player_id>player123</player_id></GetPlayerInfo></ACTION>";
    let run = house.fed(&["call", "--yes"], right);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    assert_eq!(
        run.stdout,
        "Observation: Tool GetPlayerInfo executed successfully. Result: {\"name\":\"Hero\"}\n"
    );
}

#[test]
fn a_text_without_calls_has_an_exit_code_of_its_own() {
    let house = House::new();
    for (lang, words) in [("en", "calls no tool"), ("zh", "没有调用任何工具")] {
        let run = house.fed(&["--lang", lang, "call"], "Good evening.");
        run.is_refused(3, &[words, "[call.no_call]"]);
    }
    // Nothing was opened for it.
    assert_eq!(std::fs::read_dir(house.path()).unwrap().count(), 0);
}

#[test]
fn a_block_that_cannot_be_read_is_told_and_fails() {
    let run = House::new().fed(&["call"], "<ACTION><a><b></a></ACTION>");
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stdout.starts_with("Observation: Error"),
        "{}",
        run.stdout
    );
}

#[test]
fn native_calls_by_the_names_that_manifests_show() {
    let house = House::new();
    let declared = house.json(&[
        "tools",
        "manifest",
        "--protocol",
        "openai",
        "--tools",
        "File.List",
    ]);
    let name = declared[0]["function"]["name"].as_str().unwrap();
    assert_ne!(name, "File.List");
    let reply = json!({ "choices": [{ "message": { "tool_calls": [
        { "id": "c1", "type": "function", "function": { "name": name, "arguments": "{}" } },
    ] } }] });
    let run = house.fed(&["call", "--json"], &reply.to_string());
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    assert_eq!(run.json()[0]["tool"], "File.List");
    assert_eq!(run.json()[0]["callId"], "c1");
}

#[test]
fn a_chosen_protocol_leaves_others_alone() {
    let run = House::new().fed(&["call", "--protocol", "action"], TWO_STEPS);
    run.is_refused(3, &["[call.no_call]"]);
}

#[test]
fn allow_and_deny_bound_what_is_offered() {
    let house = House::new();
    for (words, code, outcome) in [
        (&["--deny", "file.*"][..], 1, "tool.policy_denied"),
        (&["--allow", "dice.*"], 1, "tool.policy_denied"),
        (&["--allow", "File.*"], 0, "success"),
        (
            &["--allow", "*", "--deny", "File.Write"],
            1,
            "tool.policy_denied",
        ),
    ] {
        let words = [&["call", "--json"][..], words].concat();
        let run = house.fed(&words, TWO_STEPS);
        assert_eq!(run.code, Some(code), "{words:?}: {}", run.stdout);
        let first = &run.json()[0];
        let said = first.get("code").unwrap_or(&first["outcome"]);
        assert_eq!(said, outcome, "{words:?}");
    }
}

#[test]
fn a_rule_that_asks_means_no_without_a_person_and_yes_with_yes() {
    let house = House::new();
    house.settings(
        "[[policy.rules]]\nname = \"careful\"\ntool = \"File.Write\"\ndecision = \"ask\"\n",
    );
    let run = house.fed(&["call"], TWO_STEPS);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("was denied"), "{}", run.stdout);
    assert!(run.stdout.contains("--yes"), "{}", run.stdout);
    let run = house.fed(&["call", "--yes"], TWO_STEPS);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    let log = house.json(&["tools", "audit", "--tool", "File.Write"]);
    assert_eq!(log[0]["approvedBy"], "once");
    assert_eq!(log[1]["outcome"], "denied");
    assert_eq!(log[0]["actor"], "agent:cli");
}

#[test]
fn a_rule_that_denies_is_not_overruled_by_yes() {
    let house = House::new();
    house.settings(
        "[[policy.rules]]\ntool = \"File.Write\"\ndecision = \"deny\"\nreason = \"read only\"\n",
    );
    let run = house.fed(&["call", "--yes"], TWO_STEPS);
    assert_eq!(run.code, Some(1));
    assert!(run.stdout.contains("read only"), "{}", run.stdout);
}

#[test]
fn limits_of_the_settings_end_a_run() {
    let house = House::new();
    house.settings("[limits]\nmax_calls = 1\n");
    let run = house.fed(&["call", "--json"], TWO_STEPS);
    assert_eq!(run.code, Some(1));
    assert_eq!(run.json()[1]["code"], "tool.budget_exhausted");
}

#[test]
fn a_task_is_waited_for_and_told() {
    let house = House::new();
    house.plugin(&Plugin {
        tool: "Paint",
        mode: "async",
        script: r#"cat > /dev/null; echo '{"success": true, "outputData": "a picture"}'"#,
        ..players()
    });
    let text = "<ACTION><Paint><player_id>1</player_id></Paint></ACTION>";
    let run = house.fed(&["call", "--yes", "--json"], text);
    assert_eq!(run.code, Some(0), "{}", run.stdout);
    let told = run.json();
    let outcomes: Vec<&Value> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["outcome"])
        .collect();
    assert_eq!(outcomes, ["async_started", "success"]);
    assert_eq!(told[1]["result"], "a picture");
    assert!(!told[1]["task"].is_null());
}

#[test]
fn a_request_id_takes_effect_once_per_project() {
    let house = House::new();
    let text = "<|[REQUEST_TOOL]|>\nrequest_id:»»»r1«««\ncommand:»»»File.Append«««\n\
                file_path:»»»log.md«««\ncontent:»»»x«««\n<|[END_TOOL]|>";
    for (words, expected) in [
        (&["call"][..], "x"),
        (&["call"], "x"),
        (&["call", "--project", "other"], "x"),
    ] {
        let run = house.fed(words, text);
        assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
        let written = house.path().join("projects/default/log.md");
        assert_eq!(std::fs::read_to_string(written).unwrap(), expected);
    }
    assert!(house.path().join("projects/other/log.md").exists());
}

#[test]
fn bad_usage() {
    let house = House::new();
    house
        .run(&["call", "/no/such/file"])
        .is_refused(2, &["no such file", "[input.not_found]"]);
    house
        .run(&["call", "--project", "../x"])
        .is_refused(2, &["'../x' is no value for --project", "[cli.usage]"]);
    house
        .run(&["--lang", "zh", "call", "--project", "../x"])
        .is_refused(2, &["--project 不接受“../x”", "[cli.usage]"]);
    house
        .run(&["call", "--protcol", "tam"])
        .is_refused(2, &["did you mean --protocol?", "innkeeper call --help"]);
}

/// What a script prints is data, and what a secret is stays out of everything.
#[test]
fn secrets_never_show() {
    let house = House::new();
    const KEY: &str = "sk-very-secret-0123456789";
    house.plugin(&Plugin {
        script: r#"cat > /dev/null; echo "{\"success\": true, \"outputData\": \"key is $API_KEY\"}""#,
        manifest: "configOptions:\n  - key: api_key\n    type: secret\n    label: Key\n",
        ..players()
    });
    let set = house.fed(&["plugin", "config", "players", "set", "api_key"], KEY);
    assert_eq!(set.code, Some(0), "{}", set.stderr);
    let text =
        format!("<ACTION><GetPlayerInfo><player_id>{KEY}</player_id></GetPlayerInfo></ACTION>");
    let mut runs = vec![set];
    for words in [
        &["call", "--yes"][..],
        &["call", "--yes", "--json"],
        &["tools", "audit", "--json"],
        &["tools", "audit"],
        &["plugin", "config", "players"],
        &["plugin", "config", "players", "--json"],
        &["plugin", "show", "players", "--json"],
    ] {
        let run = house.fed(words, &text);
        assert_eq!(run.code, Some(0), "{words:?}: {}{}", run.stdout, run.stderr);
        runs.push(run);
    }
    assert!(
        runs[1].stdout.contains("key is [secret"),
        "{}",
        runs[1].stdout
    );
    assert!(runs[5].stdout.contains("(set)"), "{}", runs[5].stdout);
    for run in runs {
        assert!(!run.stdout.contains(KEY), "{}", run.stdout);
        assert!(!run.stderr.contains(KEY), "{}", run.stderr);
    }
}

#[test]
fn the_example_of_make_run_succeeds_again_and_again() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/evening.txt");
    let house = House::new();
    for _ in 0..2 {
        let run = house.run(&["call", example]);
        assert_eq!(run.code, Some(0), "{}", run.stdout);
        assert!(run.stdout.contains("The dice say: "), "{}", run.stdout);
        assert!(!run.stdout.contains("@{"), "{}", run.stdout);
    }
}
