//! What whoever records something holds until it is on disk. Whoever gives up waiting leaves it to the log.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};

use innkeeper_store::StoreError;
use innkeeper_store::journal::Written;
use tokio::sync::oneshot;

use super::{Inner, RecordError, RunLog};

/// An entry on its way to the disk.
pub(super) struct Sent {
    pub(super) written: Written,
    /// Its last event.
    pub(super) up_to: u64,
}

/// The same for others than the log. Whoever does not wait for it leaves that to the log.
pub(crate) struct Receipt {
    pub(super) sent: Option<Sent>,
    pub(super) log: RunLog,
}

impl Receipt {
    /// It is on disk, and all that was recorded before it.
    pub(crate) async fn written(mut self) -> Result<(), StoreError> {
        if let Some(sent) = self.sent.take() {
            self.log.0.wait(sent).await;
        }
        self.log.0.settle();
        match self.log.fault() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(sent) = self.sent.take() {
            self.log.0.pending().push_back(sent);
        }
    }
}

/// An entry that somebody else hands in. Whoever does not wait for it leaves it to the log, also when it is through.
pub(super) struct HandedIn<'l> {
    pub(super) told: oneshot::Receiver<Result<Sent, RecordError>>,
    pub(super) log: &'l RunLog,
}

impl Drop for HandedIn<'_> {
    fn drop(&mut self) {
        self.told.close();
        if let Ok(Ok(sent)) = self.told.try_recv() {
            self.log.0.pending().push_back(sent);
        }
    }
}

impl Inner {
    /// Until it is known what became of it.
    pub(super) async fn wait(&self, sent: Sent) {
        let mut waiting = Waiting {
            written: Some(Box::pin(sent.written.wait())),
            up_to: sent.up_to,
            log: self,
        };
        poll_fn(|context| waiting.poll(context)).await;
    }
}

type Outcome = Result<(), StoreError>;

struct Waiting<'l> {
    /// Until its outcome is known.
    written: Option<Pin<Box<dyn Future<Output = Outcome> + Send>>>,
    up_to: u64,
    log: &'l Inner,
}

impl Waiting<'_> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Some(written) = &mut self.written else {
            return Poll::Ready(());
        };
        let Poll::Ready(outcome) = written.as_mut().poll(context) else {
            return Poll::Pending;
        };
        self.written = None;
        // What was not waited for came first, and is why.
        self.log.settle();
        self.log.ended(self.up_to, outcome);
        Poll::Ready(())
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(written) = self.written.take() {
            self.log.pending().push_front(Sent {
                written: Written::new(written),
                up_to: self.up_to,
            });
        }
    }
}
