//! Nodes that work on streams, and on time.

mod delay;
mod logger;
mod suffix;
mod to_string;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![
        logger::node(),
        suffix::node(),
        to_string::node(),
        delay::node(),
    ]
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
