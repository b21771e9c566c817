//! Names to addresses. What an address is worth is judged in `address.rs`.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};

use async_trait::async_trait;

/// Names to addresses. Every address it gives is looked at before anyone connects.
#[async_trait]
pub trait Resolver: Send + Sync {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let host = host.to_owned();
        let found = tokio::task::spawn_blocking(move || {
            let found = (host.as_str(), 0).to_socket_addrs()?;
            Ok(found.map(|address| address.ip()).collect())
        });
        found.await.map_err(io::Error::other)?
    }
}
