//! What must survive: runs and what they made, the audit log, grants, requests. And the bus on which things are told.
//!
//! - [`Store`] is one SQLite file. Everything is written by one task in group commits (`writer.rs`) and read over
//!   connections of its own; several processes may use one file.
//! - [`journal::RunJournal`] holds what happened in each run, [`Contents`] what runs made; [`StateStore`]
//!   what they leave to later ones, [`WorldStore`] what they share; [`TaskStore`] and [`Control`] what is under way and what is wanted. These are traits that say nothing of SQLite.
//!   [`HomeLock`] is the right to drive runs.
//! - [`AuditLog`] is only ever added to, and its records are chained, so that tampering shows. An [`OpenCall`] is
//!   written down before it runs, so that not even a crash leaves a call without a record.
//! - [`Grants`] are the answers "always"; [`Requests`] make a request with an id take effect once.
//! - [`Access`] is who may come in over the network; [`Chats`] are those that the house keeps itself.
//! - [`EventBus`] tells whoever listens; [`LocalBus`] does so within one process.
//!
//! What is logged, allowed or asked for is decided above; nothing here knows tools or policies.

mod access;
mod audit;
mod audit_chain;
mod audit_past;
mod audit_verify;
mod bus;
mod chat_changes;
mod chats;
mod content;
mod control;
mod database;
mod depth;
mod error;
mod grants;
mod home_lock;
pub mod journal;
pub mod limits;
mod local_bus;
mod open_calls;
mod owner;
mod repair;
mod request_changes;
mod requests;
mod reserve;
mod rows;
mod schema;
mod states;
mod store;
mod tasks;
mod worlds;
mod writer;

pub use access::{Access, AccessToken, NewCode, NewToken, NoScope, Person, Scope};
pub use audit::{AuditDecision, AuditEntry, AuditFilter, AuditLog, AuditOutcome, AuditRecord};
pub use audit_past::PastCall;
pub use audit_verify::{BrokenLink, Tampering, Verification};
pub use bus::{BusError, BusEvent, Delivery, EventBus, EventSource, Received, Subscription};
pub use chats::{
    ChatCursor, ChatEdit, ChatEdited, ChatFilter, ChatKind, ChatPlace, ChatRecord, ChatValue,
    Chats, MessageChange, NewChat,
};
pub use content::{Blob, BlobId, Contents, Swept, Tree, TreeFile, TreeId};
pub use control::{Control, ControlMessage};
pub use error::StoreError;
pub use grants::{Grant, GrantKey, Grants};
pub use home_lock::HomeLock;
pub use local_bus::LocalBus;
pub use open_calls::OpenCall;
pub use repair::{CheckProgress, CheckReport, Damage, RepairReport, RunRepair, TableLoss};
pub use requests::{Claim, ClaimToken, Requests};
pub use states::{StateRecord, StateStore, run_of_state};
pub use store::Store;
pub use tasks::{TaskRecord, TaskStore};
pub use worlds::{World, WorldStore, WorldUpdate, WorldUpdated};
