//! Skills against a home on disk: packages that are taken and those that are not, and what becomes of them.

mod archives;
mod changes;
mod door;
mod lying;
mod names;
mod packages;
mod page;

use std::path::Path;

use super::*;

pub(super) const SKILL: &str =
    "---\nname: haiku\ndescription: Writes haiku.\n---\n# Haiku\n\nFive, seven, five.\n";

pub(super) fn file(path: &str, content: &str) -> InlineFile {
    InlineFile {
        path: path.to_owned(),
        content: content.to_owned(),
        encoding: InlineEncoding::Utf8,
    }
}

pub(super) fn inline(files: &[(&str, &str)]) -> ImportInput {
    ImportInput::InlineFiles {
        files: files
            .iter()
            .map(|(path, content)| file(path, content))
            .collect(),
    }
}

/// A skill of that name, which says something.
pub(super) fn skill(name: &str, says: &str) -> ImportInput {
    let text = format!("---\nname: {name}\ndescription: About {name}.\n---\n{says}\n");
    inline(&[(SKILL_MD, &text), ("references/more.md", says)])
}

pub(super) struct House {
    pub(super) home: tempfile::TempDir,
    pub(super) skills: Skills,
}

impl House {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let skills = Skills::new(home.path());
        Self { home, skills }
    }

    pub(super) fn install(&self, input: &ImportInput) -> Result<Installed, SkillError> {
        self.skills.install_import(input, &SkillScope::Global, None)
    }

    pub(super) fn folder(&self) -> std::path::PathBuf {
        self.home.path().join("skills")
    }

    /// Nothing is left of a change that is over, or was refused.
    pub(super) fn is_tidy(&self) -> bool {
        let staging = std::fs::read_dir(self.folder().join(".staging"));
        staging.is_ok_and(|mut entries| entries.next().is_none()) || !self.folder().exists()
    }

    pub(super) fn names(&self, scope: &str) -> Vec<String> {
        let list = self.skills.list(&scope.parse().unwrap()).unwrap();
        assert_eq!(list.issues, []);
        list.skills
            .into_iter()
            .map(|skill| skill.about.name)
            .collect()
    }
}

pub(super) fn write(at: &Path, content: &[u8]) {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, content).unwrap();
}

/// All files below a folder, with what is in them.
pub(super) fn tree(at: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![at.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(at).unwrap().to_str().unwrap().to_owned();
            found.push((name, std::fs::read(&path).unwrap()));
        }
    }
    found.sort();
    found
}
