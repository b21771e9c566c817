//! Who sees to what runs ask of their host: to publish a text, to note which memory belongs to it, to take it out again.
//!
//! A run of a chat of this house is served here, also one that belongs to no chat at all: what it publishes stays in its journal.
//! Runs of other chats are offered to whoever says over the socket that they look after that chat (`clients.rs`); where nobody
//! does, the page that has the chat open answers by the commands of the host API. Every answer may be given twice.

mod attend;
mod house_chat;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use innkeeper_protocol::event::RunId;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::house::House;

/// Follows every run that is driven in the house.
#[derive(Default)]
pub(crate) struct Publisher {
    followed: Arc<Mutex<HashSet<RunId>>>,
    tasks: TaskTracker,
    closing: CancellationToken,
}

impl Publisher {
    /// Called whenever a run begins to be driven: one that is followed already is followed on.
    pub(crate) fn see_to(&self, house: &Weak<House>, run: &RunId) {
        let Some(house) = house.upgrade() else {
            return;
        };
        if !self.lock().insert(run.clone()) {
            return;
        }
        let (run, closing, followed) = (run.clone(), self.closing.clone(), self.followed.clone());
        self.tasks.spawn(async move {
            let leaving = Leaving { followed, run };
            let attending = attend::attend(&house, &leaving.run);
            if closing.run_until_cancelled(attending).await.is_none() {
                return;
            }
            drop(leaving);
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashSet<RunId>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is not answered by then is offered again.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

struct Leaving {
    followed: Arc<Mutex<HashSet<RunId>>>,
    run: RunId,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let mut followed = self.followed.lock().unwrap_or_else(PoisonError::into_inner);
        followed.remove(&self.run);
    }
}
