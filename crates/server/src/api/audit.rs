//! The log of what was called, and whether it can be trusted.

use axum::Json;
use innkeeper_store::{AuditDecision, AuditFilter, AuditOutcome, AuditRecord, Verification};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::asked::{limit, number, wrong};
use super::shapes::audit as shape;
use crate::app::App;
use crate::auth::MayRead;
use crate::guard::QueryOf;
use crate::problem::Problem;

const USUAL: u32 = 100;
const MOST: u32 = 500;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(verify))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// With `*` for any text, like `actor` and `source`.
    tool: Option<String>,
    /// `person`, `agent:storyteller`.
    actor: Option<String>,
    source: Option<String>,
    project: Option<String>,
    run: Option<String>,
    #[param(value_type = Option<shape::AuditOutcome>, inline)]
    outcome: Option<String>,
    #[param(value_type = Option<shape::AuditDecision>, inline)]
    decision: Option<String>,
    /// At or after.
    #[param(format = DateTime)]
    since: Option<String>,
    /// Before.
    #[param(format = DateTime)]
    until: Option<String>,
    /// Somewhere in the arguments, as they are written in JSON.
    text: Option<String>,
    /// Only smaller numbers: the next page.
    #[param(maximum = 9007199254740991u64)]
    before: Option<u64>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    records: Vec<AuditRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<u64>,
}

/// Newest first.
#[utoipa::path(get, path = "/api/v1/audit", tag = "audit", operation_id = "listAudit", params(Query),
    responses((status = 200, body = shape::AuditPage), Problem))]
async fn list(may: MayRead, QueryOf(query): QueryOf<Query>) -> Result<Json<Page>, Problem> {
    let limit = limit(query.limit, USUAL, MOST)?;
    let outcome: Option<AuditOutcome> = word("outcome", query.outcome)?;
    let decision: Option<AuditDecision> = word("decision", query.decision)?;
    let filter = AuditFilter {
        tool: query.tool,
        actor: query.actor,
        source: query.source,
        user: None,
        project: query.project,
        run: query.run,
        outcome,
        decision,
        since: time("since", query.since)?,
        until: time("until", query.until)?,
        text: query.text,
        before: number("before", query.before)?,
        // One more, to see whether there are more.
        limit: Some(limit + 1),
    };
    let mut records = may.house.store().audit().query(filter).await?;
    let is_cut = records.len() > limit;
    records.truncate(limit);
    let last = records.last().filter(|_| is_cut);
    Ok(Json(Page {
        next_cursor: last.map(|record| record.id),
        records,
    }))
}

/// Through the whole log: whether every record follows from the one before.
#[utoipa::path(get, path = "/api/v1/audit/verify", tag = "audit", operation_id = "verifyAudit",
    responses((status = 200, body = shape::Verification), Problem))]
async fn verify(may: MayRead) -> Result<Json<Verification>, Problem> {
    Ok(Json(may.house.store().audit().verify().await?))
}

fn word<T: DeserializeOwned>(of: &str, given: Option<String>) -> Result<Option<T>, Problem> {
    given
        .map(|given| {
            let known = serde_json::from_value(given.clone().into());
            known.map_err(|_| wrong(format!("{of}: there is no '{}'", given.escape_debug())))
        })
        .transpose()
}

fn time(of: &str, given: Option<String>) -> Result<Option<Timestamp>, Problem> {
    given
        .map(|given| {
            let parsed = given.parse::<Timestamp>();
            parsed.map_err(|_| wrong(format!("{of}: no time like 2026-01-31T12:00:00Z")))
        })
        .transpose()
}
