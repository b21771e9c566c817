//! What whoever records something holds until it is on disk.

use innkeeper_store::StoreError;
use innkeeper_store::journal::Written;

use super::RunLog;

/// An entry on its way. Whoever does not wait for it leaves that to the log.
pub(crate) struct Receipt {
    pub(super) written: Option<Written>,
    pub(super) log: RunLog,
}

impl Receipt {
    /// It is on disk, and all that was recorded before it.
    pub(crate) async fn written(mut self) -> Result<(), StoreError> {
        let written = match self.written.take() {
            Some(written) => written.wait().await,
            None => Ok(()),
        };
        // What was not waited for came first, and is why.
        self.log.0.settle();
        if let Err(error) = written {
            self.log.0.broke(error);
        }
        match self.log.fault() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(written) = self.written.take() {
            self.log.0.pending().push_back(written);
        }
    }
}
