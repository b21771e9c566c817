//! Where the program of a script is.
//!
//! A bare name is looked up on the PATH. What is found there is often a stand-in of a version manager that costs
//! a tenth of a second and needs the person's own environment; so the interpreter is asked once where it really is.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::process::Command;

use super::ScriptError;
use crate::limits::INTERPRETER_PROBE_TIMEOUT;

/// Finds programs, and remembers what it found. Clones share what they remember.
#[derive(Debug, Clone)]
pub struct Interpreters {
    search: Option<OsString>,
    known: Arc<Mutex<HashMap<String, PathBuf>>>,
}

/// A program that was found, and what it needs to read beside the directories of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    pub path: PathBuf,
    pub read: Vec<PathBuf>,
}

impl Default for Interpreters {
    /// Looks on the PATH of this process.
    fn default() -> Self {
        Self::on(std::env::var_os("PATH"))
    }
}

impl Interpreters {
    /// Looks in the folders of `search`, which is written like a PATH.
    pub fn on(search: Option<OsString>) -> Self {
        Self {
            search,
            known: Arc::default(),
        }
    }

    /// What scripts get as their PATH.
    pub fn search_path(&self) -> Option<&OsString> {
        self.search.as_ref()
    }

    /// The program that `name` stands for, with the folders that it needs.
    pub async fn locate(&self, name: &str) -> Result<Interpreter, ScriptError> {
        let path = self.find(name, Path::new("/")).await?;
        let prefix = path.ancestors().nth(2).map(Path::to_owned);
        let read = prefix.filter(|prefix| !prefix.starts_with("/usr"));
        Ok(Interpreter {
            path,
            read: read.into_iter().collect(),
        })
    }

    /// The file to start for `program`, as a script in `directory` names it.
    pub async fn find(&self, program: &str, directory: &Path) -> Result<PathBuf, ScriptError> {
        if program.contains(['/', '\\']) {
            return own_file(program, directory).await;
        }
        let known = self.known().get(program).cloned();
        if let Some(path) = known
            && tokio::fs::try_exists(&path).await.unwrap_or(false)
        {
            return Ok(path);
        }
        let searcher = self.clone();
        let name = program.to_owned();
        let found = tokio::task::spawn_blocking(move || searcher.search(&name)).await;
        let path = match found {
            Ok(Some(path)) => path,
            _ => return Err(missing(program)),
        };
        let path = self.real(program, path).await;
        self.known().insert(program.to_owned(), path.clone());
        Ok(path)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, PathBuf>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn search(&self, program: &str) -> Option<PathBuf> {
        let search = self.search.as_ref()?;
        for name in spellings(program) {
            for folder in std::env::split_paths(search).filter(|folder| folder.is_absolute()) {
                let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
                if is_executable(&path) {
                    return Some(path);
                }
            }
        }
        None
    }

    /// Asks the interpreter for its own file; what does not answer well is used as it was found.
    async fn real(&self, program: &str, found: PathBuf) -> PathBuf {
        let question = match spellings(program).first().copied() {
            Some("python" | "python3") => ["-c", "import sys;print(sys.executable)"],
            Some("node" | "nodejs") => ["-p", "process.execPath"],
            _ => return found,
        };
        let mut command = Command::new(&found);
        command
            .args(question)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        let answer = tokio::time::timeout(INTERPRETER_PROBE_TIMEOUT, command.output()).await;
        let Ok(Ok(output)) = answer else { return found };
        let text = String::from_utf8_lossy(&output.stdout);
        let real = PathBuf::from(text.trim());
        match output.status.success() && real.is_absolute() && is_executable(&real) {
            true => real,
            false => found,
        }
    }
}

/// Shared by all tests, so that the interpreters are asked once and not for every test.
#[cfg(test)]
pub(super) fn for_tests() -> Interpreters {
    static SHARED: std::sync::LazyLock<Interpreters> =
        std::sync::LazyLock::new(Interpreters::default);
    SHARED.clone()
}

/// The names under which a program may be installed, the asked one first.
fn spellings(program: &str) -> Vec<&str> {
    match program {
        "python" => vec!["python", "python3"],
        "node" => vec!["node", "nodejs"],
        "nodejs" => vec!["nodejs", "node"],
        other => vec![other],
    }
}

fn missing(program: &str) -> ScriptError {
    let remedy = match spellings(program).first().copied() {
        Some("python" | "python3") => " from https://www.python.org/downloads/",
        Some("node" | "nodejs") => " from https://nodejs.org/",
        Some("deno") => " from https://deno.com/",
        Some("bun") => " from https://bun.sh/",
        _ => "",
    };
    ScriptError::InterpreterMissing {
        program: program.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// A file of the plugin: it must lie in the plugin's folder, links followed.
async fn own_file(program: &str, directory: &Path) -> Result<PathBuf, ScriptError> {
    let refuse = |why: &str| ScriptError::Program {
        program: program.to_owned(),
        why: why.to_owned(),
    };
    let relative = Path::new(program);
    let stays = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !stays || program.contains('\\') {
        return Err(refuse("name a file inside the plugin's folder"));
    }
    let folder = tokio::fs::canonicalize(directory)
        .await
        .map_err(|_| refuse("the plugin's folder is gone"))?;
    let path = tokio::fs::canonicalize(folder.join(relative))
        .await
        .map_err(|_| refuse("there is no such file in the plugin's folder"))?;
    if !path.starts_with(&folder) {
        return Err(refuse("it is a link that leads out of the plugin's folder"));
    }
    match is_executable(&path) {
        true => Ok(path),
        false => Err(refuse("the file is not executable; run `chmod +x` on it")),
    }
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
#[path = "interpreter_tests.rs"]
mod tests;
