//! The way of one call, one file a step.

pub(crate) mod substitute;
pub(crate) mod validate;
