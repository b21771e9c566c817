//! The body of a request, received whole before anything is done with it: so much, within so long, and not too many at once.

use std::sync::Arc;

use axum::body::{Body, HttpBody, to_bytes};
use axum::extract::Request;
use axum::http::header;
use axum::middleware::Next;
use axum::response::Response;
use http_body_util::LengthLimitError;
use innkeeper_protocol::ErrorCode;
use tokio::sync::Semaphore;

use crate::limits::{BODY_TIMEOUT, MAX_BODIES_BYTES};
use crate::problem::Problem;

/// Room for those that are being received, in KiB.
#[derive(Clone)]
pub(crate) struct Bodies(Arc<Semaphore>);

impl Default for Bodies {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_BODIES_BYTES / 1024)))
    }
}

pub(crate) async fn receive(
    bodies: Bodies,
    limit: usize,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if request.body().is_end_stream() || request.headers().contains_key(header::UPGRADE) {
        return Ok(next.run(request).await);
    }
    let said = request.body().size_hint().upper();
    let size = said.map_or(limit, |said| usize::try_from(said).unwrap_or(usize::MAX));
    if size > limit {
        return Err(too_large(limit));
    }
    let receiving = async {
        let kib = u32::try_from(size / 1024 + 1).unwrap_or(u32::MAX);
        let room = bodies.0.clone().acquire_many_owned(kib).await;
        let (parts, body) = request.into_parts();
        let bytes = to_bytes(body, limit).await;
        (room, parts, bytes)
    };
    let Ok((room, parts, bytes)) = tokio::time::timeout(BODY_TIMEOUT, receiving).await else {
        return Err(Problem::new(
            ErrorCode::HttpSlowRequest,
            format!(
                "the body did not come within {} s; send it again, faster or in parts",
                BODY_TIMEOUT.as_secs()
            ),
        ));
    };
    let bytes = bytes.map_err(|error| {
        let is_long =
            std::error::Error::source(&error).is_some_and(|source| source.is::<LengthLimitError>());
        match is_long {
            true => too_large(limit),
            false => Problem::new(
                ErrorCode::HttpInvalidRequest,
                "the body broke off before its end",
            ),
        }
    })?;
    let answered = next
        .run(Request::from_parts(parts, Body::from(bytes)))
        .await;
    drop(room);
    Ok(answered)
}

fn too_large(limit: usize) -> Problem {
    Problem::new(
        ErrorCode::HttpTooLarge,
        format!("the body is larger than {limit} bytes; send less at once"),
    )
}
