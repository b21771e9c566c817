//! What a model asks for, turned into a request that is safe to send: URL, headers, body.

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use url::{Host, Url};

use super::policy::canonical;
use crate::ToolError;
use crate::limits::{
    MAX_HTTP_BODY_BYTES, MAX_HTTP_HEADER_BYTES, MAX_HTTP_HEADERS, MAX_HTTP_URL_CHARS,
};

#[derive(Debug, Deserialize)]
pub(super) struct Arguments {
    pub(super) url: String,
    #[serde(default = "get")]
    pub(super) method: String,
    #[serde(default)]
    pub(super) headers: Map<String, Json>,
    #[serde(default)]
    pub(super) query: Map<String, Json>,
    #[serde(default)]
    pub(super) body: Json,
    pub(super) timeout_ms: Option<u64>,
    pub(super) max_bytes: Option<u64>,
}

fn get() -> String {
    "GET".to_owned()
}

/// One request on its way; a redirect makes another of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<String>,
}

fn invalid(reason: &str, message: String) -> ToolError {
    ToolError::invalid(message).because(reason).permanent()
}

impl Request {
    pub(super) fn new(arguments: Arguments) -> Result<Self, ToolError> {
        let mut url = read_url(&arguments.url, None)?;
        add_query(&mut url, &arguments.query)?;
        let mut headers = read_headers(&arguments.headers)?;
        let method = arguments.method.to_ascii_uppercase();
        let body = match arguments.body {
            Json::Null => None,
            _ if matches!(method.as_str(), "GET" | "HEAD") => {
                return Err(invalid(
                    "http.body_not_allowed",
                    format!("A {method} request has no body; use 'query', or POST, PUT or PATCH"),
                ));
            }
            Json::String(text) => {
                let json = matches!(
                    serde_json::from_str(&text),
                    Ok(Json::Object(_) | Json::Array(_))
                );
                Some((text, json))
            }
            json => Some((json.to_string(), true)),
        };
        if let Some((body, json)) = &body {
            if body.len() > MAX_HTTP_BODY_BYTES {
                return Err(invalid(
                    "http.body_too_large",
                    format!(
                        "The body has {} bytes; at most {MAX_HTTP_BODY_BYTES} can be sent",
                        body.len()
                    ),
                ));
            }
            let default = match json {
                true => HeaderValue::from_static("application/json"),
                false => HeaderValue::from_static("text/plain; charset=utf-8"),
            };
            headers
                .entry(reqwest::header::CONTENT_TYPE)
                .or_insert(default);
        }
        Ok(Self {
            method,
            url,
            headers,
            body: body.map(|(body, _)| body),
        })
    }
}

/// A URL in its one spelling, or why it cannot be asked. `from` is where a redirect came from.
pub(super) fn read_url(text: &str, from: Option<&Url>) -> Result<Url, ToolError> {
    let place = match from {
        Some(from) => format!(
            "The redirect from '{}'",
            from.host_str().unwrap_or_default()
        ),
        None => "'url'".to_owned(),
    };
    let wrong = |why: &str| {
        invalid(
            "http.invalid_url",
            format!("{place} is no address to ask: {why}"),
        )
    };
    let too_long = || wrong(&format!("it has more than {MAX_HTTP_URL_CHARS} characters"));
    if text.chars().nth(MAX_HTTP_URL_CHARS).is_some() {
        return Err(too_long());
    }
    let mut url = Url::options()
        .base_url(from)
        .parse(text)
        .map_err(|error| wrong(&error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it must begin with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "names and passwords do not belong into it; use an Authorization header",
        ));
    }
    if url.port() == Some(0) {
        return Err(wrong("there is no port 0"));
    }
    let host = url.host().and_then(|host| canonical(&host));
    let host = host.ok_or_else(|| wrong("its host is no valid name"))?;
    let written = match &host {
        Host::Domain(name) => url.set_host(Some(name)).is_ok(),
        Host::Ipv4(address) => url.set_ip_host((*address).into()).is_ok(),
        Host::Ipv6(address) => url.set_ip_host((*address).into()).is_ok(),
    };
    if !written {
        return Err(wrong("its host is no valid name"));
    }
    url.set_fragment(None);
    match url.as_str().chars().nth(MAX_HTTP_URL_CHARS) {
        Some(_) => Err(too_long()),
        None => Ok(url),
    }
}

fn add_query(url: &mut Url, query: &Map<String, Json>) -> Result<(), ToolError> {
    if query.is_empty() {
        return Ok(());
    }
    {
        let mut pairs = url.query_pairs_mut();
        for (name, value) in query {
            let values = match value {
                Json::Array(values) => values.as_slice(),
                value => std::slice::from_ref(value),
            };
            for value in values {
                match scalar(value) {
                    Some(text) => {
                        pairs.append_pair(name, &text);
                    }
                    None if value.is_null() => {}
                    None => {
                        return Err(invalid(
                            "http.invalid_query",
                            format!(
                                "'query.{name}' must be text, a number, true, false or a list of them"
                            ),
                        ));
                    }
                }
            }
        }
    }
    match url.as_str().chars().nth(MAX_HTTP_URL_CHARS) {
        Some(_) => Err(invalid(
            "http.invalid_url",
            format!("The URL with its query has more than {MAX_HTTP_URL_CHARS} characters"),
        )),
        None => Ok(()),
    }
}

fn scalar(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        Json::Bool(flag) => Some(flag.to_string()),
        Json::Null | Json::Array(_) | Json::Object(_) => None,
    }
}

/// Headers that say how a message is framed, carried or whom it is for are ours to set.
fn is_ours(name: &str) -> bool {
    name.starts_with("proxy-")
        || matches!(
            name,
            "host"
                | "content-length"
                | "transfer-encoding"
                | "connection"
                | "keep-alive"
                | "te"
                | "trailer"
                | "upgrade"
                | "expect"
                | "http2-settings"
                | "accept-encoding"
                | "user-agent"
        )
}

fn read_headers(given: &Map<String, Json>) -> Result<HeaderMap, ToolError> {
    let wrong = |message: String| invalid("http.invalid_header", message);
    if given.len() > MAX_HTTP_HEADERS {
        return Err(wrong(format!(
            "There are {} headers; at most {MAX_HTTP_HEADERS} can be sent",
            given.len()
        )));
    }
    let mut headers = HeaderMap::new();
    let mut bytes = 0;
    for (name, value) in given {
        let Ok(header) = HeaderName::from_bytes(name.as_bytes()) else {
            return Err(wrong(format!(
                "'{}' is no name of a header",
                name.escape_debug()
            )));
        };
        if is_ours(header.as_str()) {
            return Err(invalid(
                "http.header_not_allowed",
                format!("The header '{header}' cannot be set; leave it out"),
            ));
        }
        let value = scalar(value)
            .and_then(|text| {
                bytes += header.as_str().len() + text.len();
                HeaderValue::from_bytes(text.trim().as_bytes()).ok()
            })
            .ok_or_else(|| {
                wrong(format!(
                    "The header '{header}' must have one line of text as its value"
                ))
            })?;
        if headers.insert(header.clone(), value).is_some() {
            return Err(wrong(format!("The header '{header}' is given twice")));
        }
    }
    match bytes > MAX_HTTP_HEADER_BYTES {
        true => Err(wrong(format!(
            "The headers have {bytes} bytes; at most {MAX_HTTP_HEADER_BYTES} can be sent"
        ))),
        false => Ok(headers),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
