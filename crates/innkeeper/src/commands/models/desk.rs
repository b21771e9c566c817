//! Models for the doors to the network: what the commands do, without anybody at a terminal.
//!
//! The settings are read anew for each request, so that what is added can be looked at and tested at once; runs use the channels
//! that were there when the server began.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use innkeeper_models::provider::Provider;
use innkeeper_models::{HttpClient, KeyRef, Message, ModelEvent, ModelRequest, Usage};
use innkeeper_protocol::ErrorCode;
use innkeeper_server::{
    ModelAnswer, ModelDesk, ModelList, ModelProblem, ModelQuestion, ModelUse, NewChannel, Problem,
    ProviderAbout,
};
use innkeeper_tools::{Secret, ToolManager};
use tokio_util::sync::CancellationToken;

use super::add::{Key, bare, models, new_key, reference};
use super::file::{self, Addition, NewKey};
use super::{find, list, read_settings};
use crate::failure::{Failure, ModelFault, message};
use crate::home::Home;
use crate::lang::Lang;
use crate::models::{HouseModels, REHEARSAL, Tally, is_model_name, providers};
use crate::settings::{is_rehearsal, no_name};

const PROMPT: &str = "Say hello in one short sentence.";

#[derive(Clone)]
pub(crate) struct HouseDesk {
    pub(crate) home: Home,
    pub(crate) tally: Arc<Tally>,
    pub(crate) tools: ToolManager,
    /// The one of the house, so that connections are shared.
    pub(crate) client: HttpClient,
}

impl HouseDesk {
    /// Beside the runtime, since files are read and written.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Problem> {
        let desk = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&desk)).await;
        let done =
            done.map_err(|error| Problem::new(ErrorCode::HttpInternal, error.to_string()))?;
        done.map_err(|failure| refused(&failure))
    }

    fn opened(&self) -> Result<HouseModels, Failure> {
        let settings = read_settings(&self.home)?.models;
        let reports = Some(self.tally.clone() as Arc<_>);
        HouseModels::open_with(&self.home, &settings, reports, self.client.clone())
    }

    /// A new key is hidden from now on, wherever it may turn up.
    fn hide_keys(&self) -> Result<(), Failure> {
        self.tools.set_redactor(self.opened()?.redactor);
        Ok(())
    }
}

#[async_trait]
impl ModelDesk for HouseDesk {
    async fn list(&self) -> Result<ModelList, Problem> {
        let house = self.work(Self::opened).await?;
        let told = serde_json::from_value(list::told(&house));
        let mut told: ModelList =
            told.map_err(|error| Problem::new(ErrorCode::HttpInternal, error.to_string()))?;
        // Texts alone: a key may be spelled like the name of a field.
        let hide = |text: &mut String| *text = house.redactor.redact_text(text).into_owned();
        told.problems.iter_mut().for_each(hide);
        for channel in &mut told.channels {
            channel.missing_keys.iter_mut().for_each(hide);
            channel.base_url.iter_mut().for_each(hide);
            channel.why.iter_mut().for_each(hide);
        }
        Ok(told)
    }

    async fn providers(&self) -> Result<Vec<ProviderAbout>, Problem> {
        self.work(|desk| {
            let (all, _) = providers(&desk.home);
            Ok(all.iter().map(about).collect())
        })
        .await
    }

    async fn test(
        &self,
        asked: ModelQuestion,
        cancel: CancellationToken,
    ) -> Result<ModelAnswer, Problem> {
        let house = self.work(Self::opened).await?;
        let found = find(&house, asked.model.as_deref());
        let (model, there) = found.map_err(|failure| refused(&failure))?;
        let prompt = asked.prompt.unwrap_or_else(|| PROMPT.to_owned());
        let request = ModelRequest::new(there, vec![Message::user(prompt)]);
        let mut stream = model.stream(request, cancel);
        let began = Instant::now();
        let mut heard = Heard::default();
        let error = loop {
            match stream.next().await {
                Some(Ok(event)) => heard.hear(event, began.elapsed()),
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        let redact = |text: &str| house.redactor.redact_text(text).into_owned();
        let usage = heard.usage.unwrap_or_default();
        Ok(ModelAnswer {
            ok: error.is_none(),
            asked: redact(model.id()),
            text: redact(&heard.text),
            first_token_ms: heard.first.map(millis),
            duration_ms: millis(began.elapsed()),
            sent_tokens: usage.prompt_tokens,
            received_tokens: usage.completion_tokens,
            cost: usage.cost.map(|cost| cost.dollars()),
            error: error.map(|error| ModelProblem {
                code: error.reason().to_owned(),
                message: redact(&message(&error.message)),
            }),
        })
    }

    async fn add(&self, channel: NewChannel) -> Result<(), Problem> {
        self.work(move |desk| {
            desk.connect(channel)?;
            desk.hide_keys()
        })
        .await
    }

    async fn remove(&self, channel: String, keeps_key: bool) -> Result<(), Problem> {
        self.work(move |desk| file::remove(&desk.home, &channel, keeps_key).map(drop))
            .await
    }

    async fn set_key(&self, channel: String, key: Secret) -> Result<(), Problem> {
        let set = self.work(move |desk| {
            let settings = read_settings(&desk.home)?;
            let mut there = settings.models.channels.iter();
            if !there.any(|one| one.name == channel && file::uses_key_of(one, &channel)) {
                return Ok(false);
            }
            let Some(Key::New(secret)) = new_key(Some(key.expose().to_owned()), true)? else {
                return Err(no_key());
            };
            let kept = file::secrets(&desk.home).set(&file::secret_name(&channel), &secret);
            kept.map_err(|error| ModelFault::key(&error.to_string()))?;
            desk.hide_keys()?;
            Ok(true)
        });
        match set.await? {
            true => Ok(()),
            false => Err(Problem::new(
                ErrorCode::HttpConflict,
                "the settings of the channel name no key that is kept under its name; remove the channel and add it with its key",
            )
            .because("models.key_elsewhere")),
        }
    }

    fn used(&self) -> ModelUse {
        let used = self.tally.used();
        ModelUse {
            calls: used.calls,
            failed: used.failed,
            sent_tokens: used.usage.prompt_tokens.unwrap_or_default(),
            received_tokens: used.usage.completion_tokens.unwrap_or_default(),
            dollars: used.usage.cost.map_or(0.0, |cost| cost.dollars()),
        }
    }
}

impl HouseDesk {
    fn connect(&self, asked: NewChannel) -> Result<(), Failure> {
        let (providers, _) = providers(&self.home);
        let provider = providers.get(&asked.provider);
        let provider = provider.ok_or_else(|| ModelFault::UnknownProvider {
            given: asked.provider.clone(),
            near: providers.nearest(&asked.provider).map(str::to_owned),
        })?;
        let name = asked.name.unwrap_or_else(|| provider.id.clone());
        if name == REHEARSAL {
            let why = is_rehearsal();
            return Err(ModelFault::Channel { why }.into());
        }
        let given = asked.models.unwrap_or_default();
        let default = asked.default.as_deref();
        let default = default.map(|model| bare(&name, model, &given));
        let mut named = given.iter().map(String::as_str).chain(default);
        if named.any(|model| !is_model_name(model)) {
            return Err(ModelFault::Channel { why: no_name() }.into());
        }
        if provider.base_url.is_none() && asked.base_url.is_none() {
            return Err(needs_address(provider));
        }
        let key = key(asked.key, asked.key_env, &name)?;
        let channel = file::NewChannel {
            name: name.clone(),
            provider: provider.id.clone(),
            base_url: asked.base_url,
            key: key.reference(&name),
            models: models(&given, default),
            context: None,
        };
        channel.config()?;
        let default = default.map(|model| format!("{name}/{model}"));
        let key = match key {
            Key::New(secret) => Some(NewKey {
                secret,
                replaces: false,
            }),
            Key::None | Key::Variable(_) | Key::Kept => None,
        };
        file::add(&self.home, |_| {
            Ok(Addition {
                channels: vec![channel],
                default,
                key,
            })
        })
        .map(drop)
    }
}

fn key(given: Option<Secret>, variable: Option<String>, name: &str) -> Result<Key, Failure> {
    match (given, variable) {
        (Some(_), Some(_)) => Err(ModelFault::key("give key or keyEnv, not both").into()),
        (None, None) => Ok(Key::None),
        (None, Some(variable)) => match KeyRef::read(&format!("${{{variable}}}")) {
            Some(_) => Ok(Key::Variable(variable)),
            // It may be a key that was put in the wrong place.
            None => {
                let why = "keyEnv takes the name of an environment variable, not the key itself";
                Err(ModelFault::key(why).into())
            }
        },
        (Some(key), None) => {
            let storable = KeyRef::read(&reference(name)).is_some();
            let key = new_key(Some(key.expose().to_owned()), storable)?;
            key.ok_or_else(no_key)
        }
    }
}

fn no_key() -> Failure {
    ModelFault::key("the key is empty").into()
}

fn needs_address(provider: &Provider) -> Failure {
    let label = &provider.label;
    let why = crate::failure::Said::new(
        format!("{label} has no address of its own; give baseUrl"),
        format!("{label} 没有自己的地址；请给出 baseUrl"),
    );
    ModelFault::Channel { why }.into()
}

fn about(provider: &Provider) -> ProviderAbout {
    ProviderAbout {
        id: provider.id.clone(),
        label: provider.label.clone(),
        base_url: provider.base_url.clone(),
        key_env: provider.key_env.clone(),
        key_url: provider.key_url.clone(),
        local: provider.is_local(),
    }
}

/// What has come so far.
#[derive(Default)]
struct Heard {
    text: String,
    first: Option<Duration>,
    usage: Option<Usage>,
}

impl Heard {
    fn hear(&mut self, event: ModelEvent, now: Duration) {
        match event {
            ModelEvent::Text(text) if !text.is_empty() => {
                self.first.get_or_insert(now);
                self.text.push_str(&text);
            }
            ModelEvent::Reasoning(text) if !text.is_empty() => {
                self.first.get_or_insert(now);
            }
            ModelEvent::Usage(usage) => self.usage = Some(usage),
            _ => {}
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// What a failure of a command is in the terms of the doors.
fn refused(failure: &Failure) -> Problem {
    let code = match failure {
        Failure::Model(
            ModelFault::Exists { .. } | ModelFault::KeyExists { .. } | ModelFault::InUse { .. },
        ) => ErrorCode::HttpConflict,
        Failure::Model(ModelFault::UnknownChannel { .. }) => ErrorCode::HttpNotFound,
        Failure::Model(ModelFault::NotWritten { .. } | ModelFault::KeyStays { .. })
        | Failure::Home(_)
        | Failure::Store(_)
        | Failure::System(_)
        | Failure::Unwritable(_) => ErrorCode::HttpInternal,
        _ => ErrorCode::HttpInvalidRequest,
    };
    let sentence = match failure {
        Failure::Model(ModelFault::Exists { name }) => {
            format!("there is a channel '{name}' already; give another name, or remove that one")
        }
        Failure::Model(ModelFault::KeyExists { name, .. }) => format!(
            "a key '{name}' is kept already, perhaps for another server; give the channel another name, or remove that key"
        ),
        _ => failure.sentence(Lang::En),
    };
    Problem::new(code, sentence).because(failure.code())
}
