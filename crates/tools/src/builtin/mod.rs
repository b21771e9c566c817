//! Tools that come with the house. Each module gives a list of definitions with what runs them.

pub mod clock;
pub mod code;
mod declare;
pub mod dice;
pub mod event;
pub mod file;
pub mod http;
pub mod json_query;
pub mod search;
pub mod state;
pub mod task;
#[cfg(test)]
mod testing;
pub mod text;

use std::sync::Arc;

use innkeeper_protocol::ToolDefinition;

use crate::Executor;
use crate::registry::{Offer, Prepared, RegisterError, Source};

/// What a model is told about a tool, and what runs it.
pub type Tool = (ToolDefinition, Arc<dyn Executor>);

/// The name of the source that all of them belong to.
pub const SOURCE: &str = "builtin";

/// Each tool stands on a service of its own name, so that a plugin can be allowed to replace it.
pub fn source(tools: impl IntoIterator<Item = Tool>) -> Result<Source, RegisterError> {
    let mut source = Source::default();
    for (definition, executor) in tools {
        let service = definition.id.to_string();
        source.tools.push(Offer::of_service(
            Prepared::new(definition)?,
            service.clone(),
        ));
        source.services.push((service, executor));
    }
    Ok(source)
}
