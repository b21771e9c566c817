//! Nodes of an agent: which tools it has, what it is told, what it decides, and what its tools do.

mod available_tools;
mod context;
mod decision;
mod execute_tool;
mod parse_decision;
mod references;
mod reply_stream;
mod request_json;
pub(in crate::nodes) mod toolbox;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![
        available_tools::node(),
        context::node(),
        context::append(),
        parse_decision::node(),
        execute_tool::node(),
        reply_stream::node(),
        decision::node(),
    ]
}

#[cfg(test)]
#[path = "loop_tests.rs"]
mod loop_tests;
#[cfg(test)]
#[path = "agent_tests.rs"]
mod tests;
