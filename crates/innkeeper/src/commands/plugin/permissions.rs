//! `innkeeper plugin permissions`: what is asked for, and what was granted.

use innkeeper_tools::plugin::{Permissions, PluginManager, Standing};
use serde_json::json;

use super::{Ended, fault, find, state, words};
use crate::failure::{Failure, PluginFault};
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(name: &str, plugins: &PluginManager, screen: &Screen) -> Result<Ended, Failure> {
    let plugin = find(plugins, name)?;
    let package = match (&plugin.package, &plugin.state) {
        (Some(package), _) => package,
        (None, Standing::Broken { problems }) => {
            let why = problems.first().map(ToString::to_string);
            return Err(PluginFault::Broken {
                name: plugin.name.clone(),
                why: why.unwrap_or_default(),
            }
            .into());
        }
        (None, _) => return Ok(Ended::Done),
    };
    let consent = plugins
        .consents()
        .consent(name)
        .map_err(|error| fault(error.into()))?;
    let granted = consent.map(|consent| consent.accepted).unwrap_or_default();
    let asked = &package.permissions;
    if screen.json {
        screen.document(&json!({
            "name": name,
            "state": serde_json::to_value(&plugin.state).ok().and_then(|mut state| state.get_mut("state").map(serde_json::Value::take)),
            "asked": asked,
            "granted": granted,
            "new": asked.beyond(&granted),
        }))?;
        return Ok(Ended::Done);
    }
    if asked.is_empty() && granted.is_empty() {
        screen.text(screen.pick("It asks for nothing.", "它没有任何请求。"))?;
        return Ok(Ended::Done);
    }
    screen.table(&table(asked, &granted, screen))?;
    screen.note(
        &format!("The plugin is {}", state(&plugin.state, screen)),
        &format!("插件状态：{}", state(&plugin.state, screen)),
    );
    Ok(Ended::Done)
}

fn table(asked: &Permissions, granted: &Permissions, screen: &Screen) -> Table {
    let headings = screen.pick(["GRANTED", "MAY"], ["已授权", "可以"]);
    let mut table = Table::new(&headings);
    for permission in asked.iter() {
        let yes = match granted.has(permission.as_str()) {
            true => screen.pick("yes", "是"),
            false => screen.pick("no", "否"),
        };
        table.row([yes, &words::plain(permission, screen.lang)]);
    }
    for permission in granted.beyond(asked).iter() {
        let once = screen.pick("unused", "不再需要");
        table.row([once, &words::plain(permission, screen.lang)]);
    }
    table
}
