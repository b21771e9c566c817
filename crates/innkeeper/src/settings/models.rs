//! `[models]`: which models there are, how they are reached, and what they are called.
//!
//! Owns the shape and what single values may be; where they stand in the file is `places`. What providers there are, and
//! whether channels and routes fit together, is seen where models are opened.

mod places;

use std::collections::BTreeMap;
use std::path::PathBuf;

use innkeeper_models::{ChannelConfig, ModelInfo, Route};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use self::places::Places;
use super::{Value, check, spot, table_in};
use crate::failure::{Said, SettingsFault};
use crate::models::{REHEARSAL, is_model_name};

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
    "message_fields",
    "not_sent",
    "seed_field",
    "call_ids",
];
const ROUTE: &[&str] = &["model", "to"];
const INFO: &[&str] = &["input", "output", "cached_input", "context", "max_output"];

/// What people write who have a key in their hand.
const HOLDS_KEY: &[&str] = &["key", "api_key", "apikey", "token", "secret"];
const NO_KEY_HERE: (&str, &str) = (
    "this file holds no keys, since it is read, copied and shown: `innkeeper models add` keeps one in secrets.toml, or put \
     it into an environment variable and write keys = [\"${NAME}\"]",
    "此文件不存放密钥，因为它会被读取、复制和展示：`innkeeper models add` 把密钥存入 secrets.toml，或将其放入环境变量并写 \
     keys = [\"${NAME}\"]",
);

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

impl ModelSettings {
    /// Says what is wrong with `channels[0].name`, `routes[1].to[0]`, `aliases.x`, and in which line.
    pub(crate) fn fault(&self, place: &str, why: Said) -> SettingsFault {
        SettingsFault::Invalid {
            at: self.places.spot(place),
            why: why.after(&format!("models.{place}")),
        }
    }

    /// `line 12`
    pub(crate) fn line(&self, place: &str) -> usize {
        self.places.spot(place).line
    }

    pub(super) fn locate(&mut self, path: &str, text: &str, document: &DeTable<'_>) {
        self.places = Places::of(path, text, document);
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
                why: Said::new(NO_KEY_HERE.0, NO_KEY_HERE.1),
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
    for (_, entry) in table(section, "info") {
        if let Some(entry) = table_in(entry) {
            check(path, text, entry, INFO)?;
        }
    }
    Ok(())
}

/// What their types do not say. A value of the wrong type is told of where it is read.
pub(super) fn check_values(
    path: &str,
    text: &str,
    section: &DeTable<'_>,
) -> Result<(), SettingsFault> {
    let fault = |offset: usize, why: Said| {
        let at = spot(path, text, offset);
        Err(SettingsFault::Invalid { at, why })
    };
    for (name, offset) in names(section) {
        if !is_model_name(name) {
            return fault(offset, no_name());
        }
    }
    let channels = list(section, "channels").filter_map(table_in);
    let called = channels.filter_map(|channel| word(channel.get("name")?));
    let aliases =
        table(section, "aliases").map(|(alias, _)| (&**alias.get_ref(), alias.span().start));
    for (name, offset) in called.chain(aliases) {
        if name == REHEARSAL {
            return fault(offset, is_rehearsal());
        }
    }
    for (_, entry) in table(section, "info") {
        let entry = table_in(entry);
        let key = |key: &str| {
            let (key, _) = entry?.get_key_value(key)?;
            Some(key.span().start)
        };
        match (key("input"), key("output"), key("cached_input")) {
            (Some(alone), None, _) | (None, Some(alone), _) => {
                return fault(
                    alone,
                    Said::new(
                        "`input` and `output` stand together: what goes in and what comes out has a price, or neither",
                        "`input` 和 `output` 须同时写：两者都有价格，或都没有",
                    ),
                );
            }
            (None, None, Some(alone)) => {
                return fault(
                    alone,
                    Said::new(
                        "`cached_input` counts only beside `input` and `output`",
                        "`cached_input` 只在写了 `input` 和 `output` 时有效",
                    ),
                );
            }
            _ => {}
        }
    }
    Ok(())
}

pub(crate) fn no_name() -> Said {
    Said::new(
        "a name of a model is not empty, has no blanks around it and nothing that a screen cannot show",
        "模型的名字不能为空，前后没有空白，也没有无法显示的字符",
    )
}

pub(crate) fn is_rehearsal() -> Said {
    Said::new(
        "`rehearsal` is the model that plays a script, and it would answer instead; choose another name",
        "`rehearsal` 是按脚本排练的模型，会由它来答复；请另选名字",
    )
}

/// Every name of a model, and where it stands.
fn names<'d>(section: &'d DeTable<'_>) -> impl Iterator<Item = (&'d str, usize)> {
    let default = section.get("default").and_then(word);
    let served = list(section, "channels").filter_map(table_in);
    let served = served.flat_map(|channel| {
        let models = list(channel, "models").filter_map(word);
        let renamed = table(channel, "rename");
        models.chain(renamed.flat_map(|(here, there)| {
            let here = (&**here.get_ref(), here.span().start);
            std::iter::once(here).chain(word(there))
        }))
    });
    let routed = list(section, "routes").filter_map(table_in);
    let routed = routed.flat_map(|route| {
        let model = route.get("model").and_then(word);
        model.into_iter().chain(list(route, "to").filter_map(word))
    });
    let aliases = table(section, "aliases").flat_map(|(alias, meant)| {
        let alias = (&**alias.get_ref(), alias.span().start);
        std::iter::once(alias).chain(word(meant))
    });
    default
        .into_iter()
        .chain(served)
        .chain(routed)
        .chain(aliases)
}

/// What is wrong with the one key that makes a channel unreadable, and where: what is said of a channel as a whole points
/// to its beginning.
pub(super) fn culprit(document: &DeTable<'_>) -> Option<(usize, toml::de::Error)> {
    let section = document.get("models").and_then(table_in)?;
    let read = |value: Value<'_>| ChannelConfig::deserialize(ValueDeserializer::from(value)).err();
    let mut channels = list(section, "channels");
    let broken = channels.find(|channel| read((*channel).clone()).is_some())?;
    let table = table_in(broken)?;
    // Nothing can be read without it, so it is looked at first.
    let name = table.get_key_value("name")?;
    let mut keys = std::iter::once(name).chain(table.iter());
    keys.find_map(|(key, value)| {
        let mut alone = DeTable::new();
        alone.insert(name.0.clone(), name.1.clone());
        alone.insert(key.clone(), value.clone());
        let error = read(Spanned::new(value.span(), DeValue::Table(alone)))?;
        // A value that cannot be read is told with its place, one that is not taken without.
        let at = error.span().map_or(key.span().start, |span| span.start);
        Some((at, error))
    })
}

fn word<'d>(value: &'d Value<'_>) -> Option<(&'d str, usize)> {
    match value.get_ref() {
        DeValue::String(text) => Some((&**text, value.span().start)),
        _ => None,
    }
}

fn list<'d, 'i>(section: &'d DeTable<'i>, key: &str) -> impl Iterator<Item = &'d Value<'i>> {
    let list = section.get(key).and_then(|list| match list.get_ref() {
        DeValue::Array(list) => Some(list),
        _ => None,
    });
    list.into_iter().flat_map(|list| list.iter())
}

type Key<'i> = Spanned<toml::de::DeString<'i>>;

fn table<'d, 'i>(
    section: &'d DeTable<'i>,
    key: &str,
) -> impl Iterator<Item = (&'d Key<'i>, &'d Value<'i>)> {
    let table = section.get(key).and_then(table_in);
    table.into_iter().flat_map(|table| table.iter())
}
