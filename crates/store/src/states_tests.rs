use super::*;
use crate::journal::tests::{begin, step};
use crate::store::tests::folder;
use crate::{Blob, Store};

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
