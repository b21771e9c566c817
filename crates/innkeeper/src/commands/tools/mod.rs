//! `innkeeper tools …`, one file each.

mod audit;
mod call;
mod grants;
mod list;
mod manifest;
mod show;

use std::sync::Arc;

use innkeeper_tools::policy::Nobody;
use innkeeper_tools::registry::Lookup;
use innkeeper_tools::{Reach, Snapshot, Tool};

use super::Ended;
use crate::cli::ToolsCommand;
use crate::failure::{Failure, ToolFault};
use crate::home::Home;
use crate::output::Screen;
use crate::platform::Platform;
use crate::runtime::block_on;

pub(crate) fn run(command: &ToolsCommand, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    match command {
        ToolsCommand::List(args) => list::run(args, &*tools(home)?, screen),
        ToolsCommand::Show(args) => show::run(args, &*tools(home)?, screen),
        ToolsCommand::Manifest(args) => manifest::run(args, &*tools(home)?, screen),
        ToolsCommand::Call(args) => call::run(args, home, screen),
        ToolsCommand::Audit(args) => audit::run(args, home, screen),
        ToolsCommand::Grants(args) => grants::run(args, home, screen),
    }
}

/// What could be called now.
fn tools(home: &Home) -> Result<Arc<Snapshot>, Failure> {
    block_on(async {
        let platform = Platform::open(home, Arc::new(Nobody)).await?;
        let snapshot = platform.tools.registry().snapshot();
        platform.close().await?;
        Ok(snapshot)
    })
}

fn find<'s>(snapshot: &'s Snapshot, name: &str) -> Result<&'s Arc<Tool>, Failure> {
    match snapshot.find(name) {
        Lookup::Found(tool) => Ok(tool),
        Lookup::Unknown { ambiguous } => Err(ToolFault::Unknown {
            name: name.to_owned(),
            suggestions: match ambiguous.is_empty() {
                true => snapshot.nearest(name, &Reach::everything()),
                false => ambiguous,
            },
        }
        .into()),
    }
}
