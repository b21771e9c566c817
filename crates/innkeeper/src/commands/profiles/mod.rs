//! `innkeeper profiles …`: which agents there are. What a profile means is the agents' crate; `files.rs` tells where each
//! lies.

mod files;
mod list;
mod show;

use innkeeper_agent::instance::AgentError;
use innkeeper_agent::profile::{ProfileError, Profiles};
use innkeeper_tools::UserId;

use super::{Ended, project};
use crate::cli::ProfilesCommand;
use crate::failure::Failure;
use crate::home::Home;
use crate::output::Screen;

pub(crate) fn run(
    command: &ProfilesCommand,
    home: &Home,
    screen: &Screen,
) -> Result<Ended, Failure> {
    match command {
        ProfilesCommand::List(args) => list::run(args, home, screen),
        ProfilesCommand::Show(args) => show::run(args, home, screen),
    }
}

fn profiles(home: &Home, given: &str) -> Result<Profiles, Failure> {
    let project = project(given)?;
    Ok(Profiles::of_project(
        home.path(),
        &UserId::default(),
        &project,
    ))
}

/// As a run that was asked for with it would say.
fn failed(error: &ProfileError) -> Failure {
    let refused = AgentError::new(error.code(), error.to_string());
    match error.reason() {
        Some(reason) => refused.because(reason).into(),
        None => refused.into(),
    }
}
