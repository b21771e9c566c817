//! From a plugin that was read to what runs it: executors, hooks, services and nodes.

use std::sync::Arc;

use innkeeper_protocol::ToolDefinition;

use super::{Implementation, PluginPackage, PluginParts, PluginTool};
use crate::Executor;
use crate::hook::Hook;
use crate::registry::{Offer, Prepared, RegisterError, Source};
use crate::script::{ScriptExecutor, ScriptHook, ScriptHost, ScriptNode, ScriptPlugin, WorkerPool};
use crate::workflow::{NodeExecutor, WorkflowExecutor, WorkflowService};

pub(super) struct Workshop {
    /// With the workers of all plugins, which outlive what is built anew when plugins are read again.
    host: ScriptHost,
    workflows: WorkflowService,
}

impl Workshop {
    pub(super) fn new(parts: &PluginParts) -> Self {
        Self {
            host: ScriptHost {
                runner: parts.runner.clone(),
                workers: WorkerPool::new(parts.runner.clone()),
                settings: parts.settings.clone(),
                files: parts.files.clone(),
                data: parts.data.clone(),
                limits: parts.limits,
            },
            workflows: parts.workflows.clone(),
        }
    }

    /// Stops the workers of plugins that are gone or have changed.
    pub(super) fn retain_workers(&self, keep: impl Fn(&str, u64) -> bool) {
        self.host.workers.retain(keep);
    }

    pub(super) fn nodes(&self, package: &PluginPackage) -> Vec<Arc<ScriptNode>> {
        let nodes = package.nodes.iter().filter_map(|node| {
            let command = node.command.clone()?;
            let definition = node.definition.clone();
            let about = about(package, None);
            Some(Arc::new(ScriptNode::new(
                self.host.clone(),
                about,
                definition,
                command,
            )))
        });
        nodes.collect()
    }

    pub(super) fn source(&self, package: &PluginPackage) -> Result<Source, RegisterError> {
        let script = |tool: Option<&PluginTool>, command| {
            let about = about(package, tool);
            Arc::new(ScriptExecutor::new(self.host.clone(), about, command)) as Arc<dyn Executor>
        };
        let tools = package
            .tools
            .iter()
            .map(|tool| {
                let prepared = Prepared::new(self.declared(tool))?;
                Ok(match &tool.implementation {
                    Implementation::Service { name } => Offer::of_service(prepared, name.clone()),
                    Implementation::Script(command) => {
                        Offer::new(prepared, script(Some(tool), command.clone()))
                    }
                    Implementation::Workflow { id } => {
                        let executor = WorkflowExecutor {
                            workflows: self.workflows.clone(),
                            workflow: id.clone(),
                            place: None,
                        };
                        Offer::new(prepared, Arc::new(executor))
                    }
                    Implementation::Node { full_type } => {
                        let executor = NodeExecutor {
                            workflows: self.workflows.clone(),
                            full_type: full_type.clone(),
                        };
                        Offer::new(prepared, Arc::new(executor))
                    }
                })
            })
            .collect::<Result<_, RegisterError>>()?;
        let hooks = package.hooks.iter().map(|hook| {
            let about = about(package, None);
            Arc::new(ScriptHook::new(self.host.clone(), about, hook.clone())) as Arc<dyn Hook>
        });
        let services = package
            .services
            .iter()
            .map(|service| (service.name.clone(), script(None, service.command.clone())));
        let replaceable = package
            .permissions
            .iter()
            .filter_map(|one| one.as_str().strip_prefix("service:override:"))
            .map(str::to_owned);
        Ok(Source {
            tools,
            hooks: hooks.collect(),
            services: services.collect(),
            may_replace: replaceable.collect(),
            hidden: Vec::new(),
        })
    }

    /// A tool that stands on a workflow or a node, and says nothing of its parameters, has those of what it stands on.
    fn declared(&self, tool: &PluginTool) -> ToolDefinition {
        let mut definition = tool.definition.clone();
        let found_out = match &tool.implementation {
            _ if definition.parameters.get("properties").is_some() => None,
            Implementation::Workflow { id } => self.workflows.workflow_parameters(id),
            Implementation::Node { full_type } => self.workflows.node_parameters(full_type),
            Implementation::Script(_) | Implementation::Service { .. } => None,
        };
        if let Some(parameters) = found_out {
            definition.parameters = parameters;
        }
        definition
    }
}

/// What a script is told of its plugin, or of its plugin and the tool it stands behind.
fn about(package: &PluginPackage, tool: Option<&PluginTool>) -> ScriptPlugin {
    let options = tool.into_iter().flat_map(|tool| &tool.config);
    ScriptPlugin {
        name: package.name.clone(),
        root: package.root.clone(),
        stamp: package.stamp,
        options: package.config.iter().chain(options).cloned().collect(),
        granted: package.permissions.clone(),
    }
}
