//! How an execution stands, and what has happened in it.

use std::sync::Arc;

use axum::Json;
use innkeeper_engine::ExecutionEvent;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::about::{About, find};
use crate::api::asked::{limit, number, wait};
use crate::api::shapes::workflows as shape;
use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::guard::{PathOf, QueryOf};
use crate::limits::MAX_WAIT;
use crate::problem::Problem;

const USUAL: u32 = 100;
const MOST: u32 = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
        .routes(routes!(cancel))
        .routes(routes!(events))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// Only older ones: the next page.
    before: Option<String>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ExecutionPage)]
struct Page {
    executions: Vec<About>,
    /// Give it as `before` for the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// Newest first, without what came of them: those at work, and those that ended lately.
#[utoipa::path(get, path = "/api/v1/executions", tag = "workflows", operation_id = "listExecutions", params(Query),
    responses((status = 200, body = Page), Problem))]
async fn list(may: MayRead, QueryOf(query): QueryOf<Query>) -> Result<Json<Page>, Problem> {
    let limit = limit(query.limit, USUAL, MOST)?;
    let all = may.house.executions.list();
    let before = query.before.as_deref();
    let mut older = all
        .iter()
        .filter(|one| before.is_none_or(|before| *one.id < *before));
    let page: Vec<_> = older.by_ref().take(limit).collect();
    let next_cursor = older.next().and(page.last().map(|last| last.id.clone()));
    Ok(Json(Page {
        executions: page.into_iter().map(|one| About::brief(one)).collect(),
        next_cursor,
    }))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Wait {
    /// Wait so long for its end before answering.
    #[param(minimum = 0, maximum = 30000)]
    wait_ms: Option<u64>,
}

/// As it stands, with what came of it once it has ended.
#[utoipa::path(get, path = "/api/v1/executions/{executionId}", tag = "workflows", operation_id = "readExecution",
    params(("executionId" = String, Path), Wait), responses((status = 200, body = About), Problem))]
async fn read(
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(asked): QueryOf<Wait>,
) -> Result<Json<About>, Problem> {
    let wait = wait(asked.wait_ms)?;
    let execution = find(&may.house, &id)?;
    execution.wait(wait).await;
    Ok(Json(About::whole(&execution)))
}

/// Ends everything under way, and waits for it. One that has ended stays as it is.
#[utoipa::path(post, path = "/api/v1/executions/{executionId}/cancel", tag = "workflows", operation_id = "cancelExecution",
    params(("executionId" = String, Path)), responses((status = 200, body = About), Problem))]
async fn cancel(may: MayRun, PathOf(id): PathOf<String>) -> Result<Json<About>, Problem> {
    let execution = find(&may.house, &id)?;
    execution.cancel();
    execution.wait(MAX_WAIT).await;
    Ok(Json(About::whole(&execution)))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct After {
    /// The first ones after this number.
    #[param(maximum = 9007199254740991u64)]
    after_seq: Option<u64>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ExecutionEvents)]
struct Events {
    /// In ascending order, without a gap among them.
    #[schema(value_type = Vec<shape::ExecutionEvent>)]
    events: Vec<Arc<ExecutionEvent>>,
    /// So many between `afterSeq` and the first of them are kept no more.
    missed: u64,
}

/// What has happened in it; of a long one the last events are kept.
#[utoipa::path(get, path = "/api/v1/executions/{executionId}/events", tag = "workflows",
    operation_id = "readExecutionEvents", params(("executionId" = String, Path), After),
    responses((status = 200, body = Events), Problem))]
async fn events(
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(query): QueryOf<After>,
) -> Result<Json<Events>, Problem> {
    let limit = limit(query.limit, USUAL, MOST)?;
    let after = number("afterSeq", query.after_seq)?;
    let execution = find(&may.house, &id)?;
    let (missed, events) = execution.events(after.unwrap_or_default(), limit);
    Ok(Json(Events { events, missed }))
}
