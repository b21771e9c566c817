//! The chat that a run belongs to, as far as the run may see it, and the world info of its prompt; with the tools that
//! read them. Nothing here changes either.

mod message;
pub(crate) mod numbered;
pub(crate) mod pieces;
mod prefix;
mod read_messages;
mod search;
mod world_info;

use std::sync::Arc;

use innkeeper_tools::builtin::Tool;

use crate::workspace::Workspaces;

pub use message::{ChatFault, ChatMessage, ChatView, Role};
pub use prefix::{PrefixFault, input_prefix};
pub use search::{SearchQuery, search_messages};

/// `chat.search`, `chat.read_messages`, `worldinfo.read_activated`, ready to be registered.
pub fn tools(workspaces: &Workspaces) -> Vec<Tool> {
    vec![
        (
            search::definition(),
            Arc::new(search::Search(workspaces.clone())),
        ),
        (
            read_messages::definition(),
            Arc::new(read_messages::ReadMessages(workspaces.clone())),
        ),
        (
            world_info::definition(),
            Arc::new(world_info::ReadActivated(workspaces.clone())),
        ),
    ]
}

#[cfg(test)]
#[path = "chat_tests.rs"]
mod tests;
