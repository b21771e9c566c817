//! Who somebody is, and how far they may go.
//!
//! `token.rs` makes and reads the secrets, `doorkeeper.rs` knows which of them open the door, `credentials.rs` finds them in a request,
//! `identity.rs` is what comes of it, `password.rs` is for houses with several people, `watch.rs` for what stays open.

mod credentials;
mod doorkeeper;
mod identity;
mod password;
mod token;
mod watch;

pub(crate) use credentials::{Means, session_cookie};
pub use doorkeeper::{Doorkeeper, Paired};
pub(crate) use identity::{Identity, MayAdmin, MayRead, MayRun};
pub(crate) use identity::{authenticate, changing_needs_run};
pub use password::{BadPassword, hash_password};
pub use token::{NoChance, PairingCode, Token};
pub(crate) use watch::TokenWatch;
