//! Going through all contents: is each there that somebody needs, and what its name says?

use std::collections::HashSet;

use futures_util::TryStreamExt;
use sqlx::Row;
use sqlx::sqlite::SqliteConnection;

use super::CheckProgress;
use crate::content::BlobFiles;
use crate::database::Database;
use crate::limits::MAX_DAMAGE_READ;
use crate::{BlobId, StoreError};

/// Contents that are not there as they should be.
#[derive(Default)]
pub(super) struct Missing {
    /// With what is wrong, as many as are named.
    pub(super) news: Vec<(BlobId, String)>,
    /// Those of which a repair has said so before.
    pub(super) known: Vec<(BlobId, String)>,
    /// Those that are not named.
    pub(super) more: u64,
    all: HashSet<BlobId>,
    told: HashSet<BlobId>,
}

impl Missing {
    fn add(&mut self, id: BlobId, what: String) {
        if !self.all.insert(id.clone()) {
            return;
        }
        let list = match self.told.contains(&id) {
            true => &mut self.known,
            false => &mut self.news,
        };
        match list.len() < MAX_DAMAGE_READ {
            true => list.push((id, what)),
            false => self.more += 1,
        }
    }

    pub(super) fn named(self) -> Vec<(BlobId, String)> {
        self.news.into_iter().chain(self.known).collect()
    }
}

pub(super) async fn look(
    connection: &mut SqliteConnection,
    database: &Database,
    told: &(dyn Fn(CheckProgress) + Send + Sync),
) -> Result<Missing, sqlx::Error> {
    let mut missing = Missing {
        told: ids(connection, "SELECT id FROM lost_contents").await?,
        ..Missing::default()
    };
    kept(connection, database, told, &mut missing).await?;
    let rows = sqlx::query(
        "SELECT h.blob, max(r.id) FROM held h LEFT JOIN runs r ON r.no = h.run
         WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.id = h.blob) GROUP BY h.blob",
    )
    .fetch_all(&mut *connection)
    .await?;
    for row in rows {
        let what = match row.try_get::<Option<&str>, _>(1)? {
            Some(run) => format!("it is gone from the database, and run '{run}' needs it"),
            None => "it is gone from the database".to_owned(),
        };
        missing.add(BlobId::from_digest(row.try_get(0)?), what);
    }
    let needed = [
        (
            "SELECT DISTINCT s.blob FROM state_contents s
             WHERE NOT EXISTS (SELECT 1 FROM blobs b WHERE b.id = s.blob)",
            "it is gone from the database, and what was kept for later runs needs it",
        ),
        // Trees that nobody holds wait for the next sweep, and what they name may have gone before them.
        (
            "WITH live (id) AS (
                SELECT id FROM blobs WHERE is_kept = 1 UNION SELECT blob FROM held
                UNION SELECT blob FROM state_contents)
             SELECT DISTINCT unhex(json_extract(file.value, '$.sha256')) AS needed
             FROM blobs t JOIN json_each(iif(json_valid(CAST(t.content AS TEXT)), CAST(t.content AS TEXT), '{}')) AS file
             WHERE t.is_tree = 1 AND t.id IN live AND length(needed) = 32
                AND NOT EXISTS (SELECT 1 FROM blobs b WHERE b.id = needed)",
            "it is gone from the database, and a tree of files needs it",
        ),
    ];
    for (sql, what) in needed {
        for id in ids(connection, sql).await? {
            missing.add(id, what.to_owned());
        }
    }
    Ok(missing)
}

/// Those that the database speaks of.
async fn kept(
    connection: &mut SqliteConnection,
    database: &Database,
    told: &(dyn Fn(CheckProgress) + Send + Sync),
    missing: &mut Missing,
) -> Result<(), sqlx::Error> {
    let files = BlobFiles::beside(database.path.as_deref());
    let row = sqlx::query("SELECT coalesce(sum(bytes), 0) FROM blobs WHERE content IS NULL")
        .fetch_one(&mut *connection)
        .await?;
    let mut progress = CheckProgress {
        bytes: 0,
        of: row.try_get::<i64, _>(0)?.unsigned_abs(),
    };
    let mut rows = sqlx::query("SELECT id, bytes, content FROM blobs").fetch(connection);
    while let Some(row) = rows.try_next().await? {
        let id = BlobId::from_digest(row.try_get(0)?);
        let bytes = row.try_get::<i64, _>(1)?.unsigned_abs();
        if let Some(content) = row.try_get::<Option<&[u8]>, _>(2)? {
            if BlobId::of(content) != id {
                missing.add(id, "its bytes in the database have changed".to_owned());
            }
            continue;
        }
        let (files, asked) = (files.clone(), id.clone());
        let looked = tokio::task::spawn_blocking(move || files.examine(&asked, bytes)).await;
        if let Err(what) = looked.unwrap_or_else(|error| Err(error.to_string())) {
            missing.add(id, what);
        }
        progress.bytes = progress.bytes.saturating_add(bytes);
        told(progress);
    }
    Ok(())
}

async fn ids(
    connection: &mut SqliteConnection,
    sql: &'static str,
) -> Result<HashSet<BlobId>, sqlx::Error> {
    let rows = sqlx::query(sql).fetch_all(connection).await?;
    rows.iter()
        .map(|row| Ok(BlobId::from_digest(row.try_get(0)?)))
        .collect()
}

/// Keeps in mind of which ones it has been said that they are gone.
pub(super) async fn note(
    connection: &mut SqliteConnection,
    database: &Database,
    missing: &Missing,
) -> Result<(), StoreError> {
    if missing.all == missing.told {
        return Ok(());
    }
    let failed = |error: sqlx::Error| database.write_error(&error);
    let mut transaction = sqlx::Connection::begin_with(connection, "BEGIN IMMEDIATE")
        .await
        .map_err(failed)?;
    sqlx::query("DELETE FROM lost_contents")
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    for id in &missing.all {
        sqlx::query("INSERT INTO lost_contents (id) VALUES (?)")
            .bind(id.digest())
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)
}
