//! One file per command.

pub(crate) mod access;
pub(crate) mod call;
pub(crate) mod doctor;
mod holder;
pub(crate) mod models;
pub(crate) mod parse;
pub(crate) mod plugin;
pub(crate) mod profiles;
pub(crate) mod runs;
pub(crate) mod serve;
pub(crate) mod skills;
pub(crate) mod state;
pub(crate) mod tools;
pub(crate) mod workflow;

use innkeeper_tools::ProjectId;

use crate::failure::{Expected, Failure, ToolFault};

/// How a command ended that said all there is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Done,
    /// What was asked about is broken, or a call did not succeed.
    Failed,
    /// A run failed after something of it was published.
    Partial,
    /// A run was cancelled by somebody else, or waits for a person.
    Stopped,
    /// By Ctrl-C.
    Interrupted,
}

impl Ended {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Partial => 4,
            Self::Stopped => 5,
            Self::Interrupted => 130,
        }
    }
}

fn project(given: &str) -> Result<ProjectId, Failure> {
    ProjectId::try_from(given).map_err(|_| {
        Failure::Tool(ToolFault::Value {
            of: "--project",
            given: given.to_owned(),
            expected: Expected::Project,
        })
    })
}
