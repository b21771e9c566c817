//! What is answered where something is refused or fails: a problem document (RFC 9457) with a stable code.

use std::borrow::Cow;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use innkeeper_agent::instance::AgentError;
use innkeeper_protocol::ErrorCode;
use innkeeper_store::StoreError;
use innkeeper_tools::ToolError;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder, ResponsesBuilder};
use utoipa::{IntoResponses, ToSchema};

/// One sentence with place, cause and remedy, under a stable code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Problem {
    /// Where the code is explained.
    #[serde(rename = "type")]
    pub kind: String,
    /// What the status says.
    pub title: String,
    pub status: u16,
    pub detail: String,
    pub code: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// A finer, stable name, and whatever else is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub details: Option<Json>,
}

impl Problem {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        let status = status(code);
        Self {
            kind: format!("/docs/errors/{code}"),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            code: code.to_string(),
            retryable: code.retryable(),
            details: None,
        }
    }

    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        let details = self.details.get_or_insert_with(|| Json::Object(Default::default()));
        if let Json::Object(fields) = details {
            fields.insert(name.to_owned(), value.into());
        }
        self
    }

    pub fn because(self, reason: impl Into<String>) -> Self {
        self.with("reason", reason.into())
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.status(), body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if self.status == StatusCode::UNAUTHORIZED.as_u16() {
            let how = HeaderValue::from_static("Bearer realm=\"innkeeper\"");
            headers.insert(header::WWW_AUTHENTICATE, how);
        }
        response.extensions_mut().insert(Told(Cow::Owned(self.code)));
        response
    }
}

/// Under which code a request was refused: for the log and the figures.
#[derive(Clone)]
pub(crate) struct Told(pub(crate) Cow<'static, str>);

/// In the description of the API each operation may answer with a problem.
impl IntoResponses for Problem {
    fn responses() -> std::collections::BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let schema = Ref::from_schema_name("Problem");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        let response = ResponseBuilder::new()
            .description("Refused or failed; `code` says why")
            .content("application/problem+json", content);
        ResponsesBuilder::new()
            .response("default", response)
            .build()
            .responses
            .into_iter()
            .collect()
    }
}

impl From<AgentError> for Problem {
    fn from(error: AgentError) -> Self {
        let problem = Self::new(error.code, error.message);
        match error.reason {
            Some(reason) => problem.because(reason),
            None => problem,
        }
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Self {
        AgentError::from(error).into()
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        AgentError::from(error).into()
    }
}

/// What a code is in the terms of HTTP.
fn status(code: ErrorCode) -> StatusCode {
    use ErrorCode as E;
    match code {
        E::HttpHostRefused => StatusCode::MISDIRECTED_REQUEST,
        E::HttpUnauthorized | E::HttpPairingRefused | E::AgentUnauthorized => {
            StatusCode::UNAUTHORIZED
        }
        E::HttpOriginRefused
        | E::HttpForbidden
        | E::AgentPermissionDenied
        | E::ToolPolicyDenied
        | E::ToolApprovalDenied
        | E::SkillPolicyDenied
        | E::WorkspacePathDenied => StatusCode::FORBIDDEN,
        E::HttpMethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        E::HttpTooLarge | E::WorkspaceReadTooLarge | E::WorkspaceWriteTooLarge => {
            StatusCode::PAYLOAD_TOO_LARGE
        }
        E::HttpUnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        E::HttpTimeout => StatusCode::SERVICE_UNAVAILABLE,
        E::HttpRateLimited | E::AgentRateLimited | E::AgentGuidanceMailboxFull => {
            StatusCode::TOO_MANY_REQUESTS
        }
        E::HttpNotFound
        | E::AgentNotFound
        | E::AgentTargetProfileNotFound
        | E::AgentTaskNotFound
        | E::ToolUnknown
        | E::ChatNotFound
        | E::ChatMessageNotFound
        | E::WorkspaceFileNotFound
        | E::SkillNotFound => StatusCode::NOT_FOUND,
        E::AgentWorkspaceInUse
        | E::ProtocolRequestIdConflict
        | E::SkillConflict
        | E::SkillStaleFile
        | E::WorkspaceWriteStaleFile => StatusCode::CONFLICT,
        E::HttpClosing | E::AgentTransient | E::AgentInterrupted | E::ToolUnavailable => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        E::AgentInternalError
        | E::AgentProfileStorageFailed
        | E::WorkspaceStorageFailed
        | E::SkillStorageFailed
        | E::HttpInternal => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::BAD_REQUEST,
    }
}
