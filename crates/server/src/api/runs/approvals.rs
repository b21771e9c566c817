//! What runs ask, and what people say.

use axum::Json;
use innkeeper_agent::instance::{ApprovalReceipt, ApproveToolCall, PendingApproval};
use innkeeper_agent::run::Remember;
use innkeeper_protocol::event::{CallId, RunId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::api::shapes::runs as shape;
use crate::app::App;
use crate::auth::{MayRead, MayRun};
use crate::guard::{Body, PathOf};
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(all))
        .routes(routes!(of_run))
        .routes(routes!(answer))
}

#[derive(Serialize)]
struct Waiting {
    approvals: Vec<PendingApproval>,
}

/// Of all runs, the newest first.
#[utoipa::path(get, path = "/api/v1/approvals", tag = "runs", operation_id = "listApprovals",
    responses((status = 200, body = shape::PendingApprovals), Problem))]
async fn all(may: MayRead) -> Result<Json<Waiting>, Problem> {
    let approvals = may
        .house
        .agents
        .reader()
        .pending_approvals(None, jiff::Timestamp::now())
        .await?;
    Ok(Json(Waiting { approvals }))
}

#[utoipa::path(get, path = "/api/v1/runs/{runId}/approvals", tag = "runs", operation_id = "listApprovalsOfRun",
    params(("runId" = String, Path)), responses((status = 200, body = shape::PendingApprovals), Problem))]
async fn of_run(may: MayRead, PathOf(run): PathOf<RunId>) -> Result<Json<Waiting>, Problem> {
    let reader = may.house.agents.reader();
    let approvals = reader
        .pending_approvals(Some(&run), jiff::Timestamp::now())
        .await?;
    Ok(Json(Waiting { approvals }))
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Answer {
    approved: bool,
    /// Told to the model where it is a no.
    reason: Option<String>,
    /// Only if the call waits with this very question.
    approval_id: Option<String>,
    remember: Option<RememberName>,
    /// In the place of those that were shown.
    #[schema(value_type = Option<Object>)]
    arguments: Option<Map<String, Value>>,
}

#[derive(Deserialize, ToSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
#[schema(as = Remember)]
enum RememberName {
    Once,
    Run,
    Always,
}

/// The call runs, or the model is told why not. The same answer twice is one.
#[utoipa::path(post, path = "/api/v1/runs/{runId}/approvals/{callId}", tag = "runs", operation_id = "approveToolCall",
    params(("runId" = String, Path), ("callId" = String, Path)), request_body = Answer,
    responses((status = 200, body = shape::Approved), Problem))]
async fn answer(
    may: MayRun,
    PathOf((run, call)): PathOf<(RunId, CallId)>,
    Body(answer): Body<Answer>,
) -> Result<Json<ApprovalReceipt>, Problem> {
    let answered = may.house.agents.approve(ApproveToolCall {
        run,
        call,
        approval_id: answer.approval_id,
        approved: answer.approved,
        reason: answer.reason,
        remember: match answer.remember {
            None | Some(RememberName::Once) => Remember::Once,
            Some(RememberName::Run) => Remember::Run,
            Some(RememberName::Always) => Remember::Always,
        },
        arguments: answer.arguments,
    });
    Ok(Json(answered.await?))
}
