use std::sync::Arc;

use super::*;
use crate::node::{NodeBuilder, text};
use crate::{EngineOptions, ExecutionEngine, NoWorkflows, NodeManager};

/// Node types that other folders bring stand in where they are missing.
fn engine() -> ExecutionEngine {
    let nodes = NodeManager::new();
    if nodes.types().get("core:Template").is_none() {
        let mut node = NodeBuilder::core("Template", "Text", "Template", "");
        node.input(text("template").required());
        node.output(text("text"));
        node.dynamic();
        nodes
            .replace("test", vec![node.inline(|_| Ok(()))])
            .unwrap();
    }
    ExecutionEngine::new(nodes, EngineOptions::default())
}

#[test]
fn every_file_is_read_and_can_be_run_without_a_word_of_warning() {
    assert_eq!(list().len(), FILES.len());
    for shipped in list() {
        let reading = Workflow::read(shipped.text);
        assert!(
            reading.problems.is_empty(),
            "{}: {}",
            shipped.id,
            reading.problems
        );
        assert_eq!(shipped.workflow.id.as_deref(), Some(shipped.id));
        let prepared = engine().prepare(&shipped.workflow, &WithShipped(NoWorkflows));
        assert!(
            prepared.plan.is_some(),
            "{}: {}",
            shipped.id,
            prepared.problems
        );
        assert!(
            prepared.problems.is_empty(),
            "{}: {}",
            shipped.id,
            prepared.problems
        );
    }
}

#[test]
fn nodes_do_not_lie_on_each_other() {
    const WIDTH: f64 = 280.0;
    const HEIGHT: f64 = 120.0;
    for shipped in list() {
        let nodes = &shipped.workflow.nodes;
        for (number, one) in nodes.iter().enumerate() {
            for two in nodes
                .iter()
                .skip(number + 1)
                .filter(|two| two.parent == one.parent)
            {
                let (a, b) = (one.position.unwrap(), two.position.unwrap());
                let apart = (a.0 - b.0).abs() >= WIDTH || (a.1 - b.1).abs() >= HEIGHT;
                assert!(apart, "{}: {} and {}", shipped.id, one.id, two.id);
            }
        }
    }
}

struct Own(Arc<Workflow>);

impl WorkflowSource for Own {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        match reference {
            "summarise" => Ok(self.0.clone()),
            _ => NoWorkflows.find(reference),
        }
    }
}

#[test]
fn a_persons_own_workflow_comes_first() {
    let own = Arc::new(Workflow::new("mine"));
    let source = WithShipped(Own(own.clone()));
    assert!(Arc::ptr_eq(&source.find("summarise").unwrap(), &own));
    assert_eq!(source.find("report").unwrap().id.as_deref(), Some("report"));
    let error = source.find("agent-lop").unwrap_err().to_string();
    assert!(error.contains("did you mean 'agent-loop'"), "{error}");
}
