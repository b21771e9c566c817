//! The files of a run's workspace, and its papers.

use axum::Json;
use innkeeper_agent::workspace::host::HostFile;
use innkeeper_protocol::event::RunId;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::runs as shape;
use crate::app::App;
use crate::auth::MayRead;
use crate::guard::{PathOf, QueryOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(file))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Which {
    /// Relative to the workspace: `output/main.md`.
    path: String,
}

/// UTF-8 text, as the journal has it now.
#[utoipa::path(get, path = "/api/v1/runs/{runId}/file", tag = "runs", operation_id = "readWorkspaceFile",
    params(("runId" = String, Path), Which), responses((status = 200, body = shape::WorkspaceFile), Problem))]
async fn file(
    may: MayRead,
    PathOf(run): PathOf<RunId>,
    QueryOf(which): QueryOf<Which>,
) -> Result<Json<HostFile>, Problem> {
    let file = may.house.agents.read_workspace_file(&run, &which.path);
    Ok(Json(file.await?))
}
