//! Finds interpreters as the caller's user has them: the real program, and where its library lies.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[derive(Debug, Clone)]
pub(crate) struct Interpreter {
    pub(crate) path: PathBuf,
    /// What must be readable beside the system's own folders.
    pub(crate) read: Vec<PathBuf>,
}

const ASK_PYTHON: &str = "import os, sys
print(os.path.realpath(sys.executable))
print(os.path.realpath(sys.base_prefix))
print(os.path.realpath(sys.prefix))";

const ASK_NODE: &str = "console.log(require('fs').realpathSync(process.execPath))";

impl Interpreter {
    pub(crate) fn python() -> Result<Self, String> {
        static FOUND: OnceLock<Result<Interpreter, String>> = OnceLock::new();
        let find = || Self::ask("python3", &["-c", ASK_PYTHON]);
        FOUND.get_or_init(find).clone()
    }

    pub(crate) fn node() -> Result<Self, String> {
        static FOUND: OnceLock<Result<Interpreter, String>> = OnceLock::new();
        let find = || Self::ask("node", &["-e", ASK_NODE]);
        FOUND.get_or_init(find).clone()
    }

    pub(crate) fn bash() -> Result<Self, String> {
        let path = PathBuf::from("/bin/bash");
        match path.is_file() {
            true => Ok(Self {
                path,
                read: Vec::new(),
            }),
            false => Err("there is no /bin/bash".to_owned()),
        }
    }

    /// The first of that name in PATH that this user can run. What it says about itself leads past a version
    /// manager's shim.
    fn ask(name: &str, arguments: &[&str]) -> Result<Self, String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut places: Vec<_> = std::env::split_paths(&path).collect();
        places.push(PathBuf::from("/usr/bin"));
        for place in places {
            let output = Command::new(place.join(name)).args(arguments).output();
            let Ok(output) = output else { continue };
            let told = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut lines = told.lines().map(PathBuf::from);
            if let (true, Some(path)) = (output.status.success(), lines.next()) {
                let mut read: Vec<_> = lines.chain([path.clone()]).collect();
                read.retain(|path| !belongs_to_the_system(path));
                read.dedup();
                return Ok(Self { path, read });
            }
        }
        Err(format!("there is no {name} that this user can run"))
    }
}

fn belongs_to_the_system(path: &Path) -> bool {
    ["/usr", "/bin", "/lib", "/lib64"]
        .iter()
        .any(|root| path.starts_with(root))
}
