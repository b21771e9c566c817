//! Sending one request to addresses that were looked at first. No proxies, no cookies, no pool, no redirects: each
//! request has its own client, which knows no other way than the addresses it was given.

use std::error::Error as _;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use innkeeper_protocol::ErrorCode;
use innkeeper_sandbox::network::{Resolver, judge};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT_ENCODING, HeaderValue};
use reqwest::{Client, Method, redirect, retry};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use url::Host;

use super::policy::{Grant, denied};
use super::request::Request;
use crate::ToolError;
use crate::limits::MAX_HTTP_ANSWER_LINES;

const USER_AGENT: &str = concat!("Innkeeper/", env!("CARGO_PKG_VERSION"));

/// The addresses of the request's host, all of them checked. A name that has both public and private addresses is
/// refused as a whole: that is what an attack by DNS looks like.
pub(super) async fn addresses(
    resolver: &dyn Resolver,
    request: &Request,
    grant: Grant,
) -> Result<Vec<IpAddr>, ToolError> {
    let (host, found) = match request.url.host() {
        Some(Host::Domain(name)) => {
            let found = resolver.resolve(name).await.map_err(|error| {
                ToolError::failed(format!("The address of '{name}' was not found: {error}"))
                    .because("http.dns")
            })?;
            (name.to_owned(), found)
        }
        Some(Host::Ipv4(address)) => (address.to_string(), vec![address.into()]),
        Some(Host::Ipv6(address)) => (address.to_string(), vec![address.into()]),
        None => return Err(ToolError::invalid("The URL has no host").permanent()),
    };
    if found.is_empty() {
        return Err(
            ToolError::failed(format!("The name '{host}' has no address")).because("http.dns"),
        );
    }
    for address in &found {
        match judge(*address) {
            Some(inside) if inside.never || !grant.private => {
                return Err(denied(
                    "http.private_address",
                    format!(
                        "'{host}' leads to {} address, which requests do not reach; a person can set 'private = true' for this host",
                        inside.kind
                    ),
                ));
            }
            _ => {}
        }
    }
    Ok(found)
}

/// Answers for one host only.
struct Pinned {
    host: String,
    addresses: Vec<IpAddr>,
}

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let found = match name.as_str() == self.host {
            true => Ok(self.addresses.clone()),
            false => Err("a name that was not asked for"),
        };
        Box::pin(async move {
            let addresses = found?.into_iter().map(|ip| SocketAddr::new(ip, 0));
            Ok(Box::new(addresses) as Addrs)
        })
    }
}

/// What TLS needs, made once; the process-wide default of rustls is left alone.
#[derive(Clone)]
pub(super) struct Tls {
    config: ClientConfig,
    /// Why no certificate can be checked on this machine.
    broken: Option<String>,
}

impl Tls {
    /// Reads the machine's certificates: not for the async world.
    pub(super) fn load() -> Result<Self, ToolError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| ToolError::unavailable(format!("TLS cannot be set up: {error}")))?;
        Ok(match Verifier::new(provider) {
            Ok(verifier) => Self {
                config: builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(verifier))
                    .with_no_client_auth(),
                broken: None,
            },
            // Plain http still works; https trusts nobody.
            Err(error) => Self {
                config: builder
                    .with_root_certificates(RootCertStore::empty())
                    .with_no_client_auth(),
                broken: Some(error.to_string()),
            },
        })
    }
}

pub(super) async fn send(
    request: &Request,
    addresses: Vec<IpAddr>,
    tls: &Tls,
    connect_timeout: Duration,
) -> Result<reqwest::Response, ToolError> {
    if let (Some(broken), "https") = (&tls.broken, request.url.scheme()) {
        return Err(ToolError::unavailable(format!(
            "https cannot be used, since this machine has no certificates to trust: {broken}"
        ))
        .because("http.tls"));
    }
    let failed = |error: reqwest::Error| describe(error, request);
    let client = Client::builder()
        .tls_backend_preconfigured(tls.config.clone())
        .dns_resolver(Pinned {
            host: request.url.host_str().unwrap_or_default().to_owned(),
            addresses,
        })
        .no_proxy()
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .pool_max_idle_per_host(0)
        .http1_only()
        .http1_max_headers(MAX_HTTP_ANSWER_LINES)
        .user_agent(USER_AGENT)
        .connect_timeout(connect_timeout)
        .build()
        .map_err(failed)?;
    let method = Method::from_bytes(request.method.as_bytes())
        .map_err(|_| ToolError::invalid(format!("'{}' is no method", request.method)))?;
    let mut sent = client
        .request(method, request.url.clone())
        .headers(request.headers.clone())
        .header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    if let Some(body) = &request.body {
        sent = sent.body(body.clone());
    }
    sent.send().await.map_err(failed)
}

/// What went wrong on the way, in words that name the host and neither path nor query, which may hold keys.
pub(super) fn describe(error: reqwest::Error, request: &Request) -> ToolError {
    let host = request.url.host_str().unwrap_or_default();
    let error = error.without_url();
    let mut refused = false;
    let mut tls = None;
    let mut deepest = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        deepest = inner.to_string();
        let io = inner.downcast_ref::<io::Error>();
        refused |= io.is_some_and(|io| io.kind() == io::ErrorKind::ConnectionRefused);
        if let Some(found) = io.and_then(tls_error).or_else(|| inner.downcast_ref()) {
            tls = Some(found.to_string());
        }
        cause = inner.source();
    }
    let deepest = deepest.replace(['\r', '\n'], " ");
    if error.is_timeout() {
        ToolError::new(
            ErrorCode::ToolTimeout,
            format!("'{host}' did not answer in time"),
        )
        .because("http.connect_timeout")
    } else if let Some(tls) = tls {
        ToolError::failed(format!("No safe connection to '{host}': {tls}")).because("http.tls")
    } else if refused {
        ToolError::failed(format!("'{host}' refused the connection")).because("http.refused")
    } else if error.is_connect() || error.is_builder() {
        ToolError::failed(format!("No connection to '{host}': {deepest}")).because("http.connect")
    } else {
        interrupted(request, &format!("'{host}' broke off: {deepest}"))
    }
}

/// What is wrapped in an IO error is no source of it, and may be wrapped twice.
fn tls_error(error: &io::Error) -> Option<&rustls::Error> {
    let mut wrapped = error.get_ref();
    while let Some(inner) = wrapped {
        if let Some(found) = inner.downcast_ref() {
            return Some(found);
        }
        wrapped = inner
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref);
    }
    None
}

/// The request went out and no whole answer came back.
fn interrupted(request: &Request, message: &str) -> ToolError {
    match may_repeat(&request.method) {
        true => ToolError::failed(message).because("http.interrupted"),
        false => ToolError::new(
            ErrorCode::ToolOutcomeUnknown,
            format!(
                "{message}; whether the {} took effect is not known",
                request.method
            ),
        )
        .because("http.interrupted"),
    }
}

/// Whether a second request does no more than the first.
pub(super) fn may_repeat(method: &str) -> bool {
    !matches!(method, "POST" | "PATCH")
}
