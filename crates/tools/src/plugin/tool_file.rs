//! `*.tool.json`: one tool each, in either of the two forms that plugins use.
//!
//! The forms differ in the name of the id and in how the implementation is described (`implementation.rs`);
//! everything else is read the same way from both.

use std::path::Path;
use std::time::Duration;

use innkeeper_protocol::{
    Execution, ExecutionMode, ToolDefinition, ToolExample, ToolId, ToolKind, check_declaration,
};
use innkeeper_yaml::{Position, Value};
use serde_json::{Map, Value as Json, json};

use super::command::read_timeout;
use super::folder::{Folder, shown};
use super::implementation::{read_handler, read_implementation};
use super::json::read_json;
use super::manifest::label;
use super::option::{Taken, read_options};
use super::place::Place;
use super::problem::{Code, Report};
use super::schema::read_schema;
use super::wants::{Wants, ask_for_command};
use super::{Implementation, Permissions, PluginTool};
use crate::limits::{
    MAX_DECLARED_TIMEOUT, MAX_TOOL_DESCRIPTION_CHARS, MAX_TOOL_FILE_BYTES, MAX_TOOL_ID_CHARS,
};

/// What a tool file may count on.
pub(super) struct Around<'p> {
    pub(super) folder: &'p Folder,
    pub(super) plugin: &'p str,
    pub(super) wants: &'p Wants,
    pub(super) taken: &'p Taken,
}

/// A tool, and where each of its names stands: another file may have the same.
pub(super) struct NamedTool {
    pub(super) tool: PluginTool,
    pub(super) names: Vec<Name>,
}

pub(super) struct Name {
    pub(super) text: String,
    pub(super) field: String,
    pub(super) position: Position,
}

fn names(root: &Place<'_>) -> Vec<Name> {
    let ids = ["id", "toolId"]
        .iter()
        .filter_map(|field| root.field(field));
    let aliases = root.field("aliases").map(|aliases| aliases.children());
    let places = ids.chain(aliases.into_iter().flatten());
    let named = places.filter_map(|place| match &place.node.value {
        Value::Text(text) => Some(Name {
            text: text.clone(),
            position: place.node.position,
            field: place.path,
        }),
        _ => None,
    });
    named.collect()
}

/// Of the first form alone, of the second alone, of both.
const FIELDS_A: &[&str] = &["id", "implementation", "configSchema"];
const FIELDS_B: &[&str] = &["toolId", "handler"];
const FIELDS: &[&str] = &[
    "displayName",
    "description",
    "parameters",
    "output",
    "execution",
    "aliases",
    "tags",
    "examples",
    "permissions",
    "securityContext",
    "$schema",
];
/// What the platform says itself about a tool.
const OURS: &[&str] = &["kind", "source"];

pub(super) fn read_tool(
    relative: &Path,
    around: &Around<'_>,
    report: &mut Report,
) -> Option<NamedTool> {
    report.enter(shown(relative));
    let before = report.count();
    let text = around.folder.read(relative, MAX_TOOL_FILE_BYTES, report)?;
    let node = read_json(&text, report)?;
    let root = Place::root(&node);
    if !root.expect_map(report) {
        return None;
    }
    let (id, form) = read_id(&root, report)?;
    let own = match form {
        Form::A => FIELDS_A,
        Form::B => FIELDS_B,
    };
    let extra = read_extra(&root, own, report);
    let mut wants = Wants::default();
    let mut permissions = read_requests(&root, &mut wants, report);
    wants.ask(&mut permissions);
    let mut execution = read_execution(&root, report);
    let mut implementation = match form {
        Form::A => read_implementation(&root, around.folder, report),
        Form::B => read_handler(&root, relative, around.folder, report),
    };
    if let Some(Implementation::Script(command)) = &mut implementation {
        around.wants.give(command);
        wants.give(command);
        let timeout = execution.timeout_ms.map(Duration::from_millis);
        command.timeout = command.timeout.or(timeout);
        let timeout = command.timeout.map(|time| time.as_millis());
        let timeout = timeout.and_then(|time| u64::try_from(time).ok());
        execution.timeout_ms = execution.timeout_ms.or(timeout);
        ask_for_command(command, &mut permissions);
    }
    let is_workflow = matches!(implementation, Some(Implementation::Workflow { .. }));
    if id.starts_with("workflow:") && implementation.is_some() && !is_workflow {
        let message = "only workflows have ids that begin with 'workflow:'; choose another id";
        report.problem(&root, Code::BadToolId, message);
    }
    let definition = ToolDefinition {
        id: ToolId::new(id),
        aliases: read_aliases(&root, report),
        display_name: label(&root, "displayName", report).unwrap_or(id).to_owned(),
        description: read_description(&root, report),
        kind: if is_workflow {
            ToolKind::Skill
        } else {
            ToolKind::Tool
        },
        parameters: read_parameters(&root, implementation.as_ref(), report),
        output: root
            .field("output")
            .and_then(|place| read_schema(&place, report)),
        execution,
        permissions: permissions
            .iter()
            .map(|permission| permission.as_str().to_owned())
            .collect(),
        tags: root
            .texts("tags", report)
            .iter()
            .map(|(_, tag)| (*tag).to_owned())
            .collect(),
        examples: read_examples(&root, report),
        source: format!("plugin:{}", around.plugin),
        extra,
    };
    let mut taken = around.taken.clone();
    let config = read_options(&root, "configSchema", around.plugin, &mut taken, report);
    if report.count() > before {
        return None;
    }
    if let Err(error) = check_declaration(&definition) {
        report.declaration(&root.field("parameters").unwrap_or(root), &error);
        return None;
    }
    let names = names(&root);
    Some(NamedTool {
        tool: PluginTool {
            definition,
            implementation: implementation?,
            file: relative.to_owned(),
            config,
        },
        names,
    })
}

#[derive(Clone, Copy)]
enum Form {
    A,
    B,
}

fn read_id<'n>(root: &Place<'n>, report: &mut Report) -> Option<(&'n str, Form)> {
    let (place, form) = match (root.field("id"), root.field("toolId")) {
        (Some(place), None) => (place, Form::A),
        (None, Some(place)) => (place, Form::B),
        (Some(_), Some(second)) => {
            let message =
                "a tool has either id or toolId; remove one, and its handler or implementation";
            report.problem(&second, Code::TwoToolIds, message);
            return None;
        }
        (None, None) => {
            let message =
                "the tool has no id; add \"id\" (with implementation) or \"toolId\" (with handler)";
            report.problem(root, Code::NoToolId, message);
            return None;
        }
    };
    let id = place.as_text(report)?;
    check_id(&place, id, report).then_some((id, form))
}

fn check_id(place: &Place<'_>, id: &str, report: &mut Report) -> bool {
    let fits = !id.is_empty()
        && id.chars().count() <= MAX_TOOL_ID_CHARS
        && !id.chars().any(|c| c.is_control() || c.is_whitespace());
    if !fits {
        report.problem(
            place,
            Code::BadToolId,
            format!("'{id}' is no id; use 1 to {MAX_TOOL_ID_CHARS} characters without blanks, such as Weather:today"),
        );
    }
    fits
}

fn read_aliases(root: &Place<'_>, report: &mut Report) -> Vec<ToolId> {
    let aliases = root.texts("aliases", report);
    aliases
        .into_iter()
        .filter(|(at, alias)| check_id(at, alias, report))
        .map(|(_, alias)| ToolId::new(alias))
        .collect()
}

/// Fields that nobody here knows are kept; one that looks like a slip is also mentioned.
fn read_extra(root: &Place<'_>, own: &[&str], report: &mut Report) -> Map<String, Json> {
    let known: Vec<_> = own.iter().chain(FIELDS).copied().collect();
    let Value::Map(entries) = &root.node.value else {
        return Map::new();
    };
    root.misspelt(&known, report);
    let mut extra = Map::new();
    for entry in entries {
        let key = entry.key.as_str();
        if OURS.contains(&key) {
            let place = root.pointer(&format!("/{key}"));
            report.warning(
                &place,
                Code::NoEffect,
                "the platform sets this field; it is ignored here",
            );
        } else if !known.contains(&key) {
            extra.insert(key.to_owned(), entry.value.to_json());
        }
    }
    extra
}

fn read_description(root: &Place<'_>, report: &mut Report) -> String {
    let Some(place) = root.field("description") else {
        report.warning(
            root,
            Code::Unlikely,
            "the tool has no description; a model can hardly know when to use it",
        );
        return String::new();
    };
    let text = place.as_text(report).unwrap_or_default();
    if text.chars().count() > MAX_TOOL_DESCRIPTION_CHARS {
        report.problem(
            &place,
            Code::BadValue,
            format!("the description is longer than {MAX_TOOL_DESCRIPTION_CHARS} characters"),
        );
    }
    text.to_owned()
}

/// Without any, a tool takes none; what stands behind a node or a workflow is found out later, which a schema
/// without `properties` says.
fn read_parameters(
    root: &Place<'_>,
    implementation: Option<&Implementation>,
    report: &mut Report,
) -> Json {
    let fallback = match implementation {
        Some(Implementation::Node { .. } | Implementation::Workflow { .. }) => {
            json!({ "type": "object" })
        }
        _ => json!({ "type": "object", "properties": {} }),
    };
    let place = root.field("parameters");
    place
        .and_then(|place| read_schema(&place, report))
        .unwrap_or(fallback)
}

fn read_execution(root: &Place<'_>, report: &mut Report) -> Execution {
    let Some(place) = root.map("execution", report) else {
        return Execution::default();
    };
    place.known(&["mode", "timeoutMs", "idempotent", "parallel"], report);
    let modes = [
        ("sync", ExecutionMode::Sync),
        ("async", ExecutionMode::Async),
    ];
    let timeout = read_timeout(&place, "timeoutMs", MAX_DECLARED_TIMEOUT, report);
    Execution {
        mode: place.choice("mode", &modes, report).unwrap_or_default(),
        timeout_ms: timeout.and_then(|time| u64::try_from(time.as_millis()).ok()),
        idempotent: place.boolean("idempotent", report).unwrap_or_default(),
        parallel: place.boolean("parallel", report).unwrap_or_default(),
    }
}

/// `permissions` and `securityContext`: what the tool asks for beside what the whole plugin does.
fn read_requests(root: &Place<'_>, wants: &mut Wants, report: &mut Report) -> Permissions {
    let mut permissions = Permissions::default();
    for (at, text) in root.texts("permissions", report) {
        wants.read_permission(&at, text, report);
    }
    let Some(context) = root.map("securityContext", report) else {
        return permissions;
    };
    context.known(
        &["fileAccess", "networkAccess", "requiredCapabilities"],
        report,
    );
    if let Some(files) = context.map("fileAccess", report) {
        files.known(&["allowRead", "allowWrite"], report);
        wants.read_files(&files, "allowRead", "allowWrite", report);
    }
    if let Some(network) = context.map("networkAccess", report) {
        network.known(&["allowHosts"], report);
        wants.read_hosts(&network, "allowHosts", report);
    }
    for (at, name) in context.texts("requiredCapabilities", report) {
        match check_id(&at, name, report) {
            true => permissions.add(format!("capability:{name}")),
            false => continue,
        }
    }
    permissions
}

/// `{situation, arguments}` or `{description, input, expectedOutput}`
fn read_examples(root: &Place<'_>, report: &mut Report) -> Vec<ToolExample> {
    let items = root.items("examples", report);
    let examples = items.iter().filter_map(|item| {
        if !item.expect_map(report) {
            return None;
        }
        item.known(
            &[
                "situation",
                "description",
                "arguments",
                "input",
                "expectedOutput",
            ],
            report,
        );
        let situation = ["situation", "description"]
            .iter()
            .find_map(|name| item.text(name, report));
        let Some(arguments) = item.field("arguments").or_else(|| item.field("input")) else {
            item.missing("arguments", "show how the tool is called", report);
            return None;
        };
        arguments.expect_map(report);
        match arguments.node.to_json() {
            Json::Object(arguments) => Some(ToolExample {
                situation: situation.unwrap_or_default().to_owned(),
                arguments,
            }),
            _ => None,
        }
    });
    examples.collect()
}

#[cfg(test)]
#[path = "tool_file_tests.rs"]
mod tests;
