//! Models by name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::limits::{MAX_LISTED_MODELS, MAX_QUOTED_CHARS};
use crate::{Model, ModelError, ModelErrorKind};

/// What may follow a registered name in a longer one: `openai/gpt-5` and `ollama:qwen3` belong to `openai` and
/// `ollama`. A dash does not count: `gpt-5-pro` is another model than `gpt-5`, at another price.
const SEPARATORS: [char; 2] = ['/', ':'];

/// Which models there are. Cheap to clone.
#[derive(Clone, Default)]
pub struct Models {
    by_name: Arc<BTreeMap<String, Arc<dyn Model>>>,
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

    /// Who answers where no model is named.
    #[must_use]
    pub fn with_default(mut self, name: impl Into<String>) -> Self {
        self.default = Some(name.into());
        self
    }

    /// The model of exactly that name; or else the one with the longest name that `name` begins with, up to a `/` or
    /// `:`. An empty name means the default.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        self.resolve(name).map(|(model, _)| model)
    }

    /// The same, with what follows the model's name and the mark after it: `gpt-5` of `openai/gpt-5` where `openai`
    /// answers, nothing where the name is exact.
    pub fn resolve<'n>(&'n self, name: &'n str) -> Result<(Arc<dyn Model>, &'n str), ModelError> {
        let name = match name.trim() {
            "" => self.default.as_deref().unwrap_or_default(),
            name => name,
        };
        let shorter = name.rmatch_indices(SEPARATORS).filter_map(|(at, mark)| {
            let (known, rest) = name.split_at_checked(at)?;
            Some((known, rest.strip_prefix(mark)?))
        });
        std::iter::once((name, ""))
            .chain(shorter)
            .find_map(|(known, rest)| Some((self.by_name.get(known)?.clone(), rest)))
            .ok_or_else(|| self.unknown(name))
    }

    pub fn default_name(&self) -> Option<&str> {
        self.default.as_deref()
    }

    /// In alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    fn unknown(&self, name: &str) -> ModelError {
        let name: String = name.chars().take(MAX_QUOTED_CHARS).collect();
        let mut listed: Vec<&str> = self.names().take(MAX_LISTED_MODELS).collect();
        let more = self.by_name.len() - listed.len();
        let more = format!("and {more} more");
        if self.by_name.len() > listed.len() {
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
            .field("default", &self.default)
            .finish()
    }
}

#[cfg(test)]
#[path = "models_tests.rs"]
mod tests;
