//! What went wrong on the way, in words: no connection, no safe one, no HTTP, or a connection that ended too soon.

use std::error::Error as _;
use std::io;

use super::endpoint::Endpoint;
use super::timeouts::Wait;
use crate::trouble::clean;
use crate::{ModelError, ModelErrorKind};

/// The layers of an error, as far as they tell something.
#[derive(Default)]
struct Causes {
    io: Option<io::ErrorKind>,
    tls: Option<rustls::Error>,
    not_http: bool,
    ended: bool,
    deepest: String,
}

impl Causes {
    fn of(error: &reqwest::Error) -> Self {
        let mut causes = Self {
            deepest: error.to_string(),
            ..Self::default()
        };
        let mut cause = error.source();
        while let Some(inner) = cause {
            causes.deepest = inner.to_string();
            let io = inner.downcast_ref::<io::Error>();
            causes.io = io.map(io::Error::kind).or(causes.io);
            let tls = io.and_then(tls_error).or_else(|| inner.downcast_ref());
            causes.tls = tls.cloned().or(causes.tls);
            if let Some(http) = inner.downcast_ref::<hyper::Error>() {
                causes.not_http |= http.is_parse();
                causes.ended |= http.is_incomplete_message();
            }
            cause = inner.source();
        }
        causes.deepest = clean(&causes.deepest);
        causes
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

/// No answer at all.
pub(super) fn not_sent(endpoint: &Endpoint, error: reqwest::Error) -> ModelError {
    use ModelErrorKind as Kind;
    let error = error.without_url();
    let causes = Causes::of(&error);
    let who = endpoint.who();
    if error.is_timeout() && error.is_connect() {
        return Wait::Connect.error(&who, endpoint.timeouts);
    }
    if let Some(tls) = &causes.tls {
        return not_safe(&who, tls);
    }
    let (kind, message) = match causes.io {
        Some(io::ErrorKind::ConnectionRefused) => (
            Kind::ServerError,
            format!("{who} refused the connection; is the server running?"),
        ),
        _ if causes.not_http => (
            Kind::Malformed,
            format!(
                "{who} did not answer with HTTP ({}); is another program on that port, or should the base URL \
                 begin with {}?",
                causes.deepest,
                match endpoint.base.scheme() {
                    "http" => "https://",
                    _ => "http://",
                }
            ),
        ),
        _ if error.is_connect() => (
            Kind::ServerError,
            format!(
                "no connection to {who}: {}; check the base URL and the network",
                causes.deepest
            ),
        ),
        _ if causes.ended => (
            Kind::BrokenStream,
            format!("{who} closed the connection before it answered; try again"),
        ),
        _ => (
            Kind::BrokenStream,
            format!(
                "the connection to {who} broke before it answered: {}; try again",
                causes.deepest
            ),
        ),
    };
    ModelError::new(kind, message)
}

/// An answer that ended too soon.
pub(super) fn cut_off(endpoint: &Endpoint, error: reqwest::Error) -> ModelError {
    let causes = Causes::of(&error.without_url());
    ModelError::new(
        ModelErrorKind::BrokenStream,
        format!(
            "the answer of {} stopped before its end: {}; try again",
            endpoint.who(),
            causes.deepest
        ),
    )
}

fn not_safe(who: &str, tls: &rustls::Error) -> ModelError {
    use ModelErrorKind as Kind;
    let (kind, remedy) = match tls {
        rustls::Error::InvalidMessage(_) => (
            Kind::Misdirected,
            "the server seems not to speak https; write http:// if it is your own",
        ),
        rustls::Error::InvalidCertificate(_) => (
            Kind::Misdirected,
            "its certificate is not one that this machine trusts; check the base URL, or install the certificate's CA",
        ),
        _ => (Kind::ServerError, "check the base URL"),
    };
    let tls = clean(&tls.to_string());
    ModelError::new(
        kind,
        format!("no safe connection to {who}: {tls}; {remedy}"),
    )
}

#[cfg(test)]
#[path = "failure_tests.rs"]
mod tests;
