//! Texts that try to break a parser, shared by tests, benchmarks and fuzzing; plugins for tests; and a model
//! server that says what a test tells it to.
//!
//! Knows the marks of the protocols and the formats of providers, but neither the parser nor the client: what a text
//! means is decided elsewhere, so that the two sides cannot agree by accident. Everything is deterministic.

pub mod hostile;
pub mod model_server;
pub mod mutate;
pub mod plugins;
pub mod replies;
pub mod rng;
pub mod room;
pub mod soup;

pub use hostile::{HOSTILE, Hostile};
pub use mutate::{Mutator, shrink};
pub use rng::Rng;
