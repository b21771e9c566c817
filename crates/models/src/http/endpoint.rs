//! Where the requests of one channel go, and what every one of them carries.

use std::fmt;
use std::sync::Arc;

use innkeeper_protocol::Secret;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
};
use url::Url;

use super::attempt::{self, Attempt};
use super::client::{HttpClient, Route, Way};
use super::place::{self, Reach};
use super::status::Asked;
use super::timeouts::Timeouts;
use crate::limits::{MAX_HEADER_BYTES, MAX_HEADERS};
use crate::names::{looks_secret, quoted};
use crate::provider::{Auth, Provider, Quirks};
use crate::trouble::{Mask, clean, misdirected};
use crate::{ModelError, ModelErrorKind, ModelRequest, WireFormat};

/// What belongs to the connection and the body, and is no business of a channel's.
const OURS: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Where requests of one channel go.
pub(crate) struct Endpoint {
    client: HttpClient,
    pub(super) label: String,
    pub(super) format: WireFormat,
    quirks: Quirks,
    /// The header that shows the key, and whether `Bearer` stands before it.
    auth: (HeaderName, Scheme),
    pub(super) base: Url,
    reach: Reach,
    headers: HeaderMap,
    /// Values of headers, which no message repeats.
    secrets: Vec<Secret>,
    /// The keys among them.
    header_keys: Vec<Secret>,
    pub(super) timeouts: Timeouts,
}

/// A header of a channel, ready to be sent.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: Secret,
    /// What of the value is a key, if anything is.
    pub(crate) key: Option<Secret>,
}

#[derive(Debug, Clone, Copy)]
enum Scheme {
    Bearer,
    Bare,
}

impl Endpoint {
    /// `headers` are sent with every request, and win over the provider's own of the same name. All of them are marked
    /// as sensitive.
    pub(crate) fn new(
        client: HttpClient,
        provider: &Provider,
        base_url: Option<&str>,
        headers: Vec<Header>,
        timeouts: Timeouts,
    ) -> Result<Self, ModelError> {
        let label = clean(&provider.label);
        timeouts.check(&label)?;
        let base = base_url.or(provider.base_url.as_deref()).ok_or_else(|| {
            misdirected(format!(
                "{label} has no address of its own; set the channel's `base_url`"
            ))
        })?;
        let base = place::base_url(base, provider.format)
            .map_err(|what| misdirected(format!("the base URL of {label} is not right: {what}")))?;
        let mut endpoint = Self {
            client,
            auth: auth(&provider.auth, provider.format, &label)?,
            format: provider.format,
            quirks: provider.quirks.clone(),
            reach: place::reach(&base),
            base,
            headers: HeaderMap::new(),
            secrets: Vec::new(),
            header_keys: Vec::new(),
            timeouts,
            label,
        };
        if provider.headers.len() + headers.len() > MAX_HEADERS {
            return Err(misdirected(format!(
                "{} has more than {MAX_HEADERS} headers; leave some away",
                endpoint.label
            )));
        }
        for (name, value) in &provider.headers {
            endpoint.add_header(name, value)?;
        }
        for Header { name, value, key } in headers {
            if key.is_some() || looks_secret(&name) {
                endpoint.may_show_key()?;
            }
            endpoint.add_header(&name, value.expose())?;
            endpoint.secrets.push(value);
            endpoint.header_keys.extend(key);
        }
        Ok(endpoint)
    }

    /// Begins when it is read. `request.model` is the name as the provider knows it.
    pub(crate) fn attempt(
        self: &Arc<Self>,
        key: Option<Secret>,
        request: Arc<ModelRequest>,
    ) -> Attempt {
        let model = request.model.clone();
        let (format, endpoint) = (self.format, Arc::clone(self));
        attempt::begin(Arc::clone(self), key, model, move || {
            let wire = format.encode(&request, &endpoint.quirks)?;
            Ok((wire, format.decoder()))
        })
    }

    pub(super) async fn pool(&self) -> Result<reqwest::Client, ModelError> {
        let way = match (self.base.scheme(), self.reach) {
            ("https", Reach::Loopback) => Way::TlsHere,
            ("https", _) => Way::Tls,
            _ => Way::Plain,
        };
        let connect = self.timeouts.connect();
        self.client.pool(Route { way, connect }).await
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, ModelError> {
        place::below(&self.base, path).ok_or_else(|| {
            misdirected(format!(
                "the request to {} would leave its base URL; is the model's name right?",
                self.label
            ))
        })
    }

    /// What one request carries: first what the format wants, then the key, then what was configured.
    pub(super) fn headers(
        &self,
        accept: &'static str,
        wire: &[(&'static str, String)],
        key: Option<&Secret>,
    ) -> Result<HeaderMap, ModelError> {
        let mut headers = HeaderMap::with_capacity(wire.len() + self.headers.len() + 4);
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static(accept));
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        for (name, value) in wire {
            let (name, value) = self.header(name, value)?;
            headers.insert(name, value);
        }
        if let Some(key) = key {
            self.may_show_key()?;
            let (name, scheme) = &self.auth;
            headers.insert(name, self.key_value(key, *scheme)?);
        }
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        Ok(headers)
    }

    fn key_value(&self, key: &Secret, scheme: Scheme) -> Result<HeaderValue, ModelError> {
        let unusable = |what: &str| {
            ModelError::new(
                ModelErrorKind::Unauthorized,
                format!("the key for {} {what}; paste it again", self.label),
            )
        };
        let key = key.expose().trim();
        if key.is_empty() {
            return Err(unusable("is empty"));
        }
        if key.len() > MAX_HEADER_BYTES {
            return Err(unusable(&format!(
                "is longer than {MAX_HEADER_BYTES} bytes"
            )));
        }
        let value = match scheme {
            Scheme::Bearer => HeaderValue::try_from(format!("Bearer {key}")),
            Scheme::Bare => HeaderValue::from_str(key),
        };
        let mut value = value
            .ok()
            .filter(|_| key.is_ascii())
            .ok_or_else(|| unusable("has characters that no key has, such as a line break"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    /// Whoever listens on the way would have the key.
    pub(crate) fn may_show_key(&self) -> Result<(), ModelError> {
        match self.base.scheme() == "https" || self.reach < Reach::Public {
            true => Ok(()),
            false => Err(misdirected(format!(
                "no key is sent to {} ({}) over plain http, where anyone on the way can read it; \
                 write https:// in its base URL",
                self.label,
                place::authority(&self.base)
            ))),
        }
    }

    fn add_header(&mut self, name: &str, value: &str) -> Result<(), ModelError> {
        let (name, value) = self.header(name, value)?;
        if OURS.contains(&name.as_str()) {
            return Err(misdirected(format!(
                "the header '{name}' of {} belongs to the connection; leave it away",
                self.label
            )));
        }
        self.headers.insert(name, value);
        Ok(())
    }

    fn header(&self, name: &str, value: &str) -> Result<(HeaderName, HeaderValue), ModelError> {
        let valid = header_name(name, &self.label)?;
        let value = Some(value.trim())
            .filter(|value| value.len() <= MAX_HEADER_BYTES && value.is_ascii())
            .and_then(|value| HeaderValue::from_str(value).ok());
        let mut value = value.ok_or_else(|| {
            misdirected(format!(
                "the value of the header '{valid}' of {} cannot be sent: it has a line break or letters beyond \
                 ASCII, or more than {MAX_HEADER_BYTES} bytes",
                self.label
            ))
        })?;
        value.set_sensitive(true);
        Ok((valid, value))
    }

    /// Provider and place, for messages.
    pub(super) fn who(&self) -> String {
        format!("{} ({})", self.label, place::authority(&self.base))
    }

    pub(super) fn asked<'a>(&'a self, model: &'a str) -> Asked<'a> {
        Asked {
            label: &self.label,
            base: &self.base,
            model,
        }
    }

    pub(super) fn header_keys(&self) -> &[Secret] {
        &self.header_keys
    }

    pub(super) fn mask(&self, key: Option<&Secret>) -> Mask {
        Mask::new(key.into_iter().chain(&self.header_keys), &self.secrets)
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Endpoint")
            .field("label", &self.label)
            .field("format", &self.format)
            .field("base", &place::shown(&self.base))
            .field("headers", &headers)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

fn auth(auth: &Auth, format: WireFormat, label: &str) -> Result<(HeaderName, Scheme), ModelError> {
    Ok(match (auth, format) {
        (Auth::Bearer, _) | (Auth::Usual | Auth::None, WireFormat::OpenAi) => {
            (AUTHORIZATION, Scheme::Bearer)
        }
        (Auth::Usual | Auth::None, WireFormat::Anthropic) => {
            (HeaderName::from_static("x-api-key"), Scheme::Bare)
        }
        (Auth::Usual | Auth::None, WireFormat::Gemini) => {
            (HeaderName::from_static("x-goog-api-key"), Scheme::Bare)
        }
        (Auth::Header(name), _) => (header_name(name, label)?, Scheme::Bare),
    })
}

fn header_name(name: &str, label: &str) -> Result<HeaderName, ModelError> {
    HeaderName::from_bytes(name.trim().as_bytes()).map_err(|_| {
        misdirected(format!(
            "'{}' of {label} is no name of a header; use letters, digits and dashes",
            clean(&quoted(name))
        ))
    })
}

#[cfg(test)]
#[path = "endpoint_tests.rs"]
mod tests;
