//! The tool files of a plugin: which there are, and that no two of them have the same name.

use std::collections::HashMap;
use std::path::Path;

use innkeeper_yaml::Node;

use super::PluginTool;
use super::folder::{Folder, shown};
use super::manifest::Manifest;
use super::place::Place;
use super::problem::{Code, Report};
use super::tool_file::{Around, NamedTool, read_tool};
use crate::limits::MAX_PLUGIN_TOOLS;
use innkeeper_protocol::pattern::loose;

const TOOL_FILE: &str = ".tool.json";

pub(super) fn read_tools(
    folder: &Folder,
    entry: &Path,
    manifest: &Manifest,
    report: &mut Report,
) -> Vec<PluginTool> {
    let files = folder.files_ending(entry, TOOL_FILE);
    if files.len() > MAX_PLUGIN_TOOLS {
        report.enter(shown(entry));
        report.about_file(
            Code::TooManyTools,
            None,
            format!(
                "there are {} tool files; a plugin has at most {MAX_PLUGIN_TOOLS} tools",
                files.len()
            ),
        );
        return Vec::new();
    }
    let around = Around {
        folder,
        plugin: &manifest.name,
        wants: &manifest.wants,
        taken: &manifest.taken,
    };
    let tools: Vec<NamedTool> = files
        .iter()
        .filter_map(|file| read_tool(file, &around, report))
        .collect();
    check_names(&tools, report);
    tools.into_iter().map(|named| named.tool).collect()
}

/// Names that a call could not tell apart: letter case and `:` for `.` make no difference.
fn check_names(tools: &[NamedTool], report: &mut Report) {
    let mut seen: HashMap<String, (&str, &Path)> = HashMap::new();
    for NamedTool { tool, names } in tools {
        for name in names {
            let text = name.text.as_str();
            let Some((other, file)) = seen.insert(loose(text), (text, &tool.file)) else {
                continue;
            };
            let message = match (other == text, file == tool.file) {
                (_, true) => format!("'{text}' is only another spelling of '{other}'; remove one"),
                (true, _) => format!(
                    "'{text}' is also in {}; give each tool its own id",
                    shown(file)
                ),
                (false, _) => format!(
                    "'{text}' cannot be told from '{other}' in {}; give each tool its own id",
                    shown(file)
                ),
            };
            report.enter(shown(&tool.file));
            let mark = Node::mark(name.position);
            let place = Place {
                node: &mark,
                path: name.field.clone(),
            };
            report.problem(&place, Code::DuplicateTool, message);
        }
    }
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
