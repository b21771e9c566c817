//! `innkeeper plugin config`: what a plugin is set to. Secrets go in and never come out.

use std::io::{IsTerminal, Read};

use innkeeper_tools::plugin::{
    ConfigKind, ConfigOption, ConfigScope, NewValue, Origin, PluginManager, PluginPackage,
    SecretState, Setting, SettingValue, SettingsError, Standing, find_option, parse_text,
};
use innkeeper_tools::{Secret, UserId};
use serde_json::{Value as Json, json};

use super::{Ended, find};
use crate::ask;
use crate::cli::{ConfigAction, ConfigArgs, ConfigScopeArgs};
use crate::failure::{Failure, Place, PluginFault, shown};
use crate::input::whole;
use crate::limits::MAX_VALUE_BYTES;
use crate::output::Screen;
use crate::suggest::nearest;
use crate::table::Table;

pub(super) fn run(
    args: &ConfigArgs,
    plugins: &PluginManager,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let package = package(plugins, &args.name)?;
    let options = options(&package);
    let user = UserId::default();
    let settings = plugins.settings();
    match &args.action {
        None | Some(ConfigAction::Show) => {
            let all = settings
                .get(&package.name, &options, &user)
                .map_err(refused)?;
            show(&all, &options, screen)?;
        }
        Some(ConfigAction::Set { key, value, scope }) => {
            let option = option(&package, &options, key)?;
            let scope = whose(option, *scope);
            let value = new_value(option, value.as_deref(), screen)?;
            settings
                .set(&package.name, option, scope, &user, value)
                .map_err(refused)?;
            told(option, scope, true, screen)?;
        }
        Some(ConfigAction::Unset { key, scope }) => {
            let option = option(&package, &options, key)?;
            let scope = whose(option, *scope);
            let was_set = settings
                .unset(&package.name, option, scope, &user)
                .map_err(refused)?;
            told(option, scope, was_set, screen)?;
        }
    }
    Ok(Ended::Done)
}

fn package(plugins: &PluginManager, name: &str) -> Result<PluginPackage, Failure> {
    let plugin = find(plugins, name)?;
    plugin.package.ok_or_else(|| {
        let why = match &plugin.state {
            Standing::Broken { problems } => problems.first().map(ToString::to_string),
            _ => None,
        };
        PluginFault::Broken {
            name: plugin.name.clone(),
            why: why.unwrap_or_default(),
        }
        .into()
    })
}

/// The plugin's own, then those of its tools; the first of a key counts.
fn options(package: &PluginPackage) -> Vec<ConfigOption> {
    let mut all: Vec<ConfigOption> = Vec::new();
    let of_tools = package.tools.iter().flat_map(|tool| &tool.config);
    for option in package.config.iter().chain(of_tools) {
        if !all.iter().any(|known| known.key == option.key) {
            all.push(option.clone());
        }
    }
    all
}

fn option<'o>(
    package: &PluginPackage,
    options: &'o [ConfigOption],
    key: &str,
) -> Result<&'o ConfigOption, Failure> {
    find_option(options, &package.name, key).ok_or_else(|| {
        let keys = options.iter().map(|option| option.key.as_str());
        PluginFault::UnknownSetting {
            plugin: package.name.clone(),
            key: key.to_owned(),
            suggestions: nearest(key, keys).into_iter().collect(),
        }
        .into()
    })
}

fn whose(option: &ConfigOption, asked: ConfigScopeArgs) -> ConfigScope {
    match (asked.user, asked.instance) {
        (true, _) => ConfigScope::User,
        (_, true) => ConfigScope::Instance,
        _ => option.scope,
    }
}

fn new_value(
    option: &ConfigOption,
    given: Option<&str>,
    screen: &Screen,
) -> Result<NewValue, Failure> {
    let key = || option.key.clone();
    match (option.kind, given) {
        (ConfigKind::Secret, None | Some("-")) => {
            Ok(NewValue::Secret(Secret::new(read_secret(option, screen)?)))
        }
        (ConfigKind::Secret, Some(_)) => {
            Err(PluginFault::SecretOnCommandLine { key: key() }.into())
        }
        (_, None) => Err(PluginFault::NeedsValue { key: key() }.into()),
        (_, Some("-")) => plain(option, &without_line_end(read_all()?)),
        (_, Some(text)) => plain(option, text),
    }
}

fn plain(option: &ConfigOption, text: &str) -> Result<NewValue, Failure> {
    let value = parse_text(option, text).map_err(|error| refused(error.into()))?;
    Ok(NewValue::Plain(value))
}

fn read_secret(option: &ConfigOption, screen: &Screen) -> Result<String, Failure> {
    let text = match std::io::stdin().is_terminal() {
        false => Some(without_line_end(read_all()?)),
        true => {
            let key = shown(&option.key);
            let prompt = screen.pick(format!("{key}: "), format!("{key}："));
            ask::hidden_line(&prompt).map_err(|error| Failure::reading(Place::Stdin, error))?
        }
    };
    match text.filter(|text| !text.is_empty()) {
        Some(text) => Ok(text),
        None => Err(PluginFault::NeedsValue {
            key: option.key.clone(),
        }
        .into()),
    }
}

fn read_all() -> Result<String, Failure> {
    let stdin: &mut dyn Read = &mut std::io::stdin().lock();
    whole(stdin, Place::Stdin, MAX_VALUE_BYTES)
}

/// The one line end that `echo` and editors put behind a value.
fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

fn refused(error: SettingsError) -> Failure {
    Failure::Plugin(PluginFault::Setting {
        why: error.to_string(),
    })
}

fn told(
    option: &ConfigOption,
    scope: ConfigScope,
    changed: bool,
    screen: &Screen,
) -> Result<(), Failure> {
    if screen.json {
        return screen.document(&json!({
            "key": option.key,
            "scope": scope,
            "changed": changed,
        }));
    }
    let key = shown(&option.key);
    let (english, chinese) = match scope {
        ConfigScope::User => ("for you", "仅对您"),
        ConfigScope::Instance => ("for everybody", "对所有人"),
    };
    match changed {
        true => screen.note(
            &format!("{key} is changed {english}"),
            &format!("{key} 已修改（{chinese}）"),
        ),
        false => screen.note(
            &format!("{key} was not set {english}"),
            &format!("{key} 原本就没有设定（{chinese}）"),
        ),
    }
    Ok(())
}

fn show(settings: &[Setting], options: &[ConfigOption], screen: &Screen) -> Result<(), Failure> {
    if screen.json {
        return screen.document(settings);
    }
    if settings.is_empty() {
        screen.note("This plugin has no settings", "这个插件没有设置项");
        return Ok(());
    }
    let headings = screen.pick(
        ["KEY", "VALUE", "FROM", "ABOUT"],
        ["键", "值", "来源", "说明"],
    );
    let mut table = Table::new(&headings);
    for setting in settings {
        let option = options.iter().find(|option| option.key == setting.key);
        let label = option.map(|option| option.label.as_str());
        let about = setting.problem.as_deref().or(label).unwrap_or_default();
        table.row([
            setting.key.as_str(),
            &value(&setting.value, screen),
            origin(setting.origin, screen),
            about,
        ]);
    }
    screen.table(&table)
}

fn value(value: &SettingValue, screen: &Screen) -> String {
    match value {
        SettingValue::Value(Json::Null) => String::new(),
        SettingValue::Value(Json::String(text)) => text.clone(),
        SettingValue::Value(other) => other.to_string(),
        SettingValue::Secret(SecretState::Set) => screen.pick("(set)", "（已设定）").to_owned(),
        SettingValue::Secret(SecretState::NotSet) => {
            screen.pick("(not set)", "（未设定）").to_owned()
        }
    }
}

fn origin(origin: Origin, screen: &Screen) -> &'static str {
    match origin {
        Origin::Default => screen.pick("default", "默认"),
        Origin::Instance => screen.pick("everybody", "所有人"),
        Origin::User => screen.pick("you", "您"),
    }
}
