//! `innkeeper tools …`, one file each.

mod audit;
mod call;
mod grants;
mod list;
mod manifest;
mod search;
mod show;

use std::sync::Arc;

use innkeeper_tools::plugin::{PluginManager, Standing};
use innkeeper_tools::policy::Nobody;
use innkeeper_tools::registry::{Lookup, Scope};
use innkeeper_tools::workflow::WorkflowService;
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
        ToolsCommand::Search(args) => search::run(args, home, screen),
        ToolsCommand::Show(args) => show::run(args, home, screen),
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
        let snapshot = platform.tools.registry().snapshot_for(&Scope::default());
        platform.close().await?;
        Ok(snapshot)
    })
}

/// The tool that a person means. One that sleeps in a plugin is named with the way to wake it.
fn find(platform: &Platform, scope: &Scope, name: &str) -> Result<Arc<Tool>, Failure> {
    let snapshot = platform.tools.registry().snapshot_for(scope);
    let ambiguous = match snapshot.find(name) {
        Lookup::Found(tool) => return Ok(tool.clone()),
        Lookup::Unknown { ambiguous } => ambiguous,
    };
    let name = name.to_owned();
    if let Some(plugin) = asleep_in(&platform.plugins, &name) {
        return Err(ToolFault::Asleep { name, plugin }.into());
    }
    if let Some(why) = unready(&platform.workflows, &name) {
        return Err(ToolFault::Unready { name, why }.into());
    }
    let suggestions = match ambiguous.is_empty() {
        true => snapshot.nearest(&name, &Reach::everything()),
        false => ambiguous,
    };
    Err(ToolFault::Unknown { name, suggestions }.into())
}

/// Why a workflow of that name is no tool.
fn unready(workflows: &WorkflowService, tool: &str) -> Option<String> {
    let id = tool.trim().strip_prefix("workflow:")?;
    let all = workflows.list();
    let mut meant = all.iter().filter(|workflow| workflow.id == id);
    meant.find_map(|workflow| workflow.why_not())
}

fn asleep_in(plugins: &PluginManager, tool: &str) -> Option<String> {
    plugins
        .plugins()
        .iter()
        .filter(|plugin| matches!(plugin.state, Standing::Disabled | Standing::Pending { .. }))
        .find(|plugin| {
            let tools = plugin.package.iter().flat_map(|package| &package.tools);
            tools
                .map(|tool| &tool.definition)
                .flat_map(|definition| std::iter::once(&definition.id).chain(&definition.aliases))
                .any(|id| id.as_str().eq_ignore_ascii_case(tool.trim()))
        })
        .map(|plugin| plugin.name.clone())
}
