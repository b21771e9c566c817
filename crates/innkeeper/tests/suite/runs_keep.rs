//! Letting go of old runs, and the memory of chats, at the command line.

use serde_json::{Value, json};

use super::home::House;

const LETTER: [&str; 3] = ["run", "default-writer", "write a letter about tea"];

#[test]
fn old_runs_are_slimmed_and_go_once_a_person_has_said_so() {
    let house = House::new();
    for _ in 0..3 {
        assert_eq!(house.run(&LETTER).code, Some(0));
    }
    let keep = ["runs", "prune", "--keep", "2", "--keep-full", "1"];
    let plan = house.json(&[&keep[..], &["--dry-run"]].concat());
    let counts = [
        &plan["terminalRunCount"],
        &plan["slimCandidateCount"],
        &plan["deleteCandidateCount"],
    ];
    assert_eq!(counts, [&json!(3), &json!(1), &json!(1)]);
    let dry = house.run(&[&keep[..], &["--dry-run"]].concat());
    assert!(
        dry.stdout.contains("1 would be slimmed, 1 deleted"),
        "{}",
        dry.stdout
    );
    // Nobody can be asked here.
    let asked = house.run(&keep);
    assert_eq!(asked.code, Some(2), "{}", asked.stderr);
    assert!(asked.stderr.contains("--yes"), "{}", asked.stderr);
    assert_eq!(house.json(&["runs", "list"]).as_array().unwrap().len(), 3);

    let done = house.json(&[&keep[..], &["--yes"]].concat());
    assert_eq!(done["slimmedRunCount"], 1, "{done}");
    assert_eq!(done["deletedRunCount"], 1);
    assert!(done["removedByteCount"].as_u64() >= plan["totalCandidateByteCount"].as_u64());
    let listed = house.json(&["runs", "list"]);
    let [whole, slim] = listed.as_array().unwrap().as_slice() else {
        panic!("{listed}");
    };
    assert_eq!(whole["isSlim"], json!(null));
    assert_eq!(slim["isSlim"], true);
    assert!(
        house
            .run(&["runs", "list"])
            .stdout
            .contains("completed, slim")
    );

    let run = slim["runId"].as_str().unwrap();
    let shown = house.run(&["runs", "show", run]);
    assert_eq!(shown.code, Some(0), "{}", shown.stderr);
    assert!(shown.stderr.contains("slimmed"), "{}", shown.stderr);
    assert_eq!(
        house.json(&["runs", "show", run])["calls"]
            .as_array()
            .unwrap()
            .len(),
        4
    );
    let export = house.run(&["runs", "export", run]);
    let export: Value = serde_json::from_str(&export.stdout).unwrap();
    assert_eq!(
        export["events"].as_array().unwrap().len() as u64,
        slim["lastSeq"].as_u64().unwrap()
    );
    assert_eq!(export["turns"], json!(null));
    super::runs::whole_journal(&house, run);
    for words in [
        &["runs", "show", run, "--turn", "1"][..],
        &["runs", "show", run, "--file", "output/main.md"],
        &["runs", "diff", run],
        &["runs", "resume", run],
        &["runs", "guide", run, "Make it shorter"],
    ] {
        let refused = house.run(words);
        assert_eq!(refused.code, Some(1), "{words:?}: {}", refused.stderr);
        assert!(
            refused.stderr.contains("was slimmed"),
            "{words:?}: {}",
            refused.stderr
        );
    }
    let checkpoints = house.run(&["runs", "checkpoints", run]);
    assert!(
        checkpoints
            .stderr
            .contains("the files of these checkpoints are gone"),
        "{}",
        checkpoints.stderr
    );
    assert_eq!(house.json(&["runs", "checkpoints", run])["filesGone"], true);
    let whole = whole["runId"].as_str().unwrap();
    let checkpoints = house.json(&["runs", "checkpoints", whole]);
    assert_eq!(checkpoints["filesGone"], json!(null));
    assert_eq!(house.run(&["runs", "delete", run, "--yes"]).code, Some(0));
    for words in [
        &["--keep", "1", "--keep-full", "2"][..],
        &["--keep-full", "10000"],
    ] {
        let refused = house.run(&[&["runs", "prune", "--dry-run"], words].concat());
        refused.is_refused(2, &["cannot be kept whole", "cli.usage"]);
    }
    let doctor = house.run(&["doctor"]);
    assert!(!doctor.stdout.contains("damaged"), "{}", doctor.stdout);
}

#[test]
fn runs_go_by_themselves_where_the_settings_say_so() {
    let house = House::new();
    house.settings("[retention]\nauto_prune = true\nkeep_recent_terminal_runs = 1\n");
    for _ in 0..2 {
        assert_eq!(house.run(&LETTER).code, Some(0));
    }
    let listed = house.json(&["runs", "list"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "{listed}");
    house.settings("[retention]\nkeep_recent_terminal_runs = 1\nkeep_full_recent_runs = 2\n");
    let refused = house.run(&["runs", "prune", "--dry-run"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("keep_full_recent_runs"),
        "{}",
        refused.stderr
    );
}

#[test]
fn the_memory_of_a_chat_can_be_looked_at_copied_and_pruned() {
    let house = House::new();
    assert_eq!(
        house.json(&["runs", "memory", "list"]),
        json!({"workspaces": []})
    );
    // What a run without a chat could leave to nobody is not kept where it is empty.
    assert_eq!(house.run(&LETTER).code, Some(0));
    assert_eq!(
        house.json(&["runs", "memory", "list"]),
        json!({"workspaces": []})
    );
    let letter = [&LETTER[..], &["--chat", "letters"]].concat();
    assert_eq!(house.run(&letter).code, Some(0));
    let chats = house.json(&["runs", "memory", "list"]);
    assert_eq!(chats["workspaces"][0]["stableChatId"], "letters");
    let chat = chats["workspaces"][0]["workspaceId"].as_str().unwrap();
    let named = house.json(&["runs", "memory", "list", "letters"]);
    assert_eq!(named["workspaceId"], chat);
    let unknown = house.run(&["runs", "memory", "list", "lettres"]);
    unknown.is_refused(2, &["there is no chat and no run 'lettres'", "run.unknown"]);
    let zh = house.run(&["--lang", "zh", "runs", "memory", "list", "lettres"]);
    zh.is_refused(2, &["没有名为“lettres”的聊天或运行"]);
    let states = house.json(&["runs", "memory", "list", "last"]);
    assert_eq!(states["workspaceId"], chat);
    let run = house.json(&["runs", "list"])[0]["runId"].clone();
    assert_eq!(states["states"][0]["stateId"], run);
    let shown = house.json(&["runs", "memory", "show", chat, "last"]);
    assert_eq!(shown["stateId"], run);
    let diff = house.json(&["runs", "memory", "diff", chat, "none", "last"]);
    assert_eq!(diff["files"], json!([]));
    let nothing = house.run(&[
        "runs",
        "memory",
        "show",
        chat,
        "last",
        "--file",
        "persist/x.md",
    ]);
    assert_eq!(nothing.code, Some(2), "{}", nothing.stderr);

    let target = "chat_84134139c4785d9f";
    for copied in [1, 0] {
        let done = house.json(&["runs", "memory", "copy", "last", target]);
        assert_eq!(done["copiedStateCount"], copied);
    }
    let same = house.run(&["runs", "memory", "copy", chat, "last"]);
    assert_eq!(same.code, Some(1));
    assert!(same.stderr.contains("same workspace"), "{}", same.stderr);
    let unknown = house.run(&["runs", "memory", "prune", target, "nosuch", "--yes"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("runs memory list"),
        "{}",
        unknown.stderr
    );
    let done = house.json(&["runs", "memory", "prune", target, "last", "--yes"]);
    assert_eq!(done["removedStateIds"], json!([run]));
    let left = house.json(&["runs", "memory", "list"]);
    assert_eq!(left["workspaces"].as_array().unwrap().len(), 1);
}

/// A run in a chat that counts its visits in its private state.
const COUNTS: &str = "name: keeper\nscenes:\n  - name: done\n    when: {role: observation}\n    reply: Noted.\n  - name: call\n    when: {matches: '\\S'}\n    \
     reply: |\n      <|[REQUEST_TOOL]|>\n      command:»»»UpdatePrivateStateTool«««\n      path:»»»visits«««\n      op:»»»increment«««\n      <|[END_TOOL]|>\n      \
     <|[REQUEST_TOOL]|>\n      command:»»»RequestWorldStateUpdateTool«««\n      path:»»»guests«««\n      op:»»»increment«««\n      <|[END_TOOL]|>\n";

fn counting() -> House {
    let house = House::new();
    house.settings("[models]\nrehearsal = \"script.yaml\"\n");
    house.write("script.yaml", COUNTS);
    house
}

#[test]
fn rolling_a_run_of_a_chat_back_takes_back_what_the_chat_remembers() {
    let house = counting();
    let visit = || {
        let run = house.run(&["run", "--chat", "evening", "--yes", "A guest"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    };
    let visits = || {
        let shown = house.json(&[
            "state",
            "show",
            "--chat",
            "evening",
            "--private",
            "innkeeper",
        ]);
        shown["private"][0]["value"]["visits"].clone()
    };
    visit();
    visit();
    assert_eq!(visits(), 2);
    let back = ["runs", "rollback", "last", "start", "--yes"];
    house.json(&back);
    assert_eq!(visits(), 1);
    house.json(&["runs", "rollback", "last", "--undo", "--yes"]);
    assert_eq!(visits(), 2);
    house.json(&back);
    visit();
    assert_eq!(visits(), 2);
    // Also once the runs are gone.
    house.json(&["runs", "prune", "--keep", "0", "--keep-full", "0", "--yes"]);
    assert_eq!(house.json(&["runs", "list"]), json!([]));
    assert_eq!(visits(), 2);
    let left = house.json(&["runs", "memory", "list", "evening"]);
    assert_eq!(left["states"].as_array().unwrap().len(), 1, "{left}");
    visit();
    assert_eq!(visits(), 3);
}

#[test]
fn a_chat_by_name_is_branched_with_what_it_remembers() {
    let house = counting();
    let visit = |chat: &str| {
        let run = house.run(&["run", "--chat", chat, "--yes", "A guest"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    };
    let private = |chat: &str| {
        let show = ["state", "show", "--chat", chat, "--private", "innkeeper"];
        let shown = house.json(&show)["private"][0].clone();
        (shown["value"]["visits"].clone(), shown["version"].clone())
    };
    let copy = |target: &str| house.json(&["runs", "memory", "copy", "evening", target]);
    visit("evening");
    visit("evening");
    let done = copy("branch");
    assert_eq!(done["copiedStateCount"], 1);
    assert!(done["stateId"].as_str().unwrap().starts_with("copy_"));
    assert_eq!(private("branch"), private("evening"));
    assert_eq!(private("branch").0, 2);
    let chats = house.json(&["runs", "memory", "list"])["workspaces"].clone();
    let mut names: Vec<_> = chats.as_array().unwrap().iter().collect();
    names.sort_by_key(|chat| chat["stableChatId"].to_string());
    assert_eq!(names[0]["stableChatId"], "branch");
    // Whatever becomes of the other.
    house.json(&["runs", "rollback", "last", "start", "--yes"]);
    assert_eq!(
        (private("evening").0, private("branch").0),
        (json!(1), json!(2))
    );
    visit("branch");
    assert_eq!(
        (private("evening").0, private("branch").0),
        (json!(1), json!(3))
    );
    // Into a chat that has a memory of its own.
    for (copied, kept) in [(1, 0), (0, 1)] {
        let done = copy("branch");
        let counts = [&done["copiedStateCount"], &done["keptStateCount"]];
        assert_eq!(counts, [&json!(copied), &json!(kept)]);
        assert_eq!(private("branch").0, 1);
    }
    visit("branch");
    assert_eq!(private("branch").0, 2);
    house.json(&["runs", "prune", "--keep", "0", "--keep-full", "0", "--yes"]);
    assert_eq!(
        (private("evening").0, private("branch").0),
        (json!(1), json!(2))
    );

    let told = house.run(&["runs", "memory", "copy", "evening", "third"]);
    assert!(told.stderr.contains("'third' is new"), "{}", told.stderr);
    let zh = ["--lang", "zh", "runs", "memory", "copy", "branch", "third"];
    let told = house.run(&zh);
    assert!(
        told.stderr.contains("的下一次运行从 copy_"),
        "{}",
        told.stderr
    );
    house
        .run(&["runs", "memory", "copy", "evening", "run_0197"])
        .is_refused(2, &["run.unknown"]);
    house
        .run(&["runs", "memory", "copy", "nowhere", "branch"])
        .is_refused(2, &["there is no chat and no run 'nowhere'"]);
}

#[test]
fn a_rollback_tells_which_runs_have_gone_on_from_what_it_takes_back() {
    let house = counting();
    for chat in ["evening", "evening", "evening", "another"] {
        let run = house.run(&["run", "--chat", chat, "--yes", "A guest"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let runs = house.json(&["runs", "list"]);
    let [third, second, first] = [1, 2, 3].map(|at| runs[at]["runId"].as_str().unwrap());
    let back = ["runs", "rollback", first, "start", "--yes"];
    assert_eq!(house.json(&back)["laterRuns"], json!([second, third]));
    let undone = house.json(&["runs", "rollback", first, "--undo", "--yes"]);
    assert_eq!(undone["laterRuns"], json!([]));
    let told = house.run(&back).stderr;
    let both = told.contains(second) && told.contains(third);
    assert!(told.contains("keep that (2)") && both, "{told}");
    let last = house.json(&["runs", "rollback", third, "start", "--yes"]);
    assert_eq!(last["laterRuns"], json!([]));
}

#[test]
fn what_a_run_without_a_chat_remembers_goes_with_it() {
    let house = counting();
    for _ in 0..2 {
        let run = house.run(&["run", "--yes", "A guest"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let run = house.json(&["runs", "list"])[1]["runId"].clone();
    let run = run.as_str().unwrap();
    let kept = || house.json(&["runs", "memory", "list"])["workspaces"].clone();
    assert_eq!(kept().as_array().unwrap().len(), 2);
    let world = ["state", "show", "--chat", run, "--world"];
    assert_eq!(house.json(&world)["world"]["version"], 1);
    let prune = ["runs", "prune", "--keep", "1", "--keep-full", "1"];
    let plan = house.json(&[&prune[..], &["--dry-run"]].concat());
    let counted = [
        &plan["totalDeleteStateCount"],
        &plan["totalDeleteWorldCount"],
        &plan["candidates"][0]["stateCount"],
    ];
    assert_eq!(counted, [&json!(1); 3]);
    house
        .run(&[&prune[..], &["--dry-run"]].concat())
        .shows(&["1 deleted, with 1 states and 1 worlds"]);
    house.json(&[&prune[..], &["--yes"]].concat());
    assert_eq!(kept().as_array().unwrap().len(), 1);
    assert_eq!(house.json(&world)["world"]["version"], 0);
    house.json(&["runs", "delete", "last", "--yes"]);
    assert_eq!(kept(), json!([]));
}

#[test]
fn a_person_deletes_what_a_chat_remembers() {
    let house = counting();
    for _ in 0..2 {
        let run = house.run(&["run", "--chat", "evening", "--yes", "A guest"]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
    }
    let delete =
        |words: &[&str]| house.run(&[&["state", "delete", "--chat", "evening"], words].concat());
    let shown = || house.json(&["state", "show", "--chat", "evening"]);
    // Nobody can be asked here, and what is meant has to be said.
    delete(&["--world"]).is_refused(2, &["--yes"]);
    assert_eq!(delete(&["--yes"]).code, Some(2));
    assert_eq!(delete(&["--world", "--all", "--yes"]).code, Some(2));
    delete(&["--private", "nobody", "--yes"]).is_refused(1, &["'nobody' has no private state"]);
    assert_eq!(shown()["world"]["version"], 2);

    let gone = house.json(&["state", "delete", "--chat", "evening", "--world", "--yes"]);
    assert_eq!(
        (&gone["world"], &gone["stateIds"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(shown()["world"], json!({"version": 0, "value": {}}));
    delete(&["--world", "--yes"]).is_refused(1, &["nothing was deleted", "state.not_kept"]);
    let gone = house.json(&[
        "state",
        "delete",
        "--chat",
        "evening",
        "--private",
        "innkeeper",
        "--yes",
    ]);
    assert_eq!(gone["stateIds"].as_array().unwrap().len(), 2, "{gone}");
    assert_eq!(shown()["private"], json!([]));
    // The next run begins anew.
    assert_eq!(
        house
            .run(&["run", "--chat", "evening", "--yes", "A guest"])
            .code,
        Some(0)
    );
    assert_eq!(shown()["private"][0]["value"], json!({"visits": 1}));
    let all = delete(&["--all", "--yes"]);
    assert_eq!(all.code, Some(0), "{}", all.stderr);
    assert!(
        all.stderr.contains("the world and 3 states"),
        "{}",
        all.stderr
    );
    assert_eq!(
        house.json(&["runs", "memory", "list"]),
        json!({"workspaces": []})
    );
    delete(&["--lang", "zh", "--all", "--yes"]).is_refused(1, &["这个对话中没有它"]);
}
