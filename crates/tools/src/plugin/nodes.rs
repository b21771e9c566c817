//! The node files of a plugin: which there are, and that no two of them have the same type.

use std::collections::HashMap;
use std::path::Path;

use innkeeper_protocol::pattern::loose;
use innkeeper_yaml::Node;

use super::PluginNode;
use super::folder::{Folder, shown};
use super::manifest::Manifest;
use super::node_file::{NamedNode, read_node};
use super::place::Place;
use super::problem::{Code, Report};
use crate::limits::MAX_PLUGIN_NODES;

pub(super) const NODE_FILE: &str = ".node.json";
/// The namespace of the platform's own nodes.
const CORE: &str = "core";

pub(super) fn read_nodes(
    folder: &Folder,
    entry: &Path,
    manifest: &Manifest,
    report: &mut Report,
) -> Vec<PluginNode> {
    let files = folder.files_ending(entry, NODE_FILE);
    if files.len() > MAX_PLUGIN_NODES {
        let message = format!(
            "there are {} node files; a plugin has at most {MAX_PLUGIN_NODES} nodes",
            files.len()
        );
        report.enter(shown(entry));
        report.about_file(Code::TooManyNodes, None, message);
        return Vec::new();
    }
    if manifest.name == CORE && !files.is_empty() {
        let message = "a plugin called 'core' cannot have nodes: the platform's own are called core:…; rename it";
        report.enter(shown(entry));
        report.about_file(Code::BadName, None, message);
    }
    let nodes: Vec<NamedNode> = files
        .iter()
        .filter_map(|file| read_node(file, folder, manifest, report))
        .collect();
    check_types(&nodes, report);
    nodes.into_iter().map(|named| named.node).collect()
}

/// A type that differs in letter case alone would be taken for the other by anyone who reads a workflow.
fn check_types(nodes: &[NamedNode], report: &mut Report) {
    let mut seen: HashMap<String, (&str, &Path)> = HashMap::new();
    for NamedNode { node, position } in nodes {
        let name = node.definition.name.as_str();
        let Some((other, file)) = seen.insert(loose(name), (name, &node.file)) else {
            continue;
        };
        let file = shown(file);
        let message = match other == name {
            true => format!("'{name}' is also in {file}; give each node its own type"),
            false => format!(
                "'{name}' can hardly be told from '{other}' in {file}; give each node its own type"
            ),
        };
        report.enter(shown(&node.file));
        let mark = Node::mark(*position);
        let place = Place {
            node: &mark,
            path: "type".to_owned(),
        };
        report.problem(&place, Code::DuplicateNode, message);
    }
}
