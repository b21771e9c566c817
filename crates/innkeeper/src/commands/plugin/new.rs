//! `innkeeper plugin new`: a small plugin that works, to be changed into one's own.

use innkeeper_tools::plugin::{Template, new_plugin};
use serde_json::json;

use super::Ended;
use crate::cli::{NewArgs, TemplateChoice};
use crate::failure::{Failure, PluginFault, shown};
use crate::home::Home;
use crate::output::Screen;

pub(super) fn run(
    args: &NewArgs,
    home: impl FnOnce() -> Result<Home, Failure>,
    screen: &Screen,
) -> Result<Ended, Failure> {
    let template = match args.template {
        TemplateChoice::Python => Template::Python,
        TemplateChoice::Node => Template::Node,
        TemplateChoice::PythonWorker => Template::PythonWorker,
        TemplateChoice::NodeWorker => Template::NodeWorker,
    };
    let parent = match &args.parent {
        Some(parent) => parent.clone(),
        None => {
            let home = home()?;
            home.create()?;
            home.file("plugins")
        }
    };
    let folder =
        new_plugin(&parent, &args.name, template).map_err(|error| PluginFault::NotCreated {
            why: error.to_string(),
        })?;
    if screen.json {
        screen.document(&json!({ "name": args.name, "folder": folder }))?;
        return Ok(Ended::Done);
    }
    let (folder, name) = (shown(&folder.to_string_lossy()), &args.name);
    screen.text(&folder)?;
    screen.note(
        &format!(
            "Change it to your liking; innkeeper plugin check {folder} tells what is wrong with it, \
             innkeeper plugin enable {name} switches it on"
        ),
        &format!(
            "按需修改；innkeeper plugin check {folder} 会指出错误，innkeeper plugin enable {name} 可启用它"
        ),
    );
    Ok(Ended::Done)
}
