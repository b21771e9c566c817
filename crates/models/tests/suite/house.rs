//! What all these tests need: channels to a scripted server, and a way to ask.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use innkeeper_models::provider::{Auth, Provider, Quirks};
use innkeeper_models::{
    CallReport, Channel, ChannelConfig, HttpClient, KeyLookup, KeyRef, KeySource, Message,
    ModelError, ModelReply, ModelRequest, Models, ReportSink, Router, WireFormat,
};
use innkeeper_protocol::{Pattern, Secret};
use innkeeper_testkit::model_server::{Format, ModelServer};
use tokio_util::sync::CancellationToken;

/// In every key and every secret header: what is printed must never hold it.
pub(crate) const PLANTED: &str = "sk-planted-9c41e7";

/// The key that `${KEY_X}` or `secret:models.x` stands for.
pub(crate) fn key(name: &str) -> String {
    format!("{PLANTED}-{name}")
}

struct Secrets;

impl KeySource for Secrets {
    fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        Ok(Some(Secret::new(key(name))))
    }
}

pub(crate) const fn wire(format: Format) -> WireFormat {
    match format {
        Format::OpenAi => WireFormat::OpenAi,
        Format::Anthropic => WireFormat::Anthropic,
        Format::Gemini => WireFormat::Gemini,
    }
}

pub(crate) fn provider(format: Format) -> Provider {
    Provider {
        id: "vendor".into(),
        label: "Vendor".into(),
        format: wire(format),
        base_url: None,
        key_url: None,
        key_env: None,
        auth: Auth::Usual,
        headers: BTreeMap::new(),
        local_port: None,
        quirks: Quirks {
            message_fields: vec!["reasoning_details".into(), "extra_content".into()],
            ..Quirks::default()
        },
    }
}

/// To that server, with one key, and without repetitions. It names all models, so that one like it may be next.
pub(crate) fn config(name: &str, server: &ModelServer, format: Format) -> ChannelConfig {
    let mut config = ChannelConfig::new(name, "vendor");
    config.base_url = Some(server.base_url(format));
    config.keys = vec![KeyRef::Env("KEY_A".into())];
    config.retries = 0;
    config.models = vec![Pattern::new("*")];
    config
}

pub(crate) fn channel(config: ChannelConfig, format: Format) -> Arc<Channel> {
    let env = |name: &str| Some(key(name));
    let lookup = KeyLookup {
        secrets: &Secrets,
        env: &env,
    };
    let client = HttpClient::new().unwrap();
    Arc::new(Channel::new(provider(format), config, &lookup, client))
}

#[derive(Default)]
pub(crate) struct Reports(Mutex<Vec<CallReport>>);

impl ReportSink for Reports {
    fn report(&self, report: CallReport) {
        self.0.lock().unwrap().push(report);
    }
}

impl Reports {
    pub(crate) fn take(&self) -> Vec<CallReport> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

pub(crate) struct House {
    pub(crate) models: Models,
    pub(crate) reports: Arc<Reports>,
}

impl House {
    pub(crate) fn new(channels: Vec<Arc<Channel>>) -> Self {
        let reports = Arc::new(Reports::default());
        let router = Router::new(channels, Vec::new(), BTreeMap::new()).unwrap();
        let router = router.with_reports(Arc::clone(&reports) as Arc<dyn ReportSink>);
        Self {
            models: Models::new().with_router(router),
            reports,
        }
    }

    /// One channel, `one`.
    pub(crate) fn plain(server: &ModelServer, format: Format) -> Self {
        Self::new(vec![channel(config("one", server, format), format)])
    }

    /// By the model's name alone, so that every channel is a candidate.
    pub(crate) async fn ask(&self, request: ModelRequest) -> Result<ModelReply, ModelError> {
        let model = self.models.get("tiny")?;
        model
            .stream(request, CancellationToken::new())
            .collect()
            .await
    }

    pub(crate) async fn hello(&self) -> Result<ModelReply, ModelError> {
        self.ask(hello()).await
    }
}

pub(crate) fn hello() -> ModelRequest {
    ModelRequest::new("tiny", vec![Message::user("hello")])
}

/// Where in the body of an answer the first place after `text` is that ends an event.
pub(crate) fn after_event_with(body: &[u8], text: &str) -> usize {
    let body = String::from_utf8_lossy(body);
    let at = body.find(text).unwrap();
    at + body[at..].find("\n\n").unwrap() + 2
}
