//! Whether the server is there and can work.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(health))
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Health {
    /// `ok`, or `closing` while it lets people out.
    status: &'static str,
    version: &'static str,
}

/// Says nothing of what is inside.
#[utoipa::path(get, path = "/api/v1/health", tag = "server", operation_id = "readHealth",
    responses((status = 200, body = Health), Problem))]
async fn health(State(app): State<App>) -> Result<Json<Health>, Problem> {
    let status = match app.closing.is_cancelled() {
        true => "closing",
        false => "ok",
    };
    Ok(Json(Health {
        status,
        version: env!("CARGO_PKG_VERSION"),
    }))
}
