//! PluginLoader: finds the plugins in the search folders and reads each by itself.
//!
//! Nothing of a plugin is run here. A plugin that cannot be read is listed with its reasons and harms no other.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::folder::{Folder, is_noise, unreadable};
use super::manifest::{Manifest, read_manifest};
use super::nodes::read_nodes;
use super::problem::{Code, PluginProblem, Report};
use super::tools::read_tools;
use super::wants::ask_for_command;
use super::yaml::read_yaml;
use super::{Implementation, Permissions, PluginNode, PluginPackage, PluginTool};
use crate::limits::{MAX_MANIFEST_BYTES, MAX_PLUGINS};

const MANIFEST: &str = "plugin.yaml";

/// Where plugins are looked for.
#[derive(Debug, Clone)]
pub struct PluginLoader {
    folders: Vec<PathBuf>,
    /// No plugin may hold it: its scripts would see what is in there.
    home: Option<PathBuf>,
}

/// One folder that is a plugin, or should be one.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    pub folder: PathBuf,
    /// The folder's name.
    pub name: String,
    pub outcome: Result<PluginPackage, Vec<PluginProblem>>,
    /// What does not break it.
    pub warnings: Vec<PluginProblem>,
}

impl PluginLoader {
    /// Where two folders hold a plugin of the same name, the first folder wins.
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self {
            folders,
            home: None,
        }
    }

    /// Refuses every plugin that has this folder in it, or is it.
    #[must_use]
    pub fn closing(mut self, home: &Path) -> Self {
        self.home = Some(home.to_owned());
        self
    }

    pub fn folders(&self) -> &[PathBuf] {
        &self.folders
    }

    /// Reads everything anew. Blocking. Sorted by name; a search folder that does not exist holds no plugins.
    pub fn scan(&self) -> Vec<Found> {
        let home = self.home.as_deref().map(real);
        let mut all: Vec<Found> = self
            .folders
            .iter()
            .flat_map(|folder| scan_folder(folder, home.as_deref()))
            .collect();
        let mut first: HashMap<String, PathBuf> = HashMap::new();
        for found in &mut all {
            let other = first.get(&found.name.to_lowercase()).cloned();
            match other {
                None => {
                    first.insert(found.name.to_lowercase(), found.folder.clone());
                }
                Some(other) => {
                    let message = format!(
                        "another plugin of this name is in {} and is used instead; remove or rename one",
                        other.display()
                    );
                    found.outcome = Err(vec![about_folder(Code::DuplicatePlugin, message)]);
                }
            }
        }
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }
}

fn scan_folder(folder: &Path, home: Option<&Path>) -> Vec<Found> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let problem = about_folder(Code::Unreadable, unreadable(&error));
            return vec![broken(folder.to_owned(), problem)];
        }
    };
    let mut folders: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| looks_like_plugin(path))
        .collect();
    folders.sort();
    let found = folders.into_iter().enumerate();
    found
        .map(|(index, folder)| match index < MAX_PLUGINS {
            true if home.is_some_and(|home| home.starts_with(real(&folder))) => {
                let message = format!(
                    "the folder {} holds Innkeeper's home, and every script of the plugin would see the keys and files in it; move the plugin to a folder of its own, such as {}",
                    folder.display(),
                    home.unwrap_or(&folder).join("plugins").display()
                );
                broken(folder, about_folder(Code::HoldsHome, message))
            }
            true => {
                let reading = read_plugin_with_warnings(&folder);
                Found {
                    name: name_of(&folder),
                    folder,
                    outcome: reading.outcome,
                    warnings: reading.warnings,
                }
            }
            false => {
                let message = format!("only the first {MAX_PLUGINS} plugins of a folder are read");
                broken(folder, about_folder(Code::TooManyPlugins, message))
            }
        })
        .collect()
}

/// Where it really is, if that can be found out.
fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

fn broken(folder: PathBuf, problem: PluginProblem) -> Found {
    Found {
        name: name_of(&folder),
        folder,
        outcome: Err(vec![problem]),
        warnings: Vec::new(),
    }
}

fn about_folder(code: Code, message: String) -> PluginProblem {
    PluginProblem {
        file: String::new(),
        line: None,
        column: None,
        field: None,
        code: code.as_str(),
        message,
    }
}

fn name_of(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or(OsStr::new(""));
    name.to_string_lossy().into_owned()
}

/// Folders of other kinds may lie among the plugins: only what was meant as one is worth a word.
fn looks_like_plugin(path: &Path) -> bool {
    let name = path.file_name().unwrap_or(OsStr::new(""));
    if !path.is_dir() || is_noise(name) || name.to_string_lossy().starts_with('.') {
        return false;
    }
    // A folder that cannot be looked into may well be one.
    let is_closed = |error: io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    if fs::read_dir(path).err().is_some_and(is_closed) {
        return true;
    }
    let has = |file: &str| path.join(file).symlink_metadata().is_ok();
    has(MANIFEST)
        || has("plugin.yml")
        || (path.join("tools").is_dir() && !has("plugin-manifest.json"))
}

/// What reading a plugin gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    pub outcome: Result<PluginPackage, Vec<PluginProblem>>,
    /// What does not break it: fields that nobody reads, unlikely values, …
    pub warnings: Vec<PluginProblem>,
}

/// Reads one plugin, with all its problems at once. Blocking.
pub fn read_plugin(folder: &Path) -> Result<PluginPackage, Vec<PluginProblem>> {
    read_plugin_with_warnings(folder).outcome
}

/// The same, and what is worth mentioning although the plugin works.
pub fn read_plugin_with_warnings(folder: &Path) -> Reading {
    let mut report = Report::default();
    let package = read(folder, &mut report);
    let (mut problems, warnings) = report.finish();
    let outcome = match package {
        Some(package) if problems.is_empty() => Ok(package),
        _ => {
            if problems.is_empty() {
                let message = "the plugin cannot be read".to_owned();
                problems.push(about_folder(Code::Unreadable, message));
            }
            Err(problems)
        }
    };
    Reading { outcome, warnings }
}

fn read(path: &Path, report: &mut Report) -> Option<PluginPackage> {
    let folder = match Folder::open(path) {
        Ok(folder) => folder,
        Err(error) => {
            let message = format!("the folder cannot be read: {error}");
            report.about_file(Code::Unreadable, None, message);
            return None;
        }
    };
    // `plugin check .` has no name in its path; a link to a plugin is called what the link is called.
    let name = match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => name_of(&folder.root),
    };
    if !has_manifest(&folder, report) {
        return None;
    }
    let stamp = folder.survey(report);
    if report.is_broken() {
        return None;
    }
    report.enter(MANIFEST);
    let source = folder.read(Path::new(MANIFEST), MAX_MANIFEST_BYTES, report)?;
    let node = read_yaml(&source, report)?;
    let manifest = read_manifest(&node, &source, &name, &folder, report)?;
    let tools = match &manifest.tools {
        Some(entry) => read_tools(&folder, entry, &manifest, report),
        None => Vec::new(),
    };
    let nodes = match &manifest.nodes {
        Some(entry) => read_nodes(&folder, entry, &manifest, report),
        None => Vec::new(),
    };
    if report.is_broken() {
        return None;
    }
    let permissions = all_permissions(&manifest, &tools, &nodes);
    Some(PluginPackage {
        name: manifest.name,
        display_name: manifest.display_name,
        version: manifest.version,
        description: manifest.description,
        root: folder.root,
        stamp,
        tools,
        hooks: manifest.hooks,
        services: manifest.services,
        nodes,
        frontend: manifest.frontend,
        permissions,
        config: manifest.config,
    })
}

fn has_manifest(folder: &Folder, report: &mut Report) -> bool {
    let has = |file: &str| folder.root.join(file).symlink_metadata().is_ok();
    if has(MANIFEST) {
        return true;
    }
    if has("plugin.yml") {
        report.enter("plugin.yml");
        let message = "the manifest has the wrong name; rename it to plugin.yaml";
        report.about_file(Code::WrongManifestName, None, message);
    } else {
        report.enter(MANIFEST);
        let message =
            "there is no plugin.yaml in this folder; write one, with name and version at least";
        report.about_file(Code::NoManifest, None, message);
    }
    false
}

/// Everything that a person has to grant before all of the plugin works.
fn all_permissions(manifest: &Manifest, tools: &[PluginTool], nodes: &[PluginNode]) -> Permissions {
    let mut permissions = manifest.permissions.clone();
    for tool in tools {
        for permission in &tool.definition.permissions {
            permissions.add(permission);
        }
        if let Implementation::Script(command) = &tool.implementation {
            ask_for_command(command, &mut permissions);
        }
    }
    let hooks = manifest.hooks.iter().map(|hook| &hook.command);
    let services = manifest.services.iter().map(|service| &service.command);
    let nodes = nodes.iter().filter_map(|node| node.command.as_ref());
    for command in hooks.chain(services).chain(nodes) {
        ask_for_command(command, &mut permissions);
    }
    permissions
}

#[cfg(test)]
#[path = "loader_tests.rs"]
mod tests;
