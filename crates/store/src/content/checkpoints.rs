//! The files of runs at their checkpoints: each as what is different from an earlier one of the run, a whole one now and then.
//!
//! A chain of differences is the smallest form of many trees with few changes, and reading one goes through a bounded number
//! of rows. Against what it is told is decided before the transaction, from the tree that this process wrote last for the
//! run; whether that one is still there is looked up in it. What a tree names is held by its run like what the run brought.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use futures_util::TryStreamExt;
use innkeeper_protocol::event::{CheckpointId, RunId};
use sqlx::Row;
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::{BlobId, Tree, TreeFile, written};
use crate::StoreError;
use crate::database::Database;
use crate::journal::sum;
use crate::limits::{
    MAX_CHECKPOINT_CHAIN, MAX_KNOWN_TREE_FILES, MAX_KNOWN_TREES, MIN_KNOWN_TREE_FILES,
};
use crate::writer::lock;

/// The tree that was written last for each run, by the number of the run.
#[derive(Clone, Default)]
pub(crate) struct KnownTrees(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    trees: HashMap<i64, Base>,
    files: usize,
}

/// A tree and its row.
#[derive(Clone)]
pub(crate) struct Base {
    no: i64,
    tree: Arc<Tree>,
}

impl KnownTrees {
    pub(crate) fn last_of(&self, run: i64) -> Option<Base> {
        lock(&self.0).trees.get(&run).cloned()
    }

    fn remember(&self, run: i64, base: Base) {
        let mut known = lock(&self.0);
        let files = base.tree.0.len();
        if files < MIN_KNOWN_TREE_FILES {
            drop(known);
            return self.forget(run);
        }
        let is_full = known.trees.len() >= MAX_KNOWN_TREES;
        if is_full || known.files.saturating_add(files) > MAX_KNOWN_TREE_FILES {
            // The next of each run is told whole.
            *known = Known::default();
        }
        let before = known.trees.insert(run, base);
        let gone = before.map_or(0, |before| before.tree.0.len());
        known.files = (known.files + files).saturating_sub(gone);
    }

    pub(crate) fn forget(&self, run: i64) {
        let mut known = lock(&self.0);
        if let Some(gone) = known.trees.remove(&run) {
            known.files = known.files.saturating_sub(gone.tree.0.len());
        }
    }
}

/// One on its way into the database.
pub(crate) struct BroughtCheckpoint {
    id: CheckpointId,
    seq: u64,
    tree: Arc<Tree>,
    /// What is different, and from which row.
    changes: Option<(i64, Form)>,
    /// How it is written; decided in the transaction.
    chosen: Option<Chosen>,
    row: Option<i64>,
}

struct Form {
    text: String,
    /// The contents that it names and that do not come with it, as JSON.
    needs: String,
}

struct Chosen {
    base: Option<i64>,
    depth: i64,
    form: Form,
}

impl BroughtCheckpoint {
    pub(super) fn new(
        id: CheckpointId,
        seq: u64,
        tree: Tree,
        base: Option<&Base>,
        here: &BTreeSet<&BlobId>,
    ) -> Self {
        let changes = base.and_then(|base| {
            let changes = differences(&base.tree, &tree);
            // One that is mostly different is as well told whole.
            let is_small = changes.len().saturating_mul(2) <= tree.0.len();
            is_small.then(|| (base.no, Form::of(changes.into_iter(), here)))
        });
        Self {
            id,
            seq,
            tree: Arc::new(tree),
            changes,
            chosen: None,
            row: None,
        }
    }

    /// How it is to be written, and what that needs. `here` are the contents that come along.
    pub(super) async fn choose(
        &mut self,
        connection: &mut SqliteConnection,
        here: &BTreeSet<&BlobId>,
    ) -> Result<&str, sqlx::Error> {
        // It may be here for the second time, after all was undone.
        if let Some(Chosen {
            base: Some(base),
            form,
            ..
        }) = self.chosen.take()
        {
            self.changes = Some((base, form));
        }
        let depth = match &self.changes {
            Some((base, _)) => depth_of(connection, *base).await?,
            None => None,
        };
        let chosen = match (depth, self.changes.take()) {
            (Some(depth), Some((base, form))) if depth < MAX_CHECKPOINT_CHAIN => Chosen {
                base: Some(base),
                depth: depth + 1,
                form,
            },
            _ => Chosen {
                base: None,
                depth: 0,
                form: Form::of(all(&self.tree), here),
            },
        };
        Ok(&self.chosen.insert(chosen).form.needs)
    }

    pub(super) async fn write(
        &mut self,
        connection: &mut SqliteConnection,
        run: &RunId,
        number: i64,
    ) -> Result<(), sqlx::Error> {
        let Some(chosen) = &self.chosen else {
            return Ok(());
        };
        let seq = i64::try_from(self.seq).unwrap_or(i64::MAX);
        let row = sqlx::query(
            "INSERT OR REPLACE INTO checkpoints (run, id, seq, base, depth, sum, tree)
             VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING no",
        )
        .bind(number)
        .bind(self.id.as_str())
        .bind(seq)
        .bind(chosen.base)
        .bind(chosen.depth)
        .bind(sum_of(
            run,
            self.id.as_str(),
            seq,
            chosen.base,
            &chosen.form.text,
        ))
        .bind(&chosen.form.text)
        .fetch_one(&mut *connection)
        .await?;
        self.row = Some(row.try_get(0)?);
        if chosen.form.needs != NOTHING {
            sqlx::query(
                "INSERT OR IGNORE INTO held (run, blob) SELECT ?, unhex(value) FROM json_each(?)",
            )
            .bind(number)
            .bind(&chosen.form.needs)
            .execute(connection)
            .await?;
        }
        Ok(())
    }

    /// It is on the disk.
    pub(super) fn settled(&self, run: i64, known: &KnownTrees) {
        if let Some(no) = self.row {
            let tree = self.tree.clone();
            known.remember(run, Base { no, tree });
        }
    }
}

const NOTHING: &str = "[]";

impl Form {
    fn of<'t>(
        files: impl Iterator<Item = (&'t str, Option<&'t TreeFile>)> + Clone,
        here: &BTreeSet<&BlobId>,
    ) -> Self {
        let named = files.clone().filter_map(|(_, file)| Some(&file?.sha256));
        let needs: BTreeSet<&str> = named
            .filter(|id| !here.contains(id))
            .map(BlobId::as_str)
            .collect();
        Self {
            text: written(files),
            needs: serde_json::json!(needs).to_string(),
        }
    }
}

fn all(tree: &Tree) -> impl Iterator<Item = (&str, Option<&TreeFile>)> + Clone {
    let files = tree.0.iter();
    files.map(|(path, file)| (path.as_str(), Some(file)))
}

/// What has to be done to the first to make it the second, in the order of paths.
fn differences<'t>(from: &'t Tree, to: &'t Tree) -> Vec<(&'t str, Option<&'t TreeFile>)> {
    let mut changes = Vec::new();
    let (mut old, mut new) = (from.0.iter().peekable(), to.0.iter().peekable());
    loop {
        match (old.peek(), new.peek()) {
            (None, None) => return changes,
            (Some((path, _)), next) if next.is_none_or(|(other, _)| path < other) => {
                changes.push((path.as_str(), None));
                old.next();
            }
            (before, Some((path, file))) => {
                let is_there = before.is_some_and(|(other, _)| other == path);
                if !before.is_some_and(|before| is_there && before.1 == *file) {
                    changes.push((path.as_str(), Some(*file)));
                }
                if is_there {
                    old.next();
                }
                new.next();
            }
            (Some(_), None) => return changes,
        }
    }
}

async fn depth_of(connection: &mut SqliteConnection, no: i64) -> Result<Option<i64>, sqlx::Error> {
    let row = sqlx::query("SELECT depth FROM checkpoints WHERE no = ?")
        .bind(no)
        .fetch_optional(connection)
        .await?;
    row.map(|row| row.try_get(0)).transpose()
}

fn sum_of(run: &RunId, id: &str, seq: i64, base: Option<i64>, tree: &str) -> i64 {
    let base = base.map(|base| base.to_string()).unwrap_or_default();
    sum([run.as_str(), id, &seq.to_string(), &base, tree])
}

/// A row whose sum was compared.
struct Told<'r> {
    base: Option<i64>,
    tree: &'r str,
}

impl<'r> Told<'r> {
    /// `None`: it is not what was written. From `id, seq, base, sum, tree` at these places.
    fn of(run: &RunId, row: &'r SqliteRow) -> Result<Option<Self>, sqlx::Error> {
        let base = row.try_get("base")?;
        let tree = row.try_get("tree")?;
        let found = sum_of(run, row.try_get("id")?, row.try_get("seq")?, base, tree);
        let is_good = found == row.try_get::<i64, _>("sum")?;
        Ok(is_good.then_some(Self { base, tree }))
    }
}

pub(super) async fn read(
    database: &Database,
    run: &RunId,
    id: &CheckpointId,
) -> Result<Option<Tree>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let damaged = |cause: &str| StoreError::ContentDamaged {
        id: format!("{id} of {run}"),
        cause: cause.to_owned(),
    };
    let rows = sqlx::query(
        "WITH RECURSIVE chain (no, run, base, step) AS (
            SELECT c.no, c.run, c.base, 0 FROM runs r JOIN checkpoints c ON c.run = r.no
            WHERE r.id = ? AND c.id = ?
            UNION ALL
            SELECT c.no, c.run, c.base, step + 1 FROM chain JOIN checkpoints c ON c.no = chain.base
            WHERE c.run = chain.run AND step <= ?)
         SELECT c.id, c.seq, c.base, c.sum, c.tree
         FROM chain JOIN checkpoints c ON c.no = chain.no ORDER BY step DESC",
    )
    .bind(run.as_str())
    .bind(id.as_str())
    .bind(MAX_CHECKPOINT_CHAIN)
    .fetch_all(&database.readers)
    .await
    .map_err(failed)?;
    let mut tree: Option<Tree> = None;
    for row in &rows {
        let told = Told::of(run, row).map_err(failed)?;
        let told = told.ok_or_else(|| damaged("a row of it is not what was written"))?;
        match (&mut tree, told.base) {
            (None, None) => {
                let whole = serde_json::from_str(told.tree);
                tree = Some(whole.map_err(|error| damaged(&error.to_string()))?);
            }
            (Some(tree), Some(_)) => {
                let changes: BTreeMap<String, Option<TreeFile>> =
                    serde_json::from_str(told.tree).map_err(|error| damaged(&error.to_string()))?;
                for (path, file) in changes {
                    match file {
                        Some(file) => tree.0.insert(path, file),
                        None => tree.0.remove(&path),
                    };
                }
            }
            _ => return Err(damaged("what it is told as a difference to is not there")),
        }
    }
    Ok(tree)
}

/// The rows that are not what was written, or are told as a difference to one that is not there. What they say is in the
/// journals of their runs.
pub(crate) async fn examine(connection: &mut SqliteConnection) -> Result<Vec<i64>, sqlx::Error> {
    let mut rows = sqlx::query(
        "SELECT c.no, c.run, c.id, c.seq, c.base, c.sum, c.tree, r.id AS run_id
         FROM checkpoints c JOIN runs r ON r.no = c.run ORDER BY c.no",
    )
    .fetch(connection);
    let mut good: HashSet<(i64, i64)> = HashSet::new();
    let mut bad = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let (no, number): (i64, i64) = (row.try_get("no")?, row.try_get("run")?);
        let run = RunId::new(row.try_get::<&str, _>("run_id")?);
        let told = Told::of(&run, &row)?;
        // What it is told as a difference to was written before it.
        let is_good =
            told.is_some_and(|told| told.base.is_none_or(|base| good.contains(&(number, base))));
        match is_good {
            true => drop(good.insert((number, no))),
            false => bad.push(no),
        }
    }
    Ok(bad)
}
