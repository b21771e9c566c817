//! Which workflows there are, and what stands in them.

use std::io::Read;

use axum::Json;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use innkeeper_engine::{limits::MAX_WORKFLOW_BYTES, shipped};
use innkeeper_protocol::ErrorCode;
use innkeeper_tools::workflow::Seen;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::about::About;
use super::library::find;
use crate::api::asked::{blocking, limit, scope, wrong};
use crate::app::App;
use crate::auth::MayRead;
use crate::guard::{PathOf, QueryOf};
use crate::problem::Problem;

const USUAL: u32 = 100;
const MOST: u32 = 500;
const FURTHEST: usize = 1_000_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(read))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct Query {
    /// `default` if nothing is said.
    project: Option<String>,
    /// So many are left out: the next page.
    #[param(maximum = 1000000)]
    offset: Option<u32>,
    #[param(minimum = 1, maximum = 500)]
    limit: Option<u32>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = WorkflowPage)]
struct Page {
    workflows: Vec<About>,
    /// Give it as `offset` for the next ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

/// Nearest first: those of the project, of the library, of plugins, and those that are shipped.
#[utoipa::path(get, path = "/api/v1/workflows", tag = "workflows", operation_id = "listWorkflows", params(Query),
    responses((status = 200, body = Page), Problem))]
async fn list(may: MayRead, QueryOf(query): QueryOf<Query>) -> Result<Json<Page>, Problem> {
    let limit = limit(query.limit, USUAL, MOST)?;
    let offset = query.offset.unwrap_or_default() as usize;
    if offset > FURTHEST {
        return Err(wrong(format!("offset: at most {FURTHEST}")));
    }
    let scope = scope(query.project)?;
    let service = may.house.workflows.clone();
    let all = blocking(move || About::all(&service.look(Some(&scope)))).await?;
    let next = offset.saturating_add(limit);
    let next_offset = (next < all.len()).then_some(next);
    Ok(Json(Page {
        workflows: all.into_iter().skip(offset).take(limit).collect(),
        next_offset,
    }))
}

#[derive(Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Where {
    /// `default` if nothing is said.
    pub(super) project: Option<String>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Workflow)]
struct Whole {
    #[serde(flatten)]
    about: About,
    /// The file, to the byte.
    text: String,
    /// Of this very text; also the `ETag`.
    revision: String,
}

/// With its text. By its id, its file's name, or its name.
#[utoipa::path(get, path = "/api/v1/workflows/{workflowId}", tag = "workflows", operation_id = "readWorkflow",
    params(("workflowId" = String, Path, description = "With `/` as `%2F`"), Where),
    responses((status = 200, body = Whole, headers(("ETag" = String, description = "The revision, in quotes"))), Problem))]
async fn read(
    may: MayRead,
    PathOf(id): PathOf<String>,
    QueryOf(place): QueryOf<Where>,
) -> Result<Response, Problem> {
    let scope = scope(place.project)?;
    let service = may.house.workflows.clone();
    let whole = blocking(move || {
        let all = service.look(Some(&scope));
        let seen = find(&all, &id)?;
        let text = text_of(seen)?;
        Ok::<_, Problem>(Whole {
            about: About::of(seen, None),
            revision: revision(&text),
            text,
        })
    });
    let whole = whole.await??;
    let tag = [(header::ETAG, format!("\"{}\"", whole.revision))];
    Ok((tag, Json(whole)).into_response())
}

/// Which text it is.
pub(super) fn revision(text: &str) -> String {
    let hash = Sha256::digest(text.as_bytes());
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text_of(seen: &Seen) -> Result<String, Problem> {
    let Some(path) = &seen.path else {
        let mut all = shipped::list().iter();
        let found = all.find(|shipped| shipped.id == seen.stem);
        return Ok(found
            .map(|shipped| shipped.text.to_owned())
            .unwrap_or_default());
    };
    let unreadable = |error: std::io::Error| {
        Problem::new(
            ErrorCode::HttpNotFound,
            format!("the file of the workflow cannot be read: {error}"),
        )
        .because("workflow.unreadable")
    };
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut text = String::new();
    file.take(MAX_WORKFLOW_BYTES as u64)
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    Ok(text)
}
