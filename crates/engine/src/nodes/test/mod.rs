//! Nodes for trying things out.

mod widgets;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![widgets::node()]
}
