//! A network that plays a script, for tests.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use innkeeper_protocol::Secret;

use super::{Channel, ChannelConfig, KeyLookup, KeySource, Listing, Router, Sends};
use crate::http::Attempt;
use crate::provider::Providers;
use crate::{ListedModel, ModelError, ModelErrorKind, ModelEvent, ModelRequest};

/// In every key of every test: what is printed must never hold it.
pub(super) const PLANTED: &str = "sk-planted-7f3a";

#[derive(Clone)]
pub(super) enum Step {
    Says(ModelEvent),
    Fails(ModelError),
    Takes(Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) key: Option<String>,
    pub(super) model: String,
    pub(super) attempt: u32,
    pub(super) max_tokens: Option<u32>,
    pub(super) stream: bool,
    pub(super) is_raw: bool,
}

#[derive(Default)]
pub(super) struct Fake {
    script: Mutex<VecDeque<Vec<Step>>>,
    sent: Mutex<Vec<Sent>>,
    listed: Vec<ListedModel>,
}

impl Fake {
    pub(super) fn new(script: impl IntoIterator<Item = Vec<Step>>) -> Arc<Self> {
        Arc::new(Self {
            script: Mutex::new(script.into_iter().collect()),
            ..Self::default()
        })
    }

    pub(super) fn listing(listed: Vec<ListedModel>) -> Arc<Self> {
        Arc::new(Self {
            listed,
            ..Self::default()
        })
    }

    pub(super) fn sent(&self) -> Vec<Sent> {
        self.sent.lock().unwrap().clone()
    }

    /// The last letter of each key that was shown.
    pub(super) fn keys(&self) -> String {
        let sent = self.sent();
        let last = |sent: &Sent| sent.key.as_ref().and_then(|key| key.chars().last());
        sent.iter().map(|sent| last(sent).unwrap_or('-')).collect()
    }
}

impl Sends for Arc<Fake> {
    fn attempt(&self, key: Option<Secret>, request: Arc<ModelRequest>) -> Attempt {
        self.sent.lock().unwrap().push(Sent {
            key: key.map(|key| key.expose().to_owned()),
            model: request.model.clone(),
            attempt: request.attempt,
            max_tokens: request.sampling.max_tokens,
            stream: request.stream,
            is_raw: request.raw.is_some(),
        });
        let steps = self.script.lock().unwrap().pop_front();
        let steps = steps.unwrap_or_else(|| vec![fails(ModelErrorKind::ServerError)]);
        Box::pin(stream::iter(steps).filter_map(|step| async move {
            match step {
                Step::Says(event) => Some(Ok(event)),
                Step::Fails(error) => Some(Err(error)),
                Step::Takes(time) => {
                    tokio::time::sleep(time).await;
                    None
                }
            }
        }))
    }

    fn list(&self, _: Option<Secret>) -> Listing {
        let listed = self.listed.clone();
        Box::pin(async move { Ok(listed) })
    }
}

pub(super) struct Secrets(pub(super) &'static [(&'static str, &'static str)]);

impl KeySource for Secrets {
    fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        if name == "models.locked" {
            return Err("secrets.toml is no TOML: look at line 3".to_owned());
        }
        let found = self.0.iter().find(|(known, _)| *known == name);
        Ok(found.map(|(_, key)| Secret::new(format!("{PLANTED}{key}"))))
    }
}

pub(super) fn config(toml: &str) -> ChannelConfig {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}: {error}"))
}

/// A channel over a script. The environment has `KEY_A`, `KEY_B`, `KEY_C` and `DEEPSEEK_API_KEY`.
pub(super) fn channel(toml: &str, fake: &Arc<Fake>) -> Arc<Channel> {
    let config = config(toml);
    let provider = Providers::shipped().get(&config.provider).unwrap().clone();
    let env = |name: &str| {
        let key = match name {
            "DEEPSEEK_API_KEY" => "d",
            "BLANK" => return Some("  ".to_owned()),
            name => name.strip_prefix("KEY_")?,
        };
        Some(format!("{PLANTED}{}\n", key.to_lowercase()))
    };
    let lookup = KeyLookup {
        secrets: &Secrets(&[("models.kept", "k"), ("a.b", "s")]),
        env: &env,
    };
    let sends = Box::new(Arc::clone(fake));
    Arc::new(Channel::open(provider, config, &lookup, |_, _, _| {
        Ok(sends)
    }))
}

pub(super) fn error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, format!("{} happened", kind.reason()))
}

pub(super) fn fails(kind: ModelErrorKind) -> Step {
    Step::Fails(error(kind))
}

pub(super) fn limited(seconds: u64) -> Step {
    Step::Fails(ModelError {
        retry_after: Some(Duration::from_secs(seconds)),
        ..error(ModelErrorKind::RateLimited)
    })
}

pub(super) fn started(id: &str) -> Step {
    Step::Says(ModelEvent::Started {
        model: "m".into(),
        response_id: Some(id.into()),
    })
}

pub(super) fn says(text: &str) -> Step {
    Step::Says(ModelEvent::Text(text.into()))
}

/// `ollama` with `gpt-4` and `qwen3*`, and the alias `best`.
pub(crate) fn test_router() -> Router {
    let toml = "name = 'ollama'\nmodels = ['gpt-4', 'qwen3*']";
    let aliases = BTreeMap::from([("best".to_owned(), "gpt-4".to_owned())]);
    Router::new(vec![channel(toml, &Fake::new([]))], Vec::new(), aliases).unwrap()
}
