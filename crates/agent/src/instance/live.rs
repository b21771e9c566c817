//! A turn while the model writes it: its words, its thoughts, and what it is about to write into files.
//!
//! Nothing here is kept: once a turn is over, the journal has it. A follower that is too slow is given the whole turn again
//! instead of what it missed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use innkeeper_protocol::{Dialect, Stream, StreamEvent};
use serde::Serialize;
use tokio::sync::broadcast;

use super::partial_json::PartialJson;
use crate::limits::{MAX_LIVE_BYTES, MAX_LIVE_UPDATES};

/// What changed in the turn that is being written. `call` counts the calls of the turn from 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum LiveUpdate {
    /// All of the turn so far, in the place of whatever is shown.
    Snapshot(Arc<LiveTurn>),
    Append {
        round: u32,
        text: String,
    },
    ReasoningAppend {
        round: u32,
        text: String,
    },
    CallStarted {
        round: u32,
        call: usize,
        name: String,
    },
    CallAppend {
        round: u32,
        call: usize,
        field: String,
        text: String,
    },
    /// The turn is over, or is begun anew.
    Remove {
        round: u32,
    },
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveTurn {
    pub round: u32,
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<LiveCall>,
    /// It is longer than what is shown while it comes.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveCall {
    pub name: String,
    pub fields: BTreeMap<String, String>,
}

/// Of one run. Clones are the same.
#[derive(Clone)]
pub(crate) struct Live(Arc<Inner>);

struct Inner {
    updates: Mutex<Updates>,
    turn: Mutex<Turn>,
}

/// Room for updates is only made where somebody follows: nearly all runs wait, and nobody looks.
enum Updates {
    Unfollowed,
    Followed(broadcast::Sender<LiveUpdate>),
    Closed,
}

#[derive(Default)]
struct Turn {
    shown: LiveTurn,
    bytes: usize,
    /// Reads calls out of the text.
    parser: Option<Box<Stream>>,
    /// Calls of the text, by block and step, and native ones by their index.
    numbers: BTreeMap<(usize, u32), usize>,
    native: BTreeMap<u64, (usize, PartialJson)>,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            updates: Mutex::new(Updates::Unfollowed),
            turn: Mutex::default(),
        }))
    }

    pub(crate) fn follow(&self) -> LiveFollower {
        let turn = self.lock();
        let mut updates = self.updates();
        let receiver = match &*updates {
            Updates::Followed(sender) => sender.subscribe(),
            Updates::Closed => broadcast::channel(1).1,
            Updates::Unfollowed => {
                let (sender, receiver) = broadcast::channel(MAX_LIVE_UPDATES);
                *updates = Updates::Followed(sender);
                receiver
            }
        };
        LiveFollower {
            updates: receiver,
            snapshot: Some(Arc::new(turn.shown.clone())),
            live: self.clone(),
        }
    }

    /// A turn begins, or the model is asked once more for it.
    pub(crate) fn begin(&self, round: u32, dialect: Option<Dialect>) {
        let mut turn = self.lock();
        let before = turn.shown.round;
        *turn = Turn {
            shown: LiveTurn {
                round,
                ..LiveTurn::default()
            },
            parser: dialect.map(|dialect| Box::new(Stream::new(dialect))),
            ..Turn::default()
        };
        if before != 0 {
            self.tell(|| LiveUpdate::Remove { round: before });
        }
    }

    /// It is over: the journal has it.
    pub(crate) fn end(&self) {
        let mut turn = self.lock();
        let round = turn.shown.round;
        *turn = Turn::default();
        if round != 0 {
            self.tell(|| LiveUpdate::Remove { round });
        }
    }

    pub(crate) fn text(&self, piece: &str) {
        let mut turn = self.lock();
        let Some(mut parser) = turn.parser.take() else {
            return self.words(&mut turn, piece);
        };
        parser.feed(piece, &mut |event| match event {
            StreamEvent::Text(text) => self.words(&mut turn, text),
            StreamEvent::CallStarted { block, step, tool } => {
                let number = self.call(&mut turn, tool);
                turn.numbers.insert((block, step), number);
            }
            StreamEvent::ArgumentDelta { block, key, text } => {
                let of_block = turn.numbers.range((block, 0)..=(block, u32::MAX));
                if let Some(number) = of_block.last().map(|(_, number)| *number) {
                    self.field(&mut turn, number, key, text);
                }
            }
            StreamEvent::CallFinished { .. } | StreamEvent::Finished(_) => {}
        });
        turn.parser = Some(parser);
    }

    pub(crate) fn reasoning(&self, piece: &str) {
        let mut turn = self.lock();
        if !turn.fits(piece) {
            return;
        }
        turn.shown.reasoning.push_str(piece);
        let round = turn.shown.round;
        self.tell(|| LiveUpdate::ReasoningAppend {
            round,
            text: piece.to_owned(),
        });
    }

    /// A piece of a native call.
    pub(crate) fn native(&self, index: u64, name: Option<&str>, arguments: &str) {
        let mut turn = self.lock();
        if !turn.native.contains_key(&index) {
            let Some(name) = name else { return };
            let number = self.call(&mut turn, name);
            turn.native.insert(index, (number, PartialJson::default()));
        }
        let Some((number, mut partial)) = turn.native.remove(&index) else {
            return;
        };
        partial.feed(arguments, &mut |field, text| {
            self.field(&mut turn, number, field, text);
        });
        turn.native.insert(index, (number, partial));
    }

    fn words(&self, turn: &mut Turn, piece: &str) {
        if piece.is_empty() || !turn.fits(piece) {
            return;
        }
        turn.shown.text.push_str(piece);
        let round = turn.shown.round;
        self.tell(|| LiveUpdate::Append {
            round,
            text: piece.to_owned(),
        });
    }

    fn call(&self, turn: &mut Turn, name: &str) -> usize {
        let call = turn.shown.calls.len();
        let name = name.to_owned();
        turn.shown.calls.push(LiveCall {
            name: name.clone(),
            fields: BTreeMap::new(),
        });
        let round = turn.shown.round;
        self.tell(|| LiveUpdate::CallStarted { round, call, name });
        call
    }

    fn field(&self, turn: &mut Turn, call: usize, field: &str, text: &str) {
        if !turn.fits(text) {
            return;
        }
        let Some(shown) = turn.shown.calls.get_mut(call) else {
            return;
        };
        shown
            .fields
            .entry(field.to_owned())
            .or_default()
            .push_str(text);
        let round = turn.shown.round;
        self.tell(|| LiveUpdate::CallAppend {
            round,
            call,
            field: field.to_owned(),
            text: text.to_owned(),
        });
    }

    /// The run is not driven any more: there will be no further turn.
    pub(crate) fn close(&self) {
        self.end();
        *self.updates() = Updates::Closed;
    }

    /// Costs nothing where nobody follows.
    fn tell(&self, update: impl FnOnce() -> LiveUpdate) {
        let mut updates = self.updates();
        match &*updates {
            Updates::Followed(sender) if sender.receiver_count() > 0 => {
                // Everybody may have gone in the meantime.
                let _ = sender.send(update());
            }
            Updates::Followed(_) => *updates = Updates::Unfollowed,
            Updates::Unfollowed | Updates::Closed => {}
        }
    }

    fn updates(&self) -> MutexGuard<'_, Updates> {
        self.0
            .updates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.0.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn fits(&mut self, piece: &str) -> bool {
        self.bytes += piece.len();
        let fits = self.bytes <= MAX_LIVE_BYTES;
        self.shown.truncated |= !fits;
        fits
    }
}

/// Follows the turns of one run while they are written.
pub struct LiveFollower {
    updates: broadcast::Receiver<LiveUpdate>,
    /// To be told before anything else.
    snapshot: Option<Arc<LiveTurn>>,
    live: Live,
}

impl LiveFollower {
    /// `None` once the run is not driven any more.
    pub async fn next(&mut self) -> Option<LiveUpdate> {
        if let Some(snapshot) = self.snapshot.take() {
            return Some(LiveUpdate::Snapshot(snapshot));
        }
        match self.updates.recv().await {
            Ok(update) => Some(update),
            Err(broadcast::error::RecvError::Closed) => None,
            Err(broadcast::error::RecvError::Lagged(_)) => {
                let turn = self.live.lock();
                self.updates = self.updates.resubscribe();
                let shown = Arc::new(turn.shown.clone());
                Some(LiveUpdate::Snapshot(shown))
            }
        }
    }
}
