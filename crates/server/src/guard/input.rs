//! Path, query and body of a request, and what is wrong with them: one message that names the place.

use std::fmt;
use std::marker::PhantomData;

use axum::Json;
use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use innkeeper_protocol::ErrorCode;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};

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
        match Json::from_request(request, app).await {
            Ok(Json(AnObject(value))) => Ok(Self(value)),
            Err(error) => Err(no_json(&error, app.options.bounds.body_bytes)),
        }
    }
}

/// A list would be taken for the fields in their order, which nobody has described.
struct AnObject<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AnObject<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }

        from.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

fn no_json(error: &JsonRejection, limit: usize) -> Problem {
    match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::new(
            ErrorCode::HttpTooLarge,
            format!("the body is larger than {limit} bytes; send less at once"),
        ),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => Problem::new(
            ErrorCode::HttpUnsupportedMediaType,
            "the body must be JSON, with 'Content-Type: application/json'",
        ),
        _ => unreadable("the body", &error.body_text()),
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
