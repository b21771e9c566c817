//! Plugin folders for tests.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::{PluginPackage, PluginProblem, Reading, read_plugin_with_warnings};

pub(super) const MINIMAL: &str = "name: p\nversion: \"1\"\n";
pub(super) const WITH_NODES: &str = "name: p\nversion: \"1\"\nnodes:\n  entry: ./nodes\n";
pub(super) const WITH_TOOLS: &str = "name: p\nversion: \"1\"\ntools:\n  entry: ./tools\n";

/// A folder `p` in a folder of its own, with `s.py` in it.
pub(super) struct Sample {
    home: TempDir,
}

impl Sample {
    pub(super) fn empty() -> Self {
        let sample = Self {
            home: tempfile::tempdir().unwrap(),
        };
        sample.file("s.py", "")
    }

    pub(super) fn new(manifest: &str) -> Self {
        Self::empty().file("plugin.yaml", manifest)
    }

    /// With one tool file.
    pub(super) fn tool(text: &str) -> Self {
        Self::new(WITH_TOOLS).file("tools/t.tool.json", text)
    }

    /// With one node file.
    pub(super) fn node(text: &str) -> Self {
        Self::new(WITH_NODES).file("nodes/n.node.json", text)
    }

    pub(super) fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.folder().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.home.path().join("p")
    }

    pub(super) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(super) fn read(&self) -> Reading {
        read_plugin_with_warnings(&self.folder())
    }

    pub(super) fn package(&self) -> PluginPackage {
        self.read().outcome.unwrap()
    }

    pub(super) fn problems(&self) -> Vec<PluginProblem> {
        self.read().outcome.unwrap_err()
    }

    /// The only problem.
    pub(super) fn problem(&self) -> PluginProblem {
        let problems = self.problems();
        assert_eq!(problems.len(), 1, "{problems:#?}");
        problems.into_iter().next().unwrap()
    }
}

/// One bad text, and the one problem that it must give.
pub(super) struct Row {
    pub(super) text: &'static str,
    /// `line:column field`; the field may be missing.
    pub(super) at: &'static str,
    pub(super) code: &'static str,
    pub(super) says: &'static str,
}

pub(super) fn row(
    text: &'static str,
    at: &'static str,
    code: &'static str,
    says: &'static str,
) -> Row {
    Row {
        text,
        at,
        code,
        says,
    }
}

impl Row {
    pub(super) fn check(&self, file: &str, problem: &PluginProblem) {
        let text = self.text;
        assert_eq!(problem.file, file, "{text}\n{problem:?}");
        assert_eq!(problem.code, self.code, "{text}\n{problem:?}");
        let place = format!(
            "{}:{} {}",
            problem.line.unwrap_or_default(),
            problem.column.unwrap_or_default(),
            problem.field.as_deref().unwrap_or_default()
        );
        assert_eq!(place.trim(), self.at, "{text}\n{problem:?}");
        let message = &problem.message;
        assert!(message.contains(self.says), "{text}\n{problem:?}");
        assert!(!message.ends_with('.'), "{message}");
    }
}
