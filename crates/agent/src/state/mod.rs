//! What agents keep beside their files: the private state of each, and the world that those of a chat share.
//!
//! Both are JSON objects with a version, changed by the tools of `innkeeper_tools::builtin::state`, held to a schema where
//! there is one, and told with who changed what.
//!
//! - The private state is a file of the run's workspace in `persist` that no file tool sees (`document.rs`, `private.rs`). So
//!   it takes effect with the end of the call, goes back with a checkpoint, and follows the message of the chat.
//! - The world is in the store (`world.rs`), for runs that go on at the same time change it. It takes effect at once, and once for
//!   each call.
//! - Pure: `decide.rs` (what comes of changes), `difference.rs` (what is different), `version.rs` (what is kept of that),
//!   `schema.rs`. `desk.rs` is what the tools of one run have of it; `kept.rs` is for people who look at it and correct it.

mod decide;
mod desk;
mod difference;
mod document;
mod kept;
mod private;
mod schema;
mod version;
mod world;

use std::sync::Arc;

use innkeeper_tools::builtin::Tool;
use innkeeper_tools::builtin::state::{private_tools, world_tools};

use crate::workspace::Workspaces;

pub use desk::{StateDesk, WorldChange};
pub use difference::{StateChange, differences};
pub(crate) use document::{STATE_FOLDER, private_state_path};
pub use kept::{KeptState, KeptStates};
pub use version::{Author, StateVersion};
pub use world::{WorldView, Worlds};

/// The tools of both, ready to be registered.
pub fn tools(workspaces: &Workspaces) -> Vec<Tool> {
    let mut all = private_tools(Arc::new(private::PrivateStates(workspaces.clone())));
    all.extend(world_tools(Arc::new(world::WorldOfRun(workspaces.clone()))));
    all
}

#[cfg(test)]
mod tests;
