//! An answer as the model gets it: status, a few headers, and the body as JSON, text or base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::StatusCode;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use serde_json::{Map, Value as Json, json};
use url::Url;

use crate::limits::{MAX_HTTP_ANSWER_HEADER_CHARS, MAX_HTTP_ANSWER_HEADERS};

pub(super) struct Answer<'r> {
    pub(super) status: StatusCode,
    pub(super) url: &'r Url,
    pub(super) headers: &'r HeaderMap,
    pub(super) body: &'r [u8],
    /// There was more.
    pub(super) truncated: bool,
}

impl Answer<'_> {
    pub(super) fn to_json(&self) -> Json {
        let text = |name| {
            self.headers
                .get(name)
                .map(|value| readable(value.as_bytes()))
        };
        let content_type = text(CONTENT_TYPE).unwrap_or_default();
        let encoded = text(CONTENT_ENCODING)
            .is_some_and(|encoding| !encoding.trim().eq_ignore_ascii_case("identity"));
        let mut record = json!({
            "status": self.status.as_u16(),
            "statusText": self.status.canonical_reason().unwrap_or_default(),
            "url": self.url.as_str(),
            "headers": self.shown_headers(),
            "contentType": content_type,
            "bytes": self.body.len(),
            "truncated": self.truncated,
        });
        let (name, value) = match encoded {
            true => ("base64", STANDARD.encode(self.body).into()),
            false => self.content(&content_type),
        };
        record[name] = value;
        if name == "text" && std::str::from_utf8(self.whole_characters()).is_err() {
            record["lossy"] = true.into();
        }
        record
    }

    fn content(&self, content_type: &str) -> (&'static str, Json) {
        let kind = Kind::of(content_type);
        let bytes = self.whole_characters();
        let text = match std::str::from_utf8(bytes) {
            Ok(text) if kind != Kind::Unknown || !text.contains('\0') => text.into(),
            Err(_) if kind != Kind::Unknown => String::from_utf8_lossy(bytes),
            _ => return ("base64", STANDARD.encode(self.body).into()),
        };
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        if kind == Kind::Json
            && !self.truncated
            && let Ok(value) = serde_json::from_str::<Json>(text)
        {
            return ("json", value);
        }
        ("text", text.into())
    }

    /// Without the character that the cut went through.
    fn whole_characters(&self) -> &[u8] {
        match std::str::from_utf8(self.body) {
            Err(error) if self.truncated && error.error_len().is_none() => {
                self.body.split_at(error.valid_up_to()).0
            }
            _ => self.body,
        }
    }

    /// Cookies are for programs that keep them, and the frame of the message is of no use to anyone.
    fn shown_headers(&self) -> Map<String, Json> {
        let hidden = |name: &str| {
            matches!(
                name,
                "set-cookie"
                    | "set-cookie2"
                    | "connection"
                    | "keep-alive"
                    | "transfer-encoding"
                    | "trailer"
                    | "upgrade"
                    | "alt-svc"
                    | "nel"
                    | "report-to"
            ) || name.starts_with("proxy-")
        };
        let mut shown = Map::new();
        for name in self.headers.keys().map(|name| name.as_str()) {
            if hidden(name) {
                continue;
            }
            if shown.len() == MAX_HTTP_ANSWER_HEADERS {
                break;
            }
            let values = self.headers.get_all(name).iter();
            let values: Vec<String> = values.map(|value| readable(value.as_bytes())).collect();
            let joined = values.join(", ");
            let cut = joined.chars().take(MAX_HTTP_ANSWER_HEADER_CHARS);
            shown.insert(name.to_owned(), cut.collect::<String>().into());
        }
        shown
    }
}

fn readable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Json,
    Text,
    /// The bytes themselves must tell.
    Unknown,
}

impl Kind {
    fn of(content_type: &str) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        match essence.as_str() {
            "application/json" | "text/json" => Self::Json,
            other if other.ends_with("+json") => Self::Json,
            "application/xml"
            | "application/javascript"
            | "application/x-javascript"
            | "application/ecmascript"
            | "application/x-www-form-urlencoded"
            | "application/x-ndjson"
            | "application/yaml"
            | "application/toml"
            | "application/sql" => Self::Text,
            other if other.starts_with("text/") || other.ends_with("+xml") => Self::Text,
            _ => Self::Unknown,
        }
    }
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
