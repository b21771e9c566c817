//! The tools that are always there.

pub mod file;
pub mod task;
