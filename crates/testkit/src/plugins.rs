//! Plugins for tests, as folders on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Nodes: one with a script behind it, one for the page alone.
pub const SKY: &str = "sky";

/// Where a plugin of this name lies. Not to be changed: copy it.
pub fn folder(name: &str) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/plugins");
    fixtures.join(name)
}

/// Copies a plugin into a folder for plugins.
///
/// # Errors
/// If it cannot be read or written.
pub fn copy(name: &str, plugins: &Path) -> io::Result<PathBuf> {
    let to = plugins.join(name);
    copy_all(&folder(name), &to)?;
    Ok(to)
}

fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_all(&entry.path(), &target)?,
            false => _ = fs::copy(entry.path(), target)?,
        }
    }
    Ok(())
}
