use innkeeper_protocol::event::CallId;
use serde_json::json;

use super::super::testing::House;
use super::*;

const WRITE: &str = "workspace.write_file";
const READ: &str = "workspace.read_file";
const PATCH: &str = "workspace.apply_patch";

#[tokio::test]
async fn open_calls_see_each_other_and_the_journal_gets_each_one_apart() {
    let house = House::new(&[]);
    let write = json!({"path": "output/a.md", "content": "one"});
    house.open_call("a", WRITE, write).await.unwrap();
    let patch = json!({"path": "output/a.md", "old_string": "one", "new_string": "two"});
    house.open_call("b", PATCH, patch).await.unwrap();
    let seen = house
        .open_call("c", READ, json!({"path": "output/a.md"}))
        .await
        .unwrap();
    assert_eq!(seen["content"], "1 | two");
    assert!(
        house.session.state().files.is_empty(),
        "nothing is journaled"
    );
    assert!(house.session.tree().0.is_empty());
    let after = house.session.tree_after(&CallId::new("a"));
    assert_eq!(after.0["output/a.md"].sha256, BlobId::of(b"one"));

    let taken = house.journal("a", true).await;
    assert!(matches!(taken.change.files[0].how, How::Written { .. }));
    assert_eq!(taken.blobs[0].id, BlobId::of(b"one"));
    let taken = house.journal("b", true).await;
    assert_eq!(taken.change.files[0].how, How::Patched { replacements: 1 });
    assert_eq!(
        taken.change.files[0].old.as_ref().unwrap().sha256,
        BlobId::of(b"one")
    );
    // What c has read is known already, so it has nothing to add.
    assert_eq!(house.journal("c", true).await, Taken::default());
    assert_eq!(
        house.session.tree().0["output/a.md"].sha256,
        BlobId::of(b"two")
    );
}

#[tokio::test]
async fn a_call_that_is_given_up_has_done_nothing() {
    let house = House::new(&[("output/a.md", "one")]);
    house
        .open_call("r", READ, json!({"path": "output/a.md"}))
        .await
        .unwrap();
    let write = json!({"path": "output/a.md", "content": "two"});
    house.open_call("w", WRITE, write.clone()).await.unwrap();
    assert_eq!(house.text_of("output/a.md").await, "two");
    house.session.drop_staged(&CallId::new("w"));
    assert_eq!(house.text_of("output/a.md").await, "one");
    // Run again, as after a crash: the same call does the same.
    house.open_call("w", WRITE, write).await.unwrap();
    let taken = house.journal("w", true).await;
    assert_eq!(taken.change.files.len(), 1);
    assert_eq!(house.text_of("output/a.md").await, "two");
}

#[tokio::test]
async fn calls_side_by_side_lose_nothing() {
    let house = House::new(&[]);
    let append = |text: &str| json!({"path": "scratch/log", "content": text, "mode": "append"});
    let names: Vec<String> = (0..20).map(|n| format!("call{n}")).collect();
    let calls = names
        .iter()
        .map(|name| house.open_call(name, WRITE, append("x")));
    for answer in futures_util::future::join_all(calls).await {
        answer.unwrap();
    }
    assert_eq!(house.text_of("scratch/log").await, "x".repeat(20));
    for name in names.iter().rev() {
        house.journal(name, true).await;
    }
    assert_eq!(house.text_of("scratch/log").await, "x".repeat(20));
    let lengths = house.session.state().files["scratch/log"].bytes;
    assert_eq!(
        lengths, 20,
        "whatever the order in which they were journaled"
    );
}

#[tokio::test]
async fn long_results_are_files_that_the_agent_can_read() {
    let house = House::new(&[("output/a.md", "a long file")]);
    house
        .open_call("call_1", READ, json!({"path": "output/a.md"}))
        .await
        .unwrap();
    let path = house
        .session
        .spill(&CallId::new("call_1"), "json", "{}".into())
        .await
        .unwrap();
    assert_eq!(path, "scratch/results/call_74196fe72e4cdc13.json");
    let taken = house.journal("call_1", true).await;
    assert_eq!(taken.change.files[0].how, How::Spilled);
    assert!(
        taken.change.reads.is_empty(),
        "what was not shown was not read"
    );
    house.call(READ, json!({"path": path})).await.unwrap();

    let plan = super::super::testing::plan(&["plan"], &[]);
    let house = House::with(plan, &[]);
    let path = house
        .session
        .spill(&CallId::new("c"), "txt", "x".into())
        .await
        .unwrap();
    assert!(
        path.starts_with("plan/results/call_"),
        "where the agent can see it"
    );
    let huge = "x".repeat(crate::limits::MAX_SPILLED_BYTES as usize + 1);
    assert!(
        house
            .session
            .spill(&CallId::new("d"), "txt", huge)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn what_comes_without_a_call_is_seen_too() {
    let house = House::new(&[]);
    let blob = Blob::new(&b"said"[..]);
    let change = WorkspaceChange {
        files: vec![FileChange {
            path: "output/direct_output.md".to_owned(),
            how: How::Captured,
            old: None,
            new: Some(FileInfo::of(blob.id.clone(), "said")),
        }],
        reads: Vec::new(),
    };
    house.session.changed(&change, vec![blob]);
    assert_eq!(house.text_of("output/direct_output.md").await, "said");
    assert_eq!(house.session.tree().0.len(), 1);
    let kept = FileInfo::of(BlobId::of(b"said"), "said");
    house
        .session
        .projected(&[("persist/kept.md".to_owned(), kept)]);
    assert_eq!(house.text_of("persist/kept.md").await, "said");
}

#[tokio::test]
async fn a_content_that_is_gone_is_a_fault_of_the_store() {
    let house = House::new(&[("output/a.md", "text"), ("output/b.bin", "x")]);
    house
        .contents
        .0
        .lock()
        .unwrap()
        .remove(&BlobId::of(b"text"));
    let error = house.refused(READ, json!({"path": "output/a.md"})).await;
    assert_eq!(
        error,
        (
            ErrorCode::WorkspaceStorageFailed,
            "workspace.content_missing".into()
        )
    );
    let raw = &mut house.contents.0.lock().unwrap();
    raw.insert(BlobId::of(b"x"), Arc::from(&[0xff_u8][..]));
}

#[tokio::test]
async fn a_run_that_has_rested_knows_what_it_wrote_and_read() {
    let house = House::new(&[("output/a.md", "text"), ("output/b.md", "more")]);
    let read = house.call(READ, json!({"path": "output/a.md"})).await;
    read.unwrap();
    let before = house.session.state();
    assert!(!before.files.is_empty() && !before.reads.is_empty());
    for _ in 0..2 {
        house.session.rest();
        assert_eq!(house.session.state(), before);
    }
    // Also twice in a row, and when the next thing is a change.
    house.session.rest();
    house.session.rest();
    house.session.projected(&[]);
    assert_eq!(house.session.state(), before);
    assert_eq!(house.session.files(), before.files);
}

#[tokio::test]
async fn a_resting_run_holds_no_contents() {
    let house = House::new(&[("output/a.md", "text")]);
    house
        .call(READ, json!({"path": "output/a.md"}))
        .await
        .unwrap();
    house.contents.0.lock().unwrap().clear();
    house
        .call(READ, json!({"path": "output/a.md"}))
        .await
        .unwrap();
    house.session.rest();
    assert!(
        house
            .call(READ, json!({"path": "output/a.md"}))
            .await
            .is_err()
    );
}
