//! Brings plugins to life: what was read and accepted goes into the registry, and follows the folders.
//!
//! Reading is the loader's, saying yes is a person's (`consent`), running is the executors'. Each plugin is one
//! source of the registry, so it comes and goes whole.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use serde::Serialize;

use super::absent;
use super::consent::{Consents, Guard, PluginState};
use super::workshop::Workshop;
use super::{
    Found, Permissions, PluginLoader, PluginPackage, PluginProblem, PluginSettings, PluginWatch,
    WatchError,
};
use crate::ToolManager;
use crate::hook::HookFailure;
use crate::plugin::ConsentError;
use crate::registry::{Change, RegisterError, Source};
use crate::script::{ScriptFiles, ScriptLimits, ScriptNode, ScriptRunner, node_type};
use crate::workflow::{PluginWorkflows, WorkflowService};

/// What a plugin manager is put together from.
pub struct PluginParts {
    pub manager: ToolManager,
    pub loader: PluginLoader,
    pub consents: Consents,
    pub settings: Arc<PluginSettings>,
    pub runner: Arc<dyn ScriptRunner>,
    pub files: Arc<dyn ScriptFiles>,
    /// Where each plugin has a folder of its own for what it keeps.
    pub data: PathBuf,
    pub limits: ScriptLimits,
    /// Follows the plugins: their nodes go into its engine, their workflows among its own.
    pub workflows: WorkflowService,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct PluginManager(Arc<Inner>);

struct Inner {
    parts: PluginParts,
    workshop: Workshop,
    status: ArcSwap<Vec<PluginStatus>>,
    nodes: ArcSwap<Vec<Arc<ScriptNode>>>,
    /// The plugins whose nodes the engine has, each as it was then.
    known_nodes: Mutex<BTreeMap<String, u64>>,
    /// One reload at a time; holds the plugins that are in the registry.
    registered: Mutex<BTreeSet<String>>,
}

/// A plugin and where it stands.
#[derive(Debug, Clone)]
pub struct PluginStatus {
    pub name: String,
    pub folder: PathBuf,
    pub state: Standing,
    /// As it was read; `None` if it could not be.
    pub package: Option<PluginPackage>,
    /// What does not keep it from working.
    pub warnings: Vec<PluginProblem>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum Standing {
    Enabled,
    Disabled,
    /// Waits for a person to accept what it asks for.
    Pending {
        new: Permissions,
    },
    Broken {
        problems: Vec<PluginProblem>,
    },
}

/// Why a plugin could not be switched on or off.
#[derive(Debug, thiserror::Error)]
pub enum PluginError {
    #[error("there is no plugin '{name}'{}", near(.suggestions))]
    Unknown {
        name: String,
        suggestions: Vec<String>,
    },
    #[error("the plugin '{name}' is broken: {}", first(.problems))]
    Broken {
        name: String,
        problems: Vec<PluginProblem>,
    },
    #[error("the plugin '{name}' asks for more than was accepted: {}", listed(.missing))]
    NotAccepted { name: String, missing: Permissions },
    #[error(transparent)]
    Consent(#[from] ConsentError),
}

fn near(names: &[String]) -> String {
    match names.first() {
        Some(name) => format!("; did you mean '{name}'?"),
        None => "; innkeeper plugin list shows those there are".to_owned(),
    }
}

fn first(problems: &[PluginProblem]) -> String {
    problems
        .first()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn listed(permissions: &Permissions) -> String {
    let words: Vec<_> = permissions.iter().map(|one| one.as_str()).collect();
    words.join(", ")
}

impl PluginManager {
    /// Reads nothing yet.
    pub fn new(parts: PluginParts) -> Self {
        Self(Arc::new(Inner {
            workshop: Workshop::new(&parts),
            parts,
            status: ArcSwap::default(),
            nodes: ArcSwap::default(),
            known_nodes: Mutex::default(),
            registered: Mutex::default(),
        }))
    }

    /// Reads all folders anew and makes the registry follow. Runs that are under way keep what they have.
    /// Blocking.
    pub fn reload(&self) {
        let inner = &self.0;
        let mut registered = inner
            .registered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let mut status: Vec<_> = inner
            .parts
            .loader
            .scan()
            .into_iter()
            .map(|found| inner.stand(found))
            .collect();

        // Nodes and workflows first: tools of plugins may stand on them.
        inner.bring_nodes(&mut status);
        let registry = inner.parts.manager.registry();
        let mut changes = Vec::new();
        for plugin in &mut status {
            let source = match &plugin.package {
                Some(package) => match inner.workshop.source(package) {
                    Ok(source) => Some(source),
                    Err(error) => {
                        plugin.state = broken(package, &error);
                        None
                    }
                },
                None => None,
            };
            changes.push(Change {
                name: source_name(&plugin.name),
                otherwise: inner.absent(plugin),
                source: source.filter(|_| plugin.state == Standing::Enabled),
            });
        }
        changes.push(Change {
            name: UNKNOWN_GUARDS.to_owned(),
            source: None,
            otherwise: match inner.parts.consents.all() {
                Ok(_) => Source::default(),
                Err(error) => absent::unknown(&error.to_string()),
            },
        });
        let known: BTreeSet<_> = changes.iter().map(|change| change.name.clone()).collect();
        let gone = registered.difference(&known).map(|name| Change {
            name: name.clone(),
            source: None,
            otherwise: Source::default(),
        });
        let changes: Vec<_> = changes.into_iter().chain(gone).collect();
        let failures: BTreeMap<_, _> = registry.apply(changes).into_iter().collect();
        for plugin in &mut status {
            inner.judge(plugin, &failures);
        }
        *registered = known;
        // A plugin that does not fit takes its nodes with it.
        inner.bring_nodes(&mut status);
        inner.parts.workflows.reload(registry);
        inner.workshop.retain_workers(|owner, stamp| {
            status.iter().any(|plugin| {
                let package = plugin.package.as_ref();
                plugin.state == Standing::Enabled
                    && package.is_some_and(|it| it.name == owner && it.stamp == stamp)
            })
        });
        inner.status.store(Arc::new(status));
    }

    /// All plugins as they were read last, by name.
    pub fn plugins(&self) -> Arc<Vec<PluginStatus>> {
        self.0.status.load_full()
    }

    /// The nodes of the plugins that are on, by plugin. Those that live in the page alone have nothing to run; their
    /// definitions are with [`PluginManager::plugins`].
    pub fn nodes(&self) -> Arc<Vec<Arc<ScriptNode>>> {
        self.0.nodes.load_full()
    }

    pub fn find(&self, name: &str) -> Result<PluginStatus, PluginError> {
        let all = self.plugins();
        match all.iter().find(|plugin| plugin.name == name) {
            Some(plugin) => Ok(plugin.clone()),
            None => {
                let mut near: Vec<_> = all
                    .iter()
                    .map(|plugin| (strsim::osa_distance(name, &plugin.name), &plugin.name))
                    .filter(|(distance, other)| *distance <= other.chars().count().max(3) / 3)
                    .collect();
                near.sort();
                Err(PluginError::Unknown {
                    name: name.to_owned(),
                    suggestions: near.into_iter().map(|(_, name)| name.clone()).collect(),
                })
            }
        }
    }

    /// A person has looked at `accepted` and said yes. What the plugin asks for beyond that is not granted.
    pub fn enable(&self, name: &str, accepted: &Permissions) -> Result<(), PluginError> {
        let plugin = self.find(name)?;
        let package = match (plugin.package, plugin.state) {
            (Some(package), Standing::Enabled | Standing::Disabled | Standing::Pending { .. }) => {
                package
            }
            (_, Standing::Broken { problems }) => {
                return Err(PluginError::Broken {
                    name: name.to_owned(),
                    problems,
                });
            }
            (None, _) => {
                return Err(PluginError::Broken {
                    name: name.to_owned(),
                    problems: Vec::new(),
                });
            }
        };
        let missing = package.permissions.beyond(accepted);
        if !missing.is_empty() {
            return Err(PluginError::NotAccepted {
                name: name.to_owned(),
                missing,
            });
        }
        self.0.parts.consents.enable(
            name,
            &package.version,
            &package.permissions,
            guards(&package),
        )?;
        self.reload();
        Ok(())
    }

    pub fn disable(&self, name: &str) -> Result<(), PluginError> {
        self.find(name)?;
        self.0.parts.consents.disable(name)?;
        self.reload();
        Ok(())
    }

    /// Where plugins are looked for.
    pub fn folders(&self) -> &[PathBuf] {
        self.0.parts.loader.folders()
    }

    pub fn settings(&self) -> &Arc<PluginSettings> {
        &self.0.parts.settings
    }

    pub fn consents(&self) -> &Consents {
        &self.0.parts.consents
    }

    /// Follows the folders, and what people decide in another process, until the watch is dropped.
    pub fn watch(&self) -> Result<PluginWatch, WatchError> {
        let manager = self.clone();
        let mut folders = self.0.parts.loader.folders().to_vec();
        folders.extend(self.0.parts.consents.folder());
        PluginWatch::start(folders, move || manager.reload())
    }
}

/// The hooks without which a call that concerns them must not be made.
fn guards(package: &PluginPackage) -> Vec<Guard> {
    package
        .hooks
        .iter()
        .filter(|hook| hook.on_failure == HookFailure::Refuse)
        .map(|hook| Guard {
            on: hook.point,
            tools: hook.tools.clone(),
        })
        .collect()
}

/// The source that stands for all guards while nobody knows which there are.
const UNKNOWN_GUARDS: &str = "plugins";

fn source_name(plugin: &str) -> String {
    format!("plugin:{plugin}")
}

fn broken(package: &PluginPackage, error: &RegisterError) -> Standing {
    let of_tool = package
        .tools
        .iter()
        .find(|tool| Some(&tool.definition.id) == error.tool());
    Standing::Broken {
        problems: vec![PluginProblem {
            file: match of_tool {
                Some(tool) => tool.file.display().to_string(),
                None => "plugin.yaml".to_owned(),
            },
            line: None,
            column: None,
            field: None,
            code: error.code(),
            message: error.to_string(),
        }],
    }
}

fn broken_node(why: &str) -> Standing {
    Standing::Broken {
        problems: vec![PluginProblem {
            file: "plugin.yaml".to_owned(),
            line: None,
            column: None,
            field: Some("nodes".to_owned()),
            code: "plugin.node_refused",
            message: why.to_owned(),
        }],
    }
}

impl Inner {
    /// The nodes of all plugins that are on, and no others, into the engine; their workflows where those are looked for.
    fn bring_nodes(&self, status: &mut [PluginStatus]) {
        let types = self.parts.workflows.engine().nodes();
        let mut all = Vec::new();
        let mut with_workflows = Vec::new();
        let mut known = self
            .known_nodes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::take(&mut *known);
        for plugin in status.iter_mut() {
            let Some(package) = &plugin.package else {
                continue;
            };
            if plugin.state != Standing::Enabled {
                continue;
            }
            let nodes = self.workshop.nodes(package);
            let name = source_name(&plugin.name);
            let is_same = before.get(&name) == Some(&package.stamp);
            let brought = match nodes.is_empty() || is_same {
                true => Ok(()),
                false => types.replace(&name, nodes.iter().cloned().map(node_type).collect()),
            };
            match brought {
                Ok(()) => {
                    if !nodes.is_empty() {
                        known.insert(name, package.stamp);
                    }
                    with_workflows.push(PluginWorkflows {
                        name: package.name.clone(),
                        root: package.root.clone(),
                    });
                    all.extend(nodes);
                }
                Err(error) => plugin.state = broken_node(&error.to_string()),
            }
        }
        for gone in before.keys().filter(|name| !known.contains_key(*name)) {
            // Taking away always works.
            let _ = types.replace(gone, Vec::new());
        }
        drop(known);
        self.parts.workflows.set_plugins(with_workflows);
        self.nodes.store(Arc::new(all));
    }

    fn stand(&self, found: Found) -> PluginStatus {
        let (state, package) = match found.outcome {
            Err(problems) => (Standing::Broken { problems }, None),
            Ok(package) => (self.consented(&package), Some(package)),
        };
        PluginStatus {
            name: found.name,
            folder: found.folder,
            state,
            package,
            warnings: found.warnings,
        }
    }

    /// Where nobody can tell what was accepted, nothing was.
    fn consented(&self, package: &PluginPackage) -> Standing {
        match self.parts.consents.state(package) {
            Ok(PluginState::Enabled) => Standing::Enabled,
            Ok(PluginState::Disabled) => Standing::Disabled,
            Ok(PluginState::Pending { new }) => Standing::Pending { new },
            Err(error) => Standing::Broken {
                problems: vec![PluginProblem {
                    file: "plugin.yaml".to_owned(),
                    line: None,
                    column: None,
                    field: None,
                    code: "plugin.consent_unreadable",
                    message: error.to_string(),
                }],
            },
        }
    }

    /// What must not be missed while the plugin does not answer for itself.
    fn absent(&self, plugin: &PluginStatus) -> Source {
        let guards = match self.parts.consents.consent(&plugin.name) {
            Ok(Some(consent)) if consent.enabled => consent.guards,
            _ => return Source::default(),
        };
        let why = match &plugin.state {
            Standing::Pending { .. } => "it asks for more than was accepted".to_owned(),
            Standing::Broken { problems } => format!("it is broken ({})", first(problems)),
            Standing::Enabled | Standing::Disabled => "it could not be registered".to_owned(),
        };
        absent::source(&plugin.name, guards, &why)
    }

    /// Whether a plugin fits beside the others; one that waits should not be accepted only to break.
    fn judge(&self, plugin: &mut PluginStatus, failures: &BTreeMap<String, RegisterError>) {
        let Some(package) = &plugin.package else {
            return;
        };
        let name = source_name(&plugin.name);
        let error = match plugin.state {
            Standing::Enabled => failures.get(&name).cloned(),
            Standing::Pending { .. } | Standing::Disabled => {
                let registry = self.parts.manager.registry();
                let source = self.workshop.source(package);
                source
                    .and_then(|source| registry.check(&name, &source))
                    .err()
            }
            Standing::Broken { .. } => None,
        };
        if let Some(error) = error {
            plugin.state = broken(package, &error);
        }
    }
}

#[cfg(test)]
#[path = "manager_tests.rs"]
mod tests;
