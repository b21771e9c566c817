//! Under which names this server is reached, and from which pages.
//!
//! A page of another site can point its own name at this machine and ask as if it were ours (so the Host is checked), and can
//! make a browser send requests with our cookie (so the Origin is).

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use innkeeper_protocol::ErrorCode;
use std::net::SocketAddr;

use crate::app::App;
use crate::auth::Means;
use crate::problem::Problem;

pub(crate) struct Names {
    port: u16,
    /// As a Host header says them, in lower case.
    hosts: Vec<String>,
    /// Pages of others that may ask.
    origins: Vec<String>,
}

impl Names {
    pub(crate) fn new(bound: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        let port = bound.port();
        let here = [
            "localhost".to_owned(),
            "127.0.0.1".to_owned(),
            "[::1]".to_owned(),
        ];
        let bound_to = match bound.ip() {
            // It has no name of its own: others must be given.
            ip if ip.is_unspecified() => None,
            std::net::IpAddr::V4(ip) => Some(ip.to_string()),
            std::net::IpAddr::V6(ip) => Some(format!("[{ip}]")),
        };
        let mut known = Vec::new();
        for name in here.into_iter().chain(bound_to) {
            known.push(format!("{name}:{port}"));
            if port == 80 {
                known.push(name);
            }
        }
        known.extend(hosts.iter().map(|host| host.to_ascii_lowercase()));
        Self {
            port,
            hosts: known,
            origins: origins.to_vec(),
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    fn check_host<'a>(&self, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
        let mut given = headers.get_all(header::HOST).iter();
        let host = match (given.next(), given.next()) {
            (Some(host), None) => host.to_str().ok(),
            _ => None,
        };
        let host = host.unwrap_or_default();
        self.check_name(host).map(|()| host)
    }

    fn check_name(&self, host: &str) -> Result<(), Problem> {
        let is_ours = |known: &String| known.eq_ignore_ascii_case(host);
        match self.hosts.iter().any(is_ours) {
            true => Ok(()),
            false => Err(Problem::new(
                ErrorCode::HttpHostRefused,
                "this server is not reached under the name in the Host header; use the address that it printed, or allow the name with `innkeeper serve --host-name`",
            )),
        }
    }

    /// What a browser said of the page that asks.
    fn check_origin(&self, headers: &HeaderMap, host: &str) -> Result<Asker, Problem> {
        let mut given = headers.get_all(header::ORIGIN).iter();
        let origin = match (given.next(), given.next()) {
            (None, _) => return Ok(Asker::Unsaid),
            (Some(origin), None) => origin.to_str().ok(),
            (Some(_), Some(_)) => None,
        };
        let is_ours = |origin: &str| {
            let authority = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
        };
        match origin {
            Some(origin) if is_ours(origin) => Ok(Asker::Ours),
            Some(origin) if self.origins.iter().any(|known| known == origin) => {
                Ok(Asker::Allowed(origin.to_owned()))
            }
            _ => Err(Problem::new(
                ErrorCode::HttpOriginRefused,
                "the page that asks is of another origin; open the server's own page, or allow that origin with `innkeeper serve --allow-origin`",
            )),
        }
    }

    /// A browser sends our cookie whoever makes it ask; so with a cookie it must say that our own page did.
    pub(crate) fn check_means(&self, request: &Request, means: Means) -> Result<(), Problem> {
        if means == Means::Shown {
            return Ok(());
        }
        let asker = request.extensions().get::<Asker>();
        let fetched = request.headers().get("sec-fetch-site");
        let is_from_us = fetched.is_some_and(|site| site == "same-origin");
        // Typing the address is no page at all.
        let is_typed = fetched.is_some_and(|site| site == "none");
        let reads = matches!(*request.method(), Method::GET | Method::HEAD);
        let upgrades = request.headers().contains_key(header::UPGRADE);
        let holds = match asker {
            Some(Asker::Ours) => true,
            Some(Asker::Unsaid) if reads && !upgrades => {
                is_from_us || is_typed || fetched.is_none()
            }
            Some(Asker::Unsaid) => is_from_us,
            _ => false,
        };
        match holds {
            true => Ok(()),
            false => Err(Problem::new(
                ErrorCode::HttpOriginRefused,
                "a session opens the door to the server's own page only; send a token instead",
            )),
        }
    }
}

/// Which page asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Asker {
    Ours,
    Allowed(String),
    /// No browser, or one that had no reason to say.
    Unsaid,
}

pub(crate) async fn check_names(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let host = app.names.check_host(request.headers())?;
    // The whole address in the first line counts more than the header.
    if let Some(named) = request.uri().authority() {
        app.names.check_name(named.as_str())?;
    }
    let asker = app.names.check_origin(request.headers(), host)?;
    let is_preflight = *request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    request.extensions_mut().insert(asker.clone());
    let mut response = match is_preflight {
        true => StatusCode::NO_CONTENT.into_response(),
        false => next.run(request).await,
    };
    if let Asker::Allowed(origin) = &asker {
        let headers = response.headers_mut();
        if let Ok(origin) = HeaderValue::from_str(origin) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        }
        for (name, value) in [
            (header::VARY, "origin"),
            (
                header::ACCESS_CONTROL_ALLOW_METHODS,
                "GET, POST, PUT, PATCH, DELETE",
            ),
            (
                header::ACCESS_CONTROL_ALLOW_HEADERS,
                "authorization, content-type, last-event-id, if-match",
            ),
            (
                header::ACCESS_CONTROL_EXPOSE_HEADERS,
                "x-request-id, retry-after, etag",
            ),
            (header::ACCESS_CONTROL_MAX_AGE, "600"),
            (
                header::HeaderName::from_static("cross-origin-resource-policy"),
                "cross-origin",
            ),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
    }
    Ok(response)
}
