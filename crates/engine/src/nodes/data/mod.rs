//! Nodes that look into data, or turn it.

mod convert;
mod json_selector;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![convert::node(), json_selector::node()]
}
