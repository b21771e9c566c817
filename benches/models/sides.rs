//! The two that ask: a bare client, and ours.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use innkeeper_benches::Failed;
use innkeeper_benches::model::{bare_client, headers_of};
use innkeeper_models::provider::{Auth, Provider, Quirks};
use innkeeper_models::{
    Channel, ChannelConfig, HttpClient, KeyLookup, KeyRef, KeySource, Message, Model, ModelEvent,
    ModelRequest, Part, Role, Routed, Router, Sampling, ToolSpec, WireFormat,
};
use innkeeper_protocol::Secret;
use innkeeper_testkit::model_server::{Answer, Format, ModelServer, Say};
use reqwest::header::HeaderMap;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::server::Server;

/// How one reply was read.
#[derive(Clone, Copy)]
pub(crate) struct Read {
    /// Until its first token, or its first byte for the bare client.
    pub(crate) first: Duration,
    pub(crate) whole: Duration,
    pub(crate) bytes: usize,
}

pub(crate) fn name(format: Format) -> &'static str {
    match format {
        Format::OpenAi => "chat completions",
        Format::Anthropic => "Anthropic",
        Format::Gemini => "Gemini",
    }
}

pub(crate) struct Sides {
    pub(crate) bare: Arc<Bare>,
    pub(crate) ours: Arc<Ours>,
}

impl Sides {
    pub(crate) async fn new(server: &Server, format: Format) -> Result<Self, Failed> {
        let text = server.bench.tokens * server.bench.bytes_per_token;
        Ok(Self {
            bare: Arc::new(Bare::new(server.url(), format).await?),
            ours: Arc::new(Ours::new(server.url(), format, text)?),
        })
    }

    /// So that a machine that is busy for a while is busy for both.
    pub(crate) async fn by_turns(&self, rounds: usize) -> Result<Vec<(Read, Read)>, Failed> {
        let (bare, ours) = (Arc::clone(&self.bare), Arc::clone(&self.ours));
        let turns = tokio::spawn(async move {
            let mut turns = Vec::with_capacity(rounds);
            // The first ones connect.
            for round in 0..rounds + 3 {
                let turn = match round % 2 {
                    0 => (bare.read(|| {}).await?, ours.read(|| {}).await?),
                    _ => {
                        let ours = ours.read(|| {}).await?;
                        (bare.read(|| {}).await?, ours)
                    }
                };
                if round >= 3 {
                    turns.push(turn);
                }
            }
            Ok::<_, String>(turns)
        });
        Ok(turns.await??)
    }
}

/// The same client as ours stands on, and the bytes are dropped.
pub(crate) struct Bare {
    client: reqwest::Client,
    url: String,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Bare {
    /// Asks for what ours asks for: ours is listened to once.
    pub(crate) async fn new(url: &str, format: Format) -> Result<Self, Failed> {
        let listener = ModelServer::start().await;
        listener.push(Answer::say(Say::text("x")));
        let ours = Ours::new(&listener.url(), format, 1)?;
        ours.read(|| {}).await?;
        let asked = listener.next_request().await;
        let query = match asked.query.as_str() {
            "" => String::new(),
            query => format!("?{query}"),
        };
        Ok(Self {
            client: bare_client()?,
            url: format!("{url}{}{query}", asked.path),
            headers: headers_of(&asked)?,
            body: asked.body,
        })
    }

    /// `heard` is told of the first bytes.
    pub(crate) async fn read(&self, heard: impl FnOnce()) -> Result<Read, String> {
        let start = Instant::now();
        let request = self.client.post(&self.url).headers(self.headers.clone());
        let sent = request.body(self.body.clone()).send();
        let mut response = sent.await.map_err(|error| error.to_string())?;
        let (mut first, mut bytes, mut heard) = (None, 0, Some(heard));
        while let Some(chunk) = response.chunk().await.map_err(|error| error.to_string())? {
            first.get_or_insert_with(|| start.elapsed());
            bytes += chunk.len();
            if let Some(heard) = heard.take() {
                heard();
            }
        }
        Ok(Read {
            first: first.ok_or("the bare client got nothing")?,
            whole: start.elapsed(),
            bytes,
        })
    }
}

pub(crate) struct Ours {
    model: Routed,
    request: ModelRequest,
    text: usize,
}

struct NoSecrets;

impl KeySource for NoSecrets {
    fn secret(&self, _: &str) -> Result<Option<Secret>, String> {
        Ok(None)
    }
}

impl Ours {
    /// With all that a call passes: key, routing, price table and the guard of the context window. `text` is how long
    /// the reply must be.
    pub(crate) fn new(url: &str, format: Format, text: usize) -> Result<Self, Failed> {
        let (format, version) = match format {
            Format::OpenAi => (WireFormat::OpenAi, "v1"),
            Format::Anthropic => (WireFormat::Anthropic, "v1"),
            Format::Gemini => (WireFormat::Gemini, "v1beta"),
        };
        let provider = Provider {
            id: "bench".into(),
            label: "Bench".into(),
            format,
            base_url: Some(format!("{url}/{version}")),
            key_url: None,
            key_env: None,
            auth: Auth::Usual,
            headers: BTreeMap::new(),
            local_port: None,
            quirks: Quirks::default(),
        };
        let mut config = ChannelConfig::new("bench", "bench");
        config.keys = KeyRef::read("${BENCH_KEY}").into_iter().collect();
        config.context = Some(200_000);
        let keys = KeyLookup {
            secrets: &NoSecrets,
            env: &|_| Some("not-a-key".to_owned()),
        };
        let channel = Arc::new(Channel::new(provider, config, &keys, HttpClient::new()?));
        let router = Router::new(vec![channel], Vec::new(), BTreeMap::new())?;
        Ok(Self {
            model: router.model("bench/model")?,
            request: request(),
            text,
        })
    }

    /// `heard` is told of the first token.
    pub(crate) async fn read(&self, heard: impl FnOnce()) -> Result<Read, String> {
        let start = Instant::now();
        let request = self.request.clone();
        let mut stream = self.model.stream(request, CancellationToken::new());
        let (mut first, mut text, mut heard) = (None, 0, Some(heard));
        while let Some(event) = stream.next().await {
            if let ModelEvent::Text(piece) = event.map_err(|error| error.message)? {
                first.get_or_insert_with(|| start.elapsed());
                text += piece.len();
                if let Some(heard) = heard.take() {
                    heard();
                }
            }
        }
        if text != self.text {
            return Err(format!("the reply has {text} bytes, not {}", self.text));
        }
        Ok(Read {
            first: first.ok_or("the reply has no text")?,
            whole: start.elapsed(),
            bytes: 0,
        })
    }
}

/// In the middle of a conversation: twenty messages of some 500 bytes, ten tools.
fn request() -> ModelRequest {
    let sentence = "The inn stands where the two roads meet, and nobody remembers who built it. ";
    let message = |number: usize| Message {
        role: match number % 2 {
            0 => Role::User,
            _ => Role::Assistant,
        },
        name: None,
        parts: vec![Part::text(sentence.repeat(6))],
    };
    let mut request = ModelRequest::new("model", (0..19).map(message).collect());
    request.tools = (0..10)
        .map(|number| ToolSpec {
            name: format!("tool_{number}"),
            description: sentence.to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {"place": {"type": "string"}, "count": {"type": "integer"}},
                "required": ["place"],
            })
            .into(),
        })
        .collect();
    request.sampling = Sampling {
        max_tokens: Some(50_000),
        ..Sampling::default()
    };
    request
}
