//! Path, query and body of a request, and what is wrong with them: one message that names the place.

use axum::body::Bytes;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use innkeeper_protocol::ErrorCode;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::problem::Problem;

pub(crate) struct PathOf<T>(pub(crate) T);
pub(crate) struct QueryOf<T>(pub(crate) T);
/// JSON.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned + Send> FromRequestParts<App> for PathOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Path(value) = Path::from_request_parts(parts, app)
            .await
            .map_err(|error: PathRejection| unreadable("the path", &error.body_text()))?;
        Ok(Self(value))
    }
}

impl<T: DeserializeOwned> FromRequestParts<App> for QueryOf<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let Query(value) = Query::from_request_parts(parts, app)
            .await
            .map_err(|error: QueryRejection| unreadable("the query", &error.body_text()))?;
        Ok(Self(value))
    }
}

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        check_kind(request.headers())?;
        // It is here already: `guard/body.rs` has received it.
        let bytes = Bytes::from_request(request, app)
            .await
            .map_err(|error| unreadable("the body", &error.body_text()))?;
        // Lists could pass for objects whose fields are counted.
        let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
        if first != Some(&b'{') {
            return Err(unreadable("the body", "it is no JSON object"));
        }
        let mut reader = serde_json::Deserializer::from_slice(&bytes);
        let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let place = error.path().to_string();
            let why = error.inner().to_string();
            match place.as_str() {
                "." => unreadable("the body", &why),
                place => unreadable(&format!("`{place}` of the body"), &why),
            }
        })?;
        reader
            .end()
            .map_err(|error| unreadable("the body", &error.to_string()))?;
        Ok(Self(value))
    }
}

/// `application/json`, or something that is JSON too, in UTF-8.
fn check_kind(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let mut parts = kind.split(';').map(|part| part.trim().to_ascii_lowercase());
    let name = parts.next().unwrap_or_default();
    let is_json =
        name == "application/json" || (name.starts_with("application/") && name.ends_with("+json"));
    let is_utf_8 = parts.all(|part| match part.strip_prefix("charset=") {
        Some(charset) => matches!(charset.trim_matches('"'), "utf-8" | "utf8"),
        None => true,
    });
    match is_json && is_utf_8 {
        true => Ok(()),
        false => Err(Problem::new(
            ErrorCode::HttpUnsupportedMediaType,
            "the body must be JSON in UTF-8, with 'Content-Type: application/json'",
        )),
    }
}

fn unreadable(place: &str, cause: &str) -> Problem {
    Problem::new(
        ErrorCode::HttpInvalidRequest,
        format!(
            "{place} cannot be read: {cause}; /api/v1/openapi.json describes what the operation takes"
        ),
    )
}
