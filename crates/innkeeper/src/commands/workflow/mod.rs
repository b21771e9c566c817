//! `innkeeper workflow …`: one file each. Running, checking and reading is the engine's; here is what a person types
//! and sees.

mod check;
mod find;
mod graph;
mod house;
mod inputs;
mod list;
mod nodes;
mod progress;
mod result;
mod run;
mod watch;

use super::{Ended, project};
use crate::cli::WorkflowCommand;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;

pub(crate) fn run(
    command: &WorkflowCommand,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    match command {
        WorkflowCommand::Run(args) => run::run(args, home, screen),
        WorkflowCommand::Check(args) => check::run(args, home, screen),
        WorkflowCommand::List(args) => list::run(args, home, screen),
        WorkflowCommand::Graph(args) => graph::run(args, home, screen),
        WorkflowCommand::Nodes(args) => nodes::run(args, home, screen),
    }
}
