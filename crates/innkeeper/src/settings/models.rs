//! `[models]`: which models there are, how they are reached, and what they are called.
//!
//! Owns the shape and the places in the file. What providers there are, and whether channels and routes fit together, is
//! seen where models are opened.

use std::collections::BTreeMap;
use std::path::PathBuf;

use innkeeper_models::{ChannelConfig, ModelInfo, Route};
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

use super::{Value, check, spot, table_in};
use crate::failure::{SettingsFault, Spot, message};

pub(super) const KEYS: &[&str] = &[
    "default",
    "rehearsal",
    "channels",
    "routes",
    "aliases",
    "info",
];

const CHANNEL: &[&str] = &[
    "name",
    "provider",
    "base_url",
    "keys",
    "headers",
    "models",
    "rename",
    "disabled",
    "timeouts",
    "retries",
    "context",
    "max_tokens",
    "stream",
    "grammar",
    "quirks",
];
const TIMEOUTS: &[&str] = &["connect_ms", "first_byte_ms", "idle_ms", "total_ms"];
const QUIRKS: &[&str] = &[
    "max_tokens_field",
    "developer_role",
    "stream_usage",
    "grammar",
    "json_schema",
    "reasoning_back",
    "default_max_tokens",
];
const ROUTE: &[&str] = &["model", "to"];
const INFO: &[&str] = &["input", "output", "cached_input", "context", "max_output"];

/// What people write who have a key in their hand.
const HOLDS_KEY: &[&str] = &["key", "api_key", "apikey", "token", "secret"];
const NO_KEY_HERE: &str = "this file holds no keys, since it is read, copied and shown: `innkeeper models add` keeps one in \
                           secrets.toml, or put it into an environment variable and write keys = [\"${NAME}\"]";

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelSettings {
    /// Who answers where no model is named.
    pub(crate) default: Option<String>,
    /// A script for the rehearsal model in the place of its own; a relative path counts from `<home>`.
    pub(crate) rehearsal: Option<PathBuf>,
    pub(crate) channels: Vec<ChannelConfig>,
    pub(crate) routes: Vec<Route>,
    pub(crate) aliases: BTreeMap<String, String>,
    /// By pattern.
    pub(crate) info: BTreeMap<String, ModelInfo>,
    #[serde(skip)]
    places: Places,
}

/// Where they stand in the file.
#[derive(Debug, Default)]
struct Places {
    section: Option<Spot>,
    channels: Vec<Spot>,
    routes: Vec<Spot>,
}

impl ModelSettings {
    /// Says what is wrong with `channels[0]`, `routes[1].to[0]`, `aliases.x`, and in which line.
    pub(crate) fn fault(&self, place: &str, why: &str) -> SettingsFault {
        let numbered = |list: &str, spots: &[Spot]| {
            let number = place.strip_prefix(list)?.strip_prefix('[')?;
            let number: usize = number.split(']').next()?.parse().ok()?;
            spots.get(number).cloned()
        };
        let at = numbered("channels", &self.places.channels)
            .or_else(|| numbered("routes", &self.places.routes))
            .or_else(|| self.places.section.clone())
            .unwrap_or_else(|| Spot {
                path: super::FILE.to_owned(),
                line: 1,
                column: 1,
            });
        SettingsFault::Invalid {
            at,
            why: message(&format!("models.{place}: {why}")),
        }
    }

    pub(super) fn locate(&mut self, path: &str, text: &str, document: &DeTable<'_>) {
        let here = |value: &Value<'_>| spot(path, text, value.span().start);
        self.places.section = document.get("models").map(here);
        let Some(section) = document.get("models").and_then(table_in) else {
            return;
        };
        self.places.channels = list(section, "channels").map(here).collect();
        self.places.routes = list(section, "routes").map(here).collect();
    }
}

pub(super) fn check_keys(
    path: &str,
    text: &str,
    section: &DeTable<'_>,
) -> Result<(), SettingsFault> {
    for channel in list(section, "channels").filter_map(table_in) {
        let held = channel
            .keys()
            .find(|key| HOLDS_KEY.contains(&key.get_ref().to_lowercase().as_str()));
        if let Some(held) = held {
            return Err(SettingsFault::Invalid {
                at: spot(path, text, held.span().start),
                why: NO_KEY_HERE.to_owned(),
            });
        }
        check(path, text, channel, CHANNEL)?;
        for (key, known) in [("timeouts", TIMEOUTS), ("quirks", QUIRKS)] {
            if let Some(table) = channel.get(key).and_then(table_in) {
                check(path, text, table, known)?;
            }
        }
    }
    for route in list(section, "routes").filter_map(table_in) {
        check(path, text, route, ROUTE)?;
    }
    let info = section.get("info").and_then(table_in);
    let entries = info.into_iter().flat_map(|info| info.values());
    for entry in entries.filter_map(table_in) {
        check(path, text, entry, INFO)?;
    }
    Ok(())
}

fn list<'d, 'i>(section: &'d DeTable<'i>, key: &str) -> impl Iterator<Item = &'d Value<'i>> {
    let list = section.get(key).and_then(|list| match list.get_ref() {
        DeValue::Array(list) => Some(list),
        _ => None,
    });
    list.into_iter().flat_map(|list| list.iter())
}
