//! What can be asked for, one file a subject, and its description.

mod access;
mod asked;
mod audit;
mod calls;
mod chats;
mod errors;
mod executions;
mod fallback;
mod files;
mod health;
mod host;
mod metrics;
mod models;
mod nodes;
mod plugins;
mod profiles;
mod runs;
mod session;
mod shapes;
mod tasks;
mod tools;
mod workflows;

use axum::Router;
use axum::body::Bytes;
use axum::extract::DefaultBodyLimit;
use axum::http::header;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Info, OpenApi, OpenApiBuilder, SecurityRequirement};
use utoipa_axum::router::OpenApiRouter;

use crate::app::App;
use crate::auth::{authenticate, changing_needs_run};
use crate::guard::{check_names, close_up, count, limit_strangers, name_request, receive};
use crate::limits::MAX_STRANGERS_BODY_BYTES;
use crate::problem::Document;

/// Files of plugins' pages, which import one another by their paths.
const ASSETS: &str = "/api/v1/plugins/{plugin}/assets/{*path}";

/// Everything, behind everything that guards it.
pub(crate) fn router(app: App) -> Router {
    let limit = app.options.bounds.body_bytes;
    let timeout = app.options.bounds.request_timeout;
    // Written once: anybody may ask for it.
    let description = Bytes::from(serde_json::to_vec(&description()).unwrap_or_default());
    let json = [(header::CONTENT_TYPE, "application/json")];
    let describe = get(move || async move { (json, description) });
    let (open, _) = open().split_for_parts();
    let bodies = app.bodies.clone();
    let open = open
        .route("/api/v1/openapi.json", describe)
        .layer(from_fn(move |request, next| {
            receive(bodies.clone(), MAX_STRANGERS_BODY_BYTES, request, next)
        }))
        .layer(from_fn_with_state(app.clone(), limit_strangers));
    let (own, _) = own().split_for_parts();
    let (inside, _) = inside().split_for_parts();
    // Whose paths have no end that could be described.
    let inside = inside.route(ASSETS, get(plugins::asset));
    let inside = inside.layer(from_fn_with_state(app.clone(), changing_needs_run));
    let inside = inside.merge(own);
    let bodies = app.bodies.clone();
    let inside = inside.layer(from_fn(move |request, next| {
        receive(bodies.clone(), limit, request, next)
    }));
    let inside = inside.layer(from_fn_with_state(app.clone(), authenticate));
    Router::new()
        .merge(open)
        .merge(inside)
        .fallback(fallback::nothing_here)
        .method_not_allowed_fallback(fallback::not_this_way)
        .layer(DefaultBodyLimit::max(limit))
        .layer(from_fn(move |request, next| {
            fallback::in_time(timeout, request, next)
        }))
        .layer(from_fn_with_state(app.clone(), check_names))
        .layer(from_fn(close_up))
        .layer(from_fn_with_state(app.clone(), count))
        .layer(from_fn(name_request))
        .with_state(app)
}

#[cfg(test)]
#[path = "description_tests.rs"]
mod description_tests;

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
        .merge(chats::routes())
        .merge(files::routes())
        .merge(plugins::routes())
        .merge(profiles::routes())
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
    let refused = crate::problem::Problem::described();
    components
        .responses
        .insert("Problem".to_owned(), refused.into());
    components.schemas.insert(
        "Problem".to_owned(),
        <Document<'_> as utoipa::PartialSchema>::schema(),
    );
    whole
}
