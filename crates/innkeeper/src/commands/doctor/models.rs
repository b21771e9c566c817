//! Channels: how many are ready, who answers where no model is named, and what leads nowhere.

use std::collections::BTreeSet;

use innkeeper_models::{HeaderText, KeyRef};
use innkeeper_tools::Secrets;

use super::Check;
use crate::failure::shown;
use crate::home::Home;
use crate::lang::Lang;
use crate::models::HouseModels;
use crate::settings::{ModelSettings, Settings};

/// Nothing is known of models where the settings cannot be taken.
pub(super) fn look(home: &Home, settings: Option<&Settings>, lang: Lang) -> Check {
    let Some(settings) = settings else {
        return Check::warn(
            "models",
            lang.pick(
                "not known, since the settings cannot be taken",
                "不得而知，因为设置无法采用",
            ),
            lang.pick("mend the settings first", "请先改正设置"),
        );
    };
    let settings = &settings.models;
    let house = match HouseModels::open(home, settings, None) {
        Ok(house) => house,
        Err(failure) => return Check::failed("models", &failure, lang),
    };
    let mut said = counted(&house, lang);
    let unused = unused_keys(home, settings);
    if !unused.is_empty() {
        let names = unused.join(", ");
        said.push_str(&lang.pick(
            format!("; secrets.toml keeps keys that no channel uses: {names}"),
            format!("；secrets.toml 中有渠道都不用的密钥：{names}"),
        ));
    }
    // All of them, since each is somebody's mistake.
    let doubts: Vec<String> = house
        .doubts()
        .iter()
        .map(|doubt| doubt.shown(lang))
        .collect();
    if !doubts.is_empty() {
        let between = lang.pick("; ", "；");
        let doubts = doubts.join(between);
        return Check::warn("models", said, house.redactor.redact_text(&doubts));
    }
    let mut channels = house.channels().iter();
    match channels.any(|channel| !channel.config().disabled && channel.ready().is_err()) {
        false => Check::ok("models", said),
        true => {
            let remedy = lang.pick(
                "innkeeper models list shows what they lack",
                "innkeeper models list 会显示缺什么",
            );
            Check::warn("models", said, remedy)
        }
    }
}

fn counted(house: &HouseModels, lang: Lang) -> String {
    let (mut ready, mut lacking, mut disabled) = (0, 0, 0);
    for channel in house.channels() {
        match (channel.config().disabled, channel.ready()) {
            (true, _) => disabled += 1,
            (false, Ok(())) => ready += 1,
            (false, Err(_)) => lacking += 1,
        }
    }
    let default = house.models.default_name().unwrap_or_default();
    let default = shown(&house.redactor.redact_text(default));
    if ready + lacking + disabled > 0 {
        return lang.pick(
            format!("{ready} channels ready, {lacking} lacking something, {disabled} disabled; {default} is the default"),
            format!("就绪 {ready}，缺少东西 {lacking}，已停用 {disabled}；默认 {default}"),
        );
    }
    match house.chooses_default() {
        true => lang.pick(
            format!("none connected; {default} is the default"),
            format!("尚未接入；默认 {default}"),
        ),
        false => lang.pick(
            "none connected; the rehearsal model answers (innkeeper models add connects one)"
                .to_owned(),
            "尚未接入；由排练模型答复（innkeeper models add 可接入）".to_owned(),
        ),
    }
}

/// Left by a channel that was removed, or by an `add` that was cut short. What cannot be read is told elsewhere.
fn unused_keys(home: &Home, settings: &ModelSettings) -> Vec<String> {
    let mut used = BTreeSet::new();
    for channel in &settings.channels {
        // Without `keys` it looks for one of its own name.
        if channel.keys.is_empty() {
            used.insert(format!("models.{}", channel.name));
        }
        let in_headers = channel.headers.values().filter_map(|text| match text {
            HeaderText::WithKey { key, .. } => Some(key),
            HeaderText::Plain(_) => None,
        });
        for key in channel.keys.iter().chain(in_headers) {
            if let KeyRef::Secret(name) = key {
                used.insert(name.clone());
            }
        }
    }
    let names = Secrets::new(home.file("secrets.toml")).names();
    let names = names
        .unwrap_or_default()
        .into_iter()
        .map(|name| name.to_string());
    let unused = names.filter(|name| name.starts_with("models.") && !used.contains(name));
    unused.map(|name| shown(&name)).collect()
}
