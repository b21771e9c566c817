//! Making a new database from what can be read of one that SQLite cannot read whole.
//!
//! Tables are copied by ranges of row numbers; a range that cannot be read is halved until what is lost is as little as
//! can be told. Indexes are made anew.

use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Row};

use super::{CheckProgress, RepairReport, TableLoss, aside, contents, examine, mend, on_files};
use crate::content::{examine_checkpoints, sync_folder};
use crate::database::{Database, beside};
use crate::limits::{MAX_SALVAGE_BLIND, MAX_SALVAGE_FAILURES, SALVAGE_RANGE};
use crate::{StoreError, schema};

pub(super) async fn salvage(
    path: &Path,
    told: &(dyn Fn(CheckProgress) + Send + Sync),
) -> Result<RepairReport, StoreError> {
    let mut report = RepairReport::new(path);
    report.was_salvaged = true;
    let kept = aside(path, "damaged");
    let (from, to) = (path.to_owned(), kept.clone());
    on_files(path, move || keep_aside(&from, &to)).await?;
    report.kept_aside = Some(kept);

    let new_path = beside(path, ".repairing");
    let unfinished = new_path.clone();
    on_files(path, move || remove_all(&unfinished)).await?;
    let new = Database::open(&new_path).await?;
    let filled = fill(path, &new, &mut report, told).await;
    new.close().await;
    filled?;
    let (from, to) = (new_path, path.to_owned());
    on_files(path, move || put_in_place(&from, &to)).await?;
    Ok(report)
}

async fn fill(
    path: &Path,
    new: &Database,
    report: &mut RepairReport,
    told: &(dyn Fn(CheckProgress) + Send + Sync),
) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| new.write_error(&error);
    let mut connection = new.writer.acquire().await.map_err(failed)?;
    copy(path, &mut connection, report).await.map_err(failed)?;
    let found = examine::runs(&mut connection).await.map_err(failed)?;
    let checkpoints = examine_checkpoints(&mut connection).await.map_err(failed)?;
    mend::mend(&mut connection, new, &found, &checkpoints).await?;
    report.checkpoints = checkpoints.len() as u64;
    report.runs = found.into_iter().map(examine::Found::into_repair).collect();
    let missing = contents::look(&mut connection, new, told).await;
    let missing = missing.map_err(failed)?;
    contents::note(&mut connection, new, &missing).await?;
    report.lack(missing);
    Ok(())
}

async fn copy(
    path: &Path,
    connection: &mut SqliteConnection,
    report: &mut RepairReport,
) -> Result<(), sqlx::Error> {
    let tables = list(
        connection,
        "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name",
    )
    .await?;
    // A file that is shorter than it says is read only by those who may change its schema.
    execute(
        connection,
        "PRAGMA writable_schema = ON; PRAGMA synchronous = OFF",
    )
    .await?;
    let attached = sqlx::query("ATTACH ? AS old")
        .bind(path.display().to_string())
        .execute(&mut *connection)
        .await;
    let old = match attached {
        Ok(_) => {
            list(
                connection,
                "SELECT name FROM old.sqlite_schema WHERE type = 'table'",
            )
            .await
        }
        Err(error) => Err(error),
    };
    let Some(old) = old.ok().filter(|old| !old.is_empty()) else {
        // Not even its first page can be read, or there is nothing in it.
        report.tables = tables.into_iter().map(|table| lost(table, 0)).collect();
        return execute(
            connection,
            "PRAGMA writable_schema = OFF; PRAGMA synchronous = FULL",
        )
        .await;
    };
    // What guards the audit log would refuse what comes after a hole in it.
    let guards = list(
        connection,
        "SELECT sql FROM main.sqlite_schema WHERE type = 'trigger'",
    )
    .await?;
    for name in list(
        connection,
        "SELECT name FROM main.sqlite_schema WHERE type = 'trigger'",
    )
    .await?
    {
        execute(connection, &format!("DROP TRIGGER main.{name}")).await?;
    }
    let version = sqlx::query("PRAGMA old.user_version")
        .fetch_one(&mut *connection)
        .await
        .and_then(|row| row.try_get(0));
    let gone = schema::tables(version.unwrap_or_default())
        .filter(|table| !old.iter().any(|old| old == table));
    report
        .tables
        .extend(gone.map(|table| lost(table.to_owned(), 0)));
    for table in tables.into_iter().filter(|table| old.contains(table)) {
        let mut copying = Copying::new(connection, &table).await?;
        copying.all().await?;
        if copying.has_lost {
            let saved = copying.saved;
            report.tables.push(lost(table, saved));
        }
    }
    // Numbers that were given are not given again, and a log that has lost its end says so.
    let sequence = "UPDATE main.sqlite_sequence SET seq = max(seq, coalesce(
        (SELECT seq FROM old.sqlite_sequence o WHERE o.name = main.sqlite_sequence.name), 0))";
    drop(execute(connection, sequence).await);
    for guard in guards {
        execute(connection, &guard).await?;
    }
    drop(execute(connection, "DETACH old").await);
    execute(
        connection,
        "PRAGMA writable_schema = OFF; PRAGMA synchronous = FULL",
    )
    .await
}

fn lost(table: String, rows_saved: u64) -> TableLoss {
    TableLoss { table, rows_saved }
}

/// One table on its way.
struct Copying<'c> {
    connection: &'c mut SqliteConnection,
    insert: String,
    next: String,
    saved: u64,
    failures: u32,
    has_lost: bool,
}

impl<'c> Copying<'c> {
    async fn new(connection: &'c mut SqliteConnection, table: &str) -> Result<Self, sqlx::Error> {
        let columns = format!("SELECT name FROM pragma_table_info('{table}')");
        let columns = list(connection, &columns).await?.join(", ");
        let next = format!("SELECT min(rowid) FROM old.{table} NOT INDEXED WHERE rowid >= ?");
        Ok(Self {
            insert: format!(
                "INSERT OR IGNORE INTO main.{table} (rowid, {columns})
                 SELECT rowid, {columns} FROM old.{table} NOT INDEXED WHERE rowid BETWEEN ? AND ?"
            ),
            next,
            connection,
            saved: 0,
            failures: 0,
            has_lost: false,
        })
    }

    async fn all(&mut self) -> Result<(), sqlx::Error> {
        let mut first: i64 = 1;
        // Ranges in a row of which nothing could be read: beyond a damaged end they never stop.
        let mut blind = 0;
        while blind < MAX_SALVAGE_BLIND && self.failures < MAX_SALVAGE_FAILURES {
            match self.next(first).await {
                Ok(Some(next)) => first = next.max(first),
                Ok(None) => break,
                Err(_) => self.has_lost = true,
            }
            let saved = self.saved;
            let last = first.saturating_add(SALVAGE_RANGE - 1);
            self.range(first, last).await?;
            blind = if saved == self.saved { blind + 1 } else { 0 };
            first = last.saturating_add(1);
        }
        Ok(())
    }

    async fn next(&mut self, first: i64) -> Result<Option<i64>, sqlx::Error> {
        let next = sqlx::query(AssertSqlSafe(self.next.as_str())).bind(first);
        next.fetch_one(&mut *self.connection).await?.try_get(0)
    }

    async fn range(&mut self, first: i64, last: i64) -> Result<(), sqlx::Error> {
        let mut ranges = vec![(first, last)];
        while let Some((first, last)) = ranges.pop() {
            let done = sqlx::query(AssertSqlSafe(self.insert.as_str()))
                .bind(first)
                .bind(last)
                .execute(&mut *self.connection)
                .await;
            match done {
                Ok(done) => self.saved += done.rows_affected(),
                Err(error) if is_own_fault(&error) => return Err(error),
                Err(_) => {
                    self.has_lost = true;
                    self.failures += 1;
                    if first < last && self.failures < MAX_SALVAGE_FAILURES {
                        let middle = first + (last - first) / 2;
                        ranges.extend([(middle + 1, last), (first, middle)]);
                    }
                }
            }
        }
        Ok(())
    }
}

/// What is wrong with the new file, not with the old one: no room, or no way to write.
fn is_own_fault(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    let code: Option<i32> = code.and_then(|code| code.parse().ok());
    matches!(code.map(|code| code & 0xff), None | Some(8 | 13))
}

async fn list(connection: &mut SqliteConnection, sql: &str) -> Result<Vec<String>, sqlx::Error> {
    let rows = sqlx::query(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

async fn execute(connection: &mut SqliteConnection, sql: &str) -> Result<(), sqlx::Error> {
    let sql = AssertSqlSafe(sql.to_owned());
    sqlx::raw_sql(sql).execute(connection).await.map(drop)
}

/// With what was written last and is not in the file itself yet.
fn keep_aside(path: &Path, kept: &Path) -> std::io::Result<()> {
    let log = beside(path, "-wal");
    loop {
        std::fs::copy(path, kept)?;
        if !log.exists() {
            break;
        }
        match std::fs::copy(&log, beside(kept, "-wal")) {
            // Whoever closed the file last has put it into the file itself, which so has changed.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            copied => {
                copied?;
                break;
            }
        }
    }
    std::fs::File::open(kept)?.sync_all()?;
    path.parent().map_or(Ok(()), sync_folder)
}

fn remove_all(path: &Path) -> std::io::Result<()> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match std::fs::remove_file(beside(path, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn put_in_place(new: &Path, path: &Path) -> std::io::Result<()> {
    std::fs::File::open(new)?.sync_all()?;
    // A log that belongs to the old file would be taken for the new one's. It has been copied.
    for suffix in ["-wal", "-shm"] {
        match std::fs::remove_file(beside(path, suffix)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    std::fs::rename(new, path)?;
    path.parent().map_or(Ok(()), sync_folder)
}
