//! Channels: ways to providers, with keys, repetitions, fall-back and routing.
//!
//! Owns who is asked, with which key, how often, and what is told of it afterwards. One attempt over the network is
//! `http`; what a model costs and holds is `prices`.

mod call;
mod config;
#[cfg(test)]
mod fake;
mod given_up;
mod guard;
mod key_ref;
mod keys;
mod patience;
mod report;
mod retry;
mod route;

use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use innkeeper_protocol::Secret;

pub use self::call::Routed;
pub use self::config::{ChannelConfig, QuirkChanges};
#[cfg(test)]
pub(crate) use self::fake::test_router;
pub use self::key_ref::{HeaderText, KeyLookup, KeyRef, KeySource};
use self::keys::KeyRing;
pub use self::report::{CallOutcome, CallReport, CallStep, ReportSink};
pub use self::route::{Candidate, Route, Router, RouterError};
use crate::http::{Attempt, Endpoint, Header};
use crate::limits::MAX_LEARNED_MODELS;
use crate::names::looks_secret;
use crate::provider::{Auth, Provider};
use crate::{HttpClient, ListedModel, ModelError, ModelErrorKind, ModelRequest};

type Listing = Pin<Box<dyn Future<Output = Result<Vec<ListedModel>, ModelError>> + Send>>;

/// Sends a request once. The seam to the network.
trait Sends: Send + Sync {
    fn attempt(&self, key: Option<Secret>, request: Arc<ModelRequest>) -> Attempt;

    fn list(&self, key: Option<Secret>) -> Listing;
}

impl Sends for Arc<Endpoint> {
    fn attempt(&self, key: Option<Secret>, request: Arc<ModelRequest>) -> Attempt {
        Endpoint::attempt(self, key, request)
    }

    fn list(&self, key: Option<Secret>) -> Listing {
        let endpoint = Self::clone(self);
        Box::pin(async move { endpoint.list_models(key.as_ref()).await })
    }
}

/// One way to one provider.
pub struct Channel {
    config: ChannelConfig,
    provider: Provider,
    keys: KeyRing,
    /// Keys that are named and not there, beside those that are.
    missing: Vec<String>,
    /// Or why nobody can be asked here.
    sends: Result<Box<dyn Sends>, String>,
    /// How much models hold by the server's own account.
    learned: Mutex<BTreeMap<String, u64>>,
}

impl Channel {
    /// Never fails: a channel without its key is there, says what it lacks, and is passed over.
    pub fn new(
        provider: Provider,
        config: ChannelConfig,
        keys: &KeyLookup<'_>,
        client: HttpClient,
    ) -> Self {
        let open = |provider: &Provider, config: &ChannelConfig, headers| {
            let base_url = config.base_url.as_deref();
            let named = Provider {
                label: label(provider, &config.name),
                ..provider.clone()
            };
            let endpoint = Endpoint::new(client, &named, base_url, headers, config.timeouts)
                .map_err(|error| error.message)?;
            if !config.keys.is_empty() {
                // Told now, not when somebody asks: it would always be refused.
                endpoint.may_show_key().map_err(|error| error.message)?;
            }
            Ok(Box::new(Arc::new(endpoint)) as Box<dyn Sends>)
        };
        Self::open(provider, config, keys, open)
    }

    fn open(
        mut provider: Provider,
        config: ChannelConfig,
        lookup: &KeyLookup<'_>,
        open: impl FnOnce(&Provider, &ChannelConfig, Vec<Header>) -> Result<Box<dyn Sends>, String>,
    ) -> Self {
        config.quirks.apply(&mut provider.quirks);
        let mut missing = Vec::new();
        let mut keys = Vec::new();
        let sends = find_keys(&provider, &config, lookup).and_then(|(found, lacking)| {
            (keys, missing) = (found, lacking);
            if config.base_url.is_none() && provider.base_url.is_none() {
                return Err(format!(
                    "no address: set `base_url` of the channel `{}`",
                    config.name
                ));
            }
            let headers = find_headers(&config, lookup)?;
            open(&provider, &config, headers)
        });
        Self {
            config,
            provider,
            keys: KeyRing::new(keys),
            missing,
            sends,
            learned: Mutex::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.config.name
    }

    pub fn provider(&self) -> &Provider {
        &self.provider
    }

    pub fn config(&self) -> &ChannelConfig {
        &self.config
    }

    /// Whether it can be asked; if not, what it lacks and what to do about it.
    pub fn ready(&self) -> Result<(), &str> {
        self.sender().map(|_| ())
    }

    fn sender(&self) -> Result<&dyn Sends, &str> {
        self.sends.as_deref().map_err(String::as_str)
    }

    /// What is wrong with some of its keys while others are there.
    pub fn missing_keys(&self) -> &[String] {
        &self.missing
    }

    /// Asks the server which models it has, and remembers how much they hold.
    pub async fn list_models(&self) -> Result<Vec<ListedModel>, ModelError> {
        let sends = self.sender().map_err(|why| {
            ModelError::new(
                ModelErrorKind::Unauthorized,
                format!("{}: {why}", self.name()),
            )
        })?;
        let listed = sends.list(self.keys.any()).await?;
        let windows = listed
            .iter()
            .filter_map(|model| Some((model.id.clone(), model.context?)))
            .take(MAX_LEARNED_MODELS);
        let windows = windows.collect();
        *self.learned.lock().unwrap_or_else(PoisonError::into_inner) = windows;
        Ok(listed)
    }

    fn learned(&self, model: &str) -> Option<u64> {
        let learned = self.learned.lock().unwrap_or_else(PoisonError::into_inner);
        learned.get(model).copied()
    }

    /// The model's name at the provider.
    fn there(&self, model: &str) -> String {
        let renamed = self.config.rename.get(model);
        renamed.map_or(model, String::as_str).to_owned()
    }

    /// The channel names the model as one that it serves.
    fn names(&self, model: &str) -> bool {
        self.config.rename.contains_key(model)
            || self
                .config
                .models
                .iter()
                .any(|pattern| pattern.matches(model))
    }

    fn serves(&self, model: &str) -> bool {
        self.config.models.is_empty() || self.names(model)
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("name", &self.config.name)
            .field("provider", &self.provider.id)
            .field("keys", &self.keys)
            .field("ready", &self.ready())
            .finish_non_exhaustive()
    }
}

/// Who answers, in messages: there may be several channels to one provider, and any number to servers of one's own.
fn label(provider: &Provider, channel: &str) -> String {
    match channel == provider.id || channel == provider.label {
        true => provider.label.clone(),
        false => format!("{channel} ({})", provider.label),
    }
}

type Found = (Vec<Option<Secret>>, Vec<String>);

/// The channel's keys, or the usual one of its provider.
fn find_keys(
    provider: &Provider,
    config: &ChannelConfig,
    lookup: &KeyLookup<'_>,
) -> Result<Found, String> {
    if !config.keys.is_empty() {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        for key in &config.keys {
            match key.resolve(lookup) {
                Ok(key) => found.push(Some(key)),
                Err(why) => missing.push(why),
            }
        }
        return match found.is_empty() {
            true => Err(format!("no key: {}", missing.join(", and "))),
            false => Ok((found, missing)),
        };
    }
    // A key is for the provider's own address; another one gets it only when the channel says so.
    let elsewhere = config
        .base_url
        .as_deref()
        .is_some_and(|url| !same_server(url, provider.base_url.as_deref()));
    // Nor is it known what a port of this machine listens with today, and such servers seldom want a key.
    let own_address = !elsewhere && provider.auth != Auth::None;
    let own = KeyRef::read(&format!("secret:models.{}", config.name)).filter(|_| own_address);
    let usual = provider.key_env.clone().filter(|_| !elsewhere);
    let refs = own.into_iter().chain(usual.map(KeyRef::Env));
    let mut why = Vec::new();
    for key in refs {
        match key.resolve(lookup) {
            Ok(key) => return Ok((vec![Some(key)], Vec::new())),
            Err(reason) => why.push(reason),
        }
    }
    let shown_otherwise = config.headers.keys().any(|name| looks_secret(name));
    if provider.auth == Auth::None || elsewhere || shown_otherwise {
        return Ok((vec![None], Vec::new()));
    }
    let get = provider.key_url.as_deref();
    let get = get.map_or_else(String::new, |url| format!("; keys are made at {url}"));
    Err(format!("no key: {}{get}", why.join(", and ")))
}

fn same_server(url: &str, known: Option<&str>) -> bool {
    let origin = |url: &str| url::Url::parse(url).ok().map(|url| url.origin());
    let known = known.and_then(origin);
    known.is_some() && origin(url) == known
}

fn find_headers(config: &ChannelConfig, lookup: &KeyLookup<'_>) -> Result<Vec<Header>, String> {
    let resolve = |(name, text): (&String, &HeaderText)| match text.resolve(lookup) {
        Ok((value, key)) => Ok(Header {
            name: name.clone(),
            value,
            key,
        }),
        Err(why) => Err(format!("the header `{name}` has no value: {why}")),
    };
    config.headers.iter().map(resolve).collect()
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
