//! Large contents as files: `ab/cdef…`, named by what is in them. A file is written under its name only when it is whole;
//! what became of it since is looked at whenever it is used.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::BlobId;
use crate::StoreError;
use crate::limits::COMPARE_BYTES;

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
        // One that has rotted would pass for what is written now.
        if holds(&path, content).unwrap_or(false) {
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

    /// What is wrong with it, without holding all of it in memory.
    pub(crate) fn examine(&self, id: &BlobId, bytes: u64) -> Result<(), String> {
        let path = self.path(id).unwrap_or_default();
        let shown = path.display();
        match std::fs::metadata(&path) {
            Ok(file) if file.is_file() && file.len() == bytes => {}
            _ => return Err(format!("{shown} is not there, or not whole")),
        }
        match digest_of(&path) {
            Ok(found) if found == *id => Ok(()),
            Ok(_) => Err(format!("{shown} was changed")),
            Err(error) => Err(format!("{shown} cannot be read: {error}")),
        }
    }

    pub(crate) fn remove(&self, id: &BlobId) {
        if let Some(path) = self.path(id) {
            // Should it stay, it is found again by the next one who brings the same.
            drop(std::fs::remove_file(path));
        }
    }
}

fn digest_of(path: &Path) -> io::Result<BlobId> {
    let mut file = File::open(path)?;
    let mut digest = Sha256::new();
    let mut piece = vec![0; COMPARE_BYTES];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(BlobId::from_digest(&digest.finalize())),
            count => digest.update(piece.get(..count).unwrap_or_default()),
        }
    }
}

/// Whether the file is there with just this in it.
fn holds(path: &Path, content: &[u8]) -> io::Result<bool> {
    let about = std::fs::metadata(path)?;
    if !about.is_file() || about.len() != content.len() as u64 {
        return Ok(false);
    }
    let mut file = File::open(path)?;
    let mut piece = vec![0; COMPARE_BYTES];
    for expected in content.chunks(COMPARE_BYTES) {
        let Some(found) = piece.get_mut(..expected.len()) else {
            return Ok(false);
        };
        file.read_exact(found)?;
        if found != expected {
            return Ok(false);
        }
    }
    Ok(true)
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
