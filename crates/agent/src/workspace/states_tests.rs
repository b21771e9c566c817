use std::collections::BTreeMap;

use innkeeper_store::{Blob, Store};

use super::*;
use crate::workspace::persist::{keep, project};
use crate::workspace::state::FileInfo;

fn files(list: &[(&str, &str)]) -> BTreeMap<String, FileInfo> {
    let info = |text: &str| FileInfo::of(BlobId::of(text.as_bytes()), text);
    list.iter()
        .map(|(path, text)| ((*path).to_owned(), info(text)))
        .collect()
}

#[tokio::test]
async fn what_a_run_leaves_is_there_for_the_next_process() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("innkeeper.db");
    let workspace = WorkspaceId::new("chat_1");
    let now = files(&[("persist/a.md", "a"), ("output/x.md", "x")]);
    let store = Store::open(&path).await.unwrap();
    let states = StatesInStore::new(store.states());
    let refused = keep(&states, &workspace, "run_1", None, &now, None).await;
    assert_eq!(
        refused.unwrap_err().code(),
        "store.content_missing",
        "nobody brought its contents"
    );
    let blobs = vec![Blob::new(b"a".as_slice())];
    store.contents().put(blobs, Vec::new()).await.unwrap();
    for _ in 0..2 {
        let changes = keep(&states, &workspace, "run_1", None, &now, None)
            .await
            .unwrap();
        assert_eq!(changes.len(), 1);
    }
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let states = StatesInStore::new(store.states());
    assert_eq!(states.list(&workspace).await.unwrap(), ["run_1"]);
    let found = project(&states, &workspace, Some("run_1")).await.unwrap();
    let found: BTreeMap<_, _> = found.files.into_iter().collect();
    assert_eq!(found, files(&[("persist/a.md", "a")]));
    let many: Vec<String> = (0..=STATES_REMOVED_AT_ONCE)
        .map(|number| format!("run_{number}"))
        .collect();
    assert_eq!(states.remove(&workspace, &many).await.unwrap(), ["run_1"]);
    assert_eq!(states.load(&workspace, "run_1").await.unwrap(), None);
}
