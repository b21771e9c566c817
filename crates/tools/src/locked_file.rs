//! Small files that several processes change: each change is one step under a lock, and replaces the file whole.
//!
//! Knows nothing of what is in them. Blocks; whoever stands in async code calls it from `spawn_blocking`.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::limits::MAX_KEPT_FILE_BYTES;

/// Who may read the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    Owner,
    Anyone,
}

#[derive(Debug, thiserror::Error)]
pub enum LockedFileError {
    #[error("{path} cannot be {doing}: {source}")]
    Io {
        path: PathBuf,
        doing: &'static str,
        source: io::Error,
    },
    #[error("{0} is no plain file")]
    NotPlain(PathBuf),
    #[error("{0} is larger than {MAX_KEPT_FILE_BYTES} bytes")]
    TooLarge(PathBuf),
    #[error(
        "{path} can be read by others (mode {mode:03o}); run `chmod 600 {path}` and, if they are not to be trusted, replace the keys in it"
    )]
    TooOpen { path: PathBuf, mode: u32 },
}

impl LockedFileError {
    fn io(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            doing,
            source,
        }
    }
}

/// The whole text, or nothing if there is no file. Needs no lock: the file is only ever replaced whole.
pub fn read(path: &Path, readers: Readers) -> Result<Option<String>, LockedFileError> {
    // A pipe would be waited for.
    if fs::metadata(path).is_ok_and(|about| !about.is_file()) {
        return Err(LockedFileError::NotPlain(path.to_owned()));
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LockedFileError::io(path, "opened")(error)),
    };
    if readers == Readers::Owner {
        refuse_if_open_to_others(path, &file)?;
    }
    let mut text = String::new();
    file.take(MAX_KEPT_FILE_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(LockedFileError::io(path, "read"))?;
    match text.len() as u64 > MAX_KEPT_FILE_BYTES {
        true => Err(LockedFileError::TooLarge(path.to_owned())),
        false => Ok(Some(text)),
    }
}

/// Gives `change` the text as it is now and writes what it returns; nothing is written if that is `None`.
/// Others who call this for the same file, in this process or another, wait.
pub fn update<T, E: From<LockedFileError>>(
    path: &Path,
    readers: Readers,
    change: impl FnOnce(Option<String>) -> Result<(Option<String>, T), E>,
) -> Result<T, E> {
    let file = Locked::open(path, readers)?;
    let (text, answer) = change(file.read()?)?;
    if let Some(text) = text {
        file.replace(&text)?;
    }
    Ok(answer)
}

/// A file that nobody else changes while this lives: for changes that go together with others. Whoever holds one and
/// wants a second takes them always in the same order.
#[derive(Debug)]
pub struct Locked {
    path: PathBuf,
    readers: Readers,
    /// The lock file stays: removing it would let two others lock two different files of this name.
    _lock: File,
}

impl Locked {
    /// Waits until nobody else changes it. The folder is made where there is none.
    pub fn open(path: &Path, readers: Readers) -> Result<Self, LockedFileError> {
        // A linked file stays linked: what it points to is replaced.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let folder = folder_of(&path);
        fs::create_dir_all(folder).map_err(LockedFileError::io(folder, "created"))?;
        let lock_path = beside(&path, ".lock");
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true))
            .open(&lock_path)
            .map_err(LockedFileError::io(&lock_path, "opened"))?;
        lock.lock()
            .map_err(LockedFileError::io(&lock_path, "locked"))?;
        Ok(Self {
            path,
            readers,
            _lock: lock,
        })
    }

    /// The whole text, or nothing if there is no file.
    pub fn read(&self) -> Result<Option<String>, LockedFileError> {
        read(&self.path, self.readers)
    }

    /// In one step: a reader sees the old text or the new one.
    pub fn replace(&self, text: &str) -> Result<(), LockedFileError> {
        if text.len() as u64 > MAX_KEPT_FILE_BYTES {
            return Err(LockedFileError::TooLarge(self.path.clone()));
        }
        replace(&self.path, folder_of(&self.path), self.readers, text)
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

fn replace(
    path: &Path,
    folder: &Path,
    readers: Readers,
    text: &str,
) -> Result<(), LockedFileError> {
    // Only the holder of the lock writes here, so one name is enough, and what a crash left is overwritten.
    let new_path = beside(path, ".new");
    match fs::remove_file(&new_path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(LockedFileError::io(&new_path, "removed")(error));
        }
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    if readers == Readers::Owner {
        private(&mut options);
    }
    let written = options.open(&new_path).and_then(|mut file| {
        // Whoever made the file stricter meant it.
        if let Ok(old) = fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()
    });
    written.map_err(LockedFileError::io(&new_path, "written"))?;
    fs::rename(&new_path, path).map_err(LockedFileError::io(path, "replaced"))?;
    // Some file systems cannot sync a folder; the file itself is safe by then.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// `secrets.toml` → `.secrets.toml.lock`
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(suffix);
    path.with_file_name(name)
}

#[cfg(unix)]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600)
}

#[cfg(not(unix))]
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

#[cfg(unix)]
fn refuse_if_open_to_others(path: &Path, file: &File) -> Result<(), LockedFileError> {
    use std::os::unix::fs::PermissionsExt;

    let metadata = file
        .metadata()
        .map_err(LockedFileError::io(path, "looked at"))?;
    let mode = metadata.permissions().mode() & 0o777;
    match mode & 0o077 {
        0 => Ok(()),
        _ => Err(LockedFileError::TooOpen {
            path: path.to_owned(),
            mode,
        }),
    }
}

/// Elsewhere a new file belongs to its owner by the folder it is in.
#[cfg(not(unix))]
fn refuse_if_open_to_others(_: &Path, _: &File) -> Result<(), LockedFileError> {
    Ok(())
}
