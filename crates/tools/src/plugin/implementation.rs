//! What stands behind a tool: `implementation` of the first form of tool files, `handler` of the second.

use std::path::Path;

use super::command::{read_command, read_protocol, read_timeout};
use super::folder::{Folder, Kind, shown};
use super::names::is_service_name;
use super::place::Place;
use super::problem::{Code, Report};
use super::{Implementation, ScriptCommand};
use crate::limits::MAX_DECLARED_TIMEOUT;

#[derive(Clone, Copy)]
enum Type {
    Workflow,
    Node,
    Service,
    Script,
}

/// `{type: workflow|node|service|script, …}`
pub(super) fn read_implementation(
    root: &Place<'_>,
    folder: &Folder,
    report: &mut Report,
) -> Option<Implementation> {
    let place = root.required("implementation", report)?;
    if !place.expect_map(report) {
        return None;
    }
    let types = [
        ("workflow", Type::Workflow),
        ("node", Type::Node),
        ("service", Type::Service),
        ("script", Type::Script),
    ];
    place.required("type", report)?;
    let kind = place.choice("type", &types, report)?;
    let own: &[&str] = match kind {
        Type::Workflow => &["type", "workflowId"],
        Type::Node => &["type", "nodeType"],
        Type::Service => &["type", "service"],
        Type::Script => &[
            "type",
            "command",
            "protocol",
            "idleTimeout",
            "concurrency",
            "timeout",
        ],
    };
    place.known(own, report);
    match kind {
        Type::Workflow => {
            let id = name(&place, "workflowId", report)?;
            let id = id.strip_prefix("workflow:").unwrap_or(&id).to_owned();
            Some(Implementation::Workflow { id })
        }
        Type::Node => {
            let full_type = name(&place, "nodeType", report)?;
            Some(Implementation::Node { full_type })
        }
        Type::Service => {
            let name = name(&place, "service", report)?;
            service(&place.field("service")?, name, report)
        }
        Type::Script => {
            let timeout = read_timeout(&place, "timeout", MAX_DECLARED_TIMEOUT, report);
            let command = place.required("command", report)?;
            let protocol = read_protocol(&place, report);
            let command = read_command(&command, folder, report)?;
            Some(Implementation::Script(ScriptCommand {
                program: command.program,
                arguments: command.arguments,
                timeout,
                ..protocol
            }))
        }
    }
}

/// `{type: external-script|service-method, …}`
pub(super) fn read_handler(
    root: &Place<'_>,
    file: &Path,
    folder: &Folder,
    report: &mut Report,
) -> Option<Implementation> {
    let place = root.required("handler", report)?;
    if !place.expect_map(report) {
        return None;
    }
    place.required("type", report)?;
    let types = [
        ("external-script", Type::Script),
        ("service-method", Type::Service),
    ];
    match place.choice("type", &types, report)? {
        Type::Service => {
            place.known(&["type", "serviceName", "methodName"], report);
            let owner = name(&place, "serviceName", report);
            let method = name(&place, "methodName", report);
            let name = format!("{}.{}", owner?, method?);
            service(&place.field("serviceName")?, name, report)
        }
        _ => {
            place.known(
                &[
                    "type",
                    "scriptPath",
                    "language",
                    "entryPoint",
                    "protocol",
                    "idleTimeout",
                    "concurrency",
                    "timeout",
                ],
                report,
            );
            if let Some(entry) = place.field("entryPoint") {
                report.warning(
                    &entry,
                    Code::NoEffect,
                    "a script is run as a whole, with the arguments on its standard input; this is ignored",
                );
            }
            let timeout = read_timeout(&place, "timeout", MAX_DECLARED_TIMEOUT, report);
            let script = read_script(&place, file, folder, report);
            let program = read_language(&place, report);
            let protocol = read_protocol(&place, report);
            Some(Implementation::Script(ScriptCommand {
                program: program?.to_owned(),
                arguments: vec![script?],
                timeout,
                ..protocol
            }))
        }
    }
}

/// Relative to the plugin's folder or, as some write it, to the file that names it.
fn read_script(
    place: &Place<'_>,
    file: &Path,
    folder: &Folder,
    report: &mut Report,
) -> Option<String> {
    let at = place.required("scriptPath", report)?;
    let path = at.as_text(report)?;
    let beside = shown(&file.with_file_name("").join(path));
    if let Ok(relative) = folder.inside(&beside)
        && !path.starts_with(['/', '\\', '~'])
        && folder.root.join(&relative).is_file()
        && !folder
            .inside(path)
            .is_ok_and(|here| folder.root.join(here).is_file())
    {
        return Some(shown(&relative));
    }
    folder
        .existing(&at, path, Kind::File, report)
        .map(|relative| shown(&relative))
}

fn read_language(place: &Place<'_>, report: &mut Report) -> Option<&'static str> {
    let languages = [("python", "python"), ("nodejs", "node"), ("bun", "bun")];
    if place.field("language").is_some() {
        return place.choice("language", &languages, report);
    }
    let path = place.text("scriptPath", report)?;
    let extension = Path::new(path)
        .extension()
        .and_then(|extension| extension.to_str());
    match extension {
        Some("py") => Some("python"),
        Some("js" | "mjs" | "cjs") => Some("node"),
        Some("ts" | "mts") => Some("bun"),
        _ => {
            place.missing("language", "say python, nodejs or bun", report);
            None
        }
    }
}

fn name(place: &Place<'_>, field: &str, report: &mut Report) -> Option<String> {
    let at = place.required(field, report)?;
    let text = at.as_text(report)?;
    if text.trim().is_empty() || text.len() > 256 || text.contains(char::is_control) {
        report.problem(
            &at,
            Code::BadValue,
            "it must be one line of 1 to 256 characters",
        );
        return None;
    }
    Some(text.trim().to_owned())
}

fn service(at: &Place<'_>, name: String, report: &mut Report) -> Option<Implementation> {
    if is_service_name(&name) {
        return Some(Implementation::Service { name });
    }
    let message = format!("'{name}' is no name of a service, such as Http.Request");
    report.problem(at, Code::BadValue, message);
    None
}
