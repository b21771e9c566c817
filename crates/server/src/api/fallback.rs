//! What is answered where nothing is.

use std::time::Duration;

use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use innkeeper_protocol::ErrorCode;

use crate::problem::Problem;

pub(super) async fn nothing_here() -> Problem {
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

/// Whoever says that more will come than is taken is not waited for.
pub(super) async fn in_bounds(limit: usize, request: Request, next: Next) -> Response {
    let said = request.headers().get(header::CONTENT_LENGTH);
    let said = said.and_then(|said| said.to_str().ok()?.parse::<u64>().ok());
    match said {
        Some(said) if said > limit as u64 => Problem::new(
            ErrorCode::HttpTooLarge,
            format!("the body is larger than {limit} bytes; send less at once"),
        )
        .into_response(),
        _ => next.run(request).await,
    }
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
