//! `plugin new`: a small plugin that works, to be changed into one's own.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::manifest::is_plugin_name;
use crate::limits::MAX_PLUGIN_NAME_CHARS;

/// The language of its script, and whether that is started for each call or stays up between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    Python,
    Node,
    PythonWorker,
    NodeWorker,
}

#[derive(Debug, thiserror::Error)]
pub enum NewPluginError {
    #[error(
        "'{0}' is no name for a plugin; use letters, digits, '-' and '_', {MAX_PLUGIN_NAME_CHARS} characters at most"
    )]
    BadName(String),
    #[error("{} exists already; choose another name, or remove it first", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written: {source}", .path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
}

const MANIFEST: &str = include_str!("template/plugin.yaml");
const README: &str = include_str!("template/README.md");
const TOOL: &str = include_str!("template/greet.tool.json");
const PYTHON: &str = include_str!("template/greet.py");
const NODE: &str = include_str!("template/greet.mjs");
const PYTHON_WORKER: &str = include_str!("template/worker.py");
const NODE_WORKER: &str = include_str!("template/worker.mjs");

/// Writes a new plugin into a folder of its own below `parent`, and gives back that folder. Overwrites nothing.
pub fn new_plugin(
    parent: &Path,
    name: &str,
    template: Template,
) -> Result<PathBuf, NewPluginError> {
    if !is_plugin_name(name) {
        return Err(NewPluginError::BadName(name.to_owned()));
    }
    let folder = parent.join(name);
    let failed = |path: &Path, source: std::io::Error| match source.kind() {
        std::io::ErrorKind::AlreadyExists => NewPluginError::Exists(path.to_owned()),
        _ => NewPluginError::Io {
            path: path.to_owned(),
            source,
        },
    };
    fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
    fs::create_dir(&folder).map_err(|error| failed(&folder, error))?;
    let (command, script, code) = match template {
        Template::Python => ("python scripts/greet.py", "greet.py", PYTHON),
        Template::Node => ("node scripts/greet.mjs", "greet.mjs", NODE),
        Template::PythonWorker => ("python scripts/greet.py", "greet.py", PYTHON_WORKER),
        Template::NodeWorker => ("node scripts/greet.mjs", "greet.mjs", NODE_WORKER),
    };
    let (protocol, script_is, input) = match template {
        Template::Python | Template::Node => (
            "",
            "the script: JSON on standard input, JSON on standard output",
            r#"{"name": "Ada"}"#,
        ),
        Template::PythonWorker | Template::NodeWorker => (
            "\n    \"protocol\": \"jsonrpc\",",
            "the script, which stays up between calls: JSON-RPC on standard input and output, a message a line",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "call", "params": {"arguments": {"name": "Ada"}}}"#,
        ),
    };
    let filled = |text: &str| {
        text.replace("@NAME@", name)
            .replace("@COMMAND@", command)
            .replace("@SCRIPT@", script)
            .replace("@PROTOCOL@", protocol)
            .replace("@SCRIPT_IS@", script_is)
            .replace("@INPUT@", input)
    };
    for below in ["tools", "scripts"] {
        let path = folder.join(below);
        fs::create_dir(&path).map_err(|error| failed(&path, error))?;
    }
    for (file, text) in [
        ("plugin.yaml".to_owned(), MANIFEST),
        ("README.md".to_owned(), README),
        ("tools/greet.tool.json".to_owned(), TOOL),
        (format!("scripts/{script}"), code),
    ] {
        let path = folder.join(file);
        let written = fs::File::create_new(&path)
            .and_then(|mut file| file.write_all(filled(text).as_bytes()));
        written.map_err(|error| failed(&path, error))?;
    }
    Ok(folder)
}

#[cfg(test)]
#[path = "scaffold_tests.rs"]
mod tests;
