//! LLMDecisionWithTools: a group that ships with the engine, as a node of its own.

use crate::node::{Behaviour, NodeBuilder, NodeType, Structure, text};

/// The id of the workflow behind it.
const WORKFLOW: &str = "core:LLMDecisionWithTools";

pub(super) fn node() -> NodeType {
    let mut node = NodeBuilder::core(
        "LLMDecisionWithTools",
        "Agent",
        "Decide with tools",
        "An agent's decision: tells a model of its tools, asks it, and reads what it decided. A group; open it to change it",
    );
    node.alias("core:LLMDecisionWithToolsNode");
    node.dynamic().setting(
        text("referencedWorkflowId")
            .title("Workflow")
            .about("Another workflow with the same interface takes its place")
            .default(WORKFLOW),
    );
    let mut node = node.behave(Behaviour::Structure(Structure::NodeGroup));
    let values = &mut node.definition.config_values;
    values.insert("referencedWorkflowId".into(), WORKFLOW.into());
    node
}
