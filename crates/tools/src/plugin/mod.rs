//! Plugins: folders that bring tools, hooks, services, nodes and pages.

mod package;

pub use package::{
    ConfigChoice, ConfigKind, ConfigOption, ConfigScope, Frontend, HookDeclaration, Implementation,
    Permission, Permissions, PluginPackage, PluginTool, ScriptCommand, ServiceDeclaration,
};
