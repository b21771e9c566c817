//! `Http.Request`: asking the hosts that a person has put on the list, and no others.
//!
//! - `policy.rs`: the list, and what it grants. Which addresses are inside is said by the sandbox's network.
//! - `request.rs`: what is sent. `redirect.rs`: what follows an answer. `response.rs`: what the model gets.
//! - `client.rs`: the sending itself, only to addresses that passed.
//!
//! Each hop of a redirect goes through every check again. A status of 4xx or 5xx is an answer, not an error.

mod client;
mod policy;
mod redirect;
mod request;
mod response;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use innkeeper_protocol::{ErrorCode, Execution, ToolDefinition};
pub use innkeeper_sandbox::network::{Resolver, SystemResolver};
use serde_json::{Value as Json, json};
use tokio::sync::OnceCell;

use self::client::{Tls, addresses, describe, may_repeat, send};
use self::policy::METHODS;
pub use self::policy::{HostRule, HttpPolicy, RuleError, RuleText};
use self::request::{Arguments, Request};
use self::response::Answer;
use super::Tool;
use super::declare::{arguments, cancelled, declare, example, words};
use crate::limits::{MAX_HTTP_BYTES, MAX_HTTP_REDIRECTS, MAX_HTTP_TIMEOUT, MAX_HTTP_URL_CHARS};
use crate::{Executor, Invocation, ToolError};

/// The policy can be exchanged at any time; a call keeps the one it began with.
pub fn tools(policy: Arc<ArcSwap<HttpPolicy>>) -> Vec<Tool> {
    tools_with(policy, Arc::new(SystemResolver))
}

pub fn tools_with(policy: Arc<ArcSwap<HttpPolicy>>, resolver: Arc<dyn Resolver>) -> Vec<Tool> {
    let executor = HttpRequest {
        policy,
        resolver,
        tls: OnceCell::new(),
    };
    vec![(definition(), Arc::new(executor))]
}

pub fn definition() -> ToolDefinition {
    let value = json!({"type": ["string", "number", "boolean"]});
    ToolDefinition {
        aliases: vec!["Http.Fetch".into()],
        execution: Execution {
            timeout_ms: Some(MAX_HTTP_TIMEOUT.as_millis() as u64 + 5_000),
            parallel: true,
            ..Execution::default()
        },
        permissions: words(&["net:*"]),
        tags: words(&["http", "network"]),
        examples: example(
            "Search for an inn by its name",
            json!({"url": "https://api.example.com/search", "query": {"q": "inn"}}),
        ),
        ..declare(
            "Http.Request",
            "HTTP request",
            "Send an HTTP request to a host that is on the allow-list and get its answer. Read 'status': 404 or 500 is an answer too. JSON comes as 'json', text as 'text', anything else as 'base64'.",
            json!({
                "type": "object",
                "properties": {
                    "url": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MAX_HTTP_URL_CHARS,
                        "description": "Whole address, beginning with http:// or https://"
                    },
                    "method": {
                        "type": "string",
                        "enum": METHODS,
                        "default": "GET",
                        "description": "What to do there; GET if left out"
                    },
                    "headers": {
                        "type": "object",
                        "additionalProperties": value,
                        "description": "Headers by name, like {\"Accept\": \"application/json\"}"
                    },
                    "query": {
                        "type": "object",
                        "additionalProperties": {
                            "anyOf": [value, {"type": "null"}, {"type": "array", "items": value}]
                        },
                        "description": "Parameters that are added to the URL after '?', properly escaped"
                    },
                    "body": {
                        "description": "What to send with POST, PUT, PATCH or DELETE: text, or JSON that is sent as application/json"
                    },
                    "timeout_ms": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "Longest time to wait for the whole answer, in milliseconds"
                    },
                    "max_bytes": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MAX_HTTP_BYTES,
                        "description": "Most of the answer to keep, in bytes"
                    }
                },
                "required": ["url"],
                "additionalProperties": false
            }),
            json!({
                "type": "object",
                "properties": {
                    "status": {"type": "integer"},
                    "statusText": {"type": "string"},
                    "url": {"type": "string", "description": "Where the answer came from, after redirects"},
                    "headers": {"type": "object"},
                    "contentType": {"type": "string"},
                    "text": {"type": "string"},
                    "json": {},
                    "base64": {"type": "string"},
                    "bytes": {"type": "integer", "description": "Bytes of the body that were kept"},
                    "truncated": {"type": "boolean", "description": "The body was longer"},
                    "lossy": {"type": "boolean", "description": "Some bytes were no UTF-8 and are shown as \u{fffd}"}
                },
                "required": ["status", "statusText", "url", "headers", "contentType", "bytes", "truncated"],
                "additionalProperties": false
            }),
        )
    }
}

struct HttpRequest {
    policy: Arc<ArcSwap<HttpPolicy>>,
    resolver: Arc<dyn Resolver>,
    tls: OnceCell<Tls>,
}

#[async_trait]
impl Executor for HttpRequest {
    async fn execute(&self, call: Invocation) -> Result<Json, ToolError> {
        let policy = self.policy.load_full();
        let asked: Arguments = arguments(call.arguments)?;
        let limit = policy.timeout_ms(asked.timeout_ms);
        let max_bytes = policy.max_bytes(asked.max_bytes);
        let request = Request::new(asked)?;
        let host = request.url.host_str().unwrap_or_default().to_owned();
        let method = request.method.clone();
        // Not within the request's time: it happens once, and would begin anew each time it was broken off.
        let tls = tokio::select! {
            biased;
            () = call.context.cancel.cancelled() => return Err(cancelled()),
            tls = self.tls.get_or_try_init(load_tls) => tls?,
        };
        let sent = AtomicBool::new(false);
        let trip = self.follow(request, tls, &policy, max_bytes, &sent);
        tokio::select! {
            biased;
            () = call.context.cancel.cancelled() => Err(cancelled()),
            ended = tokio::time::timeout(Duration::from_millis(limit), trip) => ended.unwrap_or_else(|_| {
                let message = format!("The request to '{host}' was not answered within {limit} ms");
                let unknown = sent.load(Ordering::Relaxed) && !may_repeat(&method);
                Err(match unknown {
                    true => ToolError::new(
                        ErrorCode::ToolOutcomeUnknown,
                        format!("{message}; whether the {method} took effect is not known"),
                    ),
                    false => ToolError::new(ErrorCode::ToolTimeout, message),
                }
                .because("http.timeout"))
            }),
        }
    }
}

impl HttpRequest {
    /// From the first request to the answer that leads nowhere else.
    async fn follow(
        &self,
        mut request: Request,
        tls: &Tls,
        policy: &HttpPolicy,
        max_bytes: usize,
        sent: &AtomicBool,
    ) -> Result<Json, ToolError> {
        let connect_timeout = Duration::from_millis(policy.connect_timeout_ms);
        let mut seen = HashSet::new();
        loop {
            // The list first: a name that is not on it is not even looked up.
            let grant = policy.grant(&request.url, &request.method)?;
            let addresses = addresses(self.resolver.as_ref(), &request, grant).await?;
            seen.insert((request.method.clone(), request.url.clone()));
            sent.store(true, Ordering::Relaxed);
            let response = send(&request, addresses, tls, connect_timeout).await?;
            let location = response.headers().get(reqwest::header::LOCATION);
            let location = location.map(|value| value.as_bytes());
            match redirect::next(&request, response.status().as_u16(), location)? {
                None => return read(&request, response, max_bytes).await,
                Some(next) => {
                    let host = request.url.host_str().unwrap_or_default();
                    if seen.contains(&(next.method.clone(), next.url.clone())) {
                        return Err(astray(format!(
                            "The redirects of '{host}' go round in a circle"
                        )));
                    }
                    if seen.len() > MAX_HTTP_REDIRECTS {
                        return Err(astray(format!(
                            "'{host}' redirects once more after {MAX_HTTP_REDIRECTS} redirects"
                        )));
                    }
                    request = next;
                }
            }
        }
    }
}

fn astray(message: String) -> ToolError {
    ToolError::failed(message)
        .because("http.too_many_redirects")
        .permanent()
}

async fn load_tls() -> Result<Tls, ToolError> {
    let loaded = tokio::task::spawn_blocking(Tls::load).await;
    loaded.unwrap_or_else(|_| Err(ToolError::unavailable("TLS cannot be set up")))
}

/// Takes of the body what is wanted and hangs up.
async fn read(
    request: &Request,
    mut response: reqwest::Response,
    max_bytes: usize,
) -> Result<Json, ToolError> {
    let mut body = Vec::new();
    let mut truncated = false;
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| describe(error, request))?
    {
        let room = max_bytes - body.len();
        let (kept, rest) = chunk.split_at(room.min(chunk.len()));
        body.extend_from_slice(kept);
        if !rest.is_empty() {
            truncated = true;
            break;
        }
    }
    let answer = Answer {
        status: response.status(),
        url: &request.url,
        headers: response.headers(),
        body: &body,
        truncated,
    };
    Ok(answer.to_json())
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
