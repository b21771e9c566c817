//! A single node as a workflow: what it takes is set, what it makes is what the workflow gives.

use serde_json::{Map, Value as Json};

use super::Workflow;
use crate::NodeType;

impl Workflow {
    /// The mode and other settings are in `config`.
    pub fn of_node(kind: &NodeType, config: Map<String, Json>, inputs: Map<String, Json>) -> Self {
        let definition = &kind.definition;
        let mode = definition.mode_key.as_ref().and_then(|key| {
            let set = config.get(key).or(definition.config_values.get(key));
            let id = set
                .and_then(Json::as_str)
                .or(definition.default_mode.as_deref());
            definition.mode(id?)
        });
        let shape = mode.map_or(&definition.shape, |mode| &mode.shape);
        let mut workflow = Self::new(definition.display_name.clone());
        let node = workflow.add_node(kind.full_type(), NODE);
        node.config = config;
        node.inputs = inputs;
        workflow.add_node("core:GroupOutput", END);
        for slot in &shape.outputs {
            let output = workflow.add_output(&slot.key, slot.flow);
            output.is_stream = slot.is_stream;
            output.display_name = slot.display_name.clone();
            output.description = slot.description.clone();
            output.match_categories = slot.match_categories.clone();
            workflow.connect((NODE, &slot.key), (END, &slot.key));
        }
        workflow
    }
}

const NODE: &str = "node";
const END: &str = "end";
