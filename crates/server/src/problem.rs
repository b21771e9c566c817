//! What is answered where something is refused or fails: a problem document (RFC 9457) with a stable code.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use innkeeper_agent::instance::AgentError;
use innkeeper_protocol::ErrorCode;
use innkeeper_store::StoreError;
use innkeeper_tools::ToolError;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value as Json};
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};
use utoipa::{IntoResponses, ToSchema};

/// One sentence with place, cause and remedy, under a stable code. On the wire it is a [`Document`].
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    pub code: ErrorCode,
    pub detail: String,
    /// A finer, stable name, and whatever else is known.
    details: Option<Box<Map<String, Json>>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Document<'a> {
    /// Where the code is explained.
    #[serde(rename = "type")]
    kind: String,
    /// What the status says.
    title: &'static str,
    status: u16,
    detail: &'a str,
    code: &'static str,
    /// Whether the same request may succeed later.
    retryable: bool,
    /// A finer, stable name, and whatever else is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    details: Option<&'a Map<String, Json>>,
}

impl Problem {
    pub fn new(code: ErrorCode, detail: impl Into<String>) -> Self {
        Self {
            code,
            detail: bounded(detail.into()),
            details: None,
        }
    }

    pub fn with(mut self, name: &str, value: impl Into<Json>) -> Self {
        let details = self.details.get_or_insert_default();
        details.insert(name.to_owned(), value.into());
        self
    }

    pub fn because(self, reason: impl Into<String>) -> Self {
        self.with("reason", reason.into())
    }

    pub fn status(&self) -> StatusCode {
        status(self.code)
    }

    fn document(&self) -> Document<'_> {
        let status = self.status();
        Document {
            kind: format!("/docs/errors/{}", self.code),
            title: status.canonical_reason().unwrap_or_default(),
            status: status.as_u16(),
            detail: &self.detail,
            code: self.code.as_str(),
            retryable: self.code.retryable(),
            details: self.details.as_deref(),
        }
    }
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.document().serialize(serializer)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (self.status(), body).into_response();
        let headers = response.headers_mut();
        let kind = HeaderValue::from_static("application/problem+json");
        headers.insert(header::CONTENT_TYPE, kind);
        if self.status() == StatusCode::UNAUTHORIZED {
            let how = HeaderValue::from_static("Bearer realm=\"innkeeper\"");
            headers.insert(header::WWW_AUTHENTICATE, how);
        }
        let wait = match self.status() {
            StatusCode::TOO_MANY_REQUESTS => Some("1"),
            StatusCode::SERVICE_UNAVAILABLE => Some("5"),
            _ => None,
        };
        if let Some(wait) = wait {
            let wait = HeaderValue::from_static(wait);
            response.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        response.extensions_mut().insert(Told(self.code));
        response
    }
}

/// Under which code a request was refused: for the log and the figures.
#[derive(Clone, Copy)]
pub(crate) struct Told(pub(crate) ErrorCode);

impl Problem {
    /// What each refusal is, in the description of the API.
    pub(crate) fn described() -> utoipa::openapi::Response {
        let schema = Ref::from_schema_name("Problem");
        let content = ContentBuilder::new().schema(Some(schema)).build();
        ResponseBuilder::new()
            .description("Refused; `code` says why")
            .content("application/problem+json", content)
            .build()
    }
}

/// What any operation may be refused with.
const REFUSALS: [u16; 11] = [400, 401, 403, 404, 408, 409, 413, 415, 421, 429, 503];

/// What is repeated of what somebody sent stays short.
fn bounded(mut detail: String) -> String {
    const MOST: usize = 2_000;
    if let Some((at, _)) = detail.char_indices().nth(MOST) {
        detail.truncate(at);
        detail.push('…');
    }
    detail
}

/// In the description of the API each operation may answer with a problem.
impl IntoResponses for Problem {
    fn responses() -> std::collections::BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        // Each by its number, so that any other is known to be wrong.
        let refused = || RefOr::Ref(Ref::from_response_name("Problem"));
        let all = REFUSALS
            .iter()
            .map(|status| (status.to_string(), refused()));
        all.collect()
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
        E::HttpSlowRequest => StatusCode::REQUEST_TIMEOUT,
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
        E::HttpConflict
        | E::AgentWorkspaceInUse
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
