//! Where the program of a script is.
//!
//! A bare name is looked up on the PATH. What is found there is often a stand-in of a version manager that costs
//! a tenth of a second and needs the person's own environment; so the interpreter is asked once where it really is.
//! Which folders it then needs is `installation.rs`.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::AsyncReadExt;
use tokio::process::Command;

use super::ScriptError;
use super::installation::{Installation, is_of_the_system};
use super::sources::mark_of;
use crate::Revision;
use crate::limits::{INTERPRETER_PROBE_TIMEOUT, MAX_INTERPRETER_ANSWER_BYTES, MAX_SHEBANG_BYTES};

/// Finds programs, and remembers what it found. Clones share what they remember.
#[derive(Debug, Clone)]
pub struct Interpreters {
    search: Option<OsString>,
    closed: Vec<PathBuf>,
    known: Arc<Mutex<HashMap<String, Interpreter>>>,
}

/// A program that was found, and what it needs to read beside the directories of the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interpreter {
    pub path: PathBuf,
    pub read: Vec<PathBuf>,
}

/// The file to start.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    /// What runs it: itself, or what its first line names.
    pub(super) interpreter: Option<Interpreter>,
}

impl Default for Interpreters {
    /// Looks on the PATH of this process. The person's own folders stay closed.
    fn default() -> Self {
        let interpreters = Self::on(std::env::var_os("PATH"));
        match std::env::home_dir().filter(|home| home.is_absolute()) {
            Some(home) => interpreters.closing(home.join(".local")).closing(home),
            None => interpreters,
        }
    }
}

impl Interpreters {
    /// Looks in the folders of `search`, which is written like a PATH.
    pub fn on(search: Option<OsString>) -> Self {
        Self {
            search,
            closed: Vec::new(),
            known: Arc::default(),
        }
    }

    /// A folder that no script gets to see, nor any above it, because an interpreter happens to be installed there.
    #[must_use]
    pub fn closing(mut self, folder: impl Into<PathBuf>) -> Self {
        self.closed.push(folder.into());
        Self {
            known: Arc::default(),
            ..self
        }
    }

    /// The program that `name` stands for, with the folders that it needs.
    pub async fn locate(&self, name: &str) -> Result<Interpreter, ScriptError> {
        let known = self.known().get(name).cloned();
        let known = blocking(move || known.filter(Interpreter::is_there)).await;
        if let Some(interpreter) = known {
            return Ok(interpreter);
        }
        let found = self.search(name).await?;
        self.known().insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// The file to start for `program`, as a script in `directory` names it.
    pub(super) async fn find(&self, program: &str, directory: &Path) -> Result<Found, ScriptError> {
        if !program.contains(['/', '\\']) {
            let interpreter = self.locate(program).await?;
            return Ok(Found {
                path: interpreter.path.clone(),
                interpreter: Some(interpreter),
            });
        }
        let path = own_file(program, directory).await?;
        // Whoever writes `#!/usr/bin/env python3` means the same program as whoever says `python3`.
        let interpreter = match named_in_first_line(&path).await {
            Some(name) => Some(self.locate(&name).await?),
            None => None,
        };
        Ok(Found { path, interpreter })
    }

    fn known(&self) -> std::sync::MutexGuard<'_, HashMap<String, Interpreter>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn search(&self, program: &str) -> Result<Interpreter, ScriptError> {
        let (searcher, name) = (self.clone(), program.to_owned());
        let candidates = blocking(move || searcher.candidates(&name)).await;
        let mut refused = None;
        for path in candidates {
            match ask(program, &path).await {
                Ok(installation) => {
                    let closed = self.closed.clone();
                    return Ok(blocking(move || Interpreter {
                        read: installation.needs(&closed),
                        path: installation.executable,
                    })
                    .await);
                }
                Err(why) => refused = refused.or(Some((path, why))),
            }
        }
        let remedy = remedy(program).to_owned();
        let program = program.to_owned();
        Err(match refused {
            None => ScriptError::InterpreterMissing { program, remedy },
            Some((path, why)) => ScriptError::InterpreterUnusable {
                program,
                path,
                why,
                remedy,
            },
        })
    }

    /// All files on the PATH that may be it, the best first.
    fn candidates(&self, program: &str) -> Vec<PathBuf> {
        let search = self.search.clone().unwrap_or_default();
        let folders: Vec<_> = std::env::split_paths(&search)
            .filter(|folder| folder.is_absolute())
            .collect();
        let mut found = Vec::new();
        for name in spellings(program) {
            let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
            let paths = folders.iter().map(|folder| folder.join(&file));
            for path in paths.filter(|path| is_executable(path)) {
                if !found.contains(&path) {
                    found.push(path);
                }
            }
        }
        found
    }
}

impl Interpreter {
    /// Differs when it is another one, or was replaced. Packages that are installed for it do not show.
    pub(crate) async fn revision(&self) -> Option<Revision> {
        let path = self.path.clone();
        let mark = blocking(move || mark_of(&path)).await?;
        let what = format!("{self:?} {mark:?}");
        Some(Revision::of([b"interpreter".as_slice(), what.as_bytes()]))
    }

    fn is_there(&self) -> bool {
        is_executable(&self.path) && self.read.iter().all(|path| path.exists())
    }
}

/// Shared by all tests, so that the interpreters are asked once and not for every test.
#[cfg(test)]
pub(super) fn for_tests() -> Interpreters {
    static SHARED: std::sync::LazyLock<Interpreters> =
        std::sync::LazyLock::new(Interpreters::default);
    SHARED.clone()
}

/// Looks at files where that holds nobody up.
async fn blocking<R: Default + Send + 'static>(look: impl FnOnce() -> R + Send + 'static) -> R {
    // It can only fail when the runtime ends; then nobody waits for the answer.
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// `-I`: not even a file `json.py` in the current folder has a say.
const ASK_PYTHON: &str = "\
import json, os, sys, sysconfig
paths = sysconfig.get_paths()
library = [sysconfig.get_config_var(name) for name in ('LIBDIR', 'INSTSONAME')]
print(json.dumps({
    'executable': sys.executable,
    'prefixes': [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix],
    'named': [paths[name] for name in ('stdlib', 'platstdlib', 'purelib', 'platlib')] + ([os.path.join(*library)] if all(library) else []),
}))";

/// Makes a program tell where it is; `None` for those that cannot.
fn question(program: &str) -> Option<&'static [&'static str]> {
    Some(match program {
        "python" | "python3" => &["-I", "-c", ASK_PYTHON],
        "node" | "nodejs" | "bun" => &["-p", "process.execPath"],
        "deno" => &["eval", "console.log(Deno.execPath())"],
        "ruby" => &["-rrbconfig", "-e", "print RbConfig.ruby"],
        "perl" => &["-e", "print $^X"],
        "php" => &["-r", "echo PHP_BINARY;"],
        _ => return None,
    })
}

/// Where the program really is that lies at `found`, or why that cannot be learnt.
async fn ask(program: &str, found: &Path) -> Result<Installation, String> {
    let plain = Installation {
        executable: found.to_owned(),
        ..Installation::default()
    };
    let stand_in = found.components().any(|part| part.as_os_str() == "shims");
    let path = found.to_owned();
    if !stand_in && blocking(move || is_of_the_system(&path)).await {
        return Ok(plain);
    }
    let Some(question) = question(program) else {
        return match stand_in {
            true => Err(
                "it is the stand-in of a version manager; put the folder of the real program first on the PATH"
                    .to_owned(),
            ),
            false => Ok(plain),
        };
    };
    let mut command = Command::new(found);
    command
        .args(question)
        // Version managers choose by the current folder; the same name must mean the same program everywhere.
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let answer = tokio::time::timeout(INTERPRETER_PROBE_TIMEOUT, command.output()).await;
    let output = match answer {
        Err(_) => return Err("it did not say where it is in time".to_owned()),
        Ok(Err(error)) => return Err(error.to_string()),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() || output.stdout.len() > MAX_INTERPRETER_ANSWER_BYTES {
        let said = String::from_utf8_lossy(&output.stderr);
        let last: String = said.trim().lines().last().unwrap_or_default().to_owned();
        return Err(match last.is_empty() {
            true => format!("it did not say where it is ({})", output.status),
            false => last.chars().take(200).collect(),
        });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.trim();
    let told: Installation = match text.starts_with('{') {
        true => serde_json::from_str(text).unwrap_or_default(),
        false => Installation {
            executable: PathBuf::from(text),
            ..Installation::default()
        },
    };
    let usable = move || {
        let path = &told.executable;
        (path.is_absolute() && is_executable(path)).then_some(told)
    };
    let told = blocking(usable).await;
    told.ok_or_else(|| "it does not say where it is".to_owned())
}

/// The names under which a program may be installed, the best first.
fn spellings(program: &str) -> Vec<&str> {
    match program {
        // `python` alone may still be Python 2.
        "python" => vec!["python3", "python"],
        "node" => vec!["node", "nodejs"],
        "nodejs" => vec!["nodejs", "node"],
        other => vec![other],
    }
}

/// ` from https://…`, or nothing.
fn remedy(program: &str) -> &'static str {
    match program {
        "python" | "python3" => " from https://www.python.org/downloads/",
        "node" | "nodejs" => " from https://nodejs.org/",
        "deno" => " from https://deno.com/",
        "bun" => " from https://bun.sh/",
        _ => "",
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
    let Ok(inside) = path.strip_prefix(&folder) else {
        return Err(refuse("it is a link that leads out of the plugin's folder"));
    };
    // By the name under which the folder was granted.
    let path = directory.join(inside);
    let runs = path.clone();
    match blocking(move || is_executable(&runs)).await {
        true => Ok(path),
        false => Err(refuse("the file is not executable; run `chmod +x` on it")),
    }
}

/// `python3` of `#!/usr/bin/env python3`. A path in full is not followed: a plugin could name any place with it.
async fn named_in_first_line(path: &Path) -> Option<String> {
    let file = tokio::fs::File::open(path).await.ok()?;
    let mut start = Vec::new();
    let mut limited = file.take(MAX_SHEBANG_BYTES);
    limited.read_to_end(&mut start).await.ok()?;
    let text = String::from_utf8_lossy(&start);
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let is_env = matches!(words.next()?, "/usr/bin/env" | "/bin/env");
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    (is_env && !name.contains('/')).then(|| name.to_owned())
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
