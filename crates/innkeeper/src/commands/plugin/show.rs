//! `innkeeper plugin show`: one plugin with all it brings and all that is wrong with it.

use innkeeper_tools::plugin::{PluginManager, PluginPackage, PluginProblem, Standing};
use serde_json::{Value as Json, json};

use super::{Ended, find, list, state, words};
use crate::failure::Failure;
use crate::output::Screen;
use crate::table::Table;

pub(super) fn run(name: &str, plugins: &PluginManager, screen: &Screen) -> Result<Ended, Failure> {
    let plugin = find(plugins, name)?;
    if screen.json {
        let mut record = list::brief(&plugin);
        if let (Json::Object(record), Some(package)) = (&mut record, &plugin.package) {
            record.extend(contents(package));
        }
        screen.document(&record)?;
        return Ok(Ended::Done);
    }
    let mut table = Table::plain();
    table.row([screen.pick("Plugin", "插件"), &plugin.name]);
    if let Some(package) = &plugin.package {
        table.row([screen.pick("Version", "版本"), &package.version]);
        table.row([screen.pick("About", "说明"), &package.description]);
    }
    table.row([screen.pick("State", "状态"), state(&plugin.state, screen)]);
    let folder = plugin.folder.to_string_lossy();
    table.row([screen.pick("Folder", "文件夹"), &folder]);
    screen.table(&table)?;
    if let Standing::Broken { problems } = &plugin.state {
        listed(screen.pick("Problems", "错误"), problems, screen)?;
    }
    listed(screen.pick("Warnings", "警告"), &plugin.warnings, screen)?;
    if let Some(package) = &plugin.package {
        parts(package, screen)?;
    }
    Ok(Ended::Done)
}

fn contents(package: &PluginPackage) -> serde_json::Map<String, Json> {
    let tools: Vec<Json> = package
        .tools
        .iter()
        .map(|tool| {
            json!({
                "id": tool.definition.id,
                "description": tool.definition.description,
                "implementation": tool.implementation.kind(),
                "file": tool.file,
                "config": tool.config,
            })
        })
        .collect();
    let nodes: Vec<Json> = package
        .nodes
        .iter()
        .map(|node| {
            json!({
                "type": node.definition.full_type(),
                "description": node.definition.description,
                "file": node.file,
                "definition": node.definition.raw,
            })
        })
        .collect();
    let hooks: Vec<&str> = package
        .hooks
        .iter()
        .map(|hook| hook.point.as_str())
        .collect();
    let services: Vec<&str> = package
        .services
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    let mut record = serde_json::Map::new();
    record.insert("tools".into(), json!(tools));
    record.insert("nodes".into(), json!(nodes));
    record.insert("hooks".into(), json!(hooks));
    record.insert("services".into(), json!(services));
    record.insert("frontend".into(), json!(package.frontend));
    record.insert("permissions".into(), json!(package.permissions));
    record.insert("config".into(), json!(package.config));
    record
}

fn parts(package: &PluginPackage, screen: &Screen) -> Result<(), Failure> {
    let mut tools = Table::plain();
    for tool in &package.tools {
        let first_line = tool.definition.description.lines().next();
        tools.row([
            &format!("  {}", tool.definition.id),
            tool.implementation.kind(),
            first_line.unwrap_or_default(),
        ]);
    }
    let mut nodes = Table::plain();
    for node in &package.nodes {
        let definition = &node.definition;
        nodes.row([
            &format!("  {}", definition.full_type()),
            definition.description.lines().next().unwrap_or_default(),
        ]);
    }
    let mut hooks = Table::plain();
    for hook in &package.hooks {
        hooks.row([format!("  {}", hook.point).as_str()]);
    }
    let mut services = Table::plain();
    for service in &package.services {
        services.row([format!("  {}", service.name).as_str()]);
    }
    let mut settings = Table::plain();
    for option in &package.config {
        settings.row([&format!("  {}", option.key), option.label.as_str()]);
    }
    let mut wants = Table::plain();
    for permission in package.permissions.iter() {
        wants.row([format!("  {}", words::plain(permission, screen.lang)).as_str()]);
    }
    for (heading, table, is_empty) in [
        (
            screen.pick("Tools", "工具"),
            tools,
            package.tools.is_empty(),
        ),
        (
            screen.pick("Nodes", "节点"),
            nodes,
            package.nodes.is_empty(),
        ),
        (
            screen.pick("Hooks", "钩子"),
            hooks,
            package.hooks.is_empty(),
        ),
        (
            screen.pick("Services", "服务"),
            services,
            package.services.is_empty(),
        ),
        (
            screen.pick("Settings", "设置"),
            settings,
            package.config.is_empty(),
        ),
        (
            screen.pick("Asks to", "请求"),
            wants,
            package.permissions.is_empty(),
        ),
    ] {
        if !is_empty {
            screen.text(&format!("\n{heading}"))?;
            screen.table(&table)?;
        }
    }
    Ok(())
}

/// Problems or warnings, one line each, with place and code.
pub(super) fn listed(
    heading: &str,
    problems: &[PluginProblem],
    screen: &Screen,
) -> Result<(), Failure> {
    if problems.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| {
            let said = crate::failure::message(&problem.to_string());
            format!("  {said} [{}]", problem.code)
        })
        .collect();
    screen.text(&format!("\n{heading}\n{}", lines.join("\n")))
}
