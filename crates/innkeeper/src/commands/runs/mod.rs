//! `innkeeper run` and `innkeeper runs …`: one file each. Driving runs is the agents' crate; here is what a person types
//! and sees, and the terminal as the host that runs publish to.
//!
//! `house.rs` opens what drives runs, `attend.rs` stays with one until it is over and `memory.rs` knows what it has
//! published; `speech.rs`, `words.rs`, `weave.rs` and `timeline.rs` are what is seen of it, `summary.rs` what is said at its
//! end.

mod agents;
mod approve;
mod attend;
mod cancel;
mod checkpoint;
mod checkpoints;
mod delete;
mod diff;
mod events;
mod export;
mod find;
mod fork;
mod guide;
mod happened;
mod house;
mod list;
mod memory;
mod prune;
mod question;
mod recall;
mod resume;
mod rollback;
mod show;
mod speech;
mod spending;
mod start;
mod summary;
mod timeline;
mod undone;
mod waiting;
mod weave;
mod words;

use super::{Ended, project};
use crate::cli::{RunArgs, RunsCommand};
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;

pub(super) use delete::agreed;
pub(super) use find::find;
pub(super) use house::House;

pub(crate) fn start(args: &RunArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match &args.resume {
        None => start::run(args, home, screen),
        Some(run) => resume::with_message(args, run, home, screen),
    }
}

pub(crate) fn run(command: &RunsCommand, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match command {
        RunsCommand::List(args) => list::run(args, home, screen),
        RunsCommand::Show(args) => show::run(args, home, screen),
        RunsCommand::Events(args) => events::run(args, home, screen),
        RunsCommand::Checkpoint(args) => checkpoint::run(args, home, screen),
        RunsCommand::Checkpoints(args) => checkpoints::run(args, home, screen),
        RunsCommand::Diff(args) => diff::run(args, home, screen),
        RunsCommand::Rollback(args) => rollback::run(args, home, screen),
        RunsCommand::Fork(args) => fork::run(args, home, screen),
        RunsCommand::Resume(args) => resume::run(args, home, screen),
        RunsCommand::Guide(args) => guide::run(args, home, screen),
        RunsCommand::Approve(args) => approve::run(args, home, screen),
        RunsCommand::Cancel(args) => cancel::run(args, home, screen),
        RunsCommand::Export(args) => export::run(args, home, screen),
        RunsCommand::Delete(args) => delete::run(args, home, screen),
        RunsCommand::Prune(args) => prune::run(args, home, screen),
        RunsCommand::Memory(command) => recall::run(command, home, screen),
    }
}
