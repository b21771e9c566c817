//! `innkeeper plugin list`: all plugins and where they stand.

use innkeeper_tools::plugin::{PluginManager, PluginStatus, Standing};
use serde_json::{Value as Json, json};

use super::{Ended, state};
use crate::failure::Failure;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(plugins: &PluginManager, screen: &Screen) -> Result<Ended, Failure> {
    let all = plugins.plugins();
    // The first one is the house's own, and made when somebody puts a plugin there.
    for folder in plugins
        .folders()
        .iter()
        .skip(1)
        .filter(|folder| !folder.is_dir())
    {
        let folder = folder.display();
        screen.note(
            &format!("{folder}: there is no such folder; see [plugins] paths in innkeeper.toml"),
            &format!("{folder}：没有这个文件夹；请检查 innkeeper.toml 中 [plugins] 的 paths"),
        );
    }
    if screen.json {
        let records: Vec<Json> = all.iter().map(brief).collect();
        screen.document(&records)?;
        return Ok(Ended::Done);
    }
    if all.is_empty() {
        screen.note(
            "There are no plugins; innkeeper plugin new NAME begins one",
            "还没有插件；innkeeper plugin new NAME 可以创建一个",
        );
        return Ok(Ended::Done);
    }
    let headings = screen.pick(
        [
            "PLUGIN",
            "VERSION",
            "STATE",
            "TOOLS",
            "NODES",
            "DESCRIPTION",
        ],
        ["插件", "版本", "状态", "工具数", "节点数", "说明"],
    );
    let mut table = Table::new(&headings);
    for plugin in all.iter() {
        let package = plugin.package.as_ref();
        let tools = package.map(|package| package.tools.len().to_string());
        let nodes = package.map(|package| package.nodes.len().to_string());
        let about = match &plugin.state {
            Standing::Broken { problems } => problems
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
            _ => package
                .map(|package| package.description.clone())
                .unwrap_or_default(),
        };
        table.row([
            plugin.name.as_str(),
            package
                .map(|package| package.version.as_str())
                .unwrap_or_default(),
            state(&plugin.state, screen),
            &tools.unwrap_or_default(),
            &nodes.unwrap_or_default(),
            about.lines().next().unwrap_or_default(),
        ]);
    }
    screen.table(&table)?;
    let waiting: Vec<&str> = all
        .iter()
        .filter(|plugin| matches!(plugin.state, Standing::Pending { .. }))
        .map(|plugin| plugin.name.as_str())
        .collect();
    if let Some(first) = waiting.first() {
        screen.note(
            &format!("innkeeper plugin enable {first} shows what it asks for and switches it on"),
            &format!("innkeeper plugin enable {first} 会显示它的请求并启用它"),
        );
    }
    Ok(Ended::Done)
}

pub(super) fn brief(plugin: &PluginStatus) -> Json {
    let mut record = json!({ "name": plugin.name, "folder": plugin.folder });
    let standing = serde_json::to_value(&plugin.state).unwrap_or_default();
    if let (Json::Object(record), Json::Object(standing)) = (&mut record, standing) {
        record.extend(standing);
        if let Some(package) = &plugin.package {
            let tools: Vec<_> = package
                .tools
                .iter()
                .map(|tool| &tool.definition.id)
                .collect();
            let nodes: Vec<_> = package
                .nodes
                .iter()
                .map(|node| node.definition.full_type())
                .collect();
            record.insert("displayName".into(), json!(package.display_name));
            record.insert("version".into(), json!(package.version));
            record.insert("description".into(), json!(package.description));
            record.insert("tools".into(), json!(tools));
            record.insert("nodes".into(), json!(nodes));
        }
        record.insert("warnings".into(), json!(plugin.warnings));
    }
    record
}
