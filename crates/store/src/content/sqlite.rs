//! Contents in the database, with the large ones in files beside it.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::event::{CheckpointId, RunEventKind, RunId};
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use super::checkpoints::{self, Base, BroughtCheckpoint};
use super::{Blob, BlobFiles, BlobId, Contents, KnownTrees, Swept, Tree, TreeId};
use crate::StoreError;
use crate::database::Database;
use crate::journal::{Entry, at_most};
use crate::limits::{MAX_BLOB_BYTES, MAX_INLINE_BYTES, MAX_TREE_BYTES, MAX_TREE_FILES, SWEEP_PAGE};
use crate::writer::{Change, Writer};

#[derive(Clone)]
pub(crate) struct SqliteContents {
    database: Database,
    writer: Writer,
    pub(crate) files: BlobFiles,
    pub(crate) known_trees: KnownTrees,
    /// A sweep must not take a file away that somebody has just found to be there.
    files_in_use: Arc<RwLock<()>>,
}

impl SqliteContents {
    pub(crate) fn new(database: Database, writer: Writer) -> Self {
        Self {
            files: BlobFiles::beside(database.path.as_deref()),
            database,
            writer,
            known_trees: KnownTrees::default(),
            files_in_use: Arc::default(),
        }
    }

    /// Writes what becomes files, before the transaction that speaks of them. They stay for as long as what is returned.
    pub(crate) async fn prepare(
        &self,
        brought: &Brought,
    ) -> Result<Option<OwnedRwLockReadGuard<()>>, StoreError> {
        if self.files.0.is_none() || !brought.blobs.iter().any(is_large) {
            return Ok(None);
        }
        let room = self.files_in_use.clone().read_owned().await;
        let files = self.files.clone();
        let large: Vec<Blob> = brought
            .blobs
            .iter()
            .filter(|blob| is_large(blob))
            .cloned()
            .collect();
        blocking(move || {
            large
                .iter()
                .try_for_each(|blob| files.write(&blob.id, &blob.content))
        })
        .await?;
        Ok(Some(room))
    }
}

fn is_large(blob: &Blob) -> bool {
    blob.content.len() > MAX_INLINE_BYTES
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| {
        Err(StoreError::Write {
            cause: error.to_string(),
        })
    })
}

#[async_trait]
impl Contents for SqliteContents {
    async fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, StoreError> {
        let failed = |error: sqlx::Error| self.database.read_error(&error);
        let row = sqlx::query("SELECT bytes, content FROM blobs WHERE id = ?")
            .bind(id.digest())
            .fetch_optional(&self.database.readers)
            .await
            .map_err(failed)?;
        let Some(row) = row else {
            return Ok(None);
        };
        let bytes = row.try_get::<i64, _>(0).map_err(failed)?.unsigned_abs();
        let Some(content) = row.try_get::<Option<Vec<u8>>, _>(1).map_err(failed)? else {
            let (files, id) = (self.files.clone(), id.clone());
            return blocking(move || files.read(&id, bytes)).await.map(Some);
        };
        match BlobId::of(&content) == *id {
            true => Ok(Some(content.into())),
            false => Err(StoreError::ContentDamaged {
                id: id.as_str().to_owned(),
                cause: "its bytes in the database have changed".to_owned(),
            }),
        }
    }

    async fn tree(&self, id: &TreeId) -> Result<Option<Tree>, StoreError> {
        let Some(content) = self.blob(&id.0).await? else {
            return Ok(None);
        };
        let tree = serde_json::from_slice(&content);
        tree.map(Some).map_err(|error| StoreError::ContentDamaged {
            id: id.0.as_str().to_owned(),
            cause: format!("it is no tree: {error}"),
        })
    }

    async fn checkpoint(&self, run: &RunId, id: &CheckpointId) -> Result<Option<Tree>, StoreError> {
        checkpoints::read(&self.database, run, id).await
    }

    async fn put(&self, blobs: Vec<Blob>, trees: Vec<Tree>) -> Result<(), StoreError> {
        let brought = Brought::of(blobs, trees)?;
        let _room = self.prepare(&brought).await?;
        self.writer.change(Put(brought)).await
    }

    async fn sweep(&self) -> Result<Swept, StoreError> {
        let mut swept = Swept::default();
        let _nobody = self.files_in_use.write().await;
        let (mut after, mut trees) = (0, 0);
        loop {
            let removed = self.writer.change(SweepSome { after }).await?;
            if removed.is_empty() {
                // What only a tree that is gone has named lies anywhere.
                if trees == 0 {
                    return Ok(swept);
                }
                (after, trees) = (0, 0);
                continue;
            }
            let mut in_files = Vec::new();
            for gone in removed {
                after = after.max(gone.no);
                trees += usize::from(gone.is_tree);
                swept.contents += 1;
                swept.bytes += gone.bytes;
                if gone.in_file {
                    in_files.push(gone.id);
                }
            }
            let files = self.files.clone();
            blocking(move || {
                in_files.iter().for_each(|id| files.remove(id));
                Ok(())
            })
            .await?;
        }
    }
}

/// Contents on their way into the database.
#[derive(Default)]
pub(crate) struct Brought {
    blobs: Vec<Blob>,
    trees: Vec<BroughtTree>,
    checkpoints: Vec<BroughtCheckpoint>,
}

struct BroughtTree {
    id: BlobId,
    canonical: Arc<[u8]>,
    /// What it needs that does not come with it, as JSON.
    needs: String,
}

impl Brought {
    /// What a step brings: taken out of it. `base` is the tree that the run brought last, as far as that is known.
    pub(crate) fn of_step(entry: &mut Entry, base: Option<&Base>) -> Result<Self, StoreError> {
        let blobs = std::mem::take(&mut entry.blobs);
        let trees = std::mem::take(&mut entry.trees);
        let named: Vec<(&CheckpointId, u64)> = entry
            .events
            .iter()
            .filter_map(|event| match &event.kind {
                RunEventKind::CheckpointCreated(made) => Some((&made.checkpoint_id, event.seq)),
                _ => None,
            })
            .collect();
        if trees.is_empty() || named.len() != trees.len() {
            return Self::of(blobs, trees);
        }
        let brought = Self::of(blobs, Vec::new())?;
        let here: BTreeSet<&BlobId> = brought.blobs.iter().map(|blob| &blob.id).collect();
        let checkpoints = named.into_iter().zip(trees).map(|((id, seq), tree)| {
            at_most(
                "the number of files of a tree",
                tree.0.len(),
                MAX_TREE_FILES,
            )?;
            let checkpoint = BroughtCheckpoint::new(id.clone(), seq, tree, base, &here);
            Ok(checkpoint)
        });
        let checkpoints = checkpoints.collect::<Result<_, StoreError>>()?;
        Ok(Self {
            checkpoints,
            ..brought
        })
    }

    /// Whether it names what steps before it may have brought.
    pub(crate) fn has_trees(&self) -> bool {
        !self.trees.is_empty() || !self.checkpoints.is_empty()
    }

    /// It is on the disk.
    pub(crate) fn settled(&self, run: i64, known: &KnownTrees) {
        for checkpoint in &self.checkpoints {
            checkpoint.settled(run, known);
        }
    }

    pub(crate) fn of(blobs: Vec<Blob>, trees: Vec<Tree>) -> Result<Self, StoreError> {
        if blobs.is_empty() && trees.is_empty() {
            return Ok(Self::default());
        }
        for blob in &blobs {
            at_most("a content", blob.content.len(), MAX_BLOB_BYTES)?;
            // Under a wrong name it would be in the way of the right one for ever.
            if BlobId::of(&blob.content) != blob.id {
                return Err(StoreError::ContentDamaged {
                    id: blob.id.as_str().to_owned(),
                    cause: "what was brought is something else".to_owned(),
                });
            }
        }
        let here: BTreeSet<&BlobId> = blobs.iter().map(|blob| &blob.id).collect();
        let trees = trees
            .iter()
            .map(|tree| {
                let canonical = tree.canonical();
                at_most("a tree", canonical.len(), MAX_TREE_BYTES)?;
                let needs: BTreeSet<&str> = tree
                    .0
                    .values()
                    .filter(|file| !here.contains(&file.sha256))
                    .map(|file| file.sha256.as_str())
                    .collect();
                Ok(BroughtTree {
                    id: BlobId::of(canonical.as_bytes()),
                    canonical: canonical.into_bytes().into(),
                    needs: serde_json::json!(needs).to_string(),
                })
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Self {
            blobs,
            trees,
            checkpoints: Vec::new(),
        })
    }

    /// Whether everything is there that the trees need.
    pub(crate) async fn check(
        &mut self,
        connection: &mut SqliteConnection,
    ) -> Result<Result<(), StoreError>, sqlx::Error> {
        for tree in &self.trees {
            if let Some(id) = missing(connection, &tree.needs).await? {
                return Ok(Err(StoreError::ContentMissing { id }));
            }
        }
        let here: BTreeSet<&BlobId> = self.blobs.iter().map(|blob| &blob.id).collect();
        for checkpoint in &mut self.checkpoints {
            let needs = checkpoint.choose(connection, &here).await?;
            if let Some(id) = missing(connection, needs).await? {
                return Ok(Err(StoreError::ContentMissing { id }));
            }
        }
        Ok(Ok(()))
    }

    /// `None`: it belongs to no run and stays.
    pub(crate) async fn write(
        &mut self,
        connection: &mut SqliteConnection,
        run: Option<(&RunId, i64)>,
    ) -> Result<(), sqlx::Error> {
        let blobs = self.blobs.iter().map(|blob| (&blob.id, &blob.content, 0));
        let trees = self.trees.iter().map(|tree| (&tree.id, &tree.canonical, 1));
        for (id, content, is_tree) in blobs.chain(trees) {
            let in_file = is_tree == 0 && content.len() > MAX_INLINE_BYTES;
            sqlx::query(
                "INSERT INTO blobs (id, bytes, is_tree, is_kept, content) VALUES (?, ?, ?, ?, ?)
                 ON CONFLICT (id) DO UPDATE SET
                    is_tree = max(is_tree, excluded.is_tree), is_kept = max(is_kept, excluded.is_kept),
                    bytes = excluded.bytes, content = coalesce(excluded.content, content)
                 WHERE is_tree < excluded.is_tree OR is_kept < excluded.is_kept OR bytes <> excluded.bytes
                    OR (excluded.content IS NOT NULL AND content IS NOT excluded.content)",
            )
            .bind(id.digest())
            .bind(content.len() as i64)
            .bind(is_tree)
            .bind(i32::from(run.is_none()))
            .bind((!in_file).then(|| content.to_vec()))
            .execute(&mut *connection)
            .await?;
            if let Some((_, number)) = run {
                sqlx::query("INSERT OR IGNORE INTO held (run, blob) VALUES (?, ?)")
                    .bind(number)
                    .bind(id.digest())
                    .execute(&mut *connection)
                    .await?;
            }
        }
        if let Some((run, number)) = run {
            for checkpoint in &mut self.checkpoints {
                checkpoint.write(connection, run, number).await?;
            }
        }
        Ok(())
    }
}

/// The first of these contents that is not there.
async fn missing(
    connection: &mut SqliteConnection,
    needs: &str,
) -> Result<Option<String>, sqlx::Error> {
    let missing = sqlx::query(
        "SELECT value FROM json_each(?)
         WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE id = unhex(value)) LIMIT 1",
    )
    .bind(needs)
    .fetch_optional(connection)
    .await?;
    missing.map(|row| row.try_get(0)).transpose()
}

type Outcome<T> = Result<Result<T, StoreError>, sqlx::Error>;

struct Put(Brought);

#[async_trait]
impl Change for Put {
    type Output = ();

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<()> {
        if let Err(error) = self.0.check(connection).await? {
            return Ok(Err(error));
        }
        self.0.write(connection, None).await.map(Ok)
    }
}

/// A page of those after that row.
struct SweepSome {
    after: i64,
}

struct Gone {
    no: i64,
    is_tree: bool,
    id: BlobId,
    bytes: u64,
    in_file: bool,
}

#[async_trait]
impl Change for SweepSome {
    type Output = Vec<Gone>;

    async fn apply(&mut self, connection: &mut SqliteConnection) -> Outcome<Vec<Gone>> {
        let rows = sqlx::query(
            "WITH
                needed (id) AS (
                    SELECT unhex(json_extract(file.value, '$.sha256'))
                    FROM blobs t JOIN json_each(CAST(t.content AS TEXT)) AS file
                    WHERE t.is_tree = 1 AND (t.is_kept = 1
                        OR EXISTS (SELECT 1 FROM held h WHERE h.blob = t.id)
                        OR EXISTS (SELECT 1 FROM state_contents s WHERE s.blob = t.id)))
             DELETE FROM blobs WHERE no IN (
                SELECT b.no FROM blobs b
                WHERE b.no > ? AND b.is_kept = 0
                    AND NOT EXISTS (SELECT 1 FROM held h WHERE h.blob = b.id)
                    AND NOT EXISTS (SELECT 1 FROM state_contents s WHERE s.blob = b.id)
                    AND b.id NOT IN needed
                ORDER BY b.no LIMIT ?)
             RETURNING id, bytes, content IS NULL, no, is_tree",
        )
        .bind(self.after)
        .bind(SWEEP_PAGE)
        .fetch_all(connection)
        .await?;
        let removed = rows.iter().map(|row| {
            Ok(Gone {
                id: BlobId::from_digest(row.try_get(0)?),
                bytes: row.try_get::<i64, _>(1)?.unsigned_abs(),
                in_file: row.try_get(2)?,
                no: row.try_get(3)?,
                is_tree: row.try_get(4)?,
            })
        });
        removed.collect::<Result<_, sqlx::Error>>().map(Ok)
    }
}
