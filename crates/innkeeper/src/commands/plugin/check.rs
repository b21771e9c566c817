//! `innkeeper plugin check`: everything that is wrong with a plugin's folder. Opens nothing else, runs nothing.

use innkeeper_tools::plugin::read_plugin_with_warnings;
use serde_json::json;

use super::{Ended, show::listed};
use crate::cli::CheckArgs;
use crate::failure::{Failure, Place, shown};
use crate::output::Screen;

pub(super) fn run(args: &CheckArgs, screen: &Screen) -> Result<Ended, Failure> {
    let place = Place::file(&args.folder);
    match std::fs::metadata(&args.folder) {
        Err(error) => {
            return Err(match Failure::reading(place, error) {
                Failure::NotFound(place) => Failure::NoSuchFolder(place),
                other => other,
            });
        }
        Ok(about) if !about.is_dir() => return Err(Failure::NotAFolder(place)),
        Ok(_) => {}
    }
    let reading = read_plugin_with_warnings(&args.folder);
    let (name, problems) = match &reading.outcome {
        Ok(package) => (Some(package.name.as_str()), &[][..]),
        Err(problems) => (None, problems.as_slice()),
    };
    let ended = match problems.is_empty() {
        true => Ended::Done,
        false => Ended::Failed,
    };
    if screen.json {
        screen.document(&json!({
            "ok": problems.is_empty(),
            "name": name,
            "problems": problems,
            "warnings": reading.warnings,
        }))?;
        return Ok(ended);
    }
    let folder = shown(&args.folder.to_string_lossy());
    screen.text(&match &reading.outcome {
        Ok(package) => {
            let name = shown(&package.name);
            let (tools, nodes) = (package.tools.len(), package.nodes.len());
            screen.pick(
                format!("{folder}: the plugin {name} is in order (tools: {tools}, nodes: {nodes})"),
                format!("{folder}：插件 {name} 没有问题（工具数：{tools}，节点数：{nodes}）"),
            )
        }
        Err(problems) => screen.pick(
            format!("{folder}: broken (problems: {})", problems.len()),
            format!("{folder}：有错误（共 {} 处）", problems.len()),
        ),
    })?;
    listed(screen.pick("Problems", "错误"), problems, screen)?;
    listed(screen.pick("Warnings", "警告"), &reading.warnings, screen)?;
    Ok(ended)
}
