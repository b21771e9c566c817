//! What every request passes before anything is done for it, from the outside in.
//!
//! `request_id.rs` names it, `headers.rs` closes what comes back, `names.rs` checks Host and Origin, `rate.rs` how often somebody asks,
//! `sockets.rs` how many sockets somebody has, `body.rs` receives what is sent;
//! `input.rs` reads path, query and body, and says what is wrong with them.

mod body;
mod count;
mod headers;
mod input;
mod names;
mod rate;
mod request_id;
mod sockets;

pub(crate) use body::{Bodies, receive};
pub(crate) use count::count;
pub(crate) use headers::close_up;
pub(crate) use input::{Body, PathOf, QueryOf};
pub(crate) use names::{Names, check_names};
pub(crate) use rate::{Client, Peer, Rates, limit_strangers};
pub(crate) use request_id::name_request;
pub(crate) use sockets::Sockets;
