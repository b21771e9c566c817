//! `innkeeper plugin enable` and `disable`: a person looks at what a plugin asks for, and decides.

use innkeeper_tools::plugin::{Permissions, PluginManager, Standing};
use serde_json::json;

use super::{Ended, fault, find, words};
use crate::ask;
use crate::cli::EnableArgs;
use crate::failure::{Failure, PluginFault, shown};
use crate::output::Screen;

pub(super) fn enable(
    args: &EnableArgs,
    plugins: &PluginManager,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let plugin = find(plugins, &args.name)?;
    let Some(package) = &plugin.package else {
        // Says what is wrong with it.
        plugins
            .enable(&args.name, &Permissions::default())
            .map_err(fault)?;
        return Ok(Ended::Failed);
    };
    let asked = &package.permissions;
    let granted = plugins
        .consents()
        .consent(&args.name)
        .map_err(|error| fault(error.into()))?
        .map(|consent| consent.accepted)
        .unwrap_or_default();
    let new = asked.beyond(&granted);
    if !new.is_empty() && !args.accept {
        let name = args.name.clone();
        if !ask::somebody_is_there() {
            return Err(PluginFault::NeedsConsent { name }.into());
        }
        if !is_accepted(&args.name, &new, screen)? {
            return Err(PluginFault::Declined { name }.into());
        }
    }
    plugins.enable(&args.name, asked).map_err(fault)?;
    let now = find(plugins, &args.name)?;
    if let Standing::Broken { problems } = now.state {
        let why = problems.first().map(ToString::to_string);
        return Err(PluginFault::Broken {
            name: args.name.clone(),
            why: why.unwrap_or_default(),
        }
        .into());
    }
    if screen.json {
        screen.document(&json!({ "name": args.name, "state": "enabled", "granted": asked }))?;
        return Ok(Ended::Done);
    }
    let (name, tools) = (shown(&args.name), package.tools.len());
    screen.note(
        &format!("The plugin {name} is enabled (tools: {tools})"),
        &format!("插件 {name} 已启用（工具数：{tools}）"),
    );
    Ok(Ended::Done)
}

fn is_accepted(name: &str, new: &Permissions, screen: &Screen) -> Result<bool, Failure> {
    let name = shown(name);
    ask::show(&screen.pick(
        format!("The plugin {name} asks to"),
        format!("插件 {name} 请求"),
    ));
    for permission in new.iter() {
        ask::show(&format!("  - {}", words::plain(permission, screen.lang)));
    }
    let answer = ask::line(screen.pick("Allow all this? [y/N] ", "全部允许吗？[y/N] "))
        .map_err(|error| Failure::reading(crate::failure::Place::Stdin, error))?;
    let answer = answer.unwrap_or_default().trim().to_lowercase();
    Ok(matches!(answer.as_str(), "y" | "yes" | "是"))
}

pub(super) fn disable(
    name: &str,
    plugins: &PluginManager,
    screen: &Screen,
) -> Result<Ended, Failure> {
    plugins.disable(name).map_err(fault)?;
    if screen.json {
        screen.document(&json!({ "name": name, "state": "disabled" }))?;
        return Ok(Ended::Done);
    }
    let name = shown(name);
    screen.note(
        &format!("The plugin {name} is disabled; what it was granted is remembered"),
        &format!("插件 {name} 已停用；已有的授权会保留"),
    );
    Ok(Ended::Done)
}
