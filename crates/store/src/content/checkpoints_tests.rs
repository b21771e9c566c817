use innkeeper_protocol::event::{CheckpointCreated, CheckpointId, RunEventKind};
use sqlx::Row;

use super::{Blob, BlobId, Tree, TreeFile};
use crate::journal::Entry;
use crate::journal::tests::{begin, event, step};
use crate::limits::MAX_CHECKPOINT_CHAIN;
use crate::store::tests::{behind_its_back, execute, folder};
use crate::{Damage, Store, StoreError, schema};

fn cp(number: u64) -> CheckpointId {
    CheckpointId::new(format!("cp_{number:06}"))
}

fn file(content: &str) -> (Blob, TreeFile) {
    let blob = Blob::new(content.as_bytes());
    let file = TreeFile {
        sha256: blob.id.clone(),
        bytes: content.len() as u64,
    };
    (blob, file)
}

/// The event of this number tells of the checkpoint of that one.
fn checkpoint(run: &str, seq: u64, number: u64, blobs: Vec<Blob>, tree: Tree) -> Entry {
    let made = CheckpointCreated {
        checkpoint_id: cp(number),
        reason: "tool_workspace_write".to_owned(),
        extra: serde_json::Map::new(),
    };
    let mut entry = step(run, seq..=seq);
    entry.events = vec![event(run, seq, RunEventKind::CheckpointCreated(made))];
    Entry {
        blobs,
        trees: vec![tree],
        ..entry
    }
}

async fn read(store: &Store, run: &str, number: u64) -> Result<Option<Tree>, StoreError> {
    let contents = store.contents();
    contents.checkpoint(&run.into(), &cp(number)).await
}

async fn count(path: &std::path::Path, sql: &'static str) -> i64 {
    let row = sqlx::query(sql)
        .fetch_one(&mut behind_its_back(path).await)
        .await
        .unwrap();
    row.try_get(0).unwrap()
}

/// Numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % sides
    }
}

/// A run that changes files at random, with all its trees.
struct Model {
    run: &'static str,
    dice: Dice,
    tree: Tree,
    trees: Vec<Tree>,
}

impl Model {
    async fn begin(store: &Store, run: &'static str, files: usize) -> Self {
        begin(store, run, 1).await;
        let mut model = Self {
            run,
            dice: Dice(run.len() as u64 + files as u64),
            tree: Tree::default(),
            trees: Vec::new(),
        };
        let mut blobs = Vec::new();
        for number in 0..files {
            let (blob, file) = file(&format!("{run} {number}"));
            blobs.push(blob);
            model.tree.0.insert(format!("output/{number:04}.md"), file);
        }
        model.add(store, blobs).await;
        model
    }

    async fn add(&mut self, store: &Store, blobs: Vec<Blob>) {
        self.trees.push(self.tree.clone());
        let number = self.trees.len() as u64;
        let entry = checkpoint(self.run, number + 1, number, blobs, self.tree.clone());
        store.journal().append(entry).await.unwrap();
    }

    /// Files are written, deleted, moved, put back as they were, or nothing happens at all.
    async fn step(&mut self, store: &Store) {
        let mut blobs = Vec::new();
        for _ in 0..self.dice.roll(3) {
            let path = format!("output/{:04}.md", self.dice.roll(60));
            match self.dice.roll(4) {
                0 => drop(self.tree.0.remove(&path)),
                1 => {
                    let from = self.tree.0.keys().next().cloned();
                    let moved = from.and_then(|from| self.tree.0.remove(&from));
                    self.tree.0.extend(moved.map(|file| (path, file)));
                }
                _ => {
                    let (blob, file) = file(&format!("{} {}", self.run, self.dice.roll(1_000)));
                    blobs.push(blob);
                    self.tree.0.insert(path, file);
                }
            }
        }
        self.add(store, blobs).await;
    }

    async fn holds(&self, store: &Store) {
        for (number, tree) in (1..).zip(&self.trees) {
            let found = read(store, self.run, number).await.unwrap();
            assert_eq!(found.as_ref(), Some(tree), "{} of {}", number, self.run);
            for file in tree.0.values() {
                assert!(store.contents().blob(&file.sha256).await.unwrap().is_some());
            }
        }
        assert_eq!(
            read(store, self.run, self.trees.len() as u64 + 1)
                .await
                .unwrap(),
            None
        );
    }
}

#[tokio::test]
async fn trees_come_back_as_they_were() {
    let (_folder, path) = folder();
    let mut store = Store::open(&path).await.unwrap();
    let mut models = [
        Model::begin(&store, "many", 50).await,
        Model::begin(&store, "none", 0).await,
    ];
    for turn in 0..2 * MAX_CHECKPOINT_CHAIN + 20 {
        for model in &mut models {
            model.step(&store).await;
        }
        // Another process knows none of the trees.
        if turn == 60 || turn == 220 {
            store.close().await.unwrap();
            store = Store::open(&path).await.unwrap();
        }
    }
    for model in &models {
        model.holds(&store).await;
    }
    assert!(store.check().await.unwrap().is_sound());
    let wholes = "SELECT count(*) FROM checkpoints WHERE base IS NULL AND run = 1";
    let wholes = count(&path, wholes).await;
    assert!((4..7).contains(&wholes), "{wholes} of them are whole");
    let deepest = count(&path, "SELECT max(depth) FROM checkpoints").await;
    assert_eq!(deepest, MAX_CHECKPOINT_CHAIN);
    // Nobody else has them.
    let [gone, left] = models;
    store.journal().delete(&gone.run.into()).await.unwrap();
    store.contents().sweep().await.unwrap();
    left.holds(&store).await;
    assert_eq!(read(&store, gone.run, 1).await.unwrap(), None);
    assert_eq!(
        count(&path, "SELECT count(*) FROM checkpoints WHERE run = 1").await,
        0
    );
    store.journal().delete(&left.run.into()).await.unwrap();
    store.contents().sweep().await.unwrap();
    assert_eq!(count(&path, "SELECT count(*) FROM blobs").await, 0);
}

#[tokio::test]
async fn what_was_not_written_is_no_base() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 1).await;
    let (blobs, files): (Vec<_>, Vec<_>) = ["a", "b", "c", "d"].map(file).into_iter().unzip();
    // Enough of them that differences are told.
    let tree = |changed: &[(usize, usize)]| -> Tree {
        let mut tree = Tree::default();
        let first = (0..10).map(|path| (path, 0));
        for (path, content) in first.chain(changed.iter().copied()) {
            tree.0.insert(path.to_string(), files[content].clone());
        }
        tree
    };
    let first = tree(&[]);
    let journal = store.journal();
    let entry = checkpoint("r", 2, 1, blobs.clone(), first.clone());
    journal.append(entry).await.unwrap();
    // One that is refused, whatever it would have been.
    let refused = tree(&[(2, 1)]);
    let gap = checkpoint("r", 9, 2, Vec::new(), refused);
    assert_eq!(journal.append(gap).await.unwrap_err().code(), "store.gap");
    let second = tree(&[(3, 2)]);
    let entry = checkpoint("r", 3, 2, Vec::new(), second.clone());
    // Two that are on their way at once.
    let third = tree(&[(3, 2), (4, 3)]);
    let next = checkpoint("r", 4, 3, Vec::new(), third.clone());
    let (one, two) = (journal.submit(entry).await, journal.submit(next).await);
    one.unwrap().wait().await.unwrap();
    two.unwrap().wait().await.unwrap();
    for (number, tree) in [(1, first), (2, second), (3, third)] {
        assert_eq!(read(&store, "r", number).await.unwrap(), Some(tree));
    }
}

#[tokio::test]
async fn a_tree_of_what_is_not_there_is_refused_and_what_it_names_stays() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    for run in ["a", "b"] {
        begin(&store, run, 1).await;
    }
    let (blob, here) = file("of another run");
    let (_, never) = file("never brought");
    let tree = Tree([("f".to_owned(), here)].into());
    let journal = store.journal();
    let brings = Entry {
        blobs: vec![blob.clone()],
        ..step("a", 2..=2)
    };
    journal.append(brings).await.unwrap();
    let names = checkpoint("b", 2, 1, Vec::new(), tree.clone());
    journal.append(names).await.unwrap();
    let mut wrong = tree.clone();
    wrong.0.insert("g".to_owned(), never);
    for (seq, number) in [(3, 2), (3, 2)] {
        let entry = checkpoint("b", seq, number, Vec::new(), wrong.clone());
        let error = journal.append(entry).await.unwrap_err();
        assert_eq!(error.code(), "store.content_missing");
    }
    assert_eq!(read(&store, "b", 2).await.unwrap(), None);
    journal.delete(&"a".into()).await.unwrap();
    store.contents().sweep().await.unwrap();
    let found = store.contents().blob(&blob.id).await.unwrap();
    assert!(found.is_some(), "run b needs it");
    // And somebody notices if it is gone.
    execute(&mut behind_its_back(&path).await, "DELETE FROM blobs").await;
    let checked = store.check().await.unwrap().to_string();
    assert!(checked.contains("run 'b' needs it"), "{checked}");
}

#[tokio::test]
async fn trees_that_no_event_names_are_kept_by_their_hash() {
    let store = Store::in_memory().await.unwrap();
    begin(&store, "r", 1).await;
    let (blob, file) = file("x");
    let tree = Tree([("f".to_owned(), file)].into());
    let mut entry = checkpoint("r", 2, 1, vec![blob], tree.clone());
    entry.trees.push(Tree::default());
    store.journal().append(entry).await.unwrap();
    assert_eq!(read(&store, "r", 1).await.unwrap(), None);
    for tree in [tree, Tree::default()] {
        let found = store.contents().tree(&tree.id()).await.unwrap();
        assert_eq!(found, Some(tree));
    }
}

#[tokio::test]
async fn what_has_rotted_is_found_out_and_removed_by_a_repair() {
    for (what, sql) in [
        (
            "tree",
            "UPDATE checkpoints SET tree = replace(tree, '.md', '.mp') WHERE id = 'cp_000020'",
        ),
        (
            "base",
            "UPDATE checkpoints SET base = base - 1 WHERE id = 'cp_000020'",
        ),
        (
            "id",
            "UPDATE checkpoints SET id = 'cp_999999' WHERE id = 'cp_000020'",
        ),
        ("gone", "DELETE FROM checkpoints WHERE id = 'cp_000020'"),
    ] {
        let (folder, path) = folder();
        let store = Store::open(&path).await.unwrap();
        let mut model = Model::begin(&store, "r", 30).await;
        for _ in 0..29 {
            let (blob, file) = file(&format!("{}", model.trees.len()));
            let path = format!("output/{:04}.md", model.trees.len() % 7);
            model.tree.0.insert(path, file);
            model.add(&store, vec![blob]).await;
        }
        let others = Model::begin(&store, "other", 3).await;
        execute(&mut behind_its_back(&path).await, sql).await;
        for number in 20..=30 {
            let found = read(&store, "r", number).await;
            assert!(!matches!(found, Ok(Some(_))), "{what}: {number} {found:?}");
        }
        let checked = store.check().await.unwrap();
        let bad = if what == "gone" { 10 } else { 11 };
        assert_eq!(checked.damage, [Damage::Checkpoints(bad)], "{what}");
        store.close().await.unwrap();

        let report = Store::repair(&path).await.unwrap();
        assert_eq!(report.checkpoints, bad, "{what}: {report}");
        assert!(
            report.kept_aside.is_some() && report.contents.is_empty(),
            "{what}"
        );
        let store = Store::open(&path).await.unwrap();
        assert!(store.check().await.unwrap().is_sound(), "{what}");
        for number in 1..=30_u64 {
            let expected = (number < 20).then(|| model.trees[number as usize - 1].clone());
            assert_eq!(read(&store, "r", number).await.unwrap(), expected, "{what}");
        }
        others.holds(&store).await;
        drop(folder);
    }
}

#[tokio::test]
async fn a_run_that_is_cut_loses_its_later_checkpoints_and_makes_them_anew() {
    let (_folder, path) = folder();
    let store = Store::open(&path).await.unwrap();
    let mut model = Model::begin(&store, "r", 20).await;
    for _ in 0..9 {
        model.step(&store).await;
    }
    let sql = "UPDATE journal SET input = 'x' WHERE after_seq = 6";
    execute(&mut behind_its_back(&path).await, sql).await;
    store.close().await.unwrap();
    Store::repair(&path).await.unwrap();
    let store = Store::open(&path).await.unwrap();
    assert_eq!(count(&path, "SELECT max(seq) FROM checkpoints").await, 6);
    model.trees.truncate(5);
    model.tree = model.trees[4].clone();
    model.holds(&store).await;
    for _ in 0..6 {
        model.step(&store).await;
    }
    model.holds(&store).await;
}

#[tokio::test]
async fn an_old_database_goes_on() {
    let (_folder, path) = folder();
    std::fs::write(&path, "").unwrap();
    let mut old = behind_its_back(&path).await;
    schema::migrate_to(&mut old, &path, 6).await.unwrap();
    let (blob, file) = file("x");
    let tree = Tree([("f".to_owned(), file)].into());
    let insert = "INSERT INTO blobs (id, bytes, is_tree, is_kept, content) VALUES (?, ?, ?, 1, ?)";
    for (content, is_tree) in [
        (blob.content.to_vec(), 0),
        (tree.canonical().into_bytes(), 1),
    ] {
        sqlx::query(insert)
            .bind(BlobId::of(&content).digest())
            .bind(content.len() as i64)
            .bind(is_tree)
            .bind(content)
            .execute(&mut old)
            .await
            .unwrap();
    }
    sqlx::Connection::close(old).await.unwrap();
    let store = Store::open(&path).await.unwrap();
    assert_eq!(store.contents().tree(&tree.id()).await.unwrap(), Some(tree));
    let model = Model::begin(&store, "r", 5).await;
    model.holds(&store).await;
    assert!(store.check().await.unwrap().is_sound());
}
