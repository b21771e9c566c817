//! A home folder for tests, with somebody in it.

use std::path::PathBuf;

use innkeeper_protocol::event::RunId;
use tempfile::TempDir;

use super::{FileLayer, FileUri, ListOptions};
use crate::{Caller, Reach};

pub(crate) struct House {
    /// Holds the home folder, and room outside it.
    pub(crate) world: TempDir,
    pub(crate) files: FileLayer,
    pub(crate) person: Caller,
    pub(crate) agent: Caller,
}

impl House {
    pub(crate) fn new() -> Self {
        let world = TempDir::new().unwrap();
        let files = FileLayer::open(&world.path().join("home")).unwrap();
        let run = || RunId::new("run_1");
        Self {
            world,
            files,
            person: Caller::person(run()),
            agent: Caller::agent("tester", run(), Reach::everything()),
        }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.world.path().join("home")
    }

    pub(crate) fn project(&self) -> PathBuf {
        self.home().join("projects/default")
    }

    /// Puts a file into the default project, past the layer.
    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) -> FileUri {
        let on_disk = self.project().join(path);
        std::fs::create_dir_all(on_disk.parent().unwrap()).unwrap();
        std::fs::write(on_disk, content).unwrap();
        self.uri(path)
    }

    pub(crate) fn get(&self, path: &str) -> String {
        std::fs::read_to_string(self.project().join(path)).unwrap()
    }

    pub(crate) fn uri(&self, text: &str) -> FileUri {
        self.files.resolve(&self.person, text).unwrap()
    }

    /// `name` or `name/` of everything in a folder.
    pub(crate) async fn names(&self, folder: &str, depth: usize) -> Vec<String> {
        let uri = self.uri(folder);
        let options = ListOptions { depth, limit: 1000 };
        let listing = self.files.list(&uri, options).await.unwrap();
        let above = uri.to_string().trim_end_matches('/').len() + 1;
        listing
            .entries
            .iter()
            .map(|entry| {
                let name = entry.uri.to_string()[above..]
                    .trim_start_matches('/')
                    .to_owned();
                match entry.kind {
                    super::Kind::Directory => name + "/",
                    super::Kind::File => name,
                    super::Kind::Link => name + "@",
                    super::Kind::Special => name + "|",
                }
            })
            .collect()
    }
}
