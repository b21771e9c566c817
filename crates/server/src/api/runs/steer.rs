//! What people want of a run that is there: cancel it, tell it something, go on with it, begin another from it.

use axum::Json;
use axum::http::StatusCode;
use innkeeper_agent::instance::{DiffEnd, Fork, GuidanceReceipt, RunHandle};
use innkeeper_protocol::event::{RunId, TaskId};
use serde::Deserialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::runs as shape;
use crate::app::App;
use crate::auth::MayRun;
use crate::guard::{Body, PathOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(cancel))
        .routes(routes!(cancel_task))
        .routes(routes!(guide))
        .routes(routes!(resume))
        .routes(routes!(fork))
        .routes(routes!(delete))
}

/// Ends everything under way. A run that is over stays as it is.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/cancel", tag = "runs", operation_id = "cancelRun",
    params(("runId" = String, Path)), responses((status = 200, body = shape::RunHandle), Problem))]
async fn cancel(may: MayRun, PathOf(run): PathOf<RunId>) -> Result<Json<RunHandle>, Problem> {
    Ok(Json(may.house.agents.cancel(&run).await?))
}

/// Ends one agent that works for another; the others go on.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/tasks/{taskId}/cancel", tag = "runs", operation_id = "cancelTask",
    params(("runId" = String, Path), ("taskId" = String, Path)),
    responses((status = 200, body = shape::RunHandle), Problem))]
async fn cancel_task(
    may: MayRun,
    PathOf((run, task)): PathOf<(RunId, TaskId)>,
) -> Result<Json<RunHandle>, Problem> {
    let cancelled = may.house.agents.cancel_task(&run, &task).await?;
    Ok(Json(cancelled))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Guidance {
    #[schema(min_length = 1, max_length = 16_000)]
    text: String,
    /// The same piece twice is one.
    client_guidance_id: Option<String>,
}

/// Told to the model just before it is next asked.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/guidance", tag = "runs", operation_id = "submitGuidance",
    params(("runId" = String, Path)), request_body = Guidance,
    responses((status = 202, body = shape::Guided), Problem))]
async fn guide(
    may: MayRun,
    PathOf(run): PathOf<RunId>,
    Body(asked): Body<Guidance>,
) -> Result<(StatusCode, Json<GuidanceReceipt>), Problem> {
    let client_id = asked.client_guidance_id;
    let receipt = may.house.agents.guide(&run, &asked.text, client_id);
    Ok((StatusCode::ACCEPTED, Json(receipt.await?)))
}

#[derive(Deserialize, Default, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resume {
    /// Beyond those that it has.
    #[schema(minimum = 1)]
    additional_rounds: Option<u32>,
    /// What the agent is told with its next request.
    text: Option<String>,
}

/// Goes on with a run that was stopped or interrupted, has failed, or waits for a person.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/resume", tag = "runs", operation_id = "resumeRun",
    params(("runId" = String, Path)), request_body = Resume,
    responses((status = 200, body = shape::RunHandle), Problem))]
async fn resume(
    may: MayRun,
    PathOf(run): PathOf<RunId>,
    Body(asked): Body<Resume>,
) -> Result<Json<RunHandle>, Problem> {
    let told = asked.text.as_deref();
    let resumed = may.house.agents.resume(&run, asked.additional_rounds, told);
    Ok(Json(resumed.await?))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = ForkRun)]
struct Asked {
    /// `start`, `now` or a checkpoint; now if nothing is said.
    checkpoint_id: Option<String>,
    /// What the agent is told with its first request.
    text: Option<String>,
    /// Another agent.
    profile_id: Option<String>,
    model: Option<String>,
    /// Whether it is at work at once; it is, if nothing is said.
    starts: Option<bool>,
}

/// A new run from any checkpoint of any run. The run it comes from is not touched.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/fork", tag = "runs", operation_id = "forkRun",
    params(("runId" = String, Path)), request_body = Asked,
    responses((status = 201, body = shape::RunHandle), Problem))]
async fn fork(
    may: MayRun,
    PathOf(run): PathOf<RunId>,
    Body(asked): Body<Asked>,
) -> Result<(StatusCode, Json<RunHandle>), Problem> {
    let at = match asked.checkpoint_id {
        Some(text) => DiffEnd::parse(&text)?,
        None => DiffEnd::Now,
    };
    let forked = may.house.agents.fork(Fork {
        run,
        at,
        told: asked.text,
        profile: asked.profile_id,
        model: asked.model,
        starts: asked.starts.unwrap_or(true),
    });
    Ok((StatusCode::CREATED, Json(forked.await?)))
}

/// With its events and what only it has kept. One that is at work is refused.
#[utoipa::path(delete, path = "/api/v1/runs/{runId}", tag = "runs", operation_id = "deleteRun",
    params(("runId" = String, Path)), responses((status = 204), Problem))]
async fn delete(may: MayRun, PathOf(run): PathOf<RunId>) -> Result<StatusCode, Problem> {
    may.house.agents.record(&run).await?;
    may.house.agents.delete(&run).await?;
    Ok(StatusCode::NO_CONTENT)
}
