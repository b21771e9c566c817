//! The tool files of a plugin: which there are, and that no two of them have the same name.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::PluginTool;
use super::folder::{Folder, is_noise, shown};
use super::manifest::Manifest;
use super::place::Place;
use super::problem::{Code, Report};
use super::tool_file::{Around, NamedTool, read_tool};
use super::tree::Node;
use crate::limits::{MAX_PLUGIN_FILES, MAX_PLUGIN_TOOLS};
use innkeeper_protocol::pattern::loose;

const TOOL_FILE: &str = ".tool.json";

pub(super) fn read_tools(
    folder: &Folder,
    entry: &Path,
    manifest: &Manifest,
    report: &mut Report,
) -> Vec<PluginTool> {
    let files = tool_files(folder, entry);
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

/// Those in the folder itself and in the folders right below it, in order.
fn tool_files(folder: &Folder, entry: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = Vec::new();
    list(folder, entry, &mut files, Some(&mut folders));
    for below in folders {
        list(folder, &below, &mut files, None);
    }
    files.sort();
    files
}

fn list(
    folder: &Folder,
    relative: &Path,
    files: &mut Vec<PathBuf>,
    mut folders: Option<&mut Vec<PathBuf>>,
) {
    let Ok(entries) = fs::read_dir(folder.root.join(relative)) else {
        return;
    };
    for entry in entries.flatten().take(MAX_PLUGIN_FILES) {
        let name = entry.file_name();
        let path = relative.join(&name);
        if name.to_string_lossy().ends_with(TOOL_FILE) {
            files.push(path);
        } else if let Some(folders) = folders.as_deref_mut()
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
            && !is_noise(&name)
        {
            folders.push(path);
        }
    }
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
            let mark = Node::mark(name.line, name.column);
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
