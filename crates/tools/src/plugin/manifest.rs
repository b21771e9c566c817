//! `plugin.yaml`: who a plugin is, where its parts are, what it asks for.

use std::path::{Path, PathBuf};

use innkeeper_yaml::{Node, Position, Value};

use super::declared::{read_hooks, read_services};
use super::folder::{Folder, Kind};
use super::frontend::read_frontend;
use super::names::{COMPONENTS, OUTLETS, hook_name, is_service_name, ui_target};
use super::nodes::NODE_FILE;
use super::option::{Taken, read_options};
use super::place::{Place, did_you_mean};
use super::problem::{Code, Report};
use super::wants::Wants;
use super::{ConfigOption, Frontend, HookDeclaration, Permissions, ServiceDeclaration};
use crate::limits::{MAX_PLUGIN_LABEL_CHARS, MAX_PLUGIN_NAME_CHARS};

const FIELDS: &[&str] = &[
    "name",
    "displayName",
    "version",
    "description",
    "nodes",
    "tools",
    "frontend",
    "permissions",
    "configOptions",
    "hooks",
    "services",
    // Said to people alone.
    "author",
    "license",
    "homepage",
    "repository",
    "keywords",
];

/// Everything of a plugin but its tools; to be trusted only if the report has no problems.
pub(super) struct Manifest {
    pub(super) name: String,
    pub(super) display_name: String,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) tools: Option<PathBuf>,
    pub(super) nodes: Option<PathBuf>,
    pub(super) frontend: Option<Frontend>,
    pub(super) hooks: Vec<HookDeclaration>,
    pub(super) services: Vec<ServiceDeclaration>,
    /// Only what is written under `permissions`.
    pub(super) permissions: Permissions,
    /// What every script of the plugin may ask for.
    pub(super) wants: Wants,
    pub(super) config: Vec<ConfigOption>,
    pub(super) taken: Taken,
}

pub(super) fn read_manifest(
    node: &Node,
    source: &str,
    folder_name: &str,
    folder: &Folder,
    report: &mut Report,
) -> Option<Manifest> {
    let root = Place::root(node);
    if !root.expect_map(report) {
        return None;
    }
    root.known(FIELDS, report);
    let name = read_name(&root, folder_name, report);
    let version = read_version(&root, source, report);
    let display_name = label(&root, "displayName", report);
    let description = root.text("description", report).unwrap_or_default();
    let nodes = read_entry(&root, "nodes", folder, report);
    let tools = read_entry(&root, "tools", folder, report);
    if root.field("tools").is_none() && folder.root.join("tools").is_dir() {
        let message =
            "the folder 'tools' is not read; add 'tools: { entry: ./tools }' if it holds tools";
        report.warning(&root, Code::NoEffect, message);
    }
    check_nodes(&root, nodes.as_deref(), folder, report);
    let frontend = read_frontend(&root, folder, report);
    let (permissions, wants) = read_permissions(&root, report);
    let hooks = read_hooks(&root, folder, &permissions, &wants, report);
    let services = read_services(&root, folder, &wants, report);
    let mut taken = Taken::default();
    // What is missing is already reported; the rest is read all the same, to report that too.
    let name = name.unwrap_or_else(|| folder_name.to_owned());
    let config = read_options(&root, "configOptions", &name, &mut taken, report);
    Some(Manifest {
        display_name: display_name.unwrap_or(&name).to_owned(),
        name,
        version: version.unwrap_or_default(),
        description: description.to_owned(),
        tools,
        nodes,
        frontend,
        hooks,
        services,
        permissions,
        wants,
        config,
        taken,
    })
}

pub(super) fn is_plugin_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.len() <= MAX_PLUGIN_NAME_CHARS && name.chars().all(fits)
}

fn read_name(root: &Place<'_>, folder_name: &str, report: &mut Report) -> Option<String> {
    let Some(place) = root.field("name") else {
        root.missing("name", &format!("write 'name: {folder_name}'"), report);
        return None;
    };
    let name = place.as_text(report)?;
    if !is_plugin_name(name) {
        report.problem(
            &place,
            Code::BadName,
            format!(
                "'{name}' is no name for a plugin; use letters, digits, '-' and '_', \
                 {MAX_PLUGIN_NAME_CHARS} characters at most"
            ),
        );
        return None;
    }
    if name != folder_name {
        report.problem(
            &place,
            Code::NameMismatch,
            format!("the name is '{name}', but the folder is '{folder_name}'; make them equal"),
        );
        return None;
    }
    Some(name.to_owned())
}

fn read_version(root: &Place<'_>, source: &str, report: &mut Report) -> Option<String> {
    let place = root.required("version", report)?;
    let version = match &place.node.value {
        // `1.10` would become 1.1: take what was written, not the number.
        Value::Number(_) => {
            let written = word_at(source, place.node.position);
            report.warning(
                &place,
                Code::UnquotedVersion,
                format!("this is a number to YAML; write version: \"{written}\""),
            );
            written
        }
        _ => place.as_text(report)?.trim().to_owned(),
    };
    let fits = !version.is_empty() && version.len() <= 64 && !version.contains(char::is_control);
    if !fits {
        report.problem(
            &place,
            Code::BadValue,
            "a version has 1 to 64 characters, such as \"1.0.0\"",
        );
    }
    fits.then_some(version)
}

/// What stands at a place in the text, up to the next blank or mark.
fn word_at(source: &str, Position { line, column }: Position) -> String {
    let line = source
        .lines()
        .nth(line.saturating_sub(1))
        .unwrap_or_default();
    line.chars()
        .skip(column.saturating_sub(1))
        .take_while(|c| !c.is_whitespace() && !matches!(c, ',' | '}' | ']' | '#'))
        .collect()
}

pub(super) fn label<'n>(owner: &Place<'n>, name: &str, report: &mut Report) -> Option<&'n str> {
    let place = owner.field(name)?;
    let text = place.as_text(report)?.trim();
    if text.chars().count() > MAX_PLUGIN_LABEL_CHARS || text.contains(char::is_control) {
        report.problem(
            &place,
            Code::BadValue,
            format!("it must be one line of at most {MAX_PLUGIN_LABEL_CHARS} characters"),
        );
        return None;
    }
    Some(text).filter(|text| !text.is_empty())
}

/// `nodes: {entry: ./nodes}`
fn read_entry(
    root: &Place<'_>,
    name: &str,
    folder: &Folder,
    report: &mut Report,
) -> Option<PathBuf> {
    let part = root.map(name, report)?;
    part.known(&["entry"], report);
    let entry = part.required("entry", report)?;
    let path = entry.as_text(report)?;
    folder.existing(&entry, path, Kind::Folder, report)
}

/// A folder that brings nothing was hardly meant so.
fn check_nodes(root: &Place<'_>, entry: Option<&Path>, folder: &Folder, report: &mut Report) {
    let has_nodes = |entry| !folder.files_ending(entry, NODE_FILE).is_empty();
    if root.field("nodes").is_none() && has_nodes(Path::new("nodes")) {
        let message = "the folder 'nodes' is not read; add 'nodes: { entry: ./nodes }'";
        report.warning(root, Code::NoEffect, message);
    }
    let place = root.field("nodes").and_then(|nodes| nodes.field("entry"));
    if let (Some(entry), Some(place)) = (entry, place)
        && !has_nodes(entry)
    {
        let message = "there is no *.node.json in this folder, so it brings no nodes; nodes written in \
                       TypeScript are not run, a script and a description of it are";
        report.warning(&place, Code::NoEffect, message);
    }
}

fn read_permissions(root: &Place<'_>, report: &mut Report) -> (Permissions, Wants) {
    let mut asked = Permissions::default();
    let mut wants = Wants::default();
    let Some(place) = root.map("permissions", report) else {
        return (asked, wants);
    };
    place.known(&["hooks", "ui", "services", "files", "network"], report);
    for (at, text) in place.texts("hooks", report) {
        match hook_name(text) {
            Ok(name) => asked.add(name),
            Err(message) => report.problem(&at, Code::UnknownHook, message),
        }
    }
    if let Some(ui) = place.map("ui", report) {
        ui.known(&["wrap", "inject", "override"], report);
        for (way, known) in [
            ("wrap", COMPONENTS),
            ("inject", OUTLETS),
            ("override", COMPONENTS),
        ] {
            for (at, text) in ui.texts(way, report) {
                match ui_target(text, known) {
                    Some((name, is_known)) => {
                        if !is_known {
                            let hint = did_you_mean(&name, known.iter().copied());
                            let message = format!("nothing in the page is called '{text}'{hint}");
                            report.warning(&at, Code::UnknownTarget, message);
                        }
                        asked.add(format!("ui:{way}:{name}"));
                    }
                    None => report.problem(
                        &at,
                        Code::BadPermission,
                        format!("'{text}' is no name of a part of the page, such as ui:BaseNode"),
                    ),
                }
            }
        }
    }
    if let Some(services) = place.map("services", report) {
        services.known(&["override"], report);
        for (at, text) in services.texts("override", report) {
            match is_service_name(text) {
                true => asked.add(format!("service:override:{text}")),
                false => report.problem(
                    &at,
                    Code::BadPermission,
                    format!("'{text}' is no name of a service, such as Http.Request"),
                ),
            }
        }
    }
    if let Some(files) = place.map("files", report) {
        files.known(&["read", "write"], report);
        wants.read_files(&files, "read", "write", report);
    }
    wants.read_hosts(&place, "network", report);
    wants.ask(&mut asked);
    (asked, wants)
}

#[cfg(test)]
#[path = "manifest_tests.rs"]
mod tests;
