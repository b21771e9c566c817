//! What a script is made of, as it lies on the disk at this moment: the files that its command names, and marks of the
//! dependencies beside them.
//!
//! A plugin's stamp is that of its last loading and knows nothing of dependencies; this is looked at for each call. Only
//! what is cheap to see: a file that another file loads counts when the plugin is loaded again.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::time::SystemTime;

use super::ScriptPlugin;
use crate::limits::MAX_DEPENDENCY_VERSIONS;
use crate::plugin::ScriptCommand;
use crate::{Revision, ToolError};

/// Changes when a package comes, goes or becomes another version; what is edited inside of one does not show. Folders
/// count as well as files: an entry more or less changes their time.
const MARKS: &[&str] = &[
    "node_modules",
    "node_modules/.package-lock.json",
    "node_modules/.modules.yaml",
    "node_modules/.yarn-state.yml",
];
const ENVIRONMENTS: &[&str] = &[".venv", "venv"];

/// Looks where that holds nobody up.
pub(super) async fn look(
    plugin: &ScriptPlugin,
    command: &ScriptCommand,
) -> Result<Revision, ToolError> {
    let (root, command) = (plugin.root.clone(), command.clone());
    let seen = tokio::task::spawn_blocking(move || seen(&root, &command)).await;
    seen.map_err(|error| {
        ToolError::failed(format!(
            "the files of {} could not be looked at: {error}",
            plugin.name
        ))
    })
}

fn seen(root: &Path, command: &ScriptCommand) -> Revision {
    let mut paths = BTreeSet::new();
    let mut folders = BTreeSet::from([PathBuf::new()]);
    for word in words(command) {
        let Some(relative) = inside(root, word) else {
            continue;
        };
        if fs::metadata(root.join(&relative)).is_ok_and(|about| about.is_file()) {
            // Node looks for packages in every folder from the file upwards.
            folders.extend(relative.ancestors().skip(1).map(Path::to_owned));
            paths.insert(relative);
        }
    }
    for folder in &folders {
        paths.extend(MARKS.iter().map(|mark| folder.join(mark)));
        for name in ENVIRONMENTS {
            paths.extend(environment(root, &folder.join(name)));
        }
    }
    let seen: Vec<String> = paths
        .iter()
        .filter_map(|path| Some(format!("{path:?} {:?}", mark_of(&root.join(path))?)))
        .collect();
    Revision::of(seen.iter().map(String::as_bytes))
}

/// All that may name a file; of `--config=a.json` what stands behind the sign too.
fn words(command: &ScriptCommand) -> impl Iterator<Item = &str> {
    let program = command.program.contains('/').then_some(&command.program);
    let given = program.into_iter().chain(&command.arguments);
    given.flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word.as_str()), value].into_iter().flatten()
    })
}

/// Relative to the root; nothing for what leads out of it.
fn inside(root: &Path, word: &str) -> Option<PathBuf> {
    let path = Path::new(word);
    let relative = match path.is_absolute() {
        true => path.strip_prefix(root).ok()?,
        false => path,
    };
    let mut clean = PathBuf::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => clean.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !clean.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (clean != Path::new("")).then_some(clean)
}

/// What shows of a virtual environment of Python: itself, and where its packages lie.
fn environment(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut marks = vec![
        folder.to_owned(),
        folder.join("pyvenv.cfg"),
        folder.join("Lib/site-packages"),
    ];
    // `python3.12`, of which there is one.
    let library = folder.join("lib");
    let versions = fs::read_dir(root.join(&library)).into_iter().flatten();
    for version in versions.flatten().take(MAX_DEPENDENCY_VERSIONS) {
        marks.push(library.join(version.file_name()).join("site-packages"));
    }
    marks
}

/// Nothing where nothing is.
pub(super) fn mark_of(path: &Path) -> Option<(u64, Option<SystemTime>)> {
    let about = fs::metadata(path).ok()?;
    // The length of a folder is its file system's own affair.
    let length = if about.is_file() { about.len() } else { 0 };
    Some((length, about.modified().ok()))
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
