//! Where workflows are found that others refer to: groups, tools, the command line.

use std::sync::Arc;

use super::Workflow;

/// Finds workflows by the id inside the file, then by the file's stem, then by its name.
pub trait WorkflowSource: Send + Sync {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError>;
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    #[error("there is no workflow '{reference}'{hint}")]
    Unknown { reference: String, hint: String },
    #[error("more than one workflow is called '{reference}': {}; refer to it by its id", places.join(", "))]
    Ambiguous {
        reference: String,
        places: Vec<String>,
    },
    #[error("the workflow '{reference}' ({place}) cannot be read: {why}")]
    Broken {
        reference: String,
        place: String,
        why: String,
    },
}

/// There are none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWorkflows;

impl WorkflowSource for NoWorkflows {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        Err(FindError::Unknown {
            reference: reference.to_owned(),
            hint: String::new(),
        })
    }
}
