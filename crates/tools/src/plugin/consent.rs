//! What a person has said about a plugin: on or off, and which permissions were accepted.
//!
//! Owns `<home>/config/plugins.json`. [`decide`] alone says what follows. Reading and writing block.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Permissions, PluginPackage};
use crate::hook::HookPoint;
use crate::locked_file::{self, LockedFileError, Readers};
use crate::{Clock, Pattern, SystemClock};

/// Whether a plugin may do anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum PluginState {
    Enabled,
    Disabled,
    /// It asks for something that nobody has accepted yet; until then it does nothing at all.
    Pending {
        new: Permissions,
    },
}

/// What was said about one plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Consent {
    #[serde(default = "yes")]
    pub enabled: bool,
    #[serde(default)]
    pub accepted: Permissions,
    /// The version that was looked at.
    #[serde(default)]
    pub version: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<jiff::Timestamp>,
    /// The hooks that were accepted and must be asked: should the plugin break, its calls are refused.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<Guard>,
    #[serde(flatten)]
    pub extra: Map<String, Json>,
}

/// Where a plugin stands in the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    pub on: HookPoint,
    /// All if it is empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Pattern>,
}

const fn yes() -> bool {
    true
}

/// What `asked` comes to after what a person said.
pub fn decide(asked: &Permissions, consent: Option<&Consent>) -> PluginState {
    let nothing = Permissions::default();
    let accepted = match consent {
        Some(consent) if !consent.enabled => return PluginState::Disabled,
        Some(consent) => &consent.accepted,
        None => &nothing,
    };
    let new = asked.beyond(accepted);
    match new.is_empty() {
        true => PluginState::Enabled,
        false => PluginState::Pending { new },
    }
}

#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    #[error(
        "{path} cannot be understood: {why}; repair it, or remove it and enable your plugins again"
    )]
    Malformed { path: PathBuf, why: String },
    #[error("{0}")]
    File(String),
}

impl From<LockedFileError> for ConsentError {
    fn from(error: LockedFileError) -> Self {
        Self::File(error.to_string())
    }
}

/// The file with what was said about all plugins.
#[derive(Clone)]
pub struct Consents {
    path: PathBuf,
    clock: Arc<dyn Clock>,
}

impl Consents {
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self::with_clock(home, Arc::new(SystemClock))
    }

    pub fn with_clock(home: impl Into<PathBuf>, clock: Arc<dyn Clock>) -> Self {
        Self {
            path: home.into().join("config").join("plugins.json"),
            clock,
        }
    }

    pub fn state(&self, package: &PluginPackage) -> Result<PluginState, ConsentError> {
        let consent = self.consent(&package.name)?;
        Ok(decide(&package.permissions, consent.as_ref()))
    }

    pub fn consent(&self, plugin: &str) -> Result<Option<Consent>, ConsentError> {
        let all = self.parse(locked_file::read(&self.path, Readers::Anyone)?)?;
        let entry = all.get(plugin).cloned();
        entry
            .map(|entry| self.read_entry(plugin, entry))
            .transpose()
    }

    /// What was said about every plugin, by name.
    pub fn all(&self) -> Result<BTreeMap<String, Consent>, ConsentError> {
        let all = self.parse(locked_file::read(&self.path, Readers::Anyone)?)?;
        all.into_iter()
            .map(|(name, entry)| {
                let consent = self.read_entry(&name, entry)?;
                Ok((name, consent))
            })
            .collect()
    }

    /// Where the file is, for whoever wants to know when it changes.
    pub fn folder(&self) -> Option<PathBuf> {
        self.path.parent().map(PathBuf::from)
    }

    /// `accepted` is what the person was shown and agreed to, all of it.
    pub fn enable(
        &self,
        plugin: &str,
        version: &str,
        accepted: &Permissions,
        guards: Vec<Guard>,
    ) -> Result<(), ConsentError> {
        self.change(plugin, |consent| {
            consent.guards = guards;
            consent.enabled = true;
            consent.accepted = accepted.clone();
            consent.version = version.to_owned();
        })
    }

    /// What was accepted stays accepted, so that switching it on again asks for nothing twice.
    pub fn disable(&self, plugin: &str) -> Result<(), ConsentError> {
        self.change(plugin, |consent| consent.enabled = false)
    }

    /// As if nobody had ever said anything. Whether there was something to forget.
    pub fn forget(&self, plugin: &str) -> Result<bool, ConsentError> {
        locked_file::update(&self.path, Readers::Anyone, |text| {
            let mut all = self.parse(text)?;
            let known = all.shift_remove(plugin).is_some();
            Ok((known.then(|| as_text(all)), known))
        })
    }

    fn change(&self, plugin: &str, change: impl FnOnce(&mut Consent)) -> Result<(), ConsentError> {
        locked_file::update(&self.path, Readers::Anyone, |text| {
            let mut all = self.parse(text)?;
            let entry = all.get(plugin).cloned().unwrap_or(Json::Object(Map::new()));
            let mut consent = self.read_entry(plugin, entry)?;
            change(&mut consent);
            consent.when = Some(self.clock.now());
            all.insert(plugin.to_owned(), self.write_entry(plugin, &consent)?);
            Ok((Some(as_text(all)), ()))
        })
    }

    fn parse(&self, text: Option<String>) -> Result<Map<String, Json>, ConsentError> {
        match text {
            Some(text) if !text.trim().is_empty() => {
                serde_json::from_str(&text).map_err(|error| self.malformed(error.to_string()))
            }
            _ => Ok(Map::new()),
        }
    }

    fn read_entry(&self, plugin: &str, entry: Json) -> Result<Consent, ConsentError> {
        serde_json::from_value(entry).map_err(|error| self.malformed(format!("{plugin}: {error}")))
    }

    fn write_entry(&self, plugin: &str, consent: &Consent) -> Result<Json, ConsentError> {
        serde_json::to_value(consent).map_err(|error| self.malformed(format!("{plugin}: {error}")))
    }

    fn malformed(&self, why: String) -> ConsentError {
        ConsentError::Malformed {
            path: self.path.clone(),
            why,
        }
    }
}

fn as_text(all: Map<String, Json>) -> String {
    format!("{:#}\n", Json::Object(all))
}

#[cfg(test)]
#[path = "consent_tests.rs"]
mod tests;
