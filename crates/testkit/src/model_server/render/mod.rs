//! What is said, as the bytes of a body in each format.
//!
//! By the providers' documentation, and without a look at the client that reads it.

mod anthropic;
mod gemini;
mod openai;

use serde_json::{Value as Json, json};

use super::quirks::Quirks;
use super::request::{Delivery, Format};
use super::say::Say;

/// The body of the answer: the text of an event stream, or JSON.
pub fn render(format: Format, delivery: Delivery, say: &Say) -> Vec<u8> {
    match (format, delivery) {
        (Format::OpenAi, Delivery::Stream) => openai::stream(say),
        (Format::Anthropic, Delivery::Stream) => anthropic::stream(say),
        (Format::Gemini, Delivery::Stream) => gemini::stream(say),
        (Format::Gemini, Delivery::List) => bytes(&gemini::chunks(say).into()),
        (Format::OpenAi, _) => bytes(&openai::whole(say)),
        (Format::Anthropic, _) => bytes(&anthropic::whole(say)),
        (Format::Gemini, Delivery::Whole) => bytes(&gemini::whole(say)),
    }
}

/// The body of a refusal, in the shape of the format.
pub fn render_error(format: Format, status: u16, message: &str) -> Vec<u8> {
    bytes(&error(format, status, message))
}

fn error(format: Format, status: u16, message: &str) -> Json {
    let (openai, anthropic, gemini) = match status {
        400 => (
            "invalid_request_error",
            "invalid_request_error",
            "INVALID_ARGUMENT",
        ),
        401 => (
            "authentication_error",
            "authentication_error",
            "UNAUTHENTICATED",
        ),
        402 => ("insufficient_quota", "billing_error", "FAILED_PRECONDITION"),
        403 => ("permission_error", "permission_error", "PERMISSION_DENIED"),
        404 => ("not_found_error", "not_found_error", "NOT_FOUND"),
        413 => (
            "invalid_request_error",
            "request_too_large",
            "INVALID_ARGUMENT",
        ),
        429 => ("rate_limit_error", "rate_limit_error", "RESOURCE_EXHAUSTED"),
        503 => ("server_error", "api_error", "UNAVAILABLE"),
        504 => ("server_error", "timeout_error", "DEADLINE_EXCEEDED"),
        529 => ("server_error", "overloaded_error", "UNAVAILABLE"),
        _ => ("server_error", "api_error", "INTERNAL"),
    };
    match format {
        Format::OpenAi => json!({
            "error": {"message": message, "type": openai, "param": null, "code": null},
        }),
        Format::Anthropic => json!({
            "type": "error",
            "error": {"type": anthropic, "message": message},
            "request_id": "req_1",
        }),
        Format::Gemini => json!({
            "error": {"code": status, "message": message, "status": gemini},
        }),
    }
}

fn bytes(json: &Json) -> Vec<u8> {
    json.to_string().into_bytes()
}

/// Adds the fields of `more`, an object, to `to`.
fn merge(to: &mut Json, more: &Json) {
    if let (Some(to), Some(more)) = (to.as_object_mut(), more.as_object()) {
        to.extend(more.clone());
    }
}

/// Writes server-sent events.
struct Events<'a> {
    out: String,
    quirks: &'a Quirks,
}

impl<'a> Events<'a> {
    fn new(quirks: &'a Quirks) -> Self {
        let out = String::new();
        Self { out, quirks }
    }

    fn data(&mut self, data: &Json) {
        self.event(None, &data.to_string());
    }

    fn event(&mut self, name: Option<&str>, data: &str) {
        if self.quirks.pings {
            self.line(": still here");
            self.line("");
        }
        let blank = if self.quirks.tight { "" } else { " " };
        if let Some(name) = name {
            self.line(&format!("event:{blank}{name}"));
        }
        self.line(&format!("data:{blank}{data}"));
        self.line("");
    }

    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out
            .push_str(if self.quirks.crlf { "\r\n" } else { "\n" });
    }

    fn finish(self) -> Vec<u8> {
        self.out.into_bytes()
    }
}

#[cfg(test)]
#[path = "render_tests.rs"]
mod tests;
