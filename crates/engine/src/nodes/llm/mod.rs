//! Nodes that ask a language model. Which model answers, and how it is reached, is for whoever runs the workflow.

mod api_request;
pub(in crate::nodes) mod ask;
mod generic;
mod openai;
mod summarizer;

use crate::NodeType;

pub(super) fn all() -> Vec<NodeType> {
    vec![
        api_request::node(),
        generic::node(),
        openai::settings(),
        openai::openai(),
        openai::chat(),
        summarizer::node(),
    ]
}

#[cfg(test)]
#[path = "llm_tests.rs"]
mod tests;
