//! What changed in a run, and taking it back.

use axum::Json;
use axum::http::StatusCode;
use innkeeper_agent::instance::{
    CheckpointPage, CheckpointQuery, CheckpointView, DiffEnd, DiffQuery, Rollback, RollbackPlan,
    RollbackReceipt, RunDiff,
};
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{CheckpointId, RollbackScope, RunId};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::runs as shape;
use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::guard::{Body, PathOf, QueryOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(checkpoints, make_checkpoint))
        .routes(routes!(checkpoint))
        .routes(routes!(diff))
        .routes(routes!(rollback))
        .routes(routes!(rollback_plan))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    /// Only those after the one of this number.
    after: Option<u64>,
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// With all files there were.
    with_files: Option<bool>,
}

/// Oldest first.
#[utoipa::path(get, path = "/api/v1/runs/{runId}/checkpoints", tag = "runs", operation_id = "listCheckpoints",
    params(("runId" = String, Path), Which), responses((status = 200, body = shape::Checkpoints), Problem))]
async fn checkpoints(
    may: MayRead,
    PathOf(run): PathOf<RunId>,
    QueryOf(which): QueryOf<Which>,
) -> Result<Json<CheckpointPage>, Problem> {
    if let Some(limit) = which.limit.filter(|limit| !(1..=1_000).contains(limit)) {
        return Err(Problem::new(
            ErrorCode::HttpInvalidRequest,
            format!("limit: 1 to 1000, not {limit}"),
        ));
    }
    let query = CheckpointQuery {
        after: which.after.unwrap_or_default(),
        limit: which.limit.map(|limit| limit as usize),
        with_files: which.with_files.unwrap_or_default(),
    };
    let page = may.house.agents.checkpoints(&run, query).await?;
    Ok(Json(page))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct NewCheckpoint {
    /// Kept with it.
    note: Option<String>,
}

/// Of the files as they are now.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/checkpoints", tag = "runs", operation_id = "makeCheckpoint",
    params(("runId" = String, Path)), request_body = NewCheckpoint,
    responses((status = 201, body = shape::Checkpoint), Problem))]
async fn make_checkpoint(
    may: MayRun,
    PathOf(run): PathOf<RunId>,
    Body(asked): Body<NewCheckpoint>,
) -> Result<(StatusCode, Json<CheckpointView>), Problem> {
    let note = asked.note.unwrap_or_default();
    let made = may.house.agents.checkpoint(&run, &note).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

#[utoipa::path(get, path = "/api/v1/runs/{runId}/checkpoints/{checkpointId}", tag = "runs", operation_id = "readCheckpoint",
    params(("runId" = String, Path), ("checkpointId" = String, Path)),
    responses((status = 200, body = shape::Checkpoint), Problem))]
async fn checkpoint(
    may: MayRead,
    PathOf((run, id)): PathOf<(RunId, CheckpointId)>,
) -> Result<Json<CheckpointView>, Problem> {
    let found = may.house.agents.read_checkpoint(&run, &id).await?;
    Ok(Json(found))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Ends {
    /// `start`, `now` or a checkpoint; the start if nothing is said.
    from_checkpoint_id: Option<String>,
    /// Now if nothing is said.
    to_checkpoint_id: Option<String>,
    /// Files or folders, with commas between them; all if nothing is said.
    paths: Option<String>,
}

#[utoipa::path(get, path = "/api/v1/runs/{runId}/diff", tag = "runs", operation_id = "readDiff",
    params(("runId" = String, Path), Ends), responses((status = 200, body = shape::RunDiff), Problem))]
async fn diff(
    may: MayRead,
    PathOf(run): PathOf<RunId>,
    QueryOf(ends): QueryOf<Ends>,
) -> Result<Json<RunDiff>, Problem> {
    let end = |text: Option<String>, otherwise| match text {
        Some(text) => DiffEnd::parse(&text),
        None => Ok(otherwise),
    };
    let paths = ends.paths.unwrap_or_default();
    let paths = paths.split(',').filter(|path| !path.is_empty());
    let query = DiffQuery {
        from: end(ends.from_checkpoint_id, DiffEnd::Start)?,
        to: end(ends.to_checkpoint_id, DiffEnd::Now)?,
        paths: paths.map(str::to_owned).collect(),
    };
    let diff = may.house.agents.read_diff(&run, &query).await?;
    Ok(Json(diff))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(as = RollbackRun)]
struct Asked {
    /// `start` or a checkpoint.
    checkpoint_id: String,
    scope: Option<ScopeName>,
    /// Kept with it.
    reason: Option<String>,
    /// `lastSeq` of the plan that was agreed to: a run that has gone on since then is left as it is.
    planned_at: Option<u64>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
#[schema(as = RollbackScope)]
enum ScopeName {
    Workspace,
    CommittedMessage,
}

impl From<ScopeName> for RollbackScope {
    fn from(name: ScopeName) -> Self {
        match name {
            ScopeName::Workspace => Self::Workspace,
            ScopeName::CommittedMessage => Self::CommittedMessage,
        }
    }
}

/// Files and conversation are as they were then when it is answered. It is an event of the run, and can itself be undone.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/rollback", tag = "runs", operation_id = "rollbackRun",
    params(("runId" = String, Path)), request_body = Asked,
    responses((status = 200, body = Object), Problem))]
async fn rollback(
    may: MayRun,
    PathOf(run): PathOf<RunId>,
    Body(asked): Body<Asked>,
) -> Result<Json<RollbackReceipt>, Problem> {
    let receipt = may.house.agents.rollback(Rollback {
        run,
        to: DiffEnd::parse(&asked.checkpoint_id)?,
        scope: asked.scope.unwrap_or(ScopeName::Workspace).into(),
        reason: asked.reason,
        planned_at: asked.planned_at,
    });
    Ok(Json(receipt.await?))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Planned {
    /// `start` or a checkpoint.
    checkpoint_id: String,
    #[param(inline)]
    scope: Option<ScopeName>,
}

/// What a rollback would take back, before anything is.
#[utoipa::path(get, path = "/api/v1/runs/{runId}/rollback", tag = "runs", operation_id = "planRollback",
    params(("runId" = String, Path), Planned), responses((status = 200, body = Object), Problem))]
async fn rollback_plan(
    may: MayRead,
    PathOf(run): PathOf<RunId>,
    QueryOf(asked): QueryOf<Planned>,
) -> Result<Json<RollbackPlan>, Problem> {
    let to = DiffEnd::parse(&asked.checkpoint_id)?;
    let scope = asked.scope.unwrap_or(ScopeName::Workspace).into();
    let reader = may.house.agents.reader();
    Ok(Json(reader.rollback_plan(&run, &to, scope).await?))
}
