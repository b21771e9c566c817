//! What is told while it happens, over one WebSocket for many runs: JSON-RPC 2.0, both ways.
//!
//! `rpc.rs` is the form of what is said, `socket.rs` one connection, `subscription.rs` one run that it follows, `execution.rs` one workflow. Nobody
//! who is slow holds up a run: a subscription keeps no queue but reads on where it was.

mod execution;
mod mouth;
mod rpc;
mod socket;
mod subscription;

pub(crate) use mouth::Mouth;
pub(crate) use rpc::told;
pub(crate) use socket::routes;
