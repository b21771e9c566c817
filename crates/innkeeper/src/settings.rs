//! `<home>/innkeeper.toml`: what the owner of this house has laid down.
//!
//! Owns the shape of the file and where in it something is wrong. A file that cannot be taken as it stands stops
//! the command: it may hold what is forbidden, and a rule that nobody reads would forbid nothing.

mod models;
mod plain;
mod retention;
mod scripts;
mod write;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use innkeeper_agent::instance::RetentionSettings;
use innkeeper_tools::builtin::http::HttpPolicy;
use innkeeper_tools::policy::{Expires, Policy, Rule};
use innkeeper_tools::{BudgetLimits, Pattern, ToolLimit};
use serde::Deserialize;
use toml::de::{DeTable, DeValue};

pub(crate) use self::models::{ModelSettings, is_rehearsal, no_name};
pub(crate) use self::scripts::Scripts;
pub(crate) use self::write::SettingsFile;
use crate::failure::{Said, SettingsFault, Spot, cause, shown};
use crate::limits::MAX_SETTINGS_BYTES;

pub(crate) const FILE: &str = "innkeeper.toml";

#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) scripts: Scripts,
    pub(crate) plugins: Plugins,
    pub(crate) models: ModelSettings,
    pub(crate) http: HttpPolicy,
    pub(crate) limits: Limits,
    pub(crate) policy: Policy,
    pub(crate) retention: RetentionSettings,
}

/// As it is written; the rules have still to be checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Written {
    scripts: Scripts,
    plugins: Plugins,
    models: ModelSettings,
    http: HttpPolicy,
    limits: Limits,
    policy: Rules,
    retention: retention::Retention,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Rules {
    rules: Vec<Rule>,
    /// How long questions of runs wait whose rule says nothing of it.
    approval_expires: Option<Expires>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Plugins {
    /// Folders with plugins beside `<home>/plugins`; relative ones count from `<home>`.
    pub(crate) paths: Vec<PathBuf>,
}

/// How many calls one command may make.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Limits {
    pub(crate) max_calls: Option<u32>,
    /// `"File.*" = 10`
    pub(crate) tools: BTreeMap<String, u32>,
}

impl Limits {
    pub(crate) fn budget(&self) -> BudgetLimits {
        let per_tool = self.tools.iter().map(|(tool, calls)| ToolLimit {
            tool: Pattern::new(tool),
            calls: *calls,
        });
        BudgetLimits {
            max_calls: self.max_calls,
            per_tool: per_tool.collect(),
        }
    }
}

/// Sections and their keys.
const KNOWN: &[(&str, &[&str])] = &[
    ("scripts", scripts::KEYS),
    ("plugins", &["paths"]),
    ("models", models::KEYS),
    (
        "http",
        &[
            "allow",
            "timeout_ms",
            "max_timeout_ms",
            "connect_timeout_ms",
            "max_bytes",
        ],
    ),
    ("limits", &["max_calls", "tools"]),
    ("policy", &["rules", "approval_expires"]),
    ("retention", retention::KEYS),
];

const RULE_KEYS: &[&str] = &[
    "name",
    "source",
    "tool",
    "actor",
    "arguments",
    "decision",
    "reason",
    "expires",
];

impl Settings {
    /// What stands in the file; where there is none, what holds without one.
    pub(crate) fn read(path: &Path) -> Result<Self, SettingsFault> {
        let name = shown(&path.to_string_lossy());
        let unreadable = |why: String| SettingsFault::Unreadable {
            path: name.clone(),
            why,
        };
        // A pipe would be waited for.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(unreadable("it is no plain file".to_owned()));
        }
        let file = match std::fs::File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(unreadable(cause(&error))),
        };
        let mut text = String::new();
        file.take(MAX_SETTINGS_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| unreadable(cause(&error)))?;
        if text.len() as u64 > MAX_SETTINGS_BYTES {
            return Err(unreadable("larger than 1 MiB".to_owned()));
        }
        Self::parse(&name, &text)
    }

    /// What a text says that is called `path`.
    pub(crate) fn parse(path: &str, text: &str) -> Result<Self, SettingsFault> {
        let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
        let document = DeTable::parse(text).map_err(|error| SettingsFault::Invalid {
            at: spot(path, text, start(&error)),
            why: Said::new(
                error.message(),
                format!("不是有效的 TOML（{}）", error.message()),
            ),
        })?;
        let document = document.get_ref();
        check_keys(path, text, document)?;
        let mut written: Written = toml::from_str(text).map_err(|error| {
            let (at, error) = models::culprit(document).unwrap_or((start(&error), error));
            SettingsFault::Invalid {
                at: spot(path, text, at),
                why: plain::plain(error.message()),
            }
        })?;
        let policy = Policy::new(written.policy.rules).map_err(|error| {
            let rule = rules(document).nth(error.number.saturating_sub(1));
            SettingsFault::Invalid {
                at: spot(path, text, rule.map_or(0, |rule| rule.span().start)),
                why: Said::of(&error.to_string()),
            }
        })?;
        let policy = policy.with_expires(written.policy.approval_expires);
        let retention = written.retention.settle().map_err(|(english, chinese)| {
            let section = document.get("retention");
            SettingsFault::Invalid {
                at: spot(
                    path,
                    text,
                    section.map_or(0, |section| section.span().start),
                ),
                why: Said::new(english, chinese),
            }
        })?;
        written.models.locate(path, text, document);
        Ok(Self {
            scripts: written.scripts,
            plugins: written.plugins,
            models: written.models,
            http: written.http,
            limits: written.limits,
            policy,
            retention,
        })
    }
}

fn check_keys(path: &str, text: &str, document: &DeTable<'_>) -> Result<(), SettingsFault> {
    let sections: Vec<&str> = KNOWN.iter().map(|(section, _)| *section).collect();
    check(path, text, document, &sections)?;
    let (gone, why) = scripts::GONE;
    let scripts = document.get("scripts").and_then(table_in);
    if let Some((key, _)) = scripts.and_then(|table| table.get_key_value(gone)) {
        return Err(SettingsFault::Invalid {
            at: spot(path, text, key.span().start),
            why: Said::new(why.0, why.1),
        });
    }
    for (section, keys) in KNOWN {
        if let Some(table) = document.get(*section).and_then(table_in) {
            check(path, text, table, keys)?;
        }
    }
    if let Some(section) = document.get("models").and_then(table_in) {
        models::check_keys(path, text, section)?;
        models::check_values(path, text, section)?;
    }
    for rule in rules(document).filter_map(table_in) {
        check(path, text, rule, RULE_KEYS)?;
    }
    Ok(())
}

type Value<'i> = toml::Spanned<DeValue<'i>>;

fn table_in<'d, 'i>(value: &'d Value<'i>) -> Option<&'d DeTable<'i>> {
    match value.get_ref() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

fn rules<'d, 'i>(document: &'d DeTable<'i>) -> impl Iterator<Item = &'d Value<'i>> {
    let section = document.get("policy").and_then(table_in);
    let rules = section.and_then(|section| match section.get("rules")?.get_ref() {
        DeValue::Array(rules) => Some(rules),
        _ => None,
    });
    rules.into_iter().flat_map(|rules| rules.iter())
}

fn check(path: &str, text: &str, table: &DeTable<'_>, known: &[&str]) -> Result<(), SettingsFault> {
    let unknown = table
        .keys()
        .find(|key| !known.contains(&key.get_ref().as_ref()));
    match unknown {
        None => Ok(()),
        Some(key) => Err(SettingsFault::UnknownKey {
            at: spot(path, text, key.span().start),
            key: shown(key.get_ref()),
            meant: crate::suggest::nearest(key.get_ref(), known.iter().copied()),
        }),
    }
}

fn spot(path: &str, text: &str, offset: usize) -> Spot {
    let before = text
        .get(..text.floor_char_boundary(offset))
        .unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let on_line = before.get(line_start..).unwrap_or_default();
    Spot {
        path: path.to_owned(),
        line: before.matches('\n').count() + 1,
        column: on_line.chars().count() + 1,
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
