//! A little room on the disk, kept so that runs can be deleted when there is none left: even deleting has to be written
//! down first.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::database::{beside, make_private};
use crate::limits::{RESERVE_BYTES, RESERVE_PIECE};

/// `None`: the database is in memory.
#[derive(Clone)]
pub(crate) struct Reserve(Option<PathBuf>);

impl Reserve {
    pub(crate) fn of(database: Option<&Path>) -> Self {
        Self(database.map(|path| beside(path, "-reserve")))
    }

    /// Should there be no room for it, there will be later.
    pub(crate) async fn keep(&self) {
        self.work(|path| keep(path).is_ok()).await;
    }

    /// All of it. Whether there was something to give up.
    pub(crate) async fn give_up(&self) -> bool {
        self.work(|path| std::fs::remove_file(path).is_ok()).await
    }

    /// As much as is needed to open the database: whoever only looks must not use up what deleting needs.
    pub(crate) async fn give_a_piece(&self) -> bool {
        self.work(|path| give(path).unwrap_or(false)).await
    }

    async fn work(&self, work: fn(&Path) -> bool) -> bool {
        let Some(path) = self.0.clone() else {
            return false;
        };
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        done.unwrap_or(false)
    }
}

fn keep(path: &Path) -> io::Result<()> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    if bytes >= RESERVE_BYTES {
        return Ok(());
    }
    make_private(path)?;
    let mut file = OpenOptions::new().append(true).open(path)?;
    // Nothing that a file system could fold into less.
    let mut state = RESERVE_BYTES ^ bytes;
    let missing: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    })
    .take((RESERVE_BYTES - bytes) as usize)
    .collect();
    let written = file.write_all(&missing).and_then(|()| file.sync_all());
    if written.is_err() {
        // What fits in part is somebody else's.
        file.set_len(bytes)?;
    }
    written
}

fn give(path: &Path) -> io::Result<bool> {
    let bytes = std::fs::metadata(path)?.len();
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(bytes.saturating_sub(RESERVE_PIECE))?;
    Ok(bytes > 0)
}
