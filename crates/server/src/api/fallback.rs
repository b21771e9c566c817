//! What is answered where nothing is.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use innkeeper_protocol::ErrorCode;

use crate::app::App;
use crate::guard::{Client, Peer};
use crate::problem::Problem;

pub(super) async fn nothing_here(State(app): State<App>, peer: Peer) -> Problem {
    if let Err(problem) = app.rates.check(&Client::Peer(peer), app.now()) {
        return problem;
    }
    Problem::new(
        ErrorCode::HttpNotFound,
        "there is nothing at this address; /api/v1/openapi.json describes what there is",
    )
}

pub(super) async fn not_this_way() -> Problem {
    Problem::new(
        ErrorCode::HttpMethodNotAllowed,
        "not with this method; the Allow header says which ones there are",
    )
}

/// The head of an answer must come in time; a stream behind it may go on.
pub(super) async fn in_time(limit: Duration, request: Request, next: Next) -> Response {
    if request.headers().contains_key(header::UPGRADE) {
        return next.run(request).await;
    }
    match tokio::time::timeout(limit, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Problem::new(
            ErrorCode::HttpTimeout,
            format!(
                "not answered within {} s; look whether it took effect, then ask again",
                limit.as_secs()
            ),
        )
        .into_response(),
    }
}
