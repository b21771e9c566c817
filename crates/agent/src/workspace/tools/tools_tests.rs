use innkeeper_protocol::ErrorCode as Code;
use innkeeper_protocol::check_declaration;
use serde_json::{Value as Json, json};

use super::super::door::CommitRefused;
use super::super::testing::{House, plan};
use crate::limits::*;

const LIST: &str = "workspace.list_files";
const SEARCH: &str = "workspace.search_files";
const READ: &str = "workspace.read_file";
const WRITE: &str = "workspace.write_file";
const PATCH: &str = "workspace.apply_patch";
const COMMIT: &str = "workspace.commit";
const FINISH: &str = "workspace.finish";

#[test]
fn declarations_are_whole() {
    let house = House::new(&[]);
    // Those that are declared elsewhere are looked at there.
    let tools = house.tools().iter();
    for (tool, _) in tools.filter(|(tool, _)| tool.extra.contains_key("annotations")) {
        let id = &tool.id;
        check_declaration(tool).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert_eq!(tool.parameters["additionalProperties"], false, "{id}");
        assert!(tool.execution.idempotent, "{id}");
        assert!(
            !tool.examples.is_empty() && !tool.display_name.is_empty(),
            "{id}"
        );
        let read_only = tool.extra["annotations"]["readOnly"] == true;
        assert_eq!(tool.execution.parallel, read_only, "{id}");
        for (name, schema) in tool.properties() {
            assert!(
                schema["description"].as_str().unwrap().len() > 10,
                "{id} {name}"
            );
            let verbatim = ["content", "old_string", "new_string"].contains(&name);
            assert_eq!(schema["x-verbatim"] == true, verbatim, "{id} {name}");
        }
        let validator = jsonschema::validator_for(&tool.parameters).unwrap();
        for example in &tool.examples {
            assert!(
                validator.is_valid(&Json::Object(example.arguments.clone())),
                "{id}"
            );
        }
    }
    innkeeper_tools::builtin::source(house.tools().to_vec()).unwrap();
}

#[tokio::test]
async fn listings_show_folders_first_and_only_what_is_seen() {
    let house = House::new(&[
        ("output/main.md", ""),
        ("output/a/b/c/d.md", ""),
        ("output/a/x.md", ""),
        ("summaries/s.md", ""),
    ]);
    let listed = |arguments: Json| async {
        let answer = house.call(LIST, arguments).await.unwrap();
        let entries = answer["entries"].as_array().unwrap().clone();
        entries
            .iter()
            .map(|entry| {
                let slash = if entry["kind"] == "directory" {
                    "/"
                } else {
                    ""
                };
                format!("{}{slash}", entry["path"].as_str().unwrap())
            })
            .collect::<Vec<_>>()
            .join(" ")
    };
    for (arguments, expected) in [
        (json!({"depth": 1}), "output/ persist/ plan/ scratch/"),
        (
            json!({}),
            "output/ output/a/ persist/ plan/ scratch/ output/main.md",
        ),
        (
            json!({"path": null, "depth": 1.0}),
            "output/ persist/ plan/ scratch/",
        ),
        (
            json!({"path": " ", "depth": 1}),
            "output/ persist/ plan/ scratch/",
        ),
        (
            json!({"path": "./", "depth": 1}),
            "output/ persist/ plan/ scratch/",
        ),
        (
            json!({"path": "output"}),
            "output/a/ output/a/b/ output/a/x.md output/main.md",
        ),
        (
            json!({"path": "output/a", "depth": 4}),
            "output/a/b/ output/a/b/c/ output/a/b/c/d.md output/a/x.md",
        ),
        (json!({"path": "output/main.md"}), "output/main.md"),
        (json!({"path": "persist"}), ""),
    ] {
        assert_eq!(listed(arguments.clone()).await, expected, "{arguments}");
    }
    let names: Vec<String> = (0..=MAX_LIST_ENTRIES)
        .map(|n| format!("scratch/{n}"))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let house = House::new(&files);
    let answer = house.call(LIST, json!({"path": "scratch"})).await.unwrap();
    assert_eq!(
        answer["entries"].as_array().unwrap().len(),
        MAX_LIST_ENTRIES
    );
    assert_eq!(answer["truncated"], true);
}

#[tokio::test]
async fn a_file_is_replaced_by_whoever_has_read_it() {
    let house = House::new(&[("output/a.md", "old text")]);
    let write = |content: &str| json!({"path": "output/a.md", "content": content});
    // Adding needs no reading, and is none.
    let added = json!({"path": "output/a.md", "content": "!", "mode": "append"});
    house.call(WRITE, added.clone()).await.unwrap();
    assert_eq!(
        house.refused(WRITE, write("x")).await.1,
        "workspace.write_requires_read"
    );
    house
        .call(READ, json!({"path": "output/a.md", "max_chars": 2}))
        .await
        .unwrap();
    let answer = house.call(WRITE, write("新的 text")).await.unwrap();
    assert_eq!(
        (
            &answer["mode"],
            &answer["bytes"],
            &answer["chars"],
            &answer["words"]
        ),
        (&json!("replace"), &json!(11), &json!(7), &json!(3))
    );
    assert_eq!(house.text_of("output/a.md").await, "新的 text");
    // It knows what it wrote, and what it adds to that.
    house.call(WRITE, added).await.unwrap();
    house.call(WRITE, write("again")).await.unwrap();
    // Somebody else writes.
    house
        .session
        .spill(&"other".into(), "txt", "x".into())
        .await
        .unwrap();
    house.journal("other", true).await;
    let path = house
        .session
        .files()
        .into_keys()
        .find(|path| path.contains("results"))
        .unwrap();
    house.call(READ, json!({"path": path})).await.unwrap();
    house
        .session
        .spill(&"other".into(), "txt", "y".into())
        .await
        .unwrap();
    house.journal("other", true).await;
    let stale = house
        .refused(WRITE, json!({"path": path, "content": "z"}))
        .await;
    assert_eq!(
        stale,
        (
            Code::WorkspaceWriteStaleFile,
            "workspace.write_stale_file".into()
        )
    );
    let stale = house
        .refused(
            PATCH,
            json!({"path": path, "old_string": "x", "new_string": "z"}),
        )
        .await;
    assert_eq!(
        stale,
        (
            Code::WorkspaceWriteStaleFile,
            "workspace.patch_stale_file".into()
        )
    );
}

#[tokio::test]
async fn a_file_that_was_made_by_adding_is_known() {
    let house = House::new(&[]);
    let add = |text: &str| json!({"path": "scratch/log.md", "content": text, "mode": "append"});
    house.call(WRITE, add("a\n")).await.unwrap();
    house.call(WRITE, add("b\n")).await.unwrap();
    assert_eq!(house.text_of("scratch/log.md").await, "a\nb\n");
    let patch = json!({"path": "scratch/log.md", "old_string": "a", "new_string": "A"});
    house.call(PATCH, patch).await.unwrap();
    assert_eq!(house.text_of("scratch/log.md").await, "A\nb\n");
}

#[tokio::test]
async fn a_workspace_has_room_for_so_much() {
    let names: Vec<String> = (0..MAX_WORKSPACE_FILES)
        .map(|n| format!("scratch/{n}"))
        .collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
    let house = House::new(&files);
    let write = |path: &str| json!({"path": path, "content": "y", "mode": "append"});
    assert_eq!(
        house.refused(WRITE, write("output/more")).await.1,
        "workspace.full"
    );
    house.call(WRITE, write("scratch/7")).await.unwrap();

    let house = House::new(&[("output/small", "x")]);
    let mut large = house.session.file("output/small").unwrap();
    large.bytes = MAX_WORKSPACE_BYTES - 2;
    house
        .session
        .projected(&[("persist/large".to_owned(), large)]);
    house.call(WRITE, write("output/small")).await.unwrap();
    assert_eq!(
        house.refused(WRITE, write("output/small")).await.1,
        "workspace.full"
    );
}

#[tokio::test]
async fn searches_find_the_best_places() {
    let house = House::new(&[
        (
            "output/a.md",
            "one\nthe Silver key\nthree\nfour\nfive\nsix\na KEY\n",
        ),
        ("plan/b.md", "银钥匙在这里"),
        ("summaries/s.md", "silver key"),
        (
            "scratch/long.md",
            &format!("{}silver key{}", "a".repeat(3000), "b".repeat(3000)),
        ),
    ]);
    let found = house
        .call(SEARCH, json!({"query": "silver key", "context_lines": 1}))
        .await
        .unwrap();
    let hits = found["hits"].as_array().unwrap();
    let refs: Vec<&str> = hits
        .iter()
        .map(|hit| hit["ref"].as_str().unwrap())
        .collect();
    assert_eq!(
        refs,
        [
            "workspace:output/a.md#L1-L3",
            "workspace:scratch/long.md#L1-L1",
            "workspace:output/a.md#L6-L7",
        ]
    );
    assert_eq!(hits[0]["snippet"], "one\nthe Silver key\nthree");
    assert_eq!(
        (&hits[0]["score"], &hits[0]["chars"], &hits[0]["words"]),
        (&json!(1.0), &json!(24), &json!(5))
    );
    let long = hits[1]["snippet"].as_str().unwrap();
    assert!(long.contains("silver key") && long.chars().count() <= MAX_FILE_SNIPPET_CHARS);
    assert_eq!(
        (&found["searchedFiles"], &found["skippedFiles"]),
        (&json!(3), &json!(0))
    );
    assert_eq!(found["truncated"], false);

    let one = house
        .call(SEARCH, json!({"query": "silver key", "limit": 1}))
        .await
        .unwrap();
    assert_eq!(
        (one["hits"].as_array().unwrap().len(), &one["truncated"]),
        (1, &json!(true))
    );
    let cjk = house
        .call(SEARCH, json!({"query": "银钥匙", "path": "plan/b.md"}))
        .await
        .unwrap();
    assert_eq!(
        (&cjk["hits"][0]["startLine"], &cjk["searchedFiles"]),
        (&json!(1), &json!(1))
    );
    let none = house.call(SEARCH, json!({"query": "zzz"})).await.unwrap();
    assert_eq!(none["hits"], json!([]));
    // A search is no reading.
    let patch = json!({"path": "output/a.md", "old_string": "one", "new_string": "1"});
    assert_eq!(
        house.refused(PATCH, patch).await.1,
        "workspace.patch_requires_read"
    );

    let deep = format!("output/{}x.md", "d/".repeat(MAX_SEARCH_DEPTH));
    let house = House::new(&[(&deep, "key"), ("output/x.md", "key")]);
    let found = house.call(SEARCH, json!({"query": "key"})).await.unwrap();
    assert_eq!(
        (&found["searchedFiles"], &found["skippedFiles"]),
        (&json!(1), &json!(1))
    );
}

#[tokio::test]
async fn commits_go_to_the_host_and_a_run_ends_when_it_may() {
    let house = House::new(&[("output/main.md", " \n"), ("plan/p.md", " ")]);
    let early = house.refused(FINISH, json!({})).await;
    assert_eq!(early.0, Code::AgentForegroundCommitRequired);
    let empty = house.refused(COMMIT, json!({})).await;
    assert_eq!(
        empty,
        (
            Code::WorkspaceRequiredArtifactMissing,
            "workspace.required_artifact_empty".into()
        )
    );
    house
        .call(COMMIT, json!({"path": "plan/p.md"}))
        .await
        .unwrap();

    let text = json!({"path": "output/main.md", "content": "It rained.", "mode": "append"});
    house.open_call("w", WRITE, text).await.unwrap();
    let arguments = json!({"mode": "append", "reason": " done "});
    let answer = house.open_call("c", COMMIT, arguments).await.unwrap();
    assert_eq!(
        answer,
        json!({"path": "output/main.md", "mode": "append", "messageId": "7", "messageIndex": 7, "bytes": 12, "chars": 12, "words": 2})
    );
    let asked = house.door.commits.lock().unwrap().last().unwrap().clone();
    assert_eq!(
        (asked.call.as_str(), asked.reason.as_deref()),
        ("c", Some("done"))
    );
    assert_eq!(
        asked.unsaved.unwrap().id,
        asked.file.sha256,
        "no step has brought it yet"
    );
    house.journal("w", true).await;
    house.call(COMMIT, json!({})).await.unwrap();
    assert!(
        house
            .door
            .commits
            .lock()
            .unwrap()
            .last()
            .unwrap()
            .unsaved
            .is_none()
    );

    for (refused, code, reason) in [
        (
            CommitRefused::Host {
                path: "p".into(),
                message: "no chat is open".into(),
            },
            Code::CommitSaveFailed,
            "agent.chat_commit_failed",
        ),
        (
            CommitRefused::TimedOut {
                path: "p".into(),
                millis: 5,
            },
            Code::CommitSaveFailed,
            "agent.chat_commit_timeout",
        ),
        (CommitRefused::Stopped, Code::ToolCancelled, ""),
    ] {
        *house.door.refuses.lock().unwrap() = Some(refused);
        assert_eq!(
            house.refused(COMMIT, json!({})).await,
            (code, reason.into())
        );
    }
    let answer = house
        .call(FINISH, json!({"reason": "all said"}))
        .await
        .unwrap();
    assert_eq!(answer, json!({"reason": "all said"}));
    assert_eq!(
        house.call(FINISH, json!({})).await.unwrap(),
        json!({"reason": null})
    );
    assert_eq!(
        *house.door.finished.lock().unwrap(),
        [Some("all said".to_owned()), None]
    );
}

#[tokio::test]
async fn a_profile_without_a_message_names_the_file() {
    let plan = crate::workspace::WorkspacePlan::new(&["output".into()], &["output".into()], None);
    let house = House::with(plan, &[("output/a.md", "text")]);
    let refused = house.refused(COMMIT, json!({})).await;
    assert_eq!(
        refused,
        (
            Code::WorkspaceRequiredArtifactMissing,
            "workspace.required_artifact_missing".into()
        )
    );
    house
        .call(COMMIT, json!({"path": "output/a.md"}))
        .await
        .unwrap();
}

#[tokio::test]
async fn nobody_works_without_a_run_and_nothing_is_done_that_nobody_keeps() {
    let house = House::with(plan(&["output"], &["output"]), &[]);
    let write = json!({"path": "output/a.md", "content": "x"});
    let error = house.called(None, WRITE, write.clone()).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("workspace.no_call"));
    house.workspaces.close(house.session.run());
    let error = house.open_call("c", WRITE, write).await.unwrap_err();
    assert_eq!(error.reason.as_deref(), Some("workspace.no_run"));
    assert!(house.workspaces.is_empty());
}

#[tokio::test]
async fn a_file_is_deleted_by_whoever_has_read_it() {
    const DELETE: &str = "workspace.delete_file";
    let house = House::new(&[("persist/a.md", "old"), ("output/b/c.md", "")]);
    let path = |path: &str| json!({"path": path});
    for (given, code, reason) in [
        (
            "persist/a.md",
            Code::WorkspaceWriteRequiresRead,
            "delete_requires_read",
        ),
        (
            "persist/x.md",
            Code::WorkspaceFileNotFound,
            "file_not_found",
        ),
        (
            "output/b",
            Code::WorkspacePathIsDirectory,
            "path_is_directory",
        ),
        ("output", Code::WorkspacePathDenied, "path_not_writable"),
        ("../a.md", Code::WorkspacePathDenied, "invalid_path"),
        ("input/a.md", Code::WorkspacePathDenied, "path_not_visible"),
    ] {
        let expected = (code, format!("workspace.{reason}"));
        assert_eq!(
            house.refused(DELETE, path(given)).await,
            expected,
            "{given}"
        );
    }
    house.call(READ, path("persist/a.md")).await.unwrap();
    let added = json!({"path": "persist/a.md", "content": "!", "mode": "append"});
    house.call(WRITE, added).await.unwrap();
    // It knows what it has added.
    let answer = house.call(DELETE, path("persist/a.md")).await.unwrap();
    assert_eq!(answer["path"], "persist/a.md");
    assert_eq!(house.session.file("persist/a.md"), None);
    let again = house.refused(DELETE, path("persist/a.md")).await;
    assert_eq!(again.1, "workspace.file_not_found");
    // There is nothing that would have to be read before it is there again.
    let anew = json!({"path": "persist/a.md", "content": "new"});
    house.call(WRITE, anew).await.unwrap();
    assert_eq!(house.text_of("persist/a.md").await, "new");
}
