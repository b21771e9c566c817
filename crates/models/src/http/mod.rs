//! One request over the network, sent once.
//!
//! Owns the connection, its timeouts, and what a refused or broken request is called. Trying again, and choosing whom to
//! ask, is `channel`.

mod attempt;
mod client;
mod endpoint;
mod failure;
mod list;
mod place;
mod reading;
mod retry_after;
mod status;
mod timeouts;
mod veil;

#[cfg(test)]
mod fake;

pub(crate) use self::attempt::Attempt;
pub use self::client::HttpClient;
pub(crate) use self::endpoint::{Endpoint, Header};
pub use self::list::ListedModel;
pub(crate) use self::list::listed;
pub use self::timeouts::Timeouts;
