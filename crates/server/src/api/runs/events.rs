//! What happened in a run, page by page.

use axum::Json;
use innkeeper_agent::run::TimelineProjection;
use innkeeper_protocol::ErrorCode;
use innkeeper_protocol::event::{InvocationId, RunEvent, RunId};
use innkeeper_store::journal::EventRange;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::runs as shape;
use crate::app::App;
use crate::auth::MayRead;
use crate::guard::{PathOf, QueryOf};
use crate::problem::Problem;

const USUAL: u32 = 100;
const MOST: u32 = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(events))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// The first ones after this number.
    after_seq: Option<u64>,
    /// The last ones before this number; wins over `afterSeq`.
    before_seq: Option<u64>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
    /// Only those of one agent.
    invocation_id: Option<String>,
    include_timeline_projection: Option<bool>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Events {
    events: Vec<RunEvent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeline_projection: Option<TimelineProjection>,
}

/// In ascending order, none left out.
#[utoipa::path(get, path = "/api/v1/runs/{runId}/events", tag = "runs", operation_id = "readEvents",
    params(("runId" = String, Path), Query), responses((status = 200, body = shape::RunEvents), Problem))]
async fn events(
    may: MayRead,
    PathOf(run): PathOf<RunId>,
    QueryOf(query): QueryOf<Query>,
) -> Result<Json<Events>, Problem> {
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=MOST).contains(&limit) {
        return Err(Problem::new(
            ErrorCode::HttpInvalidRequest,
            format!("limit: 1 to {MOST}, not {limit}"),
        ));
    }
    let limit = limit as usize;
    let range = match (query.before_seq, query.after_seq) {
        (Some(seq), _) => EventRange::Before { seq, limit },
        (None, after) => EventRange::After {
            seq: after.unwrap_or_default(),
            limit,
        },
    };
    let reader = may.house.agents.reader();
    let events = match query.invocation_id {
        Some(invocation) => {
            let invocation = InvocationId::new(invocation);
            reader.events_of(&run, &invocation, range).await?
        }
        None => reader.events(&run, range).await?,
    };
    let timeline_projection = match query.include_timeline_projection {
        Some(true) => Some(reader.timeline(&run).await?),
        _ => None,
    };
    Ok(Json(Events {
        events,
        timeline_projection,
    }))
}
