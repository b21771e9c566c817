//! Who is still there: a file for each process that runs requests or calls, locked for as long as it lives.
//!
//! The operating system releases the lock when a process ends, however it ends, so there is no clock, no heartbeat
//! and no process id that could be given to somebody else. Marks of the dead are removed by the next one to come.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::OnceCell;
use uuid::Uuid;

use crate::StoreError;
use crate::limits::MAX_SWEPT_OWNERS;

pub(crate) struct Owner {
    /// `None`: the database is in memory, so there is nobody else.
    folder: Option<PathBuf>,
    mark: OnceCell<Mark>,
}

struct Mark {
    id: String,
    /// Held locked; closing it says that we are gone.
    file: Option<(File, PathBuf)>,
}

impl Drop for Mark {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file {
            // Should it stay, the next one sweeps it away.
            drop(std::fs::remove_file(path));
        }
    }
}

impl Owner {
    pub(crate) fn new(database: Option<&Path>) -> Self {
        let folder = database.map(|path| {
            let mut name = path.as_os_str().to_owned();
            name.push("-owners");
            PathBuf::from(name)
        });
        Self {
            folder,
            mark: OnceCell::new(),
        }
    }

    /// Our own id; whoever asks first makes the mark.
    pub(crate) async fn id(&self) -> Result<&str, StoreError> {
        let mark = self.mark.get_or_try_init(|| async {
            let Some(folder) = self.folder.clone() else {
                return Ok(Mark {
                    id: Uuid::now_v7().to_string(),
                    file: None,
                });
            };
            let shown = folder.clone();
            blocking(move || make_mark(&folder))
                .await
                .map_err(|error| StoreError::Open {
                    path: shown,
                    cause: error.to_string(),
                })
        });
        mark.await.map(|mark| mark.id.as_str())
    }

    /// Whether the store with this id is still at work. What cannot be found out counts as yes: better to wait
    /// than to do a thing twice.
    pub(crate) async fn is_alive(&self, id: &str) -> bool {
        if self.mark.get().is_some_and(|mark| mark.id == id) {
            return true;
        }
        let (Some(folder), Ok(id)) = (&self.folder, Uuid::try_parse(id)) else {
            return false;
        };
        let path = folder.join(id.to_string());
        blocking(move || match File::open(&path) {
            Ok(file) => match file.try_lock_shared() {
                Ok(()) => Ok(false),
                Err(_) => Ok(true),
            },
            Err(error) => Ok(error.kind() != io::ErrorKind::NotFound),
        })
        .await
        .unwrap_or(true)
    }
}

#[cfg(test)]
impl Owner {
    /// What becomes of the mark when the process ends.
    pub(crate) fn unlock(&self) {
        let mark = self.mark.get().and_then(|mark| mark.file.as_ref());
        mark.unwrap().0.unlock().unwrap();
    }
}

fn make_mark(folder: &Path) -> io::Result<Mark> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    sweep(folder)?;
    for _ in 0..10 {
        let id = Uuid::now_v7().to_string();
        let path = folder.join(&id);
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).open(&path)?;
        match file.try_lock() {
            // Somebody who swept between our two steps has taken the file away again.
            Ok(()) if path.exists() => {
                return Ok(Mark {
                    id,
                    file: Some((file, path)),
                });
            }
            Ok(()) | Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other("no mark could be made and kept"))
}

fn sweep(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)?.take(MAX_SWEPT_OWNERS) {
        let path = entry?.path();
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if file.try_lock().is_ok() {
            drop(std::fs::remove_file(&path));
        }
    }
    Ok(())
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error.to_string())))
}
