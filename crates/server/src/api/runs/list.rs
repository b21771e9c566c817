//! Which runs there are.

use axum::Json;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{RunId, RunStatus};
use innkeeper_store::journal::{RunCursor, RunFilter, RunRecord};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::runs as shape;
use crate::app::App;
use crate::auth::MayRead;
use crate::guard::{PathOf, QueryOf};
use crate::problem::Problem;

const MOST: u32 = 200;
const USUAL: u32 = 50;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    stable_chat_id: Option<String>,
    /// Several, with commas between them.
    #[param(example = "completed,failed")]
    statuses: Option<String>,
    /// With `beforeRunId`: only older ones.
    #[param(format = DateTime)]
    before_created_at: Option<String>,
    before_run_id: Option<String>,
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    runs: Vec<RunRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<RunCursor>,
}

/// Newest first.
#[utoipa::path(get, path = "/api/v1/runs", tag = "runs", operation_id = "listRuns", params(Query),
    responses((status = 200, body = shape::RunPage), Problem))]
async fn list(may: MayRead, QueryOf(query): QueryOf<Query>) -> Result<Json<Page>, Problem> {
    let filter = filter(query)?;
    let page = may.house.agents.list(&filter).await?;
    Ok(Json(Page {
        runs: page.runs,
        next_cursor: page.next,
    }))
}

fn filter(query: Query) -> Result<RunFilter, Problem> {
    let wrong = |message: String| Problem::new(ErrorCode::HttpInvalidRequest, message);
    let statuses = query.statuses.as_deref().unwrap_or_default();
    let statuses = statuses
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let statuses: Result<Vec<RunStatus>, Problem> = statuses
        .map(|name| {
            let parsed = serde_json::from_value(name.into());
            parsed.map_err(|_| wrong(format!("statuses: '{name}' is no status of a run")))
        })
        .collect();
    let before = match (query.before_created_at, query.before_run_id) {
        (None, None) => None,
        (Some(created_at), Some(run_id)) => Some(RunCursor {
            created_at: created_at
                .parse::<Timestamp>()
                .map_err(|_| wrong("beforeCreatedAt: no time like 2026-01-31T12:00:00Z".into()))?,
            run_id: RunId::new(run_id),
        }),
        _ => {
            return Err(wrong(
                "beforeCreatedAt and beforeRunId belong together; give both or neither".into(),
            ));
        }
    };
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(wrong(format!("limit: 1 to {MOST}, not {limit}")));
    }
    Ok(RunFilter {
        stable_chat_id: query.stable_chat_id,
        workspace_id: None,
        statuses: statuses?,
        before,
        limit: limit as usize,
    })
}

/// As it stands now.
#[utoipa::path(get, path = "/api/v1/runs/{runId}", tag = "runs", operation_id = "readRun",
    params(("runId" = String, Path)), responses((status = 200, body = shape::Run), Problem))]
async fn read(may: MayRead, PathOf(run): PathOf<RunId>) -> Result<Json<RunRecord>, Problem> {
    Ok(Json(may.house.agents.record(&run).await?))
}
