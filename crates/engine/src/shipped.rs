//! Workflows that ship with the engine: ready to run, to be copied, and to be used as groups.

use std::sync::{Arc, LazyLock};

use crate::workflow::{FindError, Workflow, WorkflowSource};

/// One of them.
#[derive(Debug, Clone)]
pub struct Shipped {
    /// How others refer to it: `core:LLMDecisionWithTools`.
    pub id: &'static str,
    /// The file, for whoever wants to copy and change it.
    pub text: &'static str,
    pub workflow: Arc<Workflow>,
}

const FILES: [(&str, &str); 5] = [
    (
        "core:LLMDecisionWithTools",
        include_str!("../workflows/llm-decision-with-tools.json"),
    ),
    ("agent-loop", include_str!("../workflows/agent-loop.json")),
    (
        "deliberation",
        include_str!("../workflows/deliberation.json"),
    ),
    ("summarise", include_str!("../workflows/summarise.json")),
    ("report", include_str!("../workflows/report.json")),
];

/// A test reads every file, so none is missing here.
static ALL: LazyLock<Vec<Shipped>> = LazyLock::new(|| {
    let read = FILES.iter().filter_map(|(id, text)| {
        Some(Shipped {
            id,
            text,
            workflow: Arc::new(Workflow::read(text).workflow?),
        })
    });
    read.collect()
});

pub fn list() -> &'static [Shipped] {
    &ALL
}

pub fn find(id: &str) -> Option<Arc<Workflow>> {
    let found = ALL.iter().find(|shipped| shipped.id == id);
    found.map(|shipped| shipped.workflow.clone())
}

/// A source that also knows the shipped workflows. Its own come first, so that a person can put another in the place of
/// a shipped one.
#[derive(Debug, Clone, Copy, Default)]
pub struct WithShipped<S>(pub S);

impl<S: WorkflowSource> WorkflowSource for WithShipped<S> {
    fn find(&self, reference: &str) -> Result<Arc<Workflow>, FindError> {
        match self.0.find(reference) {
            Err(FindError::Unknown { hint, .. }) => find(reference).ok_or_else(|| {
                let known = ALL.iter().map(|shipped| shipped.id);
                let hint = match hint.is_empty() {
                    true => crate::problem::did_you_mean(reference, known),
                    false => hint,
                };
                FindError::Unknown {
                    reference: reference.to_owned(),
                    hint,
                }
            }),
            found => found,
        }
    }
}

#[cfg(test)]
#[path = "shipped_tests.rs"]
mod tests;
