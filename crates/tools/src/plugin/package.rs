//! A plugin as it was read from its folder: everything it offers and everything it asks for, as plain data.
//!
//! Nothing here has been run, granted or switched on.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use innkeeper_protocol::ToolDefinition;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::PluginNode;
use crate::Pattern;
use crate::hook::{HookFailure, HookPoint};

#[derive(Debug, Clone, PartialEq)]
pub struct PluginPackage {
    /// Equal to the name of its folder.
    pub name: String,
    pub display_name: String,
    pub version: String,
    pub description: String,
    pub root: PathBuf,
    /// Differs whenever a file of the plugin does.
    pub stamp: u64,
    pub tools: Vec<PluginTool>,
    pub hooks: Vec<HookDeclaration>,
    pub services: Vec<ServiceDeclaration>,
    pub nodes: Vec<PluginNode>,
    pub frontend: Option<Frontend>,
    /// All that it asks for, what follows from its tools, nodes and hooks included.
    pub permissions: Permissions,
    pub config: Vec<ConfigOption>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PluginTool {
    pub definition: ToolDefinition,
    pub implementation: Implementation,
    /// Relative to the plugin's folder.
    pub file: PathBuf,
    /// Options that only this tool has (`configSchema`).
    pub config: Vec<ConfigOption>,
}

/// What stands behind a tool of a plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Implementation {
    Script(ScriptCommand),
    Service { name: String },
    Workflow { id: String },
    Node { full_type: String },
}

impl Implementation {
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Script(_) => "script",
            Self::Service { .. } => "service",
            Self::Workflow { .. } => "workflow",
            Self::Node { .. } => "node",
        }
    }
}

/// A program and its arguments, already split; it never passes through a shell. Runs in the plugin's folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptCommand {
    /// A bare name (`python`) is an interpreter to be found; one with a slash is a file of the plugin.
    pub program: String,
    pub arguments: Vec<String>,
    pub timeout: Option<Duration>,
    pub protocol: ScriptProtocol,
    /// Of a worker: how long it is kept without being asked.
    pub idle_timeout: Option<Duration>,
    /// Of a worker: calls that it takes at once; one if nothing is said.
    pub concurrency: Option<usize>,
    /// What the script asks to read, write and reach; a request, never a grant.
    pub read: Vec<String>,
    pub write: Vec<String>,
    pub hosts: Vec<String>,
}

/// How a script is talked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScriptProtocol {
    /// A process for each call.
    #[default]
    Stdio,
    /// A worker: a process that stays, and is sent one call after the other.
    JsonRpc,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HookDeclaration {
    pub point: HookPoint,
    pub command: ScriptCommand,
    pub order: i32,
    pub timeout: Duration,
    pub on_failure: HookFailure,
    /// Tools (or workflows) it wants to see; all of them if empty.
    pub tools: Vec<Pattern>,
}

/// A named service that the plugin provides, or replaces if it has that permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceDeclaration {
    pub name: String,
    pub command: ScriptCommand,
}

/// Where the files for the page are. Paths are relative to the plugin's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Frontend {
    pub entry: PathBuf,
    pub styles: Vec<PathBuf>,
    pub root: PathBuf,
}

/// One thing that a person is asked to grant, in its canonical words:
/// `hook:server:tool:before-call`, `hook:client:…`, `ui:wrap:ui:BaseNode`, `ui:inject:…`, `ui:override:…`,
/// `service:override:Http.Request`, `run:python`, `file:read:user://…`, `file:write:…`, `net:example.com`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Permission(String);

impl Permission {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// As a place for files: the project that a call is made in.
pub const OWN_PROJECT: &str = "project";

/// A set of permissions, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Permissions(BTreeSet<Permission>);

impl Permissions {
    pub fn add(&mut self, permission: impl Into<String>) {
        self.0.insert(Permission::new(permission));
    }

    pub fn has(&self, permission: &str) -> bool {
        self.0.contains(&Permission::new(permission))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Permission> {
        self.0.iter()
    }

    /// What is asked for here and was not granted there.
    pub fn beyond(&self, granted: &Self) -> Self {
        Self(self.0.difference(&granted.0).cloned().collect())
    }
}

impl FromIterator<Permission> for Permissions {
    fn from_iter<I: IntoIterator<Item = Permission>>(permissions: I) -> Self {
        Self(permissions.into_iter().collect())
    }
}

/// One setting of a plugin.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// Relative: `api_key`, whatever style the manifest used (`extensions.<plugin>.api_key`).
    pub key: String,
    #[serde(rename = "type")]
    pub kind: ConfigKind,
    pub label: String,
    pub description: String,
    #[serde(rename = "defaultValue", skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
    pub scope: ConfigScope,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<ConfigChoice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<f64>,
    pub required: bool,
    /// The environment variable in which scripts find it: `API_KEY`.
    pub variable: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigKind {
    String,
    Number,
    Boolean,
    Select,
    Textarea,
    Slider,
    Avatar,
    ButtonGroup,
    ActionButton,
    /// Kept apart, never shown again.
    Secret,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConfigScope {
    /// Each person has their own value; the instance's is the fallback.
    #[default]
    User,
    /// One value for everybody.
    Instance,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfigChoice {
    pub label: String,
    pub value: Json,
}
