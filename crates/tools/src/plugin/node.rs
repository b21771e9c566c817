//! A node that a plugin adds to workflows: its definition, and the script behind it.

use std::path::PathBuf;

pub use innkeeper_engine::{
    Bypass, DataFlowType, NodeDefinition, NodeInput, NodeMode, NodeShape, NodeSlot,
};

use super::ScriptCommand;

#[derive(Debug, Clone, PartialEq)]
pub struct PluginNode {
    pub definition: NodeDefinition,
    /// What stands behind it; `None` for one that lives in the page alone (`isUiNode`).
    pub command: Option<ScriptCommand>,
    /// Relative to the plugin's folder.
    pub file: PathBuf,
}
