//! Connections to everybody, and what TLS needs. Made when first needed: reading the machine's certificates takes its
//! time, and a server on this machine needs none.
//!
//! HTTP/1.1, connections kept open between requests, no redirects, no cookies, no compression (it holds back pieces).
//! `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` count for https to other machines. Plain http goes straight to its host, so
//! that no proxy reads a key, and so does all that stays on this machine.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Client, redirect, retry};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;

use crate::ModelError;
use crate::limits::{
    MAX_ANSWER_HEADERS, MAX_IDLE_CONNECTIONS, MAX_POOLS, POOL_IDLE, TCP_KEEPALIVE,
};
use crate::trouble::misdirected;

const USER_AGENT: &str = concat!("innkeeper/", env!("CARGO_PKG_VERSION"));

/// Connections to everybody, kept open between requests. Cheap to clone.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

struct Shared {
    tls: OnceCell<Tls>,
    pools: Mutex<Vec<(Route, Client)>>,
}

/// Which pool of connections serves a request. Nearly always there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) way: Way,
    pub(super) connect: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Plain,
    /// https on this machine.
    TlsHere,
    Tls,
}

struct Tls {
    config: ClientConfig,
    /// Why no certificate can be checked on this machine.
    broken: Option<String>,
}

impl HttpClient {
    /// Opens and reads nothing yet.
    pub fn new() -> Result<Self, ModelError> {
        Ok(Self {
            shared: Arc::new(Shared {
                tls: OnceCell::new(),
                pools: Mutex::default(),
            }),
        })
    }

    /// Plain http to a server on this machine.
    pub(crate) async fn here(&self, connect: Duration) -> Result<Client, ModelError> {
        let way = Way::Plain;
        self.pool(Route { way, connect }).await
    }

    pub(super) async fn pool(&self, route: Route) -> Result<Client, ModelError> {
        if let Some(client) = self.known(route) {
            return Ok(client);
        }
        let config = match route.way {
            Way::Plain => Tls::trusting_nobody()?,
            Way::TlsHere | Way::Tls => {
                let tls = self.shared.tls.get_or_try_init(load).await?;
                if let Some(broken) = &tls.broken {
                    return Err(misdirected(format!(
                        "https cannot be used, since this machine has no certificates to trust ({broken}); \
                         install its CA certificates, or use a server on this machine over http"
                    )));
                }
                tls.config.clone()
            }
        };
        let client = build(route, config)?;
        let mut pools = self.pools();
        if let Some((_, other)) = pools.iter().find(|(known, _)| *known == route) {
            return Ok(other.clone());
        }
        if pools.len() >= MAX_POOLS {
            pools.remove(0);
        }
        pools.push((route, client.clone()));
        Ok(client)
    }

    fn known(&self, route: Route) -> Option<Client> {
        let pools = self.pools();
        let found = pools.iter().find(|(known, _)| *known == route);
        found.map(|(_, client)| client.clone())
    }

    fn pools(&self) -> std::sync::MutexGuard<'_, Vec<(Route, Client)>> {
        let pools = self.shared.pools.lock();
        pools.unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn trusting_nobody() -> Self {
        Self::with_tls(None)
    }

    #[cfg(test)]
    fn with_tls(broken: Option<&str>) -> Self {
        let tls = Tls {
            config: Tls::trusting_nobody().unwrap(),
            broken: broken.map(str::to_owned),
        };
        Self {
            shared: Arc::new(Shared {
                tls: OnceCell::new_with(Some(tls)),
                pools: Mutex::default(),
            }),
        }
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HttpClient")
    }
}

fn build(route: Route, config: ClientConfig) -> Result<Client, ModelError> {
    let builder = Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        .referer(false)
        .http1_only()
        .http1_max_headers(MAX_ANSWER_HEADERS)
        .pool_idle_timeout(POOL_IDLE)
        .pool_max_idle_per_host(MAX_IDLE_CONNECTIONS)
        .tcp_nodelay(true)
        .tcp_keepalive(TCP_KEEPALIVE)
        .user_agent(USER_AGENT)
        .connect_timeout(route.connect);
    let builder = match route.way {
        Way::Plain | Way::TlsHere => builder.no_proxy(),
        Way::Tls => builder,
    };
    builder
        .build()
        .map_err(|error| misdirected(format!("HTTP cannot be set up: {}", error.without_url())))
}

async fn load() -> Result<Tls, ModelError> {
    let loaded = tokio::task::spawn_blocking(Tls::load).await;
    loaded.unwrap_or_else(|_| {
        let message = "the certificates were not read, since the program is ending";
        Err(misdirected(message.to_owned()))
    })
}

impl Tls {
    /// Reads the machine's certificates: not for the async world.
    fn load() -> Result<Self, ModelError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(match Verifier::new(Arc::clone(&provider)) {
            Ok(verifier) => Self {
                config: ClientConfig::builder_with_provider(provider)
                    .with_safe_default_protocol_versions()
                    .map_err(|error| misdirected(format!("TLS cannot be set up: {error}")))?
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(verifier))
                    .with_no_client_auth(),
                broken: None,
            },
            Err(error) => Self {
                config: Self::trusting_nobody()?,
                broken: Some(error.to_string()),
            },
        })
    }

    fn trusting_nobody() -> Result<ClientConfig, ModelError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        Ok(ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| misdirected(format!("TLS cannot be set up: {error}")))?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth())
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
