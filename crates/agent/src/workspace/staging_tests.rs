use super::super::state::{FileChange, How};
use super::*;

fn info(text: &str) -> FileInfo {
    FileInfo::of(BlobId::of(text.as_bytes()), text)
}

fn write(staging: &mut Staging, call: &str, path: &str, text: &str) {
    let new = info(text);
    let change = WorkspaceChange {
        files: vec![FileChange {
            path: path.to_owned(),
            how: How::Captured,
            old: staging.file(path).cloned(),
            new: Some(new.clone()),
        }],
        reads: vec![(path.to_owned(), ReadState::full(new.sha256))],
    };
    staging.stage(&CallId::new(call), change, vec![Blob::new(text.as_bytes())]);
}

fn seen(staging: &Staging, path: &str) -> Option<BlobId> {
    staging.file(path).map(|file| file.sha256.clone())
}

fn id(text: &str) -> Option<BlobId> {
    Some(BlobId::of(text.as_bytes()))
}

#[test]
fn what_is_staged_is_seen_and_what_is_journaled_stays() {
    let mut staging = Staging::default();
    write(&mut staging, "a", "output/x", "one");
    assert_eq!(seen(&staging, "output/x"), id("one"));
    assert!(staging.base().files.is_empty());
    assert!(staging.blob(&id("one").unwrap()).is_some());
    let taken = staging.take(&CallId::new("a"));
    assert_eq!((taken.change.files.len(), taken.blobs.len()), (1, 1));
    assert_eq!(
        seen(&staging, "output/x"),
        id("one"),
        "until it is journaled too"
    );
    assert_eq!(staging.journaled(&CallId::new("a")).len(), 1);
    assert_eq!(seen(&staging, "output/x"), id("one"));
    assert_eq!(staging.base().files.len(), 1);
    assert!(staging.blob(&id("one").unwrap()).is_none());
    assert_eq!(staging.take(&CallId::new("a")), Taken::default());
}

#[test]
fn a_call_that_came_to_nothing_leaves_nothing_but_its_flags() {
    let mut staging = Staging::default();
    write(&mut staging, "a", "output/x", "one");
    let flagged = ReadState::full(id("y").unwrap()).flagged();
    let change = WorkspaceChange {
        files: Vec::new(),
        reads: vec![
            ("output/y".to_owned(), flagged),
            ("output/z".to_owned(), ReadState::full(id("z").unwrap())),
        ],
    };
    staging.stage(&CallId::new("a"), change, Vec::new());
    staging.fail(&CallId::new("a"));
    assert_eq!(seen(&staging, "output/x"), None);
    let taken = staging.take(&CallId::new("a"));
    assert!(taken.change.files.is_empty() && taken.blobs.is_empty());
    let paths: Vec<_> = taken.change.reads.iter().map(|(path, _)| path).collect();
    assert_eq!(paths, ["output/y"]);

    write(&mut staging, "b", "output/x", "two");
    staging.take(&CallId::new("b"));
    staging.discard(&CallId::new("b"));
    assert_eq!(seen(&staging, "output/x"), None);
}

#[test]
fn the_later_write_stands_whichever_is_journaled_first() {
    for order in [["a", "b"], ["b", "a"]] {
        let mut staging = Staging::default();
        // What the journal gives after a restart.
        let mut replayed = WorkspaceState::default();
        write(&mut staging, "a", "output/x", "one");
        write(&mut staging, "a", "output/only", "only");
        write(&mut staging, "b", "output/x", "two");
        for call in order.map(CallId::new) {
            assert_eq!(seen(&staging, "output/x"), id("two"), "{order:?}");
            let files = staging.files();
            assert_eq!(files["output/x"].sha256, id("two").unwrap());
            let taken = staging.take(&call);
            assert_eq!(taken.blobs.len(), taken.change.files.len(), "{order:?}");
            replayed.apply(&taken.change);
            staging.journaled(&call);
        }
        assert_eq!(seen(&staging, "output/x"), id("two"), "{order:?}");
        assert_eq!(&replayed, staging.base(), "{order:?}");
        assert_eq!(replayed.files.len(), 2);
        assert_eq!(Some(&replayed.reads["output/x"].sha256), id("two").as_ref());
        assert!(staging.taken.is_empty());
    }
}

#[test]
fn a_checkpoint_holds_its_call_and_no_other() {
    let mut staging = Staging::default();
    write(&mut staging, "a", "output/x", "one");
    write(&mut staging, "b", "output/y", "two");
    let after: Vec<String> = staging.files_after(&CallId::new("b")).into_keys().collect();
    assert_eq!(after, ["output/y"]);
    assert_eq!(staging.files().len(), 2);
    assert_eq!(staging.others("output/x"), (1, 3));
    assert_eq!(staging.others("output/z"), (2, 6));
}

#[test]
fn folders_are_there_with_their_files() {
    let mut staging = Staging::default();
    assert!(staging.is_folder("output") && !staging.is_folder("output/a"));
    write(&mut staging, "a", "output/a/x", "one");
    assert!(staging.is_folder("output/a") && !staging.is_folder("output/a/x"));
    staging.take(&CallId::new("a"));
    staging.journaled(&CallId::new("a"));
    assert!(staging.is_folder("output/a") && !staging.is_folder("output/"));
    assert!(!staging.is_folder("input"));
}
