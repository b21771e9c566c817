//! Runs that are not in memory: one that waits for people is let go of, and is read from its journal when somebody has
//! something to do with it; one whose next step the journal does not take goes on from where the journal ends.

use std::pin::Pin;
use std::sync::atomic::Ordering;

use innkeeper_protocol::ErrorCode;
use innkeeper_store::StoreError;
use innkeeper_store::journal::Replay;

use super::{Awake, Brought, Place, RecordError, RunLog, Sent, State, entry};
use crate::instance::recovery::replayed;
use crate::run::{Input, Misfit, Why};

/// What came of letting go of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// It is in its journal and nowhere else.
    Rests,
    /// Something of it is on its way to the disk.
    NotYet,
    /// It does not wait for people, or can no longer be written down.
    No,
}

impl RunLog {
    /// Returns when the run is in memory and waits for people: once for every time that something happens to it then.
    pub(crate) async fn parked(&self) {
        self.0.parked.notified().await;
    }

    /// Keeps nothing of a run that waits for people but its place in the journal, once that has everything.
    pub(crate) async fn rest(&self) -> Rest {
        self.flush().await;
        let mut state = self.0.state.lock().await;
        let State { awake, place } = &mut *state;
        let Some(here) = awake else {
            return Rest::Rests;
        };
        // Whoever drives one that is over or paused is about to leave it.
        let is_left = here.run.is_over() || here.run.is_paused();
        if self.fault().is_some() || is_left || !here.run.is_parked() {
            return Rest::No;
        }
        // Somebody else may wait for an entry, or may have fed it something after all was written.
        if here.held.is_some() || self.0.on_disk.load(Ordering::Acquire) != place.last_seq {
            return Rest::NotYet;
        }
        *awake = None;
        let mut pending = self.0.pending();
        if pending.is_empty() {
            *pending = Default::default();
        }
        Rest::Rests
    }

    /// The run as it is, from the journal if it rests. Whoever gives up in the meantime has changed nothing.
    pub(super) async fn awake<'s>(
        &self,
        state: &'s mut State,
    ) -> Result<(&'s mut Awake, &'s mut Place), StoreError> {
        let State { awake, place } = state;
        let here = match awake.take() {
            Some(here) => here,
            None => self.read_back(place.last_seq).await?,
        };
        Ok((awake.insert(here), place))
    }

    /// Boxed: whoever waits for a run that is in memory needs no room for this.
    fn read_back(
        &self,
        last_seq: u64,
    ) -> Pin<Box<dyn Future<Output = Result<Box<Awake>, StoreError>> + Send + '_>> {
        Box::pin(async move {
            if let Some(error) = self.fault() {
                return Err(error);
            }
            let read = self.replay().await.and_then(|(replay, awake)| {
                let found = replay.record.last_seq;
                match found == last_seq {
                    true => Ok(awake),
                    false => Err(unreadable(format!(
                        "the journal of the run '{}' ends with event {found} instead of {last_seq}",
                        self.0.run
                    ))),
                }
            });
            match &read {
                // It waits for people still, and can rest again.
                Ok(_) => self.0.parked.notify_one(),
                Err(error) => self.0.broke(error.clone()),
            }
            read
        })
    }

    async fn replay(&self) -> Result<(Replay, Box<Awake>), StoreError> {
        let replay = self.0.journal.replay(&self.0.run).await?;
        let replay = replay.ok_or_else(|| StoreError::NoRun(self.0.run.to_string()))?;
        let run = replayed(&replay).map_err(unreadable)?;
        Ok((replay, Box::new(Awake { run, held: None })))
    }

    /// A journal that will never take an entry is no broken disk: the run fails where the journal ends.
    pub(super) async fn refused(&self, state: &mut State, error: StoreError) -> RecordError {
        let is_final = matches!(
            error,
            StoreError::TooLarge { .. } | StoreError::TooDeep { .. }
        );
        let failed = match is_final {
            true => self.fail(state, &error).await,
            false => Err(error.clone()),
        };
        match failed {
            Ok(()) => RecordError::Misfit(Misfit {
                why: Why::Over,
                message: format!("The run has failed: {error}"),
            }),
            Err(error) => {
                self.0.broke(error.clone());
                error.into()
            }
        }
    }

    /// From the journal, without what it does not take.
    async fn fail(&self, state: &mut State, why: &StoreError) -> Result<(), StoreError> {
        self.written().await;
        let (replay, awake) = self.replay().await?;
        let State { awake: here, place } = state;
        let awake = here.insert(awake);
        *place = Place {
            last_seq: replay.record.last_seq,
            since_snapshot: 0,
        };
        let failed = Input::Failed {
            code: ErrorCode::AgentInternalError,
            message: format!(
                "A step of the run cannot be written down: {why}; resume it, and let it do this in smaller parts"
            ),
            reason: Some(why.code().to_owned()),
        };
        // One that is being ended already has its end before it.
        let taken = self.take(awake, place, vec![failed], Brought::default());
        let Some(held) = awake.held.take().filter(|_| taken.is_ok()) else {
            return Ok(());
        };
        self.0.is_held.store(false, Ordering::Release);
        let entry = entry::entry(&awake.run, &mut place.since_snapshot, held)?;
        let written = self.0.journal.submit(entry).await?;
        self.0.pending().push_back(Sent {
            written,
            up_to: place.last_seq,
        });
        Ok(())
    }
}

fn unreadable(cause: String) -> StoreError {
    StoreError::Read { cause }
}

#[cfg(test)]
#[path = "rest_tests.rs"]
mod tests;
