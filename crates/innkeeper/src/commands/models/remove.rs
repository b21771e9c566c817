//! `innkeeper models remove`: a channel less, and its key with it.

use innkeeper_models::{HeaderText, KeyRef};
use innkeeper_tools::Secrets;
use serde_json::json;

use super::add::secret_name;
use super::{Ended, file, list, open};
use crate::ask;
use crate::cli::ModelsRemoveArgs;
use crate::failure::{Failure, ModelFault, Place, shown};
use crate::home::Home;
use crate::models::HouseModels;
use crate::output::Screen;

pub(super) fn run(args: &ModelsRemoveArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let house = open(home, None)?;
    let name = args.name.as_str();
    let all = house.channels();
    if !all.iter().any(|channel| channel.name() == name) {
        return Err(list::unknown(name, all));
    }
    if !args.yes {
        let given = || name.to_owned();
        if !ask::somebody_is_there() {
            return Err(ModelFault::NeedsYes { name: given() }.into());
        }
        if !agreed(name, screen)? {
            return Err(ModelFault::Declined { name: given() }.into());
        }
    }
    let removed = file::remove(home, name)?;
    let drops_key = !args.keep_key && !is_used_elsewhere(&house, name);
    let key_gone = drops_key
        && Secrets::new(home.file("secrets.toml"))
            .remove(&secret_name(name))
            .map_err(|error| ModelFault::Key {
                why: error.to_string(),
            })?;
    if screen.json {
        screen.document(&json!({
            "name": name,
            "keyRemoved": key_gone,
            "defaultRemoved": removed.default,
        }))?;
        return Ok(Ended::Done);
    }
    let shown_name = shown(name);
    match key_gone {
        true => screen.note(
            &format!("The channel {shown_name} and its key are gone"),
            &format!("渠道 {shown_name} 及其密钥已移除"),
        ),
        false => screen.note(
            &format!("The channel {shown_name} is gone"),
            &format!("渠道 {shown_name} 已移除"),
        ),
    }
    if let Some(default) = &removed.default {
        let default = shown(default);
        screen.note(
            &format!("{default} was the default model; it is no longer"),
            &format!("{default} 原是默认模型，现已取消"),
        );
    }
    Ok(Ended::Done)
}

fn agreed(name: &str, screen: &Screen) -> Result<bool, Failure> {
    let name = shown(name);
    let asked = screen.pick(
        format!("Remove the channel {name}? [y/N] "),
        format!("移除渠道 {name}？[y/N] "),
    );
    let answer = ask::line(&asked).map_err(|error| Failure::reading(Place::Stdin, error))?;
    let answer = answer.unwrap_or_default().trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes" | "是"))
}

/// Another channel may name the same key, also in a header.
fn is_used_elsewhere(house: &HouseModels, name: &str) -> bool {
    let own = KeyRef::Secret(format!("models.{name}"));
    let mut others = house
        .channels()
        .iter()
        .filter(|channel| channel.name() != name);
    others.any(|channel| {
        let config = channel.config();
        let shows =
            |text: &HeaderText| matches!(text, HeaderText::WithKey { key, .. } if *key == own);
        config.keys.contains(&own) || config.headers.values().any(shows)
    })
}
