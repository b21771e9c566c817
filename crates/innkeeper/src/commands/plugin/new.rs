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
    screen.text(&shown(&folder.to_string_lossy()))?;
    let name = &args.name;
    screen.note(
        &format!("Change it, then: innkeeper plugin check {name}'s folder, innkeeper plugin enable {name}"),
        &format!("修改之后：用 innkeeper plugin check 检查它的文件夹，再用 innkeeper plugin enable {name} 启用"),
    );
    Ok(Ended::Done)
}
