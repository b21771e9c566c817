//! Models by name: those that were registered, then those that channels serve.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::limits::MAX_LISTED_MODELS;
use crate::names::quoted;
use crate::{Model, ModelError, ModelErrorKind, Router};

/// What may follow a registered name in a longer one: `openai/gpt-5` and `ollama:qwen3` belong to `openai` and
/// `ollama`. A dash does not count: `gpt-5-pro` is another model than `gpt-5`, at another price.
const SEPARATORS: [char; 2] = ['/', ':'];

/// Which models there are. Cheap to clone.
#[derive(Clone, Default)]
pub struct Models {
    by_name: Arc<BTreeMap<String, Arc<dyn Model>>>,
    router: Option<Arc<Router>>,
    default: Option<String>,
}

impl Models {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a model, or replaces the one of that name. The first becomes the default.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, model: Arc<dyn Model>) -> Self {
        let name = name.into();
        self.default.get_or_insert_with(|| name.clone());
        Arc::make_mut(&mut self.by_name).insert(name, model);
        self
    }

    /// Adds what channels serve. Registered names come before it.
    #[must_use]
    pub fn with_router(mut self, router: Router) -> Self {
        self.router = Some(Arc::new(router));
        self
    }

    pub fn router(&self) -> Option<&Router> {
        self.router.as_deref()
    }

    /// Who answers where no model is named: any name that can be resolved.
    #[must_use]
    pub fn with_default(mut self, name: impl Into<String>) -> Self {
        self.default = Some(name.into());
        self
    }

    /// The model of exactly that name; or else the one with the longest name that `name` begins with, up to a `/` or
    /// `:`; or else whoever the router finds. An empty name means the default.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        self.resolve(name).map(|(model, _)| model)
    }

    /// The same, with what follows the model's name and the mark after it: `gpt-5` of `openai/gpt-5` where `openai`
    /// answers, nothing where the name is exact or the router's.
    pub fn resolve<'n>(&'n self, name: &'n str) -> Result<(Arc<dyn Model>, &'n str), ModelError> {
        let name = self.meant(name);
        match self.registered(name) {
            Some((_, model, rest)) => Ok((model.clone(), rest)),
            None => self.routed(name),
        }
    }

    /// Under which name the model was registered that answers, and what follows it: see [`Self::resolve`]. Nothing where
    /// the router finds it.
    pub fn registered_as<'n>(&'n self, name: &'n str) -> Option<(&'n str, &'n str)> {
        let (known, _, rest) = self.registered(self.meant(name))?;
        Some((known, rest))
    }

    /// The name, or that of the default.
    pub fn meant<'n>(&'n self, name: &'n str) -> &'n str {
        match name.trim() {
            "" => self.default.as_deref().unwrap_or_default(),
            name => name,
        }
    }

    fn registered<'n>(&self, name: &'n str) -> Option<(&'n str, &Arc<dyn Model>, &'n str)> {
        let shorter = name.rmatch_indices(SEPARATORS).filter_map(|(at, mark)| {
            let (known, rest) = name.split_at_checked(at)?;
            Some((known, rest.strip_prefix(mark)?))
        });
        std::iter::once((name, ""))
            .chain(shorter)
            .find_map(|(known, rest)| Some((known, self.by_name.get(known)?, rest)))
    }

    fn routed<'n>(&self, name: &str) -> Result<(Arc<dyn Model>, &'n str), ModelError> {
        match &self.router {
            Some(router) if !router.channels().is_empty() && !name.is_empty() => {
                Ok((Arc::new(router.model(name)?), ""))
            }
            _ => Err(self.unknown(name)),
        }
    }

    pub fn default_name(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// Registered names in alphabetical order, then those that the router knows beforehand. It may serve more.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let routed = self.router.iter().flat_map(|router| router.names());
        self.by_name.keys().map(String::as_str).chain(routed)
    }

    fn unknown(&self, name: &str) -> ModelError {
        let name = quoted(name);
        let mut listed: Vec<&str> = self.names().take(MAX_LISTED_MODELS).collect();
        let more = self.names().count() - listed.len();
        let has_more = more > 0;
        let more = format!("and {more} more");
        if has_more {
            listed.push(&more);
        }
        let message = match (name.as_str(), listed.as_slice()) {
            (_, []) => "there is no language model: connect one first".to_owned(),
            ("", known) => format!("no model is the default: name one of {}", known.join(", ")),
            (name, known) => format!(
                "there is no language model '{name}': there is {}",
                known.join(", ")
            ),
        };
        ModelError::new(ModelErrorKind::UnknownModel, message)
    }
}

impl fmt::Debug for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Models")
            .field("names", &self.by_name.keys())
            .field("router", &self.router)
            .field("default", &self.default)
            .finish()
    }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
