//! The file itself: who may read it, how it is opened, which connections there are.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Row};

use crate::error::is_busy;
use crate::limits::{BUSY_TIMEOUT, BUSY_TRIES, CHECKPOINT_PAGES, MAX_READERS};
use crate::{StoreError, schema};

/// Connections to one database. Writing has a connection of its own, so no reader ever waits for a transaction.
#[derive(Clone)]
pub(crate) struct Database {
    /// `None`: in memory.
    pub(crate) path: Option<PathBuf>,
    pub(crate) readers: SqlitePool,
    pub(crate) writer: SqlitePool,
}

impl Database {
    pub(crate) async fn open(path: &Path) -> Result<Self, StoreError> {
        let file = path.to_owned();
        let made = tokio::task::spawn_blocking(move || match was_emptied(&file) {
            true => Ok(false),
            false => make_private(&file).map(|()| true),
        });
        let made = made.await;
        let is_usable = made
            .map_err(|error| std::io::Error::other(error.to_string()))
            .flatten()
            .map_err(|error| StoreError::Open {
                path: path.to_owned(),
                cause: error.to_string(),
            })?;
        if !is_usable {
            return Err(StoreError::Corrupt {
                path: path.to_owned(),
                cause: "it is empty, but contents of runs lie beside it".to_owned(),
            });
        }
        let options = options().filename(path);
        let writer = pool(1).connect_lazy_with(options.clone());
        let readers = pool(MAX_READERS).connect_lazy_with(options.pragma("query_only", "ON"));
        let database = Self {
            path: Some(path.to_owned()),
            readers,
            writer,
        };
        let prepared = database.prepare(path).await;
        if prepared.is_err() {
            database.close().await;
        }
        prepared.map(|()| database)
    }

    /// Changes nothing, not even beside the file: for places where nothing can be written.
    pub(crate) async fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let log = beside(path, "-wal");
        let log_bytes = tokio::fs::metadata(&log).await.map_or(0, |log| log.len());
        let as_it_is = options().filename(path).read_only(true);
        let shared = Self::read_over(path, as_it_is.clone()).await;
        match shared {
            // SQLite wants to make files beside it. Without a log that would have to be read, it need not.
            Err(_) if log_bytes == 0 => Self::read_over(path, as_it_is.immutable(true)).await,
            Err(StoreError::Open { .. }) => Err(StoreError::Read {
                cause: format!(
                    "what was written last lies in {} and cannot be read where nothing can be written; copy the folder to another place",
                    log.display()
                ),
            }),
            read => read,
        }
    }

    pub(crate) async fn read_over(
        path: &Path,
        options: SqliteConnectOptions,
    ) -> Result<Self, StoreError> {
        let database = Self {
            path: Some(path.to_owned()),
            readers: pool(MAX_READERS).connect_lazy_with(options.clone()),
            writer: pool(1).connect_lazy_with(options),
        };
        let checked = match database.readers.acquire().await {
            Ok(mut connection) => schema::check(&mut connection, path).await,
            Err(error) => Err(StoreError::open(path, &error)),
        };
        if checked.is_err() {
            database.close().await;
        }
        checked.map(|()| database)
    }

    pub(crate) async fn in_memory() -> Result<Self, StoreError> {
        // A database in memory lives and dies with its one connection.
        let only = pool(1)
            .idle_timeout(None)
            .max_lifetime(None)
            .connect_lazy_with(options().in_memory(true));
        let database = Self {
            path: None,
            readers: only.clone(),
            writer: only,
        };
        database
            .prepare(Path::new(":memory:"))
            .await
            .map(|()| database)
    }

    async fn prepare(&self, path: &Path) -> Result<(), StoreError> {
        let failed = |error: sqlx::Error| StoreError::open(path, &error);
        let mut connection = self.writer.acquire().await.map_err(failed)?;
        if self.path.is_some() {
            let mut tries = 0;
            // SQLite does not wait for others by itself here: two processes may both be the first.
            while let Err(error) = use_wal(&mut connection).await {
                tries += 1;
                if !is_busy(&error) || tries > BUSY_TRIES * 10 {
                    return Err(failed(error));
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        schema::migrate(&mut connection, path).await
    }

    pub(crate) fn write_error(&self, error: &sqlx::Error) -> StoreError {
        StoreError::write(self.shown(), error)
    }

    pub(crate) fn read_error(&self, error: &sqlx::Error) -> StoreError {
        StoreError::read(self.shown(), error)
    }

    pub(crate) fn shown(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new(":memory:"))
    }

    pub(crate) async fn close(&self) {
        self.readers.close().await;
        self.writer.close().await;
    }
}

fn options() -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .busy_timeout(BUSY_TIMEOUT)
        .foreign_keys(true)
        // A commit is on the disk when it returns; many writes share one, so it costs little.
        .synchronous(SqliteSynchronous::Full)
        // Only so does macOS ask the disk itself; elsewhere it changes nothing.
        .pragma("fullfsync", "ON")
        .pragma("wal_autocheckpoint", CHECKPOINT_PAGES)
        .disable_statement_logging()
}

fn pool(connections: u32) -> SqlitePoolOptions {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .test_before_acquire(false)
}

async fn use_wal(connection: &mut sqlx::SqliteConnection) -> Result<(), sqlx::Error> {
    let row = sqlx::query("PRAGMA journal_mode")
        .fetch_one(&mut *connection)
        .await?;
    let mode: String = row.try_get(0)?;
    if mode != "wal" {
        sqlx::query("PRAGMA journal_mode = WAL")
            .execute(connection)
            .await?;
    }
    Ok(())
}

/// Whether it lost all that it held: there are contents only where there were runs, and SQLite never leaves it empty.
fn was_emptied(path: &Path) -> bool {
    let bytes = |path: &Path| std::fs::metadata(path).map(|file| file.len());
    let contents = path.with_file_name("blobs");
    matches!(bytes(path), Ok(0))
        && matches!(bytes(&beside(path, "-wal")), Ok(0) | Err(_))
        && std::fs::read_dir(contents).is_ok_and(|mut files| files.next().is_some())
}

pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Nobody but its owner may read the file; SQLite gives the same mode to those it puts beside it.
///
/// A file that exists is never opened here: closing it again would release the locks that another store of this
/// process holds on it.
pub(crate) fn make_private(path: &Path) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
        made => return made.map(drop),
    }
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(std::io::Error::other("it is a folder"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if metadata.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}
