//! What the suites share: a scene with something to lose, people to run as, and the judge.

mod interpreter;
mod people;
mod processes;
mod row;
mod scene;
mod services;

pub(crate) use interpreter::Interpreter;
pub(crate) use people::{apart, as_everybody, is_root, launcher, rerun_command};
pub(crate) use processes::{processes_with, until};
pub(crate) use row::{Policy, Row, judge, row, run_rows};
pub(crate) use scene::Scene;

use innkeeper_sandbox::{Sandbox, SandboxOptions};

pub(crate) fn sandbox() -> Sandbox {
    Sandbox::new(SandboxOptions::new(launcher()))
}
