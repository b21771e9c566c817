//! The one handle to what survives, and its life: open, flush, close.

use std::path::Path;
use std::sync::Arc;

use crate::content::SqliteContents;
use crate::control::SqliteControl;
use crate::database::Database;
use crate::journal::{RunJournal, RunRetention, SqliteJournal, SqliteRetention};
use crate::owner::Owner;
use crate::reserve::Reserve;
use crate::states::SqliteStates;
use crate::tasks::SqliteTasks;
use crate::worlds::SqliteWorlds;
use crate::writer::Writer;
use crate::{
    Access, AuditLog, Chats, Contents, Control, Grants, HomeLock, Requests, StateStore, StoreError,
    TaskStore, WorldStore,
};

/// A cheap handle; all clones are one store.
#[derive(Clone)]
pub struct Store(Arc<Rooms>);

struct Rooms {
    audit: AuditLog,
    grants: Grants,
    access: Access,
    chats: Chats,
    requests: Requests,
    journal: SqliteJournal,
    contents: SqliteContents,
    states: SqliteStates,
    worlds: SqliteWorlds,
    tasks: SqliteTasks,
    control: SqliteControl,
    database: Database,
    writer: Writer,
}

impl Store {
    /// Opens or creates the database, in a folder that exists, and brings it up to date. Calls that a process which
    /// is gone did not end get their records.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let opened = match Database::open(path).await {
            // Even to be opened it needs a little room beside it.
            Err(StoreError::Open { .. } | StoreError::DiskFull { .. })
                if Reserve::of(Some(path)).give_a_piece().await =>
            {
                Database::open(path).await
            }
            opened => opened,
        };
        let store = opened.map(Self::over)?;
        if let Err(error) = store.audit().recover().await {
            drop(store.close().await);
            return Err(error);
        }
        Ok(store)
    }

    /// The same, but where nothing can be written it is opened all the same; then whatever is to be written is refused.
    pub async fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let refused = match Self::open(path).await {
            Err(error @ (StoreError::Open { .. } | StoreError::Write { .. })) => error,
            opened => return opened,
        };
        if !tokio::fs::try_exists(path).await.unwrap_or(false) {
            return Err(refused);
        }
        match Database::open_to_read(path).await {
            Err(StoreError::Open { .. }) => Err(refused),
            opened => opened.map(Self::over),
        }
    }

    /// Whether this process may write to it, found out without writing anything.
    pub async fn try_writing(&self) -> Result<(), StoreError> {
        let database = &self.0.database;
        let failed = |error: sqlx::Error| database.write_error(&error);
        let mut connection = database.writer.acquire().await.map_err(failed)?;
        let begun = sqlx::Connection::begin_with(&mut *connection, "BEGIN IMMEDIATE").await;
        let mut trying = begun.map_err(failed)?;
        // Only whoever wants to change a row is told that the file cannot be written.
        let tried = sqlx::query("DELETE FROM control WHERE 0")
            .execute(&mut *trying)
            .await;
        drop(trying.rollback().await);
        tried.map(drop).map_err(failed)
    }

    /// For tests and for runs that leave no trace.
    pub async fn in_memory() -> Result<Self, StoreError> {
        Database::in_memory().await.map(Self::over)
    }

    fn over(database: Database) -> Self {
        let writer = Writer::start(database.clone());
        let owner = Arc::new(Owner::new(database.path.as_deref()));
        let contents = SqliteContents::new(database.clone(), writer.clone());
        Self(Arc::new(Rooms {
            audit: AuditLog {
                database: database.clone(),
                writer: writer.clone(),
                owner: owner.clone(),
            },
            grants: Grants {
                database: database.clone(),
                writer: writer.clone(),
            },
            access: Access {
                database: database.clone(),
                writer: writer.clone(),
            },
            chats: Chats {
                database: database.clone(),
                writer: writer.clone(),
            },
            requests: Requests::new(database.clone(), writer.clone(), owner.clone()),
            states: SqliteStates {
                database: database.clone(),
                writer: writer.clone(),
            },
            worlds: SqliteWorlds {
                database: database.clone(),
                writer: writer.clone(),
            },
            tasks: SqliteTasks {
                database: database.clone(),
                writer: writer.clone(),
                owner,
            },
            control: SqliteControl {
                database: database.clone(),
                writer: writer.clone(),
                sent: Arc::default(),
            },
            journal: SqliteJournal::new(database.clone(), writer.clone(), contents.clone()),
            contents,
            database,
            writer,
        }))
    }

    pub fn audit(&self) -> &AuditLog {
        &self.0.audit
    }

    pub fn grants(&self) -> &Grants {
        &self.0.grants
    }

    /// Who may come in over the network.
    pub fn access(&self) -> &Access {
        &self.0.access
    }

    /// Those that the house keeps itself.
    pub fn chats(&self) -> &Chats {
        &self.0.chats
    }

    pub fn requests(&self) -> &Requests {
        &self.0.requests
    }

    pub(crate) fn database(&self) -> &Database {
        &self.0.database
    }

    /// What happened in each run.
    pub fn journal(&self) -> Arc<dyn RunJournal> {
        Arc::new(self.0.journal.clone())
    }

    /// What may go of runs that are over.
    pub fn retention(&self) -> Arc<dyn RunRetention> {
        Arc::new(SqliteRetention(self.0.journal.clone()))
    }

    /// What runs have made and read.
    pub fn contents(&self) -> Arc<dyn Contents> {
        Arc::new(self.0.contents.clone())
    }

    /// What runs leave behind for later ones.
    pub fn states(&self) -> Arc<dyn StateStore> {
        Arc::new(self.0.states.clone())
    }

    /// What the agents of a workspace share.
    pub fn worlds(&self) -> Arc<dyn WorldStore> {
        Arc::new(self.0.worlds.clone())
    }

    pub fn tasks(&self) -> Arc<dyn TaskStore> {
        Arc::new(self.0.tasks.clone())
    }

    /// What other processes want of the runs that one process drives.
    pub fn control(&self) -> Arc<dyn Control> {
        Arc::new(self.0.control.clone())
    }

    /// The right to drive the runs of this home; reading does not need it. Then what is left of deleted runs goes.
    pub async fn claim_home(&self) -> Result<HomeLock, StoreError> {
        let lock = match &self.0.database.path {
            Some(path) => HomeLock::claim(path.parent().unwrap_or(Path::new(""))).await?,
            None => HomeLock::of_nothing(),
        };
        match self.0.journal.sweep_deleted().await {
            Err(StoreError::DiskFull { .. }) => {}
            swept => swept?,
        }
        Ok(lock)
    }

    /// Everything that was handed in so far is on the disk.
    pub async fn flush(&self) -> Result<(), StoreError> {
        self.0.writer.flush().await
    }

    /// Writes what is waiting and lets go of the file, for all clones. Dropping the last handle writes it too,
    /// unless the process ends first, and nobody learns whether it worked.
    pub async fn close(self) -> Result<(), StoreError> {
        let written = self.0.writer.stop().await;
        self.0.database.close().await;
        self.0.journal.hub.close();
        written
    }
}

#[cfg(test)]
impl Store {
    pub(crate) fn journal_for_tests(&self) -> &SqliteJournal {
        &self.0.journal
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
pub(crate) mod tests;
