use std::collections::BTreeMap;

use super::*;
use crate::Store;
use crate::journal::Entry;
use crate::journal::tests::{begin, quiet, record, step};
use crate::limits::{MAX_INLINE_BYTES, MAX_TREE_BYTES};
use crate::store::tests::{behind_its_back, execute, folder};

fn tree(files: &[(&str, &Blob)]) -> Tree {
    let file = |(path, blob): &(&str, &Blob)| {
        let file = TreeFile {
            sha256: blob.id.clone(),
            bytes: blob.content.len() as u64,
        };
        ((*path).to_owned(), file)
    };
    Tree(files.iter().map(file).collect::<BTreeMap<_, _>>())
}

fn blob(text: &str) -> Blob {
    Blob::new(text.as_bytes())
}

fn large() -> Blob {
    Blob::new(vec![7; MAX_INLINE_BYTES + 1])
}

fn carrying(run: &str, blobs: &[&Blob], trees: &[&Tree]) -> Entry {
    Entry {
        blobs: blobs.iter().map(|blob| (*blob).clone()).collect(),
        trees: trees.iter().map(|tree| (*tree).clone()).collect(),
        ..quiet(run, "carries")
    }
}

#[test]
fn ids_are_what_they_say() {
    let id = BlobId::of(b"");
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(id.as_str(), empty);
    assert_eq!(BlobId::from_digest(&id.digest()), id);
    assert_eq!(BlobId::parse(empty), Some(id));
    for wrong in [
        "",
        "e3",
        &empty.to_uppercase(),
        &format!("../{empty}")[..64],
    ] {
        assert_eq!(BlobId::parse(wrong), None, "{wrong}");
        let json = serde_json::to_string(wrong).unwrap();
        assert!(serde_json::from_str::<BlobId>(&json).is_err(), "{wrong}");
    }
}

#[test]
fn the_canonical_form_is_json_in_order() {
    let (a, b) = (blob("a"), blob("b"));
    let mixed = tree(&[("z/\"quoted\"", &a), ("a.md", &b)]);
    let canonical = mixed.canonical();
    assert_eq!(canonical, serde_json::to_string(&mixed).unwrap());
    assert_eq!(serde_json::from_str::<Tree>(&canonical).unwrap(), mixed);
    assert!(canonical.find("a.md") < canonical.find("quoted"));
    assert_eq!(Tree::default().canonical(), "{}");
    assert_eq!(mixed.id().0, BlobId::of(canonical.as_bytes()));
}

#[tokio::test]
async fn contents_come_with_the_step_that_speaks_of_them() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let (small, large) = (blob("small"), large());
    let files = tree(&[("a", &small), ("b/c", &large)]);
    let first = Entry {
        blobs: vec![small.clone()],
        ..step("r", 1..=1)
    };
    store.journal().create(record("r"), first).await.unwrap();
    let second = carrying("r", &[&large, &small], &[&files]);
    store.journal().append(second.clone()).await.unwrap();
    // The same again costs nothing and changes nothing.
    store.journal().append(second).await.unwrap();
    store.close().await.unwrap();

    let store = Store::open(&path).await.unwrap();
    let contents = store.contents();
    for blob in [&small, &large] {
        let found = contents.blob(&blob.id).await.unwrap();
        assert_eq!(found.as_ref(), Some(&blob.content));
    }
    assert_eq!(contents.tree(&files.id()).await.unwrap(), Some(files));
    assert_eq!(contents.blob(&BlobId::of(b"never")).await.unwrap(), None);
    let (start, rest) = large.id.as_str().split_at(2);
    let file = folder.path().join("blobs").join(start).join(rest);
    assert_eq!(std::fs::read(file).unwrap(), &*large.content);
}

#[tokio::test]
async fn a_step_that_is_refused_brings_no_contents() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 1).await;
    let (new, other) = (blob("new"), blob("other"));
    let gap = Entry {
        blobs: vec![new.clone()],
        ..step("r", 9..=9)
    };
    let false_name = Blob {
        id: other.id.clone(),
        content: new.content.clone(),
    };
    let holes = tree(&[("new", &new), ("other", &other)]);
    let path = "x".repeat(MAX_TREE_BYTES);
    let huge = tree(&[(path.as_str(), &new)]);
    for (entry, code) in [
        (gap, "store.gap"),
        (carrying("r", &[&false_name], &[]), "store.content_damaged"),
        (carrying("r", &[&new], &[&holes]), "store.content_missing"),
        (carrying("r", &[&new], &[&huge]), "store.too_large"),
    ] {
        assert_eq!(
            store.journal().append(entry).await.unwrap_err().code(),
            code
        );
        assert_eq!(
            store.contents().blob(&new.id).await.unwrap(),
            None,
            "{code}"
        );
    }
    let put = store.contents().put(Vec::new(), vec![holes.clone()]).await;
    assert_eq!(put.unwrap_err().code(), "store.content_missing");
    let whole = carrying("r", &[&new, &other], &[&holes]);
    store.journal().append(whole).await.unwrap();
    let again = store.contents().put(Vec::new(), vec![holes]).await;
    assert_eq!(again, Ok(()));
}

#[tokio::test]
async fn what_was_damaged_is_an_error() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let (small, large) = (blob("small"), large());
    let blobs = vec![small.clone(), large.clone()];
    store
        .contents()
        .put(blobs.clone(), Vec::new())
        .await
        .unwrap();
    let sql = "UPDATE blobs SET content = CAST('smaLl' AS BLOB) WHERE content IS NOT NULL";
    execute(&mut behind_its_back(&path).await, sql).await;
    let (start, rest) = large.id.as_str().split_at(2);
    let file = folder.path().join("blobs").join(start).join(rest);
    let contents = store.contents();
    let error = contents.blob(&small.id).await.unwrap_err();
    assert_eq!(error.code(), "store.content_damaged");
    for (bytes, said) in [
        (vec![8; MAX_INLINE_BYTES + 1], "was changed"),
        (vec![7; 10], "has 10 bytes"),
    ] {
        std::fs::write(&file, bytes).unwrap();
        let error = contents.blob(&large.id).await.unwrap_err();
        assert_eq!(error.code(), "store.content_damaged");
        assert!(error.to_string().contains(said), "{error}");
    }
    std::fs::remove_file(&file).unwrap();
    let error = contents.blob(&large.id).await.unwrap_err();
    assert!(error.to_string().contains(rest), "{error}");
    // Whoever brings it again mends it.
    contents.put(blobs, Vec::new()).await.unwrap();
    assert!(contents.blob(&large.id).await.unwrap().is_some());
}

#[tokio::test]
async fn a_sweep_takes_what_nobody_holds() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for run in ["a", "b"] {
        begin(&store, run, 1).await;
    }
    let [shared, only_a, in_tree, kept] = ["shared", "only a", "in tree", "kept"].map(blob);
    let large = large();
    let held_tree = tree(&[("f", &in_tree)]);
    let journal = store.journal();
    let a = carrying("a", &[&shared, &only_a, &in_tree, &large], &[]);
    journal.append(a).await.unwrap();
    let b = carrying("b", &[&shared], &[&held_tree]);
    journal.append(b).await.unwrap();
    let contents = store.contents();
    contents.put(vec![kept.clone()], Vec::new()).await.unwrap();
    assert_eq!(contents.sweep().await.unwrap(), Swept::default());

    journal.delete(&"a".into()).await.unwrap();
    let swept = contents.sweep().await.unwrap();
    let bytes = (only_a.content.len() + large.content.len()) as u64;
    assert_eq!(swept, Swept { contents: 2, bytes });
    for (blob, is_there) in [
        (&shared, true),
        (&only_a, false),
        (&in_tree, true),
        (&kept, true),
        (&large, false),
    ] {
        let found = contents.blob(&blob.id).await.unwrap();
        assert_eq!(found.is_some(), is_there, "{blob:?}");
    }
    let (start, rest) = large.id.as_str().split_at(2);
    let file = folder.path().join("blobs").join(start).join(rest);
    assert!(!file.exists());
    journal.delete(&"b".into()).await.unwrap();
    assert_eq!(contents.sweep().await.unwrap().contents, 3);
}

#[tokio::test]
async fn what_has_rotted_is_written_anew() {
    let (folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let large = Blob::new(vec![7; 200_000]);
    let small = Blob::new(*b"small");
    let both = || vec![large.clone(), small.clone()];
    store.contents().put(both(), Vec::new()).await.unwrap();
    let (start, rest) = large.id.as_str().split_at(2);
    let file = folder.path().join("blobs").join(start).join(rest);
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[150_000] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let sql = "UPDATE blobs SET content = x'736d616c6d' WHERE content IS NOT NULL";
    execute(&mut behind_its_back(&path).await, sql).await;
    for blob in both() {
        let read = store.contents().blob(&blob.id).await;
        assert_eq!(read.unwrap_err().code(), "store.content_damaged");
    }
    store.contents().put(both(), Vec::new()).await.unwrap();
    for blob in both() {
        let read = store.contents().blob(&blob.id).await.unwrap();
        assert_eq!(read, Some(blob.content));
    }
}
