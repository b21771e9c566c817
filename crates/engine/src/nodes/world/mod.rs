//! Nodes that reach the world, each through a tool: what they do is allowed, audited and stopped like any other call.

mod call;
mod code;
mod event;
pub(in crate::nodes) mod file;
mod file_nodes;
mod http;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![
        http::node(),
        file_nodes::read(),
        file_nodes::write(),
        code::node(),
        event::publish(),
        event::subscribe(),
    ]
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
