//! An execution as it is told of.

use std::sync::Arc;

use innkeeper_engine::{ExecutionStatus, NodeError};
use innkeeper_protocol::ErrorCode;
use serde::Serialize;
use serde_json::{Map, Value as Data};
use utoipa::ToSchema;

use crate::api::shapes::workflows as shape;
use crate::executions::Execution;
use crate::house::House;
use crate::problem::Problem;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Execution)]
pub(super) struct About {
    execution_id: String,
    /// The workflow's name.
    name: String,
    /// The id in its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    project: String,
    #[schema(value_type = shape::ExecutionStatus)]
    status: ExecutionStatus,
    #[schema(value_type = String, format = DateTime)]
    started_at: jiff::Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<jiff::Timestamp>,
    /// Number of its last event.
    last_seq: u64,
    /// Those that there are, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    outputs: Option<Map<String, Data>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Fault>,
    /// Nodes that failed, the first of many.
    #[serde(skip_serializing_if = "Option::is_none")]
    failures: Option<Vec<NodeFailure>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<usize>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ExecutionFault)]
struct Fault {
    message: String,
    /// Stable: `input.type`.
    code: String,
}

impl From<&NodeError> for Fault {
    fn from(error: &NodeError) -> Self {
        Self {
            message: error.message.clone(),
            code: error.code.clone(),
        }
    }
}

#[derive(Serialize, ToSchema)]
struct NodeFailure {
    node: String,
    #[serde(flatten)]
    fault: Fault,
}

impl About {
    pub(super) fn brief(execution: &Execution) -> Self {
        Self {
            execution_id: execution.id.clone(),
            name: execution.name.clone(),
            workflow: execution.workflow.clone(),
            project: execution.project.clone(),
            status: execution.status(),
            started_at: execution.started_at,
            ended_at: execution.end().map(|end| end.at),
            last_seq: execution.last_seq(),
            outputs: None,
            error: None,
            failures: None,
            failed: None,
        }
    }

    pub(super) fn whole(execution: &Execution) -> Self {
        let brief = Self::brief(execution);
        let Some(end) = execution.end() else {
            return brief;
        };
        let outcome = &end.outcome;
        let failures = outcome.failures.iter().map(|failure| NodeFailure {
            node: failure.node.to_string(),
            fault: Fault::from(&failure.error),
        });
        Self {
            outputs: Some(outcome.outputs_json()),
            error: outcome.error.as_ref().map(Fault::from),
            failures: Some(failures.collect()),
            failed: Some(outcome.failed),
            ..brief
        }
    }
}

pub(super) fn find(house: &House, id: &str) -> Result<Arc<Execution>, Problem> {
    house.executions.get(id).ok_or_else(|| unknown(id))
}

fn unknown(id: &str) -> Problem {
    let id = id.escape_debug();
    Problem::new(
        ErrorCode::HttpNotFound,
        format!("there is no execution '{id}'; those that ended long ago are not kept"),
    )
}
