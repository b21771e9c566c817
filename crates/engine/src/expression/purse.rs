//! What one template or expression may spend: bytes that it makes, bytes that it looks at, and time.
//!
//! One is computed at a time on a thread, from beginning to end, so the purse belongs to the thread.

use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use minijinja::{Error, ErrorKind};
use tokio_util::sync::CancellationToken;

use crate::limits::{
    CLOCK_BYTES, HEAVY_TEMPLATE_BYTES, MAX_CONDITION_BYTES, MAX_CONDITION_TIME,
    MAX_TEMPLATE_LOOKED_BYTES, MAX_TEMPLATE_MADE_BYTES, MAX_TEMPLATE_TIME,
};

/// Bytes that count for every look, however small the value.
const LOOK: usize = 64;

thread_local! {
    /// Bytes that may still be made.
    static MADE: Cell<usize> = const { Cell::new(0) };
    /// Bytes that may still be looked at.
    static LOOKED: Cell<usize> = const { Cell::new(0) };
    /// The clock is asked again when no more than this is left to look at.
    static NEXT: Cell<usize> = const { Cell::new(0) };
    /// Whether it has been empty.
    static EMPTY: Cell<bool> = const { Cell::new(false) };
    static LIMITS: RefCell<Option<Limits>> = const { RefCell::new(None) };
}

struct Limits {
    purse: Purse,
    begun: Instant,
    stop: Option<CancellationToken>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Purse {
    pub(super) looked: usize,
    pub(super) time: Duration,
}

impl Purse {
    /// On a thread that may be kept busy.
    pub(super) const TEMPLATE: Self = Self {
        looked: MAX_TEMPLATE_LOOKED_BYTES,
        time: MAX_TEMPLATE_TIME,
    };
    /// In place, while others wait.
    pub(super) const CONDITION: Self = Self {
        looked: MAX_CONDITION_BYTES,
        time: MAX_CONDITION_TIME,
    };
    /// In place, and elsewhere if this does not do.
    pub(super) const FIRST_TRY: Self = Self {
        looked: HEAVY_TEMPLATE_BYTES,
        time: MAX_CONDITION_TIME,
    };

    /// Before a template is filled or an expression computed. Whoever sets `stop` ends it.
    pub(super) fn open(self, stop: Option<&CancellationToken>) {
        MADE.set(MAX_TEMPLATE_MADE_BYTES);
        LOOKED.set(self.looked);
        NEXT.set(self.looked.saturating_sub(CLOCK_BYTES));
        EMPTY.set(false);
        LIMITS.replace(Some(Limits {
            purse: self,
            begun: Instant::now(),
            stop: stop.cloned(),
        }));
    }
}

/// Whether it was too much for the purse.
pub(super) fn was_empty() -> bool {
    EMPTY.get()
}

pub(super) fn refused(message: String) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}

fn empty(message: String) -> Error {
    EMPTY.set(true);
    refused(message)
}

/// Bytes that may still be looked at.
pub(super) fn left() -> usize {
    LOOKED.get()
}

pub(super) fn too_much() -> Error {
    let most = LIMITS.with_borrow(|limits| limits.as_ref().map_or(0, |now| now.purse.looked));
    LOOKED.set(0);
    empty(format!(
        "it looks at more than {most} bytes of values on its way; let it go through less, or through it less often"
    ))
}

/// Before `bytes` are looked at, compared or walked through.
pub(super) fn look(bytes: usize) -> Result<(), Error> {
    let left = LOOKED.get().checked_sub(bytes.saturating_add(LOOK));
    let left = left.ok_or_else(too_much)?;
    LOOKED.set(left);
    match left < NEXT.get() {
        true => ask_clock(left),
        false => Ok(()),
    }
}

/// Before `bytes` are made.
pub(super) fn charge(bytes: usize) -> Result<(), Error> {
    look(bytes)?;
    let left = MADE.get().checked_sub(bytes);
    let left = left.ok_or_else(|| {
        empty(format!(
            "it makes more than {MAX_TEMPLATE_MADE_BYTES} bytes of values on its way"
        ))
    })?;
    MADE.set(left);
    Ok(())
}

#[cold]
fn ask_clock(left: usize) -> Result<(), Error> {
    NEXT.set(left.saturating_sub(CLOCK_BYTES));
    LIMITS.with_borrow(|limits| {
        let Some(limits) = limits else {
            return Ok(());
        };
        if limits
            .stop
            .as_ref()
            .is_some_and(CancellationToken::is_cancelled)
        {
            return Err(empty("it was stopped".to_owned()));
        }
        match limits.begun.elapsed() > limits.purse.time {
            true => Err(empty(format!(
                "it takes longer than {} ms; let it go through less",
                limits.purse.time.as_millis()
            ))),
            false => Ok(()),
        }
    })
}
