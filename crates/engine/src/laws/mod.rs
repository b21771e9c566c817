//! Laws of the engine: what holds for every workflow, tried on many that chance has made.
//!
//! - `nodes.rs` are the nodes, `graph.rs` makes workflows of them (`streams/` has its own of both);
//! - `interpreter/` runs a workflow in the plainest way, for the engine to be held against;
//! - the others are the laws.

mod cache;
mod cancel;
mod events;
mod found;
mod graph;
mod hostile;
mod interpreter;
mod nodes;
mod results;
mod streams;
