//! Where the server listens, under which names, and within which bounds.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use crate::limits;

#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Port 0: any that is free.
    pub address: SocketAddr,
    /// Somebody has said, in so many words, that others than this machine may come.
    pub beyond_this_machine: bool,
    /// Further names under which it is reached: `inn.example`, `inn.example:8443`. In the form of a Host header.
    pub hosts: Vec<String>,
    /// Pages of other origins that may ask: `http://localhost:8000`, exactly as a browser says it.
    pub origins: Vec<String>,
    /// Each person has a house of their own and signs in with a password.
    pub many_people: bool,
    pub bounds: Bounds,
}

#[derive(Debug, Clone)]
pub struct Bounds {
    pub connections: usize,
    pub head_timeout: Duration,
    pub request_timeout: Duration,
    pub closing_timeout: Duration,
    pub body_bytes: usize,
    pub rate: u32,
    pub rate_at_once: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: limits::MAX_CONNECTIONS,
            head_timeout: limits::HEAD_TIMEOUT,
            request_timeout: limits::REQUEST_TIMEOUT,
            closing_timeout: limits::CLOSING_TIMEOUT,
            body_bytes: limits::MAX_BODY_BYTES,
            rate: limits::RATE,
            rate_at_once: limits::RATE_AT_ONCE,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadOptions {
    #[error(
        "{0} can be reached from other machines; say --beyond-this-machine if that is meant, or listen on 127.0.0.1"
    )]
    NotLoopback(IpAddr),
    #[error(
        "'{0}' is no origin; write it as a browser does, with scheme, host and port and nothing after them: http://localhost:8000"
    )]
    Origin(String),
    #[error(
        "'{0}' is no host; write it as in an address, with its port if it has one: inn.example:8443"
    )]
    Host(String),
}

impl ServerOptions {
    /// On this machine alone, for one person.
    pub fn local(port: u16) -> Self {
        Self {
            address: SocketAddr::new(IpAddr::from([127, 0, 0, 1]), port),
            beyond_this_machine: false,
            hosts: Vec::new(),
            origins: Vec::new(),
            many_people: false,
            bounds: Bounds::default(),
        }
    }

    pub fn check(&self) -> Result<(), BadOptions> {
        let ip = self.address.ip();
        if !ip.is_loopback() && !self.beyond_this_machine {
            return Err(BadOptions::NotLoopback(ip));
        }
        if let Some(bad) = self.origins.iter().find(|origin| !is_origin(origin)) {
            return Err(BadOptions::Origin(bad.clone()));
        }
        match self.hosts.iter().find(|host| !is_authority(host)) {
            Some(bad) => Err(BadOptions::Host(bad.clone())),
            None => Ok(()),
        }
    }
}

fn is_origin(text: &str) -> bool {
    let scheme_and_rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    scheme_and_rest.is_some_and(is_authority)
}

fn is_authority(text: &str) -> bool {
    let parsed = text.parse::<axum::http::uri::Authority>();
    parsed.is_ok_and(|authority| {
        authority.as_str() == text
            && !text.contains('@')
            && text == text.to_ascii_lowercase()
            && text
                .chars()
                .all(|letter| letter.is_ascii_alphanumeric() || ".-:[]".contains(letter))
            && !authority.host().is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_address_wants_to_be_meant() {
        let mut options = ServerOptions::local(0);
        assert_eq!(options.check(), Ok(()));
        options.address = "0.0.0.0:80".parse().unwrap();
        let ip = options.address.ip();
        assert_eq!(options.check(), Err(BadOptions::NotLoopback(ip)));
        options.beyond_this_machine = true;
        assert_eq!(options.check(), Ok(()));
    }

    #[test]
    fn origins_and_hosts_are_written_as_browsers_write_them() {
        for (origin, holds) in [
            ("http://localhost:8000", true),
            ("https://inn.example", true),
            ("http://[::1]:8000", true),
            ("null", false),
            ("*", false),
            ("http://*", false),
            ("localhost:8000", false),
            ("http://localhost:8000/", false),
            ("http://LOCALHOST:8000", false),
            ("http://me@localhost", false),
            ("file:///", false),
            ("http://", false),
        ] {
            assert_eq!(is_origin(origin), holds, "{origin}");
        }
    }
}
