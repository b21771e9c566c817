//! A name for each request: in its answer, in the log, in what a person reports.

use axum::extract::{MatchedPath, Request};
use axum::http::HeaderValue;
use axum::middleware::Next;
use axum::response::Response;
use tracing::Instrument;

use crate::problem::Told;

const HEADER: &str = "x-request-id";

pub(crate) async fn name_request(request: Request, next: Next) -> Response {
    let id = format!("req_{}", uuid::Uuid::now_v7().simple());
    let route = request.extensions().get::<MatchedPath>();
    // The path itself may hold what only its owner should see.
    let route = route.map_or("", MatchedPath::as_str).to_owned();
    let span = tracing::info_span!("request", %id, method = %request.method(), route);
    let mut response = next.run(request).instrument(span.clone()).await;
    let code = response
        .extensions()
        .get::<Told>()
        .map(|told| told.0.as_str());
    tracing::info!(parent: &span, status = response.status().as_u16(), code, "answered");
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, id);
    }
    response
}
