//! Texts that try to break a parser, shared by tests, benchmarks and fuzzing; and plugins for tests.
//!
//! Knows the marks of the protocols, but not the parser: what a text means is decided elsewhere, so that
//! these generators cannot agree with a parser by accident. Everything is deterministic.

pub mod hostile;
pub mod mutate;
pub mod plugins;
pub mod replies;
pub mod rng;
pub mod room;
pub mod soup;

pub use hostile::{HOSTILE, Hostile};
pub use mutate::{Mutator, shrink};
pub use rng::Rng;
