//! What a client has asked.

use serde_json::Value as Json;

/// The three ways in which providers talk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Chat completions, as OpenAI began and most others follow.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `generateContent`.
    Gemini,
}

/// In how many pieces an answer comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// As one JSON object.
    Whole,
    /// As server-sent events.
    Stream,
    /// As a JSON list of pieces, which is what Gemini streams without `alt=sse`. Others answer whole.
    List,
}

impl Format {
    pub const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Gemini];
}

/// A request as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// Without the query.
    pub path: String,
    /// What stood after the `?`, or nothing.
    pub query: String,
    /// In the order and the letter case in which they came.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Which connection it came on, counted from 1.
    pub connection: usize,
}

impl Request {
    /// The first field of that name; letter case does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        let field = |(field, _): &&(String, String)| field.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(field)
            .map(|(_, value)| value.as_str())
    }

    /// A value of the query as it was written, percent signs and all.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|pair| {
            let (field, value) = pair.split_once('=').unwrap_or((pair, ""));
            (field == name).then_some(value)
        })
    }

    /// # Panics
    /// If the body is no JSON.
    #[expect(clippy::panic, reason = "only tests call it")]
    pub fn json(&self) -> Json {
        match serde_json::from_slice(&self.body) {
            Ok(json) => json,
            Err(error) => panic!(
                "the body of {} {} is no JSON: {error}: {}",
                self.method,
                self.path,
                self.text()
            ),
        }
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Told by the path.
    pub fn format(&self) -> Option<Format> {
        let last = self.path.rsplit('/').next().unwrap_or_default();
        if self.path.ends_with("/chat/completions") {
            Some(Format::OpenAi)
        } else if last == "messages" {
            Some(Format::Anthropic)
        } else if last.ends_with(":generateContent") || last.ends_with(":streamGenerateContent") {
            Some(Format::Gemini)
        } else {
            None
        }
    }

    /// What was asked for: by the body's `stream`, or by Gemini's path and `alt=sse`.
    pub fn delivery(&self) -> Delivery {
        let streams = match self.format() {
            Some(Format::Gemini) => self.path.ends_with(":streamGenerateContent"),
            _ => self.body_field("/stream") == Some(Json::Bool(true)),
        };
        match streams {
            false => Delivery::Whole,
            true if self.format() == Some(Format::Gemini) && self.param("alt") != Some("sse") => {
                Delivery::List
            }
            true => Delivery::Stream,
        }
    }

    /// Whether the counts of a stream were asked for, in the way of chat completions.
    pub(super) fn wants_usage(&self) -> bool {
        self.body_field("/stream_options/include_usage") == Some(Json::Bool(true))
    }

    fn body_field(&self, pointer: &str) -> Option<Json> {
        let body: Json = serde_json::from_slice(&self.body).ok()?;
        body.pointer(pointer).cloned()
    }
}
