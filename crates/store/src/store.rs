//! The one handle to what survives, and its life: open, flush, close.

use std::path::Path;
use std::sync::Arc;

use crate::database::Database;
use crate::owner::Owner;
use crate::writer::Writer;
use crate::{AuditLog, Grants, Requests, StoreError};

/// A cheap handle; all clones are one store.
#[derive(Clone)]
pub struct Store(Arc<Rooms>);

struct Rooms {
    audit: AuditLog,
    grants: Grants,
    requests: Requests,
    database: Database,
    writer: Writer,
}

impl Store {
    /// Opens or creates the database, in a folder that exists, and brings it up to date. Calls that a process which
    /// is gone did not end get their records.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let store = Database::open(path).await.map(Self::over)?;
        if let Err(error) = store.audit().recover().await {
            drop(store.close().await);
            return Err(error);
        }
        Ok(store)
    }

    /// For tests and for runs that leave no trace.
    pub async fn in_memory() -> Result<Self, StoreError> {
        Database::in_memory().await.map(Self::over)
    }

    fn over(database: Database) -> Self {
        let writer = Writer::start(database.clone());
        let owner = Arc::new(Owner::new(database.path.as_deref()));
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
            requests: Requests::new(database.clone(), writer.clone(), owner),
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

    pub fn requests(&self) -> &Requests {
        &self.0.requests
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
        written
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
pub(crate) mod tests;
