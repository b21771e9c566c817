//! `innkeeper models …`, one file each.

mod add;
mod desk;
mod discover;
mod file;
mod line;
mod list;
mod remote;
mod remove;
mod score;
mod test;
mod waiting;

use std::sync::Arc;

pub(crate) use desk::HouseDesk;

use innkeeper_models::{Model, ModelError, ReportSink};

use super::Ended;
use crate::cli::ModelsCommand;
use crate::failure::{Failure, ModelFault};
use crate::home::Home;
use crate::models::HouseModels;
use crate::output::Screen;
use crate::settings::{self, Settings};

pub(crate) fn run(command: &ModelsCommand, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match command {
        ModelsCommand::List(args) => list::run(args, home, screen),
        ModelsCommand::Add(args) => add::run(args, home, screen),
        ModelsCommand::Remove(args) => remove::run(args, home, screen),
        ModelsCommand::Test(args) => test::run(args, home, screen),
        ModelsCommand::Discover(args) => discover::run(args, home, screen),
        ModelsCommand::Score(args) => score::run(args, home, screen),
    }
}

fn read_settings(home: &Home) -> Result<Settings, Failure> {
    Ok(Settings::read(&home.file(settings::FILE))?)
}

fn open(home: &Home, reports: Option<Arc<dyn ReportSink>>) -> Result<HouseModels, Failure> {
    HouseModels::open(home, &read_settings(home)?.models, reports)
}

/// The model of that name, or the default one, and its name there.
fn find(house: &HouseModels, name: Option<&str>) -> Result<(Arc<dyn Model>, String), Failure> {
    let resolved = house.models.resolve(name.unwrap_or_default());
    let (model, rest) = resolved.map_err(|error| refused(house, &error))?;
    Ok((model, rest.to_owned()))
}

/// Where nobody named a model, and the rehearsal answers though one was connected.
fn note_not_ready(house: &HouseModels, named: Option<&str>, screen: &Screen) {
    let unnamed = named.is_none_or(|name| name.trim().is_empty());
    if let Some([english, chinese]) = house.not_ready_note().filter(|_| unnamed) {
        screen.note(&english, &chinese);
    }
}

/// Servers repeat what they were sent, and sometimes that is a key.
fn refused(house: &HouseModels, error: &ModelError) -> Failure {
    let mut error = error.clone();
    error.message = house.redactor.redact_text(&error.message).into_owned();
    ModelFault::failed(&error).into()
}
