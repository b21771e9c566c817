//! What is damaged, and saving what can be read of it.
//!
//! The journal is the truth: what else is known of a run is made again from it. A run is good up to the first step that
//! is not what was written; the rest is cut off, so that the run can be read and resumed from there. `examine.rs` finds
//! damage, `mend.rs` repairs a file that SQLite can read, `salvage.rs` makes a new one from what it cannot.

mod contents;
mod examine;
mod mend;
mod report;
mod salvage;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use sqlx::sqlite::SqliteConnection;
use sqlx::{Acquire, AssertSqlSafe, Row};

use crate::content::examine_checkpoints;
use crate::database::{Database, make_private};
use crate::limits::MAX_CHECK_MESSAGES;
use crate::{HomeLock, Store, StoreError};

pub use report::{CheckProgress, CheckReport, Damage, RepairReport, RunRepair, TableLoss};

impl Store {
    /// Goes through all of it and changes nothing. What is written meanwhile is seen or not.
    pub async fn check(&self) -> Result<CheckReport, StoreError> {
        self.check_telling(&|_| {}).await
    }

    /// The same, saying how far it is: large contents take their time.
    pub async fn check_telling(
        &self,
        told: &(dyn Fn(CheckProgress) + Send + Sync),
    ) -> Result<CheckReport, StoreError> {
        drop(self.flush().await);
        let database = self.database();
        let failed = |error: sqlx::Error| database.read_error(&error);
        let mut connection = database.readers.acquire().await.map_err(failed)?;
        // All of it as it was at one moment.
        let mut reading = connection.begin().await.map_err(failed)?;
        let mut damage = structure(&mut reading).await;
        match examine::runs(&mut reading).await {
            Ok(runs) => damage.extend(runs.into_iter().map(|found| Damage::Run(found.repair()))),
            Err(error) => damage.push(unreadable(&error)),
        }
        match examine_checkpoints(&mut reading).await {
            Ok(bad) if bad.is_empty() => {}
            Ok(bad) => damage.push(Damage::Checkpoints(bad.len() as u64)),
            Err(error) => damage.push(unreadable(&error)),
        }
        let mut report = CheckReport::default();
        match contents::look(&mut reading, database, told).await {
            Ok(missing) => {
                damage.extend(missing.news.into_iter().map(Damage::Content));
                report.known_losses = missing.known;
                report.more_contents = missing.more;
            }
            Err(error) => damage.push(unreadable(&error)),
        }
        drop(reading.rollback().await);
        Ok(CheckReport { damage, ..report })
    }

    /// Repairs a database that no store of this process has open. Fails if another process drives its runs. Nothing is
    /// thrown away: before anything is changed, the file as it was is put aside.
    pub async fn repair(path: &Path) -> Result<RepairReport, StoreError> {
        Self::repair_telling(path, &|_| {}).await
    }

    /// The same, saying how far it is with the large contents.
    pub async fn repair_telling(
        path: &Path,
        told: &(dyn Fn(CheckProgress) + Send + Sync),
    ) -> Result<RepairReport, StoreError> {
        let _lock = HomeLock::claim(path.parent().unwrap_or(Path::new(""))).await?;
        if !tokio::fs::try_exists(path).await.unwrap_or(true) {
            return Err(StoreError::Open {
                path: path.to_owned(),
                cause: "it is not there".to_owned(),
            });
        }
        let database = match Database::open(path).await {
            Ok(database) => database,
            Err(StoreError::Corrupt { .. }) => return salvage::salvage(path, told).await,
            Err(error) => return Err(error),
        };
        let mended = in_place(path, &database, told).await;
        database.close().await;
        match mended {
            Ok(Some(report)) => Ok(report),
            Ok(None) | Err(StoreError::Corrupt { .. }) => salvage::salvage(path, told).await,
            Err(error) => Err(error),
        }
    }
}

/// `None`: SQLite cannot read all of it.
async fn in_place(
    path: &Path,
    database: &Database,
    told: &(dyn Fn(CheckProgress) + Send + Sync),
) -> Result<Option<RepairReport>, StoreError> {
    let failed = |error: sqlx::Error| database.read_error(&error);
    let mut connection = database.writer.acquire().await.map_err(failed)?;
    if !structure(&mut connection).await.is_empty() {
        return Ok(None);
    }
    let found = examine::runs(&mut connection).await.map_err(failed)?;
    let checkpoints = examine_checkpoints(&mut connection).await.map_err(failed)?;
    let mut report = RepairReport::new(path);
    if !found.is_empty() || !checkpoints.is_empty() {
        let aside = aside(path, "before-repair");
        // Empty, so that SQLite writes to it and nobody else may read it.
        let made = aside.clone();
        on_files(path, move || make_private(&made)).await?;
        sqlx::query("VACUUM INTO ?")
            .bind(aside.display().to_string())
            .execute(&mut *connection)
            .await
            .map_err(|error| database.write_error(&error))?;
        report.kept_aside = Some(aside);
    }
    mend::mend(&mut connection, database, &found, &checkpoints).await?;
    report.checkpoints = checkpoints.len() as u64;
    report.runs = found.into_iter().map(examine::Found::into_repair).collect();
    let missing = contents::look(&mut connection, database, told).await;
    let missing = missing.map_err(failed)?;
    contents::note(&mut connection, database, &missing).await?;
    report.lack(missing);
    Ok(Some(report))
}

/// What SQLite itself finds wrong.
async fn structure(connection: &mut SqliteConnection) -> Vec<Damage> {
    let check = format!("PRAGMA quick_check({MAX_CHECK_MESSAGES})");
    let rows = sqlx::query(AssertSqlSafe(check))
        .fetch_all(connection)
        .await;
    let messages = match rows {
        Ok(rows) => rows.iter().map(|row| row.try_get::<String, _>(0)).collect(),
        Err(error) => Err(error),
    };
    match messages {
        Ok::<Vec<_>, _>(messages) => messages
            .into_iter()
            .filter(|message| message != "ok")
            .map(Damage::File)
            .collect(),
        Err(error) => vec![unreadable(&error)],
    }
}

fn unreadable(error: &sqlx::Error) -> Damage {
    let words = error.as_database_error();
    Damage::File(words.map_or_else(|| error.to_string(), |error| error.message().to_owned()))
}

/// A name beside the file that is not taken.
fn aside(path: &Path, why: &str) -> PathBuf {
    let when = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{why}-{when}"));
        if number > 1 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    };
    let free = (1..1_000).map(named).find(|name| !name.exists());
    free.unwrap_or_else(|| named(1_000))
}

async fn on_files(
    path: &Path,
    work: impl FnOnce() -> std::io::Result<()> + Send + 'static,
) -> Result<(), StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(std::io::Error::other(error.to_string())))
        .map_err(|error| StoreError::file(path, &error))
}

#[cfg(test)]
#[path = "repair_tests.rs"]
mod tests;
