//! What a run has changed, as a person asks for it.

use super::home::House;

const LETTER: [&str; 3] = ["run", "default-writer", "write a letter about tea"];

fn house() -> House {
    let house = House::new();
    let run = house.run(&LETTER);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    house
}

#[test]
fn a_diff_is_a_patch_in_a_pipe() {
    let house = house();
    let all = house.run(&["runs", "diff", "last"]);
    all.shows(&[
        "diff --git a/output/main.md b/output/main.md\nnew file mode 100644\n--- /dev/null\n+++ b/output/main.md\n@@ -0,0 +1,",
        "+Dear guest,\n",
    ]);
    assert!(!all.stdout.contains('\u{1b}'), "{}", all.stdout);
    let patched = house.run(&["runs", "diff", "last", "1", "cp_000002"]);
    patched.shows(&[
        "--- a/output/main.md\n+++ b/output/main.md\n@@ ",
        "\n-",
        "\n+",
        "\n Yours, the keeper\n",
    ]);
    for words in [
        &["cp_000002"][..],
        &["now", "now"],
        &["cp_000002", "cp_000003"],
    ] {
        let none = house.run(&[&["runs", "diff", "last"], words].concat());
        assert_eq!(
            (none.code, none.stdout.as_str()),
            (Some(0), ""),
            "{words:?}"
        );
        assert!(
            none.stderr.contains("Nothing is different"),
            "{}",
            none.stderr
        );
    }
    house.run(&["runs", "diff", "last", "--stat"]).shows(&[
        "added",
        "output/main.md",
        "1 file changed, ",
    ]);
    house
        .run(&["runs", "diff", "last", "2", "--path", "output/main.md"])
        .shows(&["# output/main.md: unchanged"]);
    let json = house.json(&["runs", "diff", "last", "1", "2"]);
    assert_eq!(json["fromCheckpointId"], "cp_000001");
    assert_eq!(json["toCheckpointId"], "cp_000002");
    assert_eq!(json["files"][0]["status"], "modified");
    assert_eq!(
        patched.stdout,
        json["files"][0]["unifiedDiff"].as_str().unwrap()
    );
}

#[test]
fn checkpoints_are_listed_and_looked_into() {
    let house = house();
    house.run(&["runs", "checkpoints", "last"]).shows(&[
        "cp_000001",
        "written",
        "cp_000002",
        "patched",
        "cp_000003",
        "published",
        "output/main.md",
    ]);
    house.run(&["runs", "checkpoints", "last", "2"]).shows(&[
        "cp_000002",
        "patched",
        "Files",
        "output/main.md",
    ]);
    // The beginning and the end are no checkpoints, and hold files all the same.
    house
        .run(&["runs", "checkpoints", "last", "now"])
        .shows(&["Files", "output/main.md"]);
    let start = house.json(&["runs", "checkpoints", "last", "start"]);
    assert_eq!(
        (&start["id"], &start["files"]),
        (&"start".into(), &serde_json::json!([]))
    );
    let all = house.json(&["runs", "checkpoints", "last"]);
    let ids: Vec<_> = all["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["cp_000001", "cp_000002", "cp_000003"]);
    let one = house.json(&["runs", "checkpoints", "last", "cp_000001"]);
    assert_eq!(one["files"][0]["path"], "output/main.md");
    assert_eq!(one["reason"], "tool_workspace_write");
}

#[test]
fn what_is_not_there_is_said_in_one_line() {
    let house = house();
    for (words, said) in [
        (
            &["diff", "last", "7"][..],
            &[
                "has no checkpoint 'cp_000007': its last is cp_000003",
                "[agent.not_found]",
            ][..],
        ),
        (
            &["diff", "last", "yesterday"],
            &["'yesterday' is no checkpoint", "[agent.validation_error]"],
        ),
        (
            &["diff", "last", "--path", "output/x"],
            &[
                "there is no 'output/x' in the workspace",
                "[workspace.file_not_found]",
            ],
        ),
        (
            &["diff", "last", "--path", "../x"],
            &["'../x'", "[workspace.path_denied]"],
        ),
        (
            &["checkpoints", "last", "9"],
            &["has no checkpoint 'cp_000009'", "[agent.not_found]"],
        ),
    ] {
        let run = house.run(&[&["runs"], words].concat());
        run.is_refused(run.code.unwrap_or_default(), said);
        assert_ne!(run.code, Some(0));
    }
    let chinese = house.run(&["runs", "diff", "last", "7", "--lang", "zh"]);
    assert!(
        chinese
            .stderr
            .contains("没有检查点“cp_000007”：最后一个是 cp_000003"),
        "{}",
        chinese.stderr
    );
}
