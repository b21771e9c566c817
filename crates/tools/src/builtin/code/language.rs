//! What is run for each language, and what it finds around itself.

use std::path::Path;

use innkeeper_sandbox::{Environment, Program, SandboxPolicy, Workspace};
use serde::Deserialize;

use crate::script::Interpreter;

/// One spelling each: a rule of the policy about a language must not be got round by another name for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Language {
    Python,
    Node,
    Bash,
}

impl Language {
    pub(super) const ALL: [Self; 3] = [Self::Python, Self::Node, Self::Bash];

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Node => "node",
            Self::Bash => "bash",
        }
    }

    /// Under which name the code lies in the working folder.
    pub(super) const fn file(self) -> &'static str {
        match self {
            Self::Python => "main.py",
            Self::Node => "main.cjs",
            Self::Bash => "main.sh",
        }
    }

    /// Runs the code that lies in `file`, which is so imported, required and named in messages.
    pub(super) fn program(self, interpreter: &Interpreter, file: &str) -> Program {
        let file = format!("{}/{file}", Workspace::PATH);
        let arguments = match self {
            Self::Python => vec![file],
            Self::Node => vec![
                "-e".to_owned(),
                include_str!("node_start.cjs").to_owned(),
                file,
            ],
            Self::Bash => vec![file],
        };
        Program::new(&interpreter.path, arguments)
    }
}

/// No network, nothing of the person's environment, nothing to read but the interpreter.
pub(super) fn policy(interpreter: &Interpreter) -> SandboxPolicy {
    SandboxPolicy {
        read: interpreter.read.clone(),
        environment: environment(&interpreter.path),
        directory: Some(Workspace::PATH.into()),
        ..SandboxPolicy::default()
    }
}

fn environment(interpreter: &Path) -> Environment {
    let system = "/usr/local/bin:/usr/bin:/bin";
    let own = interpreter.parent().and_then(Path::to_str);
    let path = match own.filter(|own| !system.split(':').any(|folder| folder == *own)) {
        Some(own) => format!("{own}:{system}"),
        None => system.to_owned(),
    };
    Environment::from_iter([
        ("PATH", path.as_str()),
        ("HOME", "/tmp"),
        ("TMPDIR", "/tmp"),
        ("LANG", "C.UTF-8"),
        ("PYTHONUTF8", "1"),
        // So that what was printed is there when it is stopped.
        ("PYTHONUNBUFFERED", "1"),
        // Else every import from the working folder would look like a file that was made.
        ("PYTHONDONTWRITEBYTECODE", "1"),
        // There is no screen.
        ("MPLBACKEND", "Agg"),
    ])
}
