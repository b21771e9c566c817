//! How what comes from below looks on the wire, for the description of the API alone: nothing is ever made of these.
//! `make test` compares what the server really answers with them.

#![allow(dead_code, reason = "read by the derive, never made")]

pub(super) mod audit;
pub(super) mod calls;
pub(super) mod files;
pub(super) mod runs;
pub(super) mod tasks;
pub(super) mod tools;
pub(super) mod workflows;
