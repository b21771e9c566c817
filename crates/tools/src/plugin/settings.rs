//! The settings of plugins: where their values are, which one counts, what scripts are given.
//!
//! A person's value comes before the instance's, that before the default. Plain values are JSON files beside
//! everything else of their owner; secrets are in `secrets.toml` and are never shown again. Blocks.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::settings_value::{UnfitValue, as_text, check, relative_key};
use super::{ConfigKind, ConfigOption, ConfigScope};
use crate::locked_file::{self, LockedFileError, Readers};
use crate::script::EnvironmentValue;
use crate::{Secret, SecretName, Secrets, SecretsError, ToolError, UserId};

/// One option with what it is set to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Setting {
    pub key: String,
    #[serde(flatten)]
    pub value: SettingValue,
    pub origin: Origin,
    /// What is wrong with the stored value; scripts are not run with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum SettingValue {
    /// Null: neither set nor given a default.
    Value(Json),
    Secret(SecretState),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum SecretState {
    #[serde(rename = "set")]
    Set,
    #[serde(rename = "not set")]
    NotSet,
}

/// Whose value it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    Default,
    Instance,
    User,
}

/// What an option is to be set to.
#[derive(Debug, Clone)]
pub enum NewValue {
    Plain(Json),
    Secret(Secret),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the plugin {plugin} needs the setting '{key}'{about}; set it with `innkeeper plugin config {plugin} set {key}{value}`"
)]
pub struct MissingSetting {
    pub plugin: String,
    pub key: String,
    /// ` (label)`, or nothing.
    about: String,
    /// ` VALUE`, or nothing: a secret does not belong on a command line.
    value: &'static str,
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{0}")]
    Missing(#[from] MissingSetting),
    #[error("the setting {0}")]
    Unfit(#[from] UnfitValue),
    #[error("{path}: the setting {problem}")]
    Stored { path: PathBuf, problem: UnfitValue },
    #[error("{path} is not a JSON object: {why}; repair it or remove it")]
    Malformed { path: PathBuf, why: String },
    #[error("'{0}' is one for the whole instance; it cannot be set for a person")]
    InstanceOnly(String),
    #[error("'{0}' is no secret; it is kept among the other settings")]
    NoSecret(String),
    #[error("'{0}' cannot be the name of a plugin")]
    PluginName(String),
    #[error("{0}")]
    Secrets(#[from] SecretsError),
    #[error("{0}")]
    File(String),
}

impl From<LockedFileError> for SettingsError {
    fn from(error: LockedFileError) -> Self {
        Self::File(error.to_string())
    }
}

impl From<SettingsError> for ToolError {
    fn from(error: SettingsError) -> Self {
        let reason = match error {
            SettingsError::Missing(_) => "plugin.setting_missing",
            SettingsError::Secrets(_) => "plugin.secrets",
            _ => "plugin.settings",
        };
        Self::unavailable(error.to_string())
            .because(reason)
            .permanent()
    }
}

/// The settings of all plugins of one instance.
#[derive(Debug, Clone)]
pub struct PluginSettings {
    home: PathBuf,
    secrets: Secrets,
}

impl PluginSettings {
    pub fn new(home: impl Into<PathBuf>, secrets: Secrets) -> Self {
        Self {
            home: home.into(),
            secrets,
        }
    }

    /// Every option that can have a value, as it counts for `user`.
    pub fn get(
        &self,
        plugin: &str,
        options: &[ConfigOption],
        user: &UserId,
    ) -> Result<Vec<Setting>, SettingsError> {
        let stored = self.stored(plugin, user)?;
        let mut settings = Vec::new();
        for option in options {
            let setting = match option.kind {
                ConfigKind::ActionButton => continue,
                ConfigKind::Secret => {
                    let (state, origin, problem) = match self.secret(plugin, option, user) {
                        Ok(Some((_, origin))) => (SecretState::Set, origin, None),
                        Ok(None) => (SecretState::NotSet, Origin::Default, None),
                        Err(error) => (
                            SecretState::NotSet,
                            Origin::Default,
                            Some(error.to_string()),
                        ),
                    };
                    Setting {
                        key: option.key.clone(),
                        value: SettingValue::Secret(state),
                        origin,
                        problem,
                    }
                }
                _ => {
                    let (value, origin) = stored.of(plugin, option);
                    let problem = match origin {
                        Origin::Default => None,
                        _ => check(option, &value).err(),
                    };
                    Setting {
                        key: option.key.clone(),
                        value: SettingValue::Value(value),
                        origin,
                        problem: problem.map(|problem| problem.to_string()),
                    }
                }
            };
            settings.push(setting);
        }
        Ok(settings)
    }

    /// What a script of the plugin is given when `user` calls it.
    pub fn environment(
        &self,
        plugin: &str,
        options: &[ConfigOption],
        user: &UserId,
    ) -> Result<Vec<(String, EnvironmentValue)>, SettingsError> {
        let stored = self.stored(plugin, user)?;
        let mut environment = Vec::new();
        for option in options {
            let value = match option.kind {
                ConfigKind::ActionButton => continue,
                ConfigKind::Secret => self
                    .secret(plugin, option, user)?
                    .map(|(secret, _)| EnvironmentValue::Secret(secret)),
                _ => {
                    let (value, origin) = stored.of(plugin, option);
                    if origin != Origin::Default
                        && let Err(problem) = check(option, &value)
                    {
                        let scope = match origin {
                            Origin::User => ConfigScope::User,
                            _ => ConfigScope::Instance,
                        };
                        let path = self.path(plugin, scope, user)?;
                        return Err(SettingsError::Stored { path, problem });
                    }
                    let text = as_text(&value);
                    let empty = value.is_null() || (option.required && text.is_empty());
                    (!empty).then_some(EnvironmentValue::Plain(text))
                }
            };
            match value {
                Some(value) => environment.push((option.variable.clone(), value)),
                None if option.required => {
                    return Err(missing(plugin, option).into());
                }
                None => {}
            }
        }
        Ok(environment)
    }

    /// `scope` says whose value it is to be.
    pub fn set(
        &self,
        plugin: &str,
        option: &ConfigOption,
        scope: ConfigScope,
        user: &UserId,
        value: NewValue,
    ) -> Result<(), SettingsError> {
        allow_scope(option, scope)?;
        match value {
            NewValue::Secret(secret) if option.kind == ConfigKind::Secret => {
                let name = secret_name(plugin, &option.key, scope, user);
                Ok(self.secrets.set(&name, &secret)?)
            }
            NewValue::Secret(_) => Err(SettingsError::NoSecret(option.key.clone())),
            NewValue::Plain(value) => {
                check(option, &value)?;
                self.change(plugin, scope, user, |map| {
                    // One key in the place where it was; the other spelling goes.
                    map.retain(|key, _| {
                        *key == option.key || relative_key(plugin, key) != option.key
                    });
                    map.insert(option.key.clone(), value);
                    true
                })?;
                Ok(())
            }
        }
    }

    /// Whether there was a value.
    pub fn unset(
        &self,
        plugin: &str,
        option: &ConfigOption,
        scope: ConfigScope,
        user: &UserId,
    ) -> Result<bool, SettingsError> {
        if option.kind == ConfigKind::Secret {
            let name = secret_name(plugin, &option.key, scope, user);
            return Ok(self.secrets.remove(&name)?);
        }
        self.change(plugin, scope, user, |map| {
            let before = map.len();
            map.retain(|key, _| relative_key(plugin, key) != option.key);
            map.len() < before
        })
    }

    fn secret(
        &self,
        plugin: &str,
        option: &ConfigOption,
        user: &UserId,
    ) -> Result<Option<(Secret, Origin)>, SettingsError> {
        for (scope, origin) in [
            (ConfigScope::User, Origin::User),
            (ConfigScope::Instance, Origin::Instance),
        ] {
            if allow_scope(option, scope).is_err() {
                continue;
            }
            let name = secret_name(plugin, &option.key, scope, user);
            if let Some(secret) = self.secrets.get(&name)? {
                return Ok(Some((secret, origin)));
            }
        }
        Ok(None)
    }

    fn stored(&self, plugin: &str, user: &UserId) -> Result<Stored, SettingsError> {
        let of = |scope| {
            let path = self.path(plugin, scope, user)?;
            parse(&path, locked_file::read(&path, Readers::Anyone)?)
        };
        Ok(Stored {
            user: of(ConfigScope::User)?,
            instance: of(ConfigScope::Instance)?,
        })
    }

    fn change(
        &self,
        plugin: &str,
        scope: ConfigScope,
        user: &UserId,
        change: impl FnOnce(&mut Map<String, Json>) -> bool,
    ) -> Result<bool, SettingsError> {
        let path = self.path(plugin, scope, user)?;
        locked_file::update(&path, Readers::Anyone, |text| {
            let mut map = parse(&path, text)?;
            let changed = change(&mut map);
            let text = format!("{:#}\n", Json::Object(map));
            Ok((changed.then_some(text), changed))
        })
    }

    fn path(
        &self,
        plugin: &str,
        scope: ConfigScope,
        user: &UserId,
    ) -> Result<PathBuf, SettingsError> {
        // The rule for what may become a part of a path is the same for people, projects and plugins.
        if UserId::try_from(plugin).is_err() {
            return Err(SettingsError::PluginName(plugin.to_owned()));
        }
        let folder = match scope {
            ConfigScope::Instance => self.home.join("config"),
            ConfigScope::User => self.home.join("config/users").join(user.as_str()),
        };
        Ok(folder.join("extensions").join(format!("{plugin}.json")))
    }
}

/// What the two files hold.
struct Stored {
    user: Map<String, Json>,
    instance: Map<String, Json>,
}

impl Stored {
    fn of(&self, plugin: &str, option: &ConfigOption) -> (Json, Origin) {
        let find = |map: &Map<String, Json>| {
            let by_relative = map.get(&option.key);
            let by_any = || {
                map.iter()
                    .find(|(key, _)| relative_key(plugin, key) == option.key)
            };
            let value = by_relative.or_else(|| by_any().map(|(_, value)| value));
            value.filter(|value| !value.is_null()).cloned()
        };
        let by_user = match option.scope {
            ConfigScope::User => find(&self.user),
            ConfigScope::Instance => None,
        };
        if let Some(value) = by_user {
            return (value, Origin::User);
        }
        match find(&self.instance) {
            Some(value) => (value, Origin::Instance),
            None => (
                option.default.clone().unwrap_or(Json::Null),
                Origin::Default,
            ),
        }
    }
}

fn parse(path: &std::path::Path, text: Option<String>) -> Result<Map<String, Json>, SettingsError> {
    match text {
        Some(text) if !text.trim().is_empty() => {
            serde_json::from_str(&text).map_err(|error| SettingsError::Malformed {
                path: path.to_owned(),
                why: error.to_string(),
            })
        }
        _ => Ok(Map::new()),
    }
}

fn allow_scope(option: &ConfigOption, scope: ConfigScope) -> Result<(), SettingsError> {
    match (option.scope, scope) {
        (ConfigScope::Instance, ConfigScope::User) => {
            Err(SettingsError::InstanceOnly(option.key.clone()))
        }
        _ => Ok(()),
    }
}

fn secret_name(plugin: &str, key: &str, scope: ConfigScope, user: &UserId) -> SecretName {
    match scope {
        ConfigScope::Instance => SecretName::of_plugin(plugin, key),
        ConfigScope::User => SecretName::of_user(user, plugin, key),
    }
}

fn missing(plugin: &str, option: &ConfigOption) -> MissingSetting {
    let label = option.label.trim();
    MissingSetting {
        plugin: plugin.to_owned(),
        key: option.key.clone(),
        about: match label.is_empty() || label == option.key {
            true => String::new(),
            false => format!(" ({label})"),
        },
        value: match option.kind {
            ConfigKind::Secret => "",
            _ => " VALUE",
        },
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
