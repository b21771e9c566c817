//! What built-in tools are made with: declarations that look alike, arguments as types, and work that is done
//! beside the async world and ends when nobody waits for it.

use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, Execution, ToolDefinition, ToolExample};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};
use tokio_util::sync::CancellationToken;

use super::Tool;
use crate::{Executor, Invocation, ToolError};

/// A tool that only reads and may run beside others; whoever does more changes the result.
pub(super) fn declare(
    id: &str,
    display_name: &str,
    description: &str,
    parameters: Json,
    output: Json,
) -> ToolDefinition {
    ToolDefinition {
        display_name: display_name.to_owned(),
        output: Some(output),
        execution: Execution {
            idempotent: true,
            parallel: true,
            ..Execution::default()
        },
        source: "builtin".to_owned(),
        ..ToolDefinition::new(id, description, parameters)
    }
}

pub(super) fn example(situation: &str, arguments: Json) -> Vec<ToolExample> {
    let arguments = match arguments {
        Json::Object(arguments) => arguments,
        _ => Map::new(),
    };
    vec![ToolExample {
        situation: situation.to_owned(),
        arguments,
    }]
}

pub(super) fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|&word| word.to_owned()).collect()
}

/// Arguments as a type. The schema has been checked before; this stands for callers that forgot.
pub(super) fn arguments<A: DeserializeOwned>(given: Map<String, Json>) -> Result<A, ToolError> {
    serde_json::from_value(Json::Object(given))
        .map_err(|error| ToolError::invalid(format!("The arguments cannot be read: {error}")))
}

pub(super) fn cancelled() -> ToolError {
    ToolError::new(ErrorCode::ToolCancelled, "The call was cancelled")
}

/// Whether the work is still wanted.
pub(super) struct Stop(CancellationToken);

impl Stop {
    pub(super) fn check(&self) -> Result<(), ToolError> {
        match self.0.is_cancelled() {
            true => Err(cancelled()),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
impl Stop {
    pub(super) fn never() -> Self {
        Self(CancellationToken::new())
    }

    pub(super) fn now() -> Self {
        let token = CancellationToken::new();
        token.cancel();
        Self(token)
    }
}

/// Does work that may take a while on a thread where nobody waits behind it. Loops inside ask [`Stop`], which
/// knows both of a cancelled call and of a dropped future.
pub(super) async fn aside<W>(cancel: &CancellationToken, work: W) -> Result<Json, ToolError>
where
    W: FnOnce(&Stop) -> Result<Json, ToolError> + Send + 'static,
{
    let stop = cancel.child_token();
    let _dropped = stop.clone().drop_guard();
    let done = tokio::task::spawn_blocking(move || work(&Stop(stop)));
    tokio::select! {
        biased;
        () = cancel.cancelled() => Err(cancelled()),
        done = done => done.unwrap_or_else(|_| {
            Err(ToolError::failed("The tool broke down over these arguments; this is a fault of the tool")
                .permanent())
        }),
    }
}

/// A tool that only computes.
pub(super) struct Compute<A>(fn(A, &Stop) -> Result<Json, ToolError>);

#[async_trait]
impl<A: DeserializeOwned + 'static> Executor for Compute<A> {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let work = self.0;
        let given = call.arguments;
        aside(&call.context.cancel, move |stop| {
            work(arguments(given)?, stop)
        })
        .await
    }
}

pub(super) fn compute<A: DeserializeOwned + 'static>(
    definition: ToolDefinition,
    work: fn(A, &Stop) -> Result<Json, ToolError>,
) -> Tool {
    (definition, Arc::new(Compute(work)))
}
