//! Large contents as files: `ab/cdef…`, named by what is in them. A file that is there under its name is whole.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uuid::Uuid;

use super::BlobId;
use crate::StoreError;

/// `None`: the database is in memory, and so is everything else.
#[derive(Clone)]
pub(crate) struct BlobFiles(pub(crate) Option<PathBuf>);

impl BlobFiles {
    /// In the folder of the database.
    pub(crate) fn beside(database: Option<&Path>) -> Self {
        let home = database.map(|path| path.parent().unwrap_or(Path::new("")));
        Self(home.map(|home| home.join("blobs")))
    }

    pub(crate) fn path(&self, id: &BlobId) -> Option<PathBuf> {
        let (folder, name) = id.as_str().split_at_checked(2)?;
        Some(self.0.as_ref()?.join(folder).join(name))
    }

    /// On the disk when it returns.
    pub(crate) fn write(&self, id: &BlobId, content: &[u8]) -> Result<(), StoreError> {
        let (Some(root), Some(path)) = (&self.0, self.path(id)) else {
            return Ok(());
        };
        let there = std::fs::metadata(&path);
        if there.is_ok_and(|file| file.is_file() && file.len() == content.len() as u64) {
            return Ok(());
        }
        let temporary = root.join(format!("new-{}", Uuid::now_v7()));
        let written = write_whole(root, &temporary, &path, content);
        if written.is_err() {
            drop(std::fs::remove_file(&temporary));
        }
        written.map_err(|error| StoreError::file(&path, &error))
    }

    pub(crate) fn read(&self, id: &BlobId, bytes: u64) -> Result<Arc<[u8]>, StoreError> {
        let damaged = |cause: String| StoreError::ContentDamaged {
            id: id.as_str().to_owned(),
            cause,
        };
        let path = self.path(id).unwrap_or_default();
        let found = std::fs::metadata(&path).map(|file| file.len());
        match found {
            Ok(found) if found == bytes => {}
            Ok(found) => {
                let path = path.display();
                return Err(damaged(format!("{path} has {found} bytes, not {bytes}")));
            }
            Err(error) => return Err(damaged(format!("{}: {error}", path.display()))),
        }
        let content = std::fs::read(&path)
            .map_err(|error| damaged(format!("{}: {error}", path.display())))?;
        match BlobId::of(&content) == *id {
            true => Ok(content.into()),
            false => Err(damaged(format!("{} was changed", path.display()))),
        }
    }

    /// Whether there is a file of this size; what is in it is looked at when it is read.
    pub(crate) fn is_there(&self, id: &BlobId, bytes: u64) -> bool {
        let path = self.path(id).unwrap_or_default();
        std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() == bytes)
    }

    pub(crate) fn remove(&self, id: &BlobId) {
        if let Some(path) = self.path(id) {
            // Should it stay, it is found again by the next one who brings the same.
            drop(std::fs::remove_file(path));
        }
    }
}

fn write_whole(root: &Path, temporary: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(root);
    make_folder(root)?;
    make_folder(folder)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(temporary)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(temporary, path)?;
    sync_folder(folder)
}

fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    folder.parent().map_or(Ok(()), sync_folder)
}

/// A new name in a folder is on the disk when the folder is.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        File::open(folder)?.sync_all()?;
    }
    #[cfg(not(unix))]
    let _: (&Path, Option<File>) = (folder, None);
    Ok(())
}
