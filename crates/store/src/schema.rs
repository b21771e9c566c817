//! Bringing a database up to date: `migrations/*.sql` in order, all of them in one transaction.
//!
//! The number of the last one applied stands in `PRAGMA user_version`. A migration, once released, never changes.

use std::collections::HashSet;
use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection, Row};

use crate::StoreError;

const MIGRATIONS: &[&str] = &[
    include_str!("../migrations/0001_audit.sql"),
    include_str!("../migrations/0002_grants_and_requests.sql"),
    include_str!("../migrations/0003_open_calls.sql"),
    include_str!("../migrations/0004_runs.sql"),
    include_str!("../migrations/0005_states.sql"),
    include_str!("../migrations/0006_repairs.sql"),
    include_str!("../migrations/0007_checkpoints.sql"),
    include_str!("../migrations/0008_retention.sql"),
    include_str!("../migrations/0009_worlds.sql"),
    include_str!("../migrations/0010_access.sql"),
    include_str!("../migrations/0011_chats.sql"),
];

/// "INNK": whose file this is.
const APPLICATION_ID: i64 = 0x494E_4E4B;

pub(crate) async fn migrate(
    connection: &mut SqliteConnection,
    path: &Path,
) -> Result<(), StoreError> {
    migrate_to(connection, path, MIGRATIONS.len()).await
}

/// Up to the given version: tests make old databases with it.
pub(crate) async fn migrate_to(
    connection: &mut SqliteConnection,
    path: &Path,
    version: usize,
) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| StoreError::open(path, &error);
    let known = MIGRATIONS.len() as i64;
    let found = number(connection, "PRAGMA user_version").await;
    if found.map_err(failed)? == known {
        return check(connection, path).await;
    }
    let mut transaction = connection
        .begin_with("BEGIN IMMEDIATE")
        .await
        .map_err(failed)?;
    // Read again: another process may have been quicker.
    let found = number(&mut transaction, "PRAGMA user_version")
        .await
        .map_err(failed)?;
    check_owner(&mut transaction, path).await?;
    if found > known {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    check_tables(&mut transaction, path, found).await?;
    let applied = usize::try_from(found).unwrap_or_default();
    let (wanted, _) = MIGRATIONS.split_at(version);
    for migration in wanted.iter().skip(applied) {
        sqlx::raw_sql(*migration)
            .execute(&mut *transaction)
            .await
            .map_err(failed)?;
    }
    let mark = format!(
        "PRAGMA user_version = {}; PRAGMA application_id = {APPLICATION_ID}",
        applied.max(version)
    );
    sqlx::raw_sql(AssertSqlSafe(mark))
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Whether it can be used without being changed.
pub(crate) async fn check(
    connection: &mut SqliteConnection,
    path: &Path,
) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| StoreError::open(path, &error);
    let known = MIGRATIONS.len() as i64;
    let found = number(connection, "PRAGMA user_version")
        .await
        .map_err(failed)?;
    check_owner(connection, path).await?;
    match found {
        found if found > known => Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        }),
        found if found < known => Err(StoreError::Read {
            cause: format!(
                "{} is of an older version and has to be brought up to date first; copy its folder to where it can be written",
                path.display()
            ),
        }),
        found => check_tables(connection, path, found).await,
    }
}

/// The tables that the migrations up to a version make.
pub(crate) fn tables(version: i64) -> impl Iterator<Item = &'static str> {
    let version = usize::try_from(version).unwrap_or_default();
    let lines = MIGRATIONS.iter().take(version).flat_map(|sql| sql.lines());
    lines.filter_map(|line| line.strip_prefix("CREATE TABLE ")?.split(' ').next())
}

/// Refuses a file whose tables are not those of its version: what is missing would fail somewhere in the middle of work.
async fn check_tables(
    connection: &mut SqliteConnection,
    path: &Path,
    version: i64,
) -> Result<(), StoreError> {
    let rows = sqlx::query("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .fetch_all(connection)
        .await;
    let found: Result<HashSet<String>, _> =
        rows.and_then(|rows| rows.iter().map(|row| row.try_get(0)).collect());
    let found = found.map_err(|error| StoreError::open(path, &error))?;
    let mut expected = tables(version);
    let missing = expected.find(|table| !found.contains(*table));
    let early = tables(MIGRATIONS.len() as i64)
        .skip(tables(version).count())
        .find(|table| found.contains(*table));
    let cause = match (missing, early) {
        (None, None) => return Ok(()),
        (Some(table), _) => format!("the table '{table}' is missing"),
        (None, Some(table)) => format!(
            "it says that its schema is of version {version}, but there is the table '{table}' of a later one"
        ),
    };
    Err(StoreError::Corrupt {
        path: path.to_owned(),
        cause,
    })
}

/// Refuses a file in which another program keeps its tables.
async fn check_owner(connection: &mut SqliteConnection, path: &Path) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| StoreError::open(path, &error);
    let owner = number(connection, "PRAGMA application_id")
        .await
        .map_err(failed)?;
    let tables = number(connection, "SELECT count(*) FROM sqlite_schema")
        .await
        .map_err(failed)?;
    match owner == APPLICATION_ID || (owner == 0 && tables == 0) {
        true => Ok(()),
        false => Err(StoreError::Foreign {
            path: path.to_owned(),
        }),
    }
}

async fn number(connection: &mut SqliteConnection, sql: &'static str) -> Result<i64, sqlx::Error> {
    sqlx::query(sql).fetch_one(connection).await?.try_get(0)
}
