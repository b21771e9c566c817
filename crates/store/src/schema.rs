//! Bringing a database up to date: `migrations/*.sql` in order, all of them in one transaction.
//!
//! The number of the last one applied stands in `PRAGMA user_version`. A migration, once released, never changes.

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
        return check_owner(connection, path).await;
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
