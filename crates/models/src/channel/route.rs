//! From a model's name to the channels that may answer to it, in order.
//!
//! Pure: it looks at names and at what is ready. Asking is `call`.

mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use innkeeper_protocol::Pattern;
use serde::Deserialize;

pub use self::check::RouterError;
use super::Channel;
use super::call::{Around, Routed};
use super::report::ReportSink;
use crate::limits::{MAX_ALIAS_STEPS, MAX_CANDIDATES, MAX_NEAR_NAMES};
use crate::names::{nearest_few, quoted};
use crate::prices::ModelTable;
use crate::{ModelError, ModelErrorKind};

/// What ends the channel's part of a model's name.
const SEPARATORS: [char; 2] = ['/', ':'];

/// `{model = "claude-*", to = ["anthropic", "openrouter/anthropic/claude-*"]}`
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    pub model: Pattern,
    /// Channels, in order; with another name for the model after a `/` or `:`. A star in it stands for what the
    /// pattern's star stood for.
    pub to: Vec<String>,
}

/// A channel, and the model's name there.
#[derive(Clone)]
pub struct Candidate {
    pub channel: Arc<Channel>,
    pub model: String,
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.channel.name(), self.model)
    }
}

/// Finds channels for names.
#[derive(Clone, Default)]
pub struct Router {
    channels: Vec<Arc<Channel>>,
    routes: Vec<Route>,
    aliases: BTreeMap<String, String>,
    names: BTreeSet<String>,
    around: Around,
}

impl Router {
    pub fn new(
        channels: Vec<Arc<Channel>>,
        routes: Vec<Route>,
        aliases: BTreeMap<String, String>,
    ) -> Result<Self, RouterError> {
        let mut router = Self {
            channels,
            routes,
            aliases,
            names: BTreeSet::new(),
            around: Around {
                table: ModelTable::shipped(),
                ..Around::default()
            },
        };
        router.check()?;
        router.names = router.known_names();
        Ok(router)
    }

    /// What models cost and hold; the table that ships where this is not said.
    #[must_use]
    pub fn with_table(mut self, table: ModelTable) -> Self {
        self.around.table = table;
        self
    }

    /// Who is told of every call when it is over.
    #[must_use]
    pub fn with_reports(mut self, sink: Arc<dyn ReportSink>) -> Self {
        self.around.sink = Some(sink);
        self
    }

    #[cfg(test)]
    pub(super) fn with_jitter(mut self, jitter: super::retry::Jitter) -> Self {
        self.around.jitter = jitter;
        self
    }

    pub fn channels(&self) -> &[Arc<Channel>] {
        &self.channels
    }

    /// Names that are written down somewhere: aliases, `channel/model`, exact routes. In alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The model that asks those channels.
    pub fn model(&self, name: &str) -> Result<Routed, ModelError> {
        Ok(Routed {
            candidates: self.candidates(name)?.into(),
            name: name.to_owned(),
            around: self.around.clone(),
        })
    }

    /// Who is asked for a model of that name. At least one of them is ready.
    pub fn candidates(&self, name: &str) -> Result<Vec<Candidate>, ModelError> {
        let meant = self.unalias(name.trim());
        let mut found = match self.split(meant) {
            Some((channels, model)) => named(meant, &channels, model)?,
            None => match self.routes.iter().find(|route| route.model.matches(meant)) {
                Some(route) => self.by_route(route, meant),
                None => self.by_model(meant),
            },
        };
        if found.len() > MAX_CANDIDATES {
            // Nobody is hidden by those that cannot be asked.
            found.sort_by_key(|found| found.channel.ready().is_err());
            found.truncate(MAX_CANDIDATES);
        }
        if found.is_empty() {
            return Err(self.unknown(meant));
        }
        if found.iter().all(|found| found.channel.ready().is_err()) {
            let lacking = found.iter().filter_map(|found| {
                let why = found.channel.ready().err()?;
                Some(format!("{}: {why}", found.channel.name()))
            });
            let why = lacking.collect::<Vec<_>>().join("; ");
            let message = format!("nobody can be asked for '{}': {why}", quoted(meant));
            return Err(ModelError::new(ModelErrorKind::Unauthorized, message));
        }
        Ok(found)
    }

    /// Tokens of conversation and reply together that a candidate holds, as far as is known.
    pub fn window(&self, candidate: &Candidate) -> Option<u64> {
        let Candidate { channel, model } = candidate;
        super::guard::known(channel, model, &self.around.table).context
    }

    fn unalias<'n>(&'n self, name: &'n str) -> &'n str {
        let steps = std::iter::successors(Some(name), |name| {
            self.aliases.get(*name).map(|meant| meant.trim())
        });
        steps.take(MAX_ALIAS_STEPS + 1).last().unwrap_or(name)
    }

    /// The channels that the beginning of a name stands for, and the rest. `None` where it is no channel: many
    /// models have slashes and colons in their own names.
    fn split<'n>(&self, name: &'n str) -> Option<(Vec<Arc<Channel>>, &'n str)> {
        let (head, model) = name
            .split_once(SEPARATORS)
            .map_or((name, None), |(head, model)| (head, Some(model)));
        let channels = self.called(head);
        channels.first()?;
        match model {
            Some(model) => Some((channels, model.trim())),
            // A model may be called like a channel.
            None if self.channels.iter().any(|channel| channel.names(name)) => None,
            None => Some((channels, "")),
        }
    }

    /// The channel of that name, then the others of the provider with that id.
    fn called(&self, head: &str) -> Vec<Arc<Channel>> {
        let named = self
            .channels
            .iter()
            .filter(|channel| channel.name() == head);
        let of_provider = self
            .channels
            .iter()
            .filter(|channel| channel.name() != head && channel.provider().id == head);
        named.chain(of_provider).cloned().collect()
    }

    /// The channel of that name alone, or all of the provider with that id: a route is its own order.
    fn targets(&self, head: &str) -> Vec<Arc<Channel>> {
        let mut channels = self.called(head);
        if channels.first().is_some_and(|first| first.name() == head) {
            channels.truncate(1);
        }
        channels
    }

    fn by_route(&self, route: &Route, name: &str) -> Vec<Candidate> {
        let targets = route.to.iter().flat_map(|target| {
            let (head, there) = parts(target);
            let model = there.map(|there| there.replace('*', star(&route.model, name)));
            let channels = enabled(self.targets(head));
            channels.into_iter().map(move |channel| Candidate {
                model: model.clone().unwrap_or_else(|| channel.there(name)),
                channel,
            })
        });
        distinct(targets)
    }

    /// Those that name the model. Where none does, one that takes everything, and nobody after it: that a conversation
    /// goes on to another house is for somebody to write down.
    fn by_model(&self, name: &str) -> Vec<Candidate> {
        if name.is_empty() {
            return Vec::new();
        }
        let candidate = |channel: Arc<Channel>| Candidate {
            model: channel.there(name),
            channel,
        };
        let (naming, others): (Vec<_>, Vec<_>) = enabled(self.channels.clone())
            .into_iter()
            .partition(|channel| channel.names(name));
        if !naming.is_empty() {
            return naming.into_iter().map(candidate).collect();
        }
        let open = others
            .into_iter()
            .filter(|channel| channel.config.models.is_empty());
        let mut open: Vec<_> = open.collect();
        if let Some(first) = open.iter().position(|channel| channel.ready().is_ok()) {
            open = vec![open.swap_remove(first)];
        }
        open.into_iter().map(candidate).collect()
    }

    fn unknown(&self, name: &str) -> ModelError {
        let near = nearest_few(name, self.names(), MAX_NEAR_NAMES);
        let near = match near.as_slice() {
            [] => String::new(),
            near => format!("did you mean {}? ", near.join(" or ")),
        };
        let message = format!(
            "there is no language model '{}': {near}`innkeeper models list` shows what there is, `innkeeper models add` \
             connects more",
            quoted(name)
        );
        ModelError::new(ModelErrorKind::UnknownModel, message)
    }

    fn known_names(&self) -> BTreeSet<String> {
        let aliases = self.aliases.keys().cloned();
        let routes = self.routes.iter().map(|route| &route.model);
        let routes = routes.filter(|model| model.is_exact());
        let routes = routes.map(|model| model.as_str().to_owned());
        let served = self
            .channels
            .iter()
            .filter(|channel| !channel.config.disabled);
        let served = served.flat_map(|channel| {
            let exact = channel
                .config
                .models
                .iter()
                .filter(|model| model.is_exact());
            let exact = exact.map(Pattern::as_str);
            let renamed = channel.config.rename.keys().map(String::as_str);
            exact
                .chain(renamed)
                .map(|model| format!("{}/{model}", channel.name()))
        });
        aliases.chain(routes).chain(served).collect()
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router")
            .field("channels", &self.channels)
            .field("routes", &self.routes)
            .field("aliases", &self.aliases)
            .finish_non_exhaustive()
    }
}

/// Channels that were named, as far as they serve the model.
fn named(name: &str, channels: &[Arc<Channel>], model: &str) -> Result<Vec<Candidate>, ModelError> {
    let refuse = |why: String| Err(ModelError::new(ModelErrorKind::UnknownModel, why));
    let first = channels.iter().map(|channel| channel.name()).next();
    let first = first.unwrap_or_default();
    if model.is_empty() {
        return refuse(format!(
            "'{}' names a channel and no model: write {first}/ and the model's name; `innkeeper models list` shows \
             them",
            quoted(name)
        ));
    }
    let open = enabled(channels.to_vec());
    if open.is_empty() {
        return refuse(format!(
            "the channel `{first}` is disabled: remove `disabled` from it, or choose another"
        ));
    }
    let serving: Vec<Candidate> = open
        .into_iter()
        .filter(|channel| channel.serves(model))
        .map(|channel| Candidate {
            model: channel.there(model),
            channel,
        })
        .collect();
    match serving.is_empty() {
        true => refuse(format!(
            "the channel `{first}` does not serve '{}': add it to its `models`, or choose another; `innkeeper models \
             list` shows what there is",
            quoted(model)
        )),
        false => Ok(serving),
    }
}

fn parts(target: &str) -> (&str, Option<&str>) {
    target
        .split_once(SEPARATORS)
        .map_or((target, None), |(head, there)| (head, Some(there)))
}

fn enabled(channels: Vec<Arc<Channel>>) -> Vec<Arc<Channel>> {
    let open = channels
        .into_iter()
        .filter(|channel| !channel.config.disabled);
    open.collect()
}

/// What the one star of a pattern stands for in a name that fits; all of the name where there is none.
fn star<'n>(pattern: &Pattern, name: &'n str) -> &'n str {
    let Some((before, after)) = pattern.as_str().split_once('*') else {
        return name;
    };
    name.strip_prefix(before)
        .and_then(|rest| rest.strip_suffix(after))
        .unwrap_or(name)
}

fn distinct(candidates: impl Iterator<Item = Candidate>) -> Vec<Candidate> {
    let mut seen = BTreeSet::new();
    let first = candidates.filter(|candidate| {
        seen.insert((candidate.channel.name().to_owned(), candidate.model.clone()))
    });
    first.collect()
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
