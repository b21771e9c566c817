//! The files of one workflow folder: which there are, whether they are inside it, what they hold.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::limits::{MAX_FOLDER_BYTES, MAX_FOLDER_FILES, MAX_FOLDER_NAMES, MAX_WORKFLOW_BYTES};
use crate::problem::Problem;

pub(super) struct Files {
    /// The folder, links followed.
    pub(super) folder: PathBuf,
    /// Sorted.
    pub(super) paths: Vec<PathBuf>,
    /// Some were left out.
    pub(super) problem: Option<Problem>,
}

/// What a file was when it was looked at; while it stays the same, the file did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Where it is, links followed.
    pub(super) place: PathBuf,
    changed: Option<SystemTime>,
    bytes: u64,
}

/// `Err(None)` where the folder does not exist.
pub(super) fn files(folder: &Path) -> Result<Files, Option<Problem>> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => None,
        _ => {
            let message = format!("the folder cannot be looked at: {error}");
            Some(Problem::error("folder.unreadable", message))
        }
    };
    let real = folder.canonicalize().map_err(unreadable)?;
    let mut found = Vec::new();
    let mut bytes = 0;
    let mut problem = None;
    for (index, entry) in fs::read_dir(folder).map_err(unreadable)?.enumerate() {
        let path = entry.map_err(unreadable)?.path();
        if index >= MAX_FOLDER_NAMES || found.len() >= MAX_FOLDER_FILES {
            let message = format!(
                "the folder has more than {MAX_FOLDER_FILES} workflows or {MAX_FOLDER_NAMES} files; some are left out"
            );
            problem = Some(Problem::error("folder.too_many_files", message));
            break;
        }
        if path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
        {
            found.push(path);
        }
    }
    found.sort_unstable();
    let mut paths = Vec::new();
    for path in found {
        let Ok(about) = fs::metadata(&path) else {
            // A link to nothing; the stamp says so.
            paths.push(path);
            continue;
        };
        if about.is_dir() {
            continue;
        }
        bytes += about.len().min(MAX_WORKFLOW_BYTES as u64);
        if bytes > MAX_FOLDER_BYTES {
            let message = format!(
                "the workflows of the folder have more than {MAX_FOLDER_BYTES} bytes; some are left out"
            );
            problem = Some(Problem::error("folder.too_large", message));
            break;
        }
        paths.push(path);
    }
    Ok(Files {
        folder: real,
        paths,
        problem,
    })
}

/// Looks at a file, which must be in the folder, given with links followed, even where links lead elsewhere.
pub(super) fn stamp(folder: &Path, path: &Path) -> Result<Stamp, Problem> {
    let unreadable = |error: io::Error| {
        let message = format!("the file cannot be looked at: {error}");
        Problem::error("file.unreadable", message)
    };
    let mut place = folder.join(path.file_name().unwrap_or_default());
    if fs::symlink_metadata(path).map_err(unreadable)?.is_symlink() {
        place = path.canonicalize().map_err(unreadable)?;
        if !place.starts_with(folder) {
            let message = "the link leads out of the folder; put the file itself here";
            return Err(Problem::error("file.outside", message));
        }
    }
    let about = fs::symlink_metadata(&place).map_err(unreadable)?;
    if !about.is_file() {
        return Err(Problem::error("file.not_a_file", "this is not a file"));
    }
    Ok(Stamp {
        place,
        changed: about.modified().ok(),
        bytes: about.len(),
    })
}

/// What the file holds. A larger one is read far enough to see that it is too large.
pub(super) fn text(place: &Path) -> Result<String, Problem> {
    let unreadable = |error: io::Error| {
        let message = format!("the file cannot be read: {error}");
        Problem::error("file.unreadable", message)
    };
    let file = File::open(place).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let most = MAX_WORKFLOW_BYTES as u64 + 1;
    file.take(most)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > MAX_WORKFLOW_BYTES {
        let message = format!("the file is larger than {MAX_WORKFLOW_BYTES} bytes");
        return Err(Problem::error("file.too_large", message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("the file is not UTF-8: byte {at} belongs to no character");
        Problem::error("file.not_utf8", message)
    })
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn code(files: &Files) -> Option<&'static str> {
        files.problem.as_ref().map(|problem| problem.code)
    }

    #[test]
    fn a_folder_has_room_for_so_many_files() {
        let folder = TempDir::new().unwrap();
        for index in 0..MAX_FOLDER_FILES {
            File::create(folder.path().join(format!("{index}.json"))).unwrap();
        }
        let files_now = || files(folder.path()).unwrap();
        assert_eq!(files_now().paths.len(), MAX_FOLDER_FILES);
        assert_eq!(code(&files_now()), None);
        File::create(folder.path().join("more.json")).unwrap();
        assert_eq!(files_now().paths.len(), MAX_FOLDER_FILES);
        assert_eq!(code(&files_now()), Some("folder.too_many_files"));
    }

    #[test]
    fn a_folder_has_room_for_so_many_bytes() {
        let folder = TempDir::new().unwrap();
        let whole = MAX_FOLDER_BYTES / MAX_WORKFLOW_BYTES as u64;
        for index in 0..whole {
            let file = File::create(folder.path().join(format!("{index}.json"))).unwrap();
            file.set_len(MAX_WORKFLOW_BYTES as u64).unwrap();
        }
        assert_eq!(code(&files(folder.path()).unwrap()), None);
        let last = folder.path().join("z.json");
        fs::write(&last, "{}").unwrap();
        let left = files(folder.path()).unwrap();
        assert_eq!(code(&left), Some("folder.too_large"));
        assert!(!left.paths.contains(&last));
        File::options()
            .write(true)
            .open(&last)
            .unwrap()
            .set_len(MAX_WORKFLOW_BYTES as u64 + 1)
            .unwrap();
        assert_eq!(text(&last).unwrap_err().code, "file.too_large");
    }
}
