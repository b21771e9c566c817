//! What must survive: the audit log, grants, requests. And the bus on which things are told.
//!
//! - [`Store`] is one SQLite file. Everything is written by one task in group commits (`writer.rs`) and read over
//!   connections of its own; several processes may use one file.
//! - [`AuditLog`] is only ever added to, and its records are chained, so that tampering shows. An [`OpenCall`] is
//!   written down before it runs, so that not even a crash leaves a call without a record.
//! - [`Grants`] are the answers "always"; [`Requests`] make a request with an id take effect once.
//! - [`EventBus`] tells whoever listens; [`LocalBus`] does so within one process.
//!
//! What is logged, allowed or asked for is decided above; nothing here knows tools or policies.

mod audit;
mod audit_chain;
mod audit_verify;
mod bus;
mod database;
mod depth;
mod error;
mod grants;
pub mod limits;
mod local_bus;
mod open_calls;
mod owner;
mod request_changes;
mod requests;
mod schema;
mod store;
mod writer;

pub use audit::{AuditDecision, AuditEntry, AuditFilter, AuditLog, AuditOutcome, AuditRecord};
pub use audit_verify::{BrokenLink, Tampering, Verification};
pub use bus::{BusError, BusEvent, Delivery, EventBus, EventSource, Received, Subscription};
pub use error::StoreError;
pub use grants::{Grant, GrantKey, Grants};
pub use local_bus::LocalBus;
pub use open_calls::OpenCall;
pub use requests::{Claim, ClaimToken, Requests};
pub use store::Store;
