//! What the server takes at most, so that a client gone wild ends a test instead of the machine.

use std::time::Duration;

/// Of the head of a request.
pub(super) const HEAD_BYTES: usize = 64 << 10;
/// Header fields of a request.
pub(super) const HEADERS: usize = 128;
/// Of the body of a request.
pub(super) const BODY_BYTES: usize = 64 << 20;
/// Requests that are kept to be looked at. Later ones are answered, but forgotten.
pub(super) const REQUESTS: usize = 100_000;
/// How long a test waits for something that should happen, by the real clock.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);
