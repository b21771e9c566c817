//! Everything that is wrong with a workflow. Runs nothing.

use axum::Json;
use innkeeper_engine::{ExecutionEngine, Plan};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::library::Meant;
use super::read::Where;
use crate::api::asked::{blocking, scope};
use crate::api::shapes::workflows as shape;
use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::guard::{Body, PathOf, QueryOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(stored))
        .routes(routes!(written))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkflowReport)]
pub(super) struct Report {
    /// It can run.
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Of the file.
    nodes: usize,
    /// Those that would run, with those of its groups.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned_nodes: Option<usize>,
    errors: usize,
    warnings: usize,
    #[schema(value_type = Vec<shape::WorkflowProblem>)]
    problems: Vec<innkeeper_engine::Problem>,
    /// How many there are beyond those.
    more: usize,
}

impl Report {
    /// Blocks: groups are read from files.
    pub(super) fn of(meant: &Meant, engine: &ExecutionEngine) -> Self {
        let checked = meant.checked(engine);
        let workflow = meant.workflow.as_deref();
        let errors = checked.problems.errors().count();
        Self {
            ok: checked.plan.is_some(),
            id: workflow.and_then(|workflow| workflow.id.clone()),
            name: workflow.map(|workflow| workflow.name.clone()),
            nodes: workflow.map_or(0, |workflow| workflow.nodes.len()),
            planned_nodes: checked.plan.as_ref().map(Plan::len),
            errors,
            warnings: checked.problems.list.len() - errors,
            more: checked.problems.more,
            problems: checked.problems.list,
        }
    }
}

/// One that is kept.
#[utoipa::path(get, path = "/api/v1/workflows/{workflowId}/check", tag = "workflows", operation_id = "checkWorkflow",
    params(("workflowId" = String, Path), Where), responses((status = 200, body = Report), Problem))]
async fn stored(
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(place): QueryOf<Where>,
) -> Result<Json<Report>, Problem> {
    let scope = scope(place.project)?;
    let service = may.house.workflows.clone();
    let report = blocking(move || {
        let meant = Meant::named(&service, &scope, &id)?;
        Ok::<_, Problem>(Report::of(&meant, service.engine()))
    });
    Ok(Json(report.await??))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = CheckWorkflow)]
struct Asked {
    /// As it would stand in a file.
    text: String,
    project: Option<String>,
}

/// One that is not kept, perhaps not yet.
#[utoipa::path(post, path = "/api/v1/workflow-checks", tag = "workflows", operation_id = "checkWorkflowText",
    request_body = Asked, responses((status = 200, body = Report), Problem))]
async fn written(may: MayRun, Body(asked): Body<Asked>) -> Result<Json<Report>, Problem> {
    let scope = scope(asked.project)?;
    let service = may.house.workflows.clone();
    let report = blocking(move || {
        let meant = Meant::written(&service, &scope, &asked.text);
        Report::of(&meant, service.engine())
    });
    Ok(Json(report.await?))
}
