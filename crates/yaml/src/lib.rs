//! YAML that people wrote, as a tree that remembers where everything stood.
//!
//! [`read`] makes a [`Node`] of a text within [`Bounds`], or says why not with a [`Fault`]. What the values mean, how
//! much a file may hold and how a fault is worded is left to whoever knows what kind of file it is.

mod fault;
mod read;
mod tree;

pub use fault::{Fault, Why};
pub use read::{Bounds, read};
pub use tree::{Entry, Node, Position, Value};
