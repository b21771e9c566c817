//! What is wrong with a plugin: where, why, and what to do about it.
//!
//! Owns the table of codes and the list in which problems are gathered, so that an author sees all of them at
//! once. What counts as a problem is decided by the readers beside this file.

use std::fmt;

use innkeeper_protocol::DeclarationError;
use innkeeper_yaml::Position;
use serde::Serialize;

use super::place::Place;
use crate::limits::{MAX_PLUGIN_PROBLEMS, MAX_PROBLEM_CHARS};

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $wire:literal;)*) => {
        /// The kinds of problems. A wire name never changes once released.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Code { $($(#[$doc])* $name,)* }

        impl Code {
            pub(super) const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $wire,)* }
            }

            #[cfg(test)]
            pub(super) const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

codes! {
    // The folder and its files.
    NoManifest = "plugin.no_manifest";
    WrongManifestName = "plugin.wrong_manifest_name";
    DuplicatePlugin = "plugin.duplicate_plugin";
    TooManyPlugins = "plugin.too_many_plugins";
    Unreadable = "plugin.unreadable";
    TooLarge = "plugin.too_large";
    NotText = "plugin.not_text";
    TooManyFiles = "plugin.too_many_files";
    TooManyTools = "plugin.too_many_tools";
    TooManyNodes = "plugin.too_many_nodes";
    HoldsHome = "plugin.holds_home";
    LinkOutside = "plugin.link_outside";
    // What is written in them.
    BadYaml = "plugin.bad_yaml";
    BadJson = "plugin.bad_json";
    DuplicateKey = "plugin.duplicate_key";
    MissingField = "plugin.missing_field";
    WrongType = "plugin.wrong_type";
    BadValue = "plugin.bad_value";
    TooMany = "plugin.too_many";
    // The manifest.
    BadName = "plugin.bad_name";
    NameMismatch = "plugin.name_mismatch";
    PathOutside = "plugin.path_outside";
    PathMissing = "plugin.path_missing";
    UnknownHook = "plugin.unknown_hook";
    HookNotRequested = "plugin.hook_not_requested";
    BadPermission = "plugin.bad_permission";
    DuplicateService = "plugin.duplicate_service";
    // Options.
    BadOptionKey = "plugin.bad_option_key";
    DuplicateOption = "plugin.duplicate_option";
    ReservedVariable = "plugin.reserved_variable";
    BadDefault = "plugin.bad_default";
    SecretDefault = "plugin.secret_default";
    // Tools.
    NoToolId = "plugin.no_tool_id";
    TwoToolIds = "plugin.two_tool_ids";
    BadToolId = "plugin.bad_tool_id";
    DuplicateTool = "plugin.duplicate_tool";
    BadCommand = "plugin.bad_command";
    ShellCommand = "plugin.shell_command";
    BadSchema = "plugin.bad_schema";
    RemoteReference = "plugin.remote_reference";
    // Nodes.
    BadNodeType = "plugin.bad_node_type";
    DuplicateNode = "plugin.duplicate_node";
    BadSlotKey = "plugin.bad_slot_key";
    UnknownSlot = "plugin.unknown_slot";
    // Warnings: the plugin works, though perhaps not as its author thinks.
    UnknownKey = "plugin.unknown_key";
    UnquotedVersion = "plugin.unquoted_version";
    FrontendPath = "plugin.frontend_path";
    UnknownTarget = "plugin.unknown_target";
    NoEffect = "plugin.no_effect";
    Unlikely = "plugin.unlikely_value";
}

/// One thing that is wrong, or worth a warning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PluginProblem {
    /// Relative to the plugin's folder; empty where it is about the folder itself.
    pub file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// `permissions.hooks[1]`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Stable: `plugin.bad_yaml`, …
    pub code: &'static str,
    pub message: String,
}

impl fmt::Display for PluginProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            f.write_str(&self.file)?;
            if let Some(line) = self.line {
                write!(f, ":{line}")?;
            }
            f.write_str(": ")?;
        }
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// The problems and warnings of one plugin, as they are found.
#[derive(Debug, Default)]
pub(super) struct Report {
    file: String,
    problems: Vec<PluginProblem>,
    warnings: Vec<PluginProblem>,
}

impl Report {
    /// What follows is about this file.
    pub(super) fn enter(&mut self, file: impl Into<String>) {
        self.file = file.into();
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn is_broken(&self) -> bool {
        !self.problems.is_empty()
    }

    /// How many problems there are so far: to see whether a step added one.
    pub(super) fn count(&self) -> usize {
        self.problems.len()
    }

    /// Problems and warnings, in the order in which an author meets them.
    pub(super) fn finish(mut self) -> (Vec<PluginProblem>, Vec<PluginProblem>) {
        for list in [&mut self.problems, &mut self.warnings] {
            list.sort_by(|a, b| (&a.file, a.line, a.column).cmp(&(&b.file, b.line, b.column)));
        }
        (self.problems, self.warnings)
    }

    pub(super) fn problem(&mut self, place: &Place<'_>, code: Code, message: impl Into<String>) {
        let problem = self.at(place, code.as_str(), message.into());
        push(&mut self.problems, problem);
    }

    pub(super) fn warning(&mut self, place: &Place<'_>, code: Code, message: impl Into<String>) {
        let warning = self.at(place, code.as_str(), message.into());
        push(&mut self.warnings, warning);
    }

    /// About the whole file, or with what its reader says of the place.
    pub(super) fn about_file(
        &mut self,
        code: Code,
        position: Option<Position>,
        message: impl Into<String>,
    ) {
        let problem = PluginProblem {
            file: self.file.clone(),
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            field: None,
            code: code.as_str(),
            message: shortened(message.into()),
        };
        push(&mut self.problems, problem);
    }

    /// A key that its map has already.
    pub(super) fn duplicate_key(&mut self, position: Option<Position>, key: &str) {
        let message = format!("the key '{key}' stands here twice; give each key once");
        self.about_file(Code::DuplicateKey, position, message);
    }

    pub(super) fn declaration(&mut self, place: &Place<'_>, error: &DeclarationError) {
        let problem = self.at(place, error.code(), error.to_string());
        push(&mut self.problems, problem);
    }

    fn at(&self, place: &Place<'_>, code: &'static str, message: String) -> PluginProblem {
        PluginProblem {
            file: self.file.clone(),
            line: Some(place.node.position.line),
            column: Some(place.node.position.column),
            field: Some(place.path.clone()).filter(|path| !path.is_empty()),
            code,
            message: shortened(message),
        }
    }
}

/// The first ones tell enough; a file made of mistakes must not fill the memory.
fn push(list: &mut Vec<PluginProblem>, problem: PluginProblem) {
    if list.len() < MAX_PLUGIN_PROBLEMS {
        list.push(problem);
    }
}

/// One line, of bearable length: messages carry what authors wrote.
fn shortened(message: String) -> String {
    let mut short: String = message
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MAX_PROBLEM_CHARS)
        .collect();
    if message.chars().nth(MAX_PROBLEM_CHARS).is_some() {
        short.push('…');
    }
    short
}
