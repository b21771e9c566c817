//! `innkeeper plugin …`, one file each.

mod check;
mod config;
mod enable;
mod list;
mod new;
mod permissions;
mod show;
mod words;

use std::sync::Arc;

use innkeeper_tools::plugin::{PluginError, PluginManager, PluginStatus, Standing};
use innkeeper_tools::policy::Nobody;

use super::Ended;
use crate::cli::PluginCommand;
use crate::failure::{Failure, PluginFault};
use crate::home::Home;
use crate::output::Screen;
use crate::platform::Platform;
use crate::runtime::block_on;

/// `home` is asked for only where a command needs it.
pub(crate) fn run(
    command: &PluginCommand,
    home: impl FnOnce() -> Result<Home, Failure>,
    screen: &Screen,
) -> Result<Ended, Failure> {
    match command {
        PluginCommand::Check(args) => check::run(args, screen),
        PluginCommand::New(args) => new::run(args, home, screen),
        PluginCommand::List => list::run(&plugins(&home()?)?, screen),
        PluginCommand::Show(args) => show::run(&args.name, &plugins(&home()?)?, screen),
        PluginCommand::Enable(args) => enable::enable(args, &plugins(&home()?)?, screen),
        PluginCommand::Disable(args) => enable::disable(&args.name, &plugins(&home()?)?, screen),
        PluginCommand::Permissions(args) => {
            permissions::run(&args.name, &plugins(&home()?)?, screen)
        }
        PluginCommand::Config(args) => config::run(args, &plugins(&home()?)?, screen),
    }
}

/// The plugins as they are now. Their files can be worked on after the store is closed.
fn plugins(home: &Home) -> Result<PluginManager, Failure> {
    block_on(async {
        let platform = Platform::open(home, Arc::new(Nobody)).await?;
        let plugins = platform.plugins.clone();
        platform.close().await?;
        Ok(plugins)
    })
}

fn find(plugins: &PluginManager, name: &str) -> Result<PluginStatus, Failure> {
    plugins.find(name).map_err(fault)
}

fn fault(error: PluginError) -> Failure {
    let why = error.to_string();
    Failure::Plugin(match error {
        PluginError::Unknown { name, suggestions } => PluginFault::Unknown { name, suggestions },
        PluginError::Broken { name, problems } => PluginFault::Broken {
            name,
            why: problems.first().map(ToString::to_string).unwrap_or(why),
        },
        PluginError::NotAccepted { name, .. } => PluginFault::NeedsConsent { name },
        PluginError::Consent(_) => PluginFault::Consent { why },
    })
}

/// One word for where a plugin stands.
fn state(standing: &Standing, screen: &Screen) -> &'static str {
    match standing {
        Standing::Enabled => screen.pick("enabled", "已启用"),
        Standing::Disabled => screen.pick("disabled", "已停用"),
        Standing::Pending { .. } => screen.pick("pending", "待授权"),
        Standing::Broken { .. } => screen.pick("broken", "有错误"),
    }
}
