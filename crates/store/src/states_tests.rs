use super::*;
use crate::journal::Belongings;
use crate::journal::tests::{begin, step};
use crate::store::tests::folder;
use crate::{Blob, Store, WorldUpdate};

fn workspace() -> WorkspaceId {
    WorkspaceId::new("chat_1")
}

fn state(id: &str, contents: &[&str]) -> StateRecord {
    StateRecord {
        workspace: workspace(),
        state: id.to_owned(),
        record: format!(r#"{{"of":"{id}"}}"#).into(),
        contents: contents
            .iter()
            .map(|text| BlobId::of(text.as_bytes()))
            .collect(),
    }
}

/// A run that brings these contents.
async fn brings(store: &Store, run: &str, contents: &[&str]) {
    begin(store, run, 1).await;
    let mut entry = step(run, 2..=2);
    entry.blobs = contents
        .iter()
        .map(|text| Blob::new(text.as_bytes()))
        .collect();
    store.journal().append(entry).await.unwrap();
}

async fn is_there(store: &Store, content: &str) -> bool {
    let id = BlobId::of(content.as_bytes());
    store.contents().blob(&id).await.unwrap().is_some()
}

#[tokio::test]
async fn states_are_there_after_opening_again() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    brings(&store, "r", &["a", "b"]).await;
    let states = store.states();
    for one in [state("s1", &["a", "b"]), state("s2", &[])] {
        // Twice is once.
        states.put(one.clone()).await.unwrap();
        states.put(one).await.unwrap();
    }
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let states = store.states();
    for one in [state("s1", &["a", "b"]), state("s2", &[])] {
        assert_eq!(states.get(&workspace(), &one.state).await, Ok(Some(one)));
    }
    assert_eq!(states.get(&"other".into(), "s1").await, Ok(None));
    assert_eq!(states.list(&workspace(), None).await.unwrap(), ["s1", "s2"]);
    assert_eq!(states.list(&workspace(), Some("s1")).await.unwrap(), ["s2"]);
    assert!(states.list(&"other".into(), None).await.unwrap().is_empty());
    let wanted = ["s1".to_owned(), "none".to_owned()];
    assert_eq!(states.remove(&workspace(), &wanted).await.unwrap(), ["s1"]);
    assert!(
        states
            .remove(&workspace(), &wanted)
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(states.list(&workspace(), None).await.unwrap(), ["s2"]);
}

#[tokio::test]
async fn what_a_state_names_stays_as_long_as_it() {
    let store = Store::in_memory().await.unwrap();
    let (states, contents) = (store.states(), store.contents());
    brings(&store, "r", &["of one", "of both", "of none"]).await;
    states
        .put(state("s1", &["of one", "of both"]))
        .await
        .unwrap();
    states.put(state("s2", &["of both"])).await.unwrap();
    store.journal().delete(&"r".into()).await.unwrap();
    assert_eq!(contents.sweep().await.unwrap().contents, 1);
    assert!(!is_there(&store, "of none").await);
    assert!(is_there(&store, "of one").await);

    states
        .remove(&workspace(), &["s1".to_owned()])
        .await
        .unwrap();
    assert_eq!(contents.sweep().await.unwrap().contents, 1);
    assert!(!is_there(&store, "of one").await);
    assert!(is_there(&store, "of both").await);
    // A state that is put anew lets go of what it does not name any more.
    states.put(state("s2", &[])).await.unwrap();
    contents.sweep().await.unwrap();
    assert!(!is_there(&store, "of both").await);
}

#[tokio::test]
async fn what_is_not_there_or_too_large_is_refused() {
    let store = Store::in_memory().await.unwrap();
    let states = store.states();
    let missing = states.put(state("s", &["nobody brought it"])).await;
    assert_eq!(missing.unwrap_err().code(), "store.content_missing");
    let long = "x".repeat(MAX_RECORD_ID_CHARS + 1);
    let large = StateRecord {
        record: "x".repeat(MAX_STATE_BYTES + 1).into(),
        ..state("s", &[])
    };
    let many = StateRecord {
        contents: (0..=MAX_STATE_CONTENTS)
            .map(|number| BlobId::of(&number.to_be_bytes()))
            .collect(),
        ..state("s", &[])
    };
    for refused in [state(&long, &[]), large, many] {
        let error = states.put(refused).await.unwrap_err();
        assert_eq!(error.code(), "store.too_large");
    }
    let too_many = vec!["s".to_owned(); MAX_STATES_REMOVED + 1];
    assert!(states.remove(&workspace(), &too_many).await.is_err());
    assert_eq!(states.get(&workspace(), "s").await, Ok(None));
}

#[test]
fn the_name_of_a_state_is_a_run_and_a_number() {
    for (id, named) in [
        ("run_1", ("run_1", 0)),
        ("run_1.9", ("run_1", 9)),
        ("run_1.11", ("run_1", 11)),
        ("run_1.", ("run_1.", 0)),
        ("run_1.a", ("run_1.a", 0)),
        ("run_1.+3", ("run_1.+3", 0)),
        ("", ("", 0)),
    ] {
        assert_eq!(run_of_state(id), named, "{id}");
    }
}

#[tokio::test]
async fn what_a_run_without_an_end_will_leave_is_in_use_however_often_it_was_rolled_back() {
    let store = Store::in_memory().await.unwrap();
    let mut record = crate::journal::tests::record("r");
    record.workspace_id = workspace();
    let first = step("r", 1..=1);
    store.journal().create(record, first).await.unwrap();
    let states = store.states();
    let ids = ["r", "r.1", "r.12", "rr.1", "r.x"].map(str::to_owned);
    for id in &ids {
        states.put(state(id, &[])).await.unwrap();
    }
    let gone = states.prune(&workspace(), &ids).await.unwrap();
    assert_eq!(gone, ["rr.1", "r.x"]);
    store
        .journal()
        .append(crate::journal::tests::last("r", 2))
        .await
        .unwrap();
    let gone = states.prune(&workspace(), &ids).await.unwrap();
    assert_eq!(gone, ["r", "r.1", "r.12"]);
}

#[tokio::test]
async fn states_whose_runs_are_gone_are_found() {
    let store = Store::in_memory().await.unwrap();
    for (run, of) in [("a", "chat_1"), ("b", "chat_2"), ("c", "chat_3")] {
        let mut record = crate::journal::tests::record(run);
        record.workspace_id = WorkspaceId::new(of);
        store
            .journal()
            .create(record, step(run, 1..=1))
            .await
            .unwrap();
        for id in [run.to_owned(), format!("{run}.2")] {
            let kept = StateRecord {
                workspace: WorkspaceId::new(of),
                ..state(&id, &[])
            };
            store.states().put(kept).await.unwrap();
        }
    }
    let found = async |after| store.states().orphaned(after).await.unwrap();
    assert!(found(None).await.is_empty());
    for run in ["a", "c"] {
        store.journal().delete(&run.into()).await.unwrap();
    }
    assert_eq!(
        found(None).await,
        ["chat_1", "chat_3"].map(WorkspaceId::new)
    );
    assert_eq!(found(Some("chat_1")).await, [WorkspaceId::new("chat_3")]);
    // A copy is in another chat than its run.
    let copied = StateRecord {
        workspace: WorkspaceId::new("chat_2"),
        ..state("a", &[])
    };
    store.states().put(copied).await.unwrap();
    assert_eq!(found(Some("chat_1")).await.len(), 2);
}

/// Every state and world there is, by workspace.
async fn left(store: &Store) -> Vec<(String, Vec<String>, bool)> {
    let mut all = Vec::new();
    for workspace in ["own", "chat"] {
        let id = WorkspaceId::new(workspace);
        let states = store.states().list(&id, None).await.unwrap();
        let world = store.worlds().get(&id).await.unwrap();
        all.push((workspace.to_owned(), states, world.is_some()));
    }
    all
}

#[tokio::test]
async fn what_belongs_to_a_run_goes_with_it_and_with_the_last_one_of_a_workspace_all_of_it() {
    let store = Store::in_memory().await.unwrap();
    let journal = store.journal();
    for (run, workspace, base) in [
        ("a", "own", None),
        ("b", "own", None),
        ("c", "chat", None),
        ("d", "chat", Some("c.1")),
    ] {
        let mut record = crate::journal::tests::record(run);
        record.workspace_id = WorkspaceId::new(workspace);
        record.persist_base_state_id = base.map(str::to_owned);
        journal.create(record, step(run, 1..=1)).await.unwrap();
        for state in [run.to_owned(), format!("{run}.1")] {
            let kept = StateRecord {
                workspace: WorkspaceId::new(workspace),
                state,
                record: "{}".into(),
                contents: Default::default(),
            };
            store.states().put(kept).await.unwrap();
        }
    }
    for workspace in ["own", "chat"] {
        let world = WorldUpdate {
            workspace: WorkspaceId::new(workspace),
            base: 0,
            value: "{}".into(),
            record: "{}".into(),
            request: None,
        };
        store.worlds().update(world).await.unwrap();
    }
    let words = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
    let own = Belongings {
        states: Vec::new(),
        has_own_workspace: true,
    };
    assert!(journal.delete_with(&"a".into(), &own).await.unwrap());
    assert_eq!(
        left(&store).await,
        [
            ("own".to_owned(), words(&["a", "a.1", "b", "b.1"]), true),
            ("chat".to_owned(), words(&["c", "c.1", "d", "d.1"]), true),
        ]
    );
    assert!(journal.delete_with(&"b".into(), &own).await.unwrap());
    // The other run of the chat has no end and began with one of them.
    let states = Belongings {
        states: words(&["c", "c.1"]),
        has_own_workspace: false,
    };
    assert!(journal.delete_with(&"c".into(), &states).await.unwrap());
    assert!(!journal.delete_with(&"c".into(), &states).await.unwrap());
    assert_eq!(
        left(&store).await,
        [
            ("own".to_owned(), Vec::new(), false),
            ("chat".to_owned(), words(&["c.1", "d", "d.1"]), true),
        ]
    );
}
