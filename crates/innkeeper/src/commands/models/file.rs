//! Changing `innkeeper.toml`: one channel more, one less. Comments, order and everything else stay as they are.
//!
//! What would come of a change is read and checked before it is written, so that no command can break the settings.

use innkeeper_models::ChannelConfig;
use innkeeper_tools::locked_file::{self, Readers};
use toml_edit::{Array, ArrayOfTables, DocumentMut, Item, Table, Value, value};

use crate::failure::{Failure, ModelFault, SettingsFault};
use crate::home::Home;
use crate::lang::Lang;
use crate::models::HouseModels;
use crate::settings::{self, Settings};

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
            why: error.message().to_owned(),
        })
    }
}

/// Adds channels, and chooses a default where one is given.
pub(super) fn add(
    home: &Home,
    channels: &[NewChannel],
    default: Option<&str>,
) -> Result<(), Failure> {
    home.create()?;
    change(home, |document| {
        for channel in channels {
            push(document, channel.table())?;
        }
        if let Some(default) = default {
            section(document)?.insert("default", value(default));
        }
        Ok(())
    })
}

/// What went with a channel.
pub(super) struct Removed {
    /// The default was one of its models.
    pub(super) default: Option<String>,
}

pub(super) fn remove(home: &Home, name: &str) -> Result<Removed, Failure> {
    change(home, |document| {
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
        Ok(Removed { default })
    })
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
        _ => return Err(not_written("`models.channels` is no list; mend it first")),
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
        not_written("`models` is written in braces; write it as a section, [models]")
    })
}

fn not_written(why: &str) -> Failure {
    let why = why.to_owned();
    ModelFault::NotWritten { why }.into()
}

fn change<T>(
    home: &Home,
    change: impl FnOnce(&mut DocumentMut) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let path = home.file(settings::FILE);
    locked_file::update(&path, Readers::Anyone, |text| {
        let text = text.unwrap_or_default();
        // Says what is wrong with it as it stands, and where.
        Settings::parse(settings::FILE, &text)?;
        let parsed = text.parse::<DocumentMut>();
        let mut document = parsed.map_err(|error| not_written(error.message()))?;
        let answer = change(&mut document)?;
        let text = document.to_string();
        checked(home, &text).map_err(|failure| not_written(&failure.sentence(Lang::En)))?;
        Ok((Some(text), answer))
    })
}

fn checked(home: &Home, text: &str) -> Result<(), Failure> {
    let settings = Settings::parse(settings::FILE, text);
    let settings = settings.map_err(|fault: SettingsFault| Failure::from(fault))?;
    HouseModels::open(home, &settings.models, None).map(drop)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
