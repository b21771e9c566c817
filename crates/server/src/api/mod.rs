//! What can be asked for, one file a subject, and its description.

mod access;
mod asked;
mod audit;
mod calls;
mod errors;
mod executions;
mod fallback;
mod health;
mod host;
mod metrics;
mod models;
mod nodes;
mod runs;
mod session;
mod shapes;
mod tasks;
mod tools;
mod workflows;

use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use axum::{Json, Router};
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Info, OpenApi, OpenApiBuilder, SecurityRequirement};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::auth::{authenticate, changing_needs_run};
use crate::guard::{check_names, close_up, count, limit_strangers, name_request};
use crate::problem::Document;

/// Everything, behind everything that guards it.
pub(crate) fn router(app: App) -> Router {
    let description = description();
    let limit = app.options.bounds.body_bytes;
    let timeout = app.options.bounds.request_timeout;
    let describe = get(move || async move { Json(description) });
    let (open, _) = open().split_for_parts();
    let open = open
        .route("/api/v1/openapi.json", describe)
        .layer(from_fn_with_state(app.clone(), limit_strangers));
    let (own, _) = own().split_for_parts();
    let (inside, _) = inside().split_for_parts();
    let inside = inside.layer(from_fn_with_state(app.clone(), changing_needs_run));
    let inside = inside.merge(own);
    let inside = inside.layer(from_fn_with_state(app.clone(), authenticate));
    Router::new()
        .merge(open)
        .merge(inside)
        .fallback(fallback::nothing_here)
        .method_not_allowed_fallback(fallback::not_this_way)
        .layer(DefaultBodyLimit::max(limit))
        .layer(from_fn(move |request, next| {
            fallback::in_bounds(limit, request, next)
        }))
        .layer(from_fn(move |request, next| {
            fallback::in_time(timeout, request, next)
        }))
        .layer(from_fn_with_state(app.clone(), check_names))
        .layer(from_fn(close_up))
        .layer(from_fn_with_state(app.clone(), count))
        .layer(from_fn(name_request))
        .with_state(app)
}

/// What anybody may ask who reaches the server under its name.
fn open() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(health::routes())
        .merge(session::routes())
        .merge(errors::routes())
}

/// What needs a token, of any scope.
fn own() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(session::own_routes())
        // Each command says itself how far somebody must be allowed to go.
        .merge(host::routes())
}

/// What needs a token that goes as far as the operation says.
fn inside() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(access::routes())
        .merge(runs::routes())
        .merge(tools::routes())
        .merge(calls::routes())
        .merge(tasks::routes())
        .merge(workflows::routes())
        .merge(executions::routes())
        .merge(nodes::routes())
        .merge(audit::routes())
        .merge(models::routes())
        .merge(metrics::routes())
        .merge(crate::live::routes())
}

/// The description of the whole API, as it is served and checked in.
pub fn description() -> OpenApi {
    let mut info = Info::new("Innkeeper", env!("CARGO_PKG_VERSION"));
    info.description = Some(
        "Runs of agents, tools, workflows and what they leave. Every refusal is a problem document (RFC 9457) with a stable code."
            .to_owned(),
    );
    let mut whole = OpenApiBuilder::new().info(info).build();
    let mut behind = inside().merge(own()).to_openapi();
    for path in behind.paths.paths.values_mut() {
        let operations = [
            &mut path.get,
            &mut path.put,
            &mut path.post,
            &mut path.delete,
            &mut path.patch,
        ];
        for operation in operations.into_iter().flatten() {
            operation.security = Some(vec![
                SecurityRequirement::new::<_, [&str; 0], &str>("token", []),
                SecurityRequirement::new::<_, [&str; 0], &str>("session", []),
            ]);
        }
    }
    whole.merge(open().to_openapi());
    whole.merge(behind);
    let components = whole.components.get_or_insert_with(Default::default);
    components.add_security_scheme(
        "token",
        SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)),
    );
    let session = ApiKey::Cookie(ApiKeyValue::new("innkeeper_<port>"));
    components.add_security_scheme("session", SecurityScheme::ApiKey(session));
    components.schemas.insert(
        "Problem".to_owned(),
        <Document<'_> as utoipa::PartialSchema>::schema(),
    );
    whole
}
