//! Keys of channels: by name from `secrets.toml`, by variable from the environment. Whatever was handed out is known here,
//! so that it can be kept out of everything that is shown.

use std::cell::RefCell;
use std::collections::BTreeMap;

use innkeeper_models::{KeyLookup, KeySource};
use innkeeper_tools::{Redactor, Secret, Secrets};

use crate::failure::message;
use crate::home::Home;

pub(super) struct Keys {
    /// Or why they cannot be read.
    kept: Kept,
    from_environment: RefCell<BTreeMap<String, Secret>>,
}

struct Kept(Result<BTreeMap<String, Secret>, String>);

impl KeySource for Kept {
    fn secret(&self, name: &str) -> Result<Option<Secret>, String> {
        match &self.0 {
            Ok(kept) => Ok(kept.get(name).cloned()),
            Err(why) => Err(why.clone()),
        }
    }
}

impl Keys {
    /// Blocks.
    pub(super) fn open(home: &Home) -> Self {
        let kept = Secrets::new(home.file("secrets.toml")).all();
        let kept = kept.map(|all| {
            let named = all
                .into_iter()
                .map(|(name, secret)| (name.to_string(), secret));
            named.collect()
        });
        Self {
            kept: Kept(kept.map_err(|error| message(&error.to_string()))),
            from_environment: RefCell::default(),
        }
    }

    pub(super) fn look_up<T>(&self, with: impl FnOnce(&KeyLookup<'_>) -> T) -> T {
        let env = |name: &str| {
            let value = std::env::var(name).ok()?;
            let mut known = self.from_environment.borrow_mut();
            known.insert(name.to_owned(), Secret::new(value.trim()));
            Some(value)
        };
        with(&KeyLookup {
            secrets: &self.kept,
            env: &env,
        })
    }

    /// Hides all of the file, and those that were taken from the environment.
    pub(super) fn redactor(&self) -> Redactor {
        let kept = self.kept.0.iter().flatten();
        let taken = self.from_environment.borrow();
        let all: Vec<(&String, Secret)> = kept
            .chain(taken.iter())
            .flat_map(|(name, secret)| {
                // It is shown to providers without the blanks around it.
                let trimmed = Secret::new(secret.expose().trim());
                [(name, secret.clone()), (name, trimmed)]
            })
            .collect();
        Redactor::new(all.iter().map(|(name, secret)| ((*name).clone(), secret)))
    }
}
