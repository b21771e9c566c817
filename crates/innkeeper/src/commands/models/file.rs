//! Changing `innkeeper.toml`: one channel more, one less. Comments, order and everything else stay as they are.
//!
//! What would come of a change is read and checked before it is written, so that no command can break the settings. A
//! channel and its key change under the one lock of the settings: the key first and the channel last when it comes, the
//! other way round when it goes. So whatever is cut short leaves at most a key without a channel, which the next `add`
//! of that name and `doctor` tell of, and never a channel with somebody else's key.

use innkeeper_models::{ChannelConfig, HeaderText, KeyRef};
use innkeeper_tools::locked_file::{Locked, Readers};
use innkeeper_tools::{Secret, SecretName, Secrets, SecretsError};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

use crate::failure::{Failure, ModelFault, Said};
use crate::home::Home;
use crate::lang::Lang;
use crate::models::HouseModels;
use crate::settings::{self, ModelSettings, Settings};

/// A key as `add` keeps it, under the name of its channel.
pub(super) struct NewKey {
    pub(super) secret: Secret,
    /// It may write over one that is there.
    pub(super) replaces: bool,
}

/// What one command adds.
#[derive(Default)]
pub(super) struct Addition {
    pub(super) channels: Vec<NewChannel>,
    pub(super) default: Option<String>,
    /// Of the first channel.
    pub(super) key: Option<NewKey>,
}

/// A channel as it is written down.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NewChannel {
    pub(super) name: String,
    pub(super) provider: String,
    pub(super) base_url: Option<String>,
    /// Where the key is: `secret:models.name` or `${NAME}`.
    pub(super) key: Option<String>,
    pub(super) models: Vec<String>,
    /// Tokens that its models hold.
    pub(super) context: Option<u64>,
}

impl NewChannel {
    fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert("name", value(&self.name));
        if self.provider != self.name {
            table.insert("provider", value(&self.provider));
        }
        if let Some(base_url) = &self.base_url {
            table.insert("base_url", value(base_url));
        }
        if let Some(key) = &self.key {
            table.insert("keys", value(Array::from_iter([key])));
        }
        if !self.models.is_empty() {
            table.insert("models", value(Array::from_iter(&self.models)));
        }
        let context = self.context.and_then(|tokens| i64::try_from(tokens).ok());
        if let Some(context) = context {
            table.insert("context", value(context));
        }
        table
    }

    /// What it will be once it is read.
    pub(super) fn config(&self) -> Result<ChannelConfig, ModelFault> {
        toml::from_str(&self.table().to_string()).map_err(|error| ModelFault::Channel {
            why: Said::of(error.message()),
        })
    }
}

/// Adds what `decide` makes of the settings as they are now. Nobody else changes them meanwhile.
pub(super) fn add(
    home: &Home,
    decide: impl FnOnce(&Settings) -> Result<Addition, Failure>,
) -> Result<Addition, Failure> {
    home.create()?;
    let open = Open::read(home)?;
    let addition = decide(&open.settings)?;
    let there = &open.settings.models.channels;
    for channel in &addition.channels {
        if there.iter().any(|there| there.name == channel.name) {
            let name = channel.name.clone();
            return Err(ModelFault::Exists { name }.into());
        }
    }
    if addition.channels.is_empty() {
        return Ok(addition);
    }
    let (text, _) = open.changed(home, |document| {
        for channel in &addition.channels {
            push(document, channel.table())?;
        }
        if let Some(default) = &addition.default {
            section(document)?.insert("default", value(default));
        }
        Ok(())
    })?;
    let kept = match (&addition.key, addition.channels.first()) {
        (Some(key), Some(channel)) => {
            Some(Kept::keep(home, &channel.name, key, &open.settings.models)?)
        }
        _ => None,
    };
    if let Err(error) = open.file.replace(&text) {
        kept.into_iter().for_each(Kept::undo);
        return Err(error.into());
    }
    Ok(addition)
}

/// A key that has been written for a channel that has not.
struct Kept {
    secrets: Secrets,
    name: SecretName,
    before: Option<Secret>,
}

impl Kept {
    fn keep(
        home: &Home,
        channel: &str,
        key: &NewKey,
        settings: &ModelSettings,
    ) -> Result<Self, Failure> {
        let unkept = |error: SecretsError| ModelFault::Key {
            why: Said::of(&error.to_string()),
        };
        let secrets = secrets(home);
        let name = secret_name(channel);
        let before = secrets.get(&name).map_err(unkept)?;
        if before.is_some() && !key.replaces {
            let channels = settings.channels.iter();
            let users = channels.filter(|other| uses_key_of(other, channel));
            return Err(ModelFault::KeyExists {
                name: name.to_string(),
                used_by: users.map(|other| other.name.clone()).collect(),
            }
            .into());
        }
        secrets.set(&name, &key.secret).map_err(unkept)?;
        Ok(Self {
            secrets,
            name,
            before,
        })
    }

    /// Nobody would know what it is for. Where it cannot go, it is still for its owner alone.
    fn undo(self) {
        let _ = match &self.before {
            Some(before) => self.secrets.set(&self.name, before),
            None => self.secrets.remove(&self.name).map(|_| ()),
        };
    }
}

pub(super) fn secrets(home: &Home) -> Secrets {
    Secrets::new(home.file("secrets.toml"))
}

pub(super) fn secret_name(channel: &str) -> SecretName {
    SecretName::new(std::iter::once("models").chain(channel.split('.')))
}

/// Whether a channel names the key that is kept for another, also in a header.
pub(super) fn uses_key_of(config: &ChannelConfig, channel: &str) -> bool {
    let key = KeyRef::Secret(format!("models.{channel}"));
    let shows =
        |text: &HeaderText| matches!(text, HeaderText::WithKey { key: shown, .. } if *shown == key);
    config.keys.contains(&key) || config.headers.values().any(shows)
}

/// What went with a channel.
#[derive(Debug)]
pub(super) struct Removed {
    /// The default was one of its models.
    pub(super) default: Option<String>,
    pub(super) key: bool,
    /// Who answers now where no model is named, if that was somebody else before.
    pub(super) answers: Option<String>,
    /// What leads nowhere without it.
    pub(super) doubts: Vec<Said>,
}

/// Takes a channel out, and its key too unless it is to be kept or another channel uses it.
pub(super) fn remove(home: &Home, name: &str, keeps_key: bool) -> Result<Removed, Failure> {
    let open = Open::read(home)?;
    let settings = &open.settings.models;
    if !settings.channels.iter().any(|channel| channel.name == name) {
        let (given, near) = (name.to_owned(), None);
        return Err(ModelFault::UnknownChannel { given, near }.into());
    }
    let routes = routes_to(settings, name);
    if !routes.is_empty() {
        let name = name.to_owned();
        return Err(ModelFault::InUse { name, routes }.into());
    }
    let before = HouseModels::open(home, settings, None)?;
    let (text, default) = open.changed(home, |document| take_channel(document, name))?;
    let after = Settings::parse(settings::FILE, &text)?;
    let house = HouseModels::open(home, &after.models, None)?;
    let mut doubts = house.doubts();
    let known = before.doubts();
    doubts.retain(|doubt| !known.contains(doubt));
    let answers = house.models.default_name().map(str::to_owned);
    let answers = answers.filter(|now| before.models.default_name() != Some(now));
    open.file.replace(&text)?;
    let mut others = after.models.channels.iter();
    let goes = !keeps_key && !others.any(|other| uses_key_of(other, name));
    let key = goes
        && secrets(home)
            .remove(&secret_name(name))
            .map_err(|error| ModelFault::KeyStays {
                name: secret_name(name).to_string(),
                why: Said::of(&error.to_string()),
            })?;
    Ok(Removed {
        default,
        key,
        answers,
        doubts,
    })
}

/// Routes with a target that only this channel answers to, and where they stand.
fn routes_to(settings: &ModelSettings, name: &str) -> Vec<String> {
    let needs = |target: &String| {
        let head = target.split(['/', ':']).next().unwrap_or_default();
        let mut others = settings.channels.iter().filter(|other| other.name != name);
        !others.any(|other| other.name == head || other.provider == head)
    };
    let numbered = settings.routes.iter().enumerate();
    let needing = numbered.filter(|(_, route)| route.to.iter().any(needs));
    needing
        .map(|(number, route)| {
            let line = settings.line(&format!("routes[{number}].to"));
            format!("{} ({}:{line})", route.model.as_str(), settings::FILE)
        })
        .collect()
}

fn take_channel(document: &mut DocumentMut, name: &str) -> Result<Option<String>, Failure> {
    let section = section(document)?;
    if let Some(list) = section.get_mut("channels") {
        take_out(list, name);
        let is_empty = match &*list {
            Item::ArrayOfTables(list) => list.is_empty(),
            Item::Value(Value::Array(list)) => list.is_empty(),
            _ => false,
        };
        if is_empty {
            section.remove("channels");
        }
    }
    let default = section.get("default").and_then(Item::as_str);
    let rest = default.and_then(|default| default.strip_prefix(name));
    let default = match rest.is_some_and(|rest| rest.starts_with(['/', ':'])) {
        true => default.map(str::to_owned),
        false => None,
    };
    if default.is_some() {
        section.remove("default");
    }
    let before = section.decor().prefix().and_then(|before| before.as_str());
    let is_told_of = before.is_some_and(|before| before.contains('#'));
    if section.is_empty() && !is_told_of {
        document.remove("models");
    }
    Ok(default)
}

fn take_out(list: &mut Item, name: &str) {
    let is_it = |found: Option<&str>| found == Some(name);
    match list {
        Item::ArrayOfTables(list) => {
            let at = list
                .iter()
                .position(|table| is_it(table.get("name").and_then(Item::as_str)));
            if let Some(at) = at {
                list.remove(at);
            }
        }
        Item::Value(Value::Array(list)) => {
            let named = |value: &Value| {
                let table = value.as_inline_table();
                is_it(table.and_then(|table| table.get("name")?.as_str()))
            };
            let at = list.iter().position(named);
            if let Some(at) = at {
                list.remove(at);
            }
        }
        _ => {}
    }
}

fn push(document: &mut DocumentMut, table: Table) -> Result<(), Failure> {
    let list = section(document)?
        .entry("channels")
        .or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    match list {
        Item::ArrayOfTables(list) => list.push(table),
        Item::Value(Value::Array(list)) => list.push(table.into_inline_table()),
        _ => {
            return Err(not_written(Said::new(
                "`models.channels` is no list; mend it first",
                "`models.channels` 不是列表；请先改正",
            )));
        }
    }
    Ok(())
}

fn section(document: &mut DocumentMut) -> Result<&mut Table, Failure> {
    let section = document.entry("models").or_insert_with(|| {
        let mut table = Table::new();
        // `[[models.channels]]` alone, without an empty `[models]` before it.
        table.set_implicit(true);
        Item::Table(table)
    });
    section.as_table_mut().ok_or_else(|| {
        not_written(Said::new(
            "`models` is written in braces; write it as a section, [models]",
            "`models` 写在花括号里；请写成 [models] 一节",
        ))
    })
}

fn not_written(why: Said) -> Failure {
    ModelFault::NotWritten { why }.into()
}

/// The settings, which nobody else changes while this lives.
struct Open {
    file: Locked,
    text: String,
    settings: Settings,
}

impl Open {
    fn read(home: &Home) -> Result<Self, Failure> {
        let file = Locked::open(&home.file(settings::FILE), Readers::Anyone)?;
        let text = file.read()?.unwrap_or_default();
        // Says what is wrong with it as it stands, and where.
        let settings = Settings::parse(settings::FILE, &text)?;
        Ok(Self {
            file,
            text,
            settings,
        })
    }

    /// The text after a change, if it would be taken.
    fn changed<T>(
        &self,
        home: &Home,
        change: impl FnOnce(&mut DocumentMut) -> Result<T, Failure>,
    ) -> Result<(String, T), Failure> {
        let parsed = self.text.parse::<DocumentMut>();
        let mut document = parsed.map_err(|error| not_written(Said::of(error.message())))?;
        let answer = change(&mut document)?;
        let text = document.to_string();
        checked(home, &text).map_err(|failure| {
            not_written(Said::new(
                failure.sentence(Lang::En),
                failure.sentence(Lang::Zh),
            ))
        })?;
        Ok((text, answer))
    }
}

fn checked(home: &Home, text: &str) -> Result<(), Failure> {
    let settings = Settings::parse(settings::FILE, text)?;
    HouseModels::open(home, &settings.models, None).map(drop)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
