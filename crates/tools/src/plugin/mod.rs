//! Plugins: folders that bring tools, hooks, services, nodes and pages.
//!
//! [`PluginLoader`] reads them into [`PluginPackage`]s and says what is wrong with those it cannot read;
//! [`PluginWatch`] tells when to read again; [`new_plugin`] begins one. Nothing of a plugin is run by reading it.

mod absent;
mod command;
mod consent;
mod declared;
mod folder;
mod frontend;
mod implementation;
mod json;
mod loader;
mod manager;
mod manifest;
mod names;
mod node;
mod node_file;
mod node_slot;
mod nodes;
mod option;
mod package;
mod place;
mod problem;
#[cfg(test)]
mod protocol_tests;
mod scaffold;
mod schema;
mod settings;
mod settings_value;
#[cfg(test)]
mod testing;
mod tool_file;
mod tools;
mod variable;
mod wants;
mod watch;
mod workshop;
mod yaml;

pub use consent::{Consent, ConsentError, Consents, Guard, PluginState, decide};
pub use loader::{Found, PluginLoader, Reading, read_plugin, read_plugin_with_warnings};
pub use manager::{PluginError, PluginManager, PluginParts, PluginStatus, Standing};
pub use node::{
    Bypass, DataFlowType, NodeDefinition, NodeInput, NodeMode, NodeShape, NodeSlot, PluginNode,
};
pub use package::{
    ConfigChoice, ConfigKind, ConfigOption, ConfigScope, Frontend, HookDeclaration, Implementation,
    OWN_PROJECT, Permission, Permissions, PluginPackage, PluginTool, ScriptCommand, ScriptProtocol,
    ServiceDeclaration,
};
pub use problem::PluginProblem;
pub use scaffold::{NewPluginError, Template, new_plugin};
pub use settings::{
    MissingSetting, NewValue, Origin, PluginSettings, SecretState, Setting, SettingValue,
    SettingsError,
};
pub use settings_value::{UnfitValue, find_option, parse_text};
pub use watch::{PluginWatch, WatchError};
