//! Which tools fit a question: for models that are told of some of many, and for people.
//!
//! - `words.rs`, `stem.rs`: what a text is cut into. `glossary.rs`: what else means the same, in two languages.
//! - `index.rs`: BM25 over the words of tools. `query.rs`: a question. `past.rs`: what calls of the past add.
//! - `fusion.rs`: a second judge beside the words, and one order from both.
//!
//! All that computes and touches nothing. `finder.rs` brings it to the registry, the policy and the audit log of a house. How
//! many a model is told of is the agent's business.

mod finder;
mod fusion;
mod glossary;
mod index;
mod past;
mod query;
#[cfg(test)]
mod recall_tests;
mod stem;
mod words;

pub(crate) use finder::Finder;
pub use finder::Found;
pub use fusion::{Scorer, fuse};
pub use index::{Hit, Index, K1};
pub use past::Past;
pub use query::Query;
