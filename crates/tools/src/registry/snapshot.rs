//! The tools, hooks and services of one moment. Never changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use jsonschema::Validator;
use serde_json::Value as Json;

use super::names::Names;
use super::{Behind, Lookup, Prepared, Source};
use crate::hook::Hooks;
use crate::{Executor, Invocation, Reach, ToolError};

/// A tool that can be called.
pub struct Tool {
    prepared: Arc<Prepared>,
    executor: Arc<dyn Executor>,
    stands_on: Option<Arc<ToolDefinition>>,
}

impl Tool {
    pub fn definition(&self) -> &Arc<ToolDefinition> {
        &self.prepared.definition
    }

    /// The tool whose service it uses under a name of its own: what is forbidden there is forbidden here.
    pub(crate) fn stands_on(&self) -> Option<&Arc<ToolDefinition>> {
        self.stands_on.as_ref()
    }

    /// Its id, and that of the tool it stands on.
    pub(crate) fn ids(&self) -> Vec<&str> {
        let beneath = self.stands_on.iter().map(|beneath| beneath.id.as_str());
        std::iter::once(self.prepared.definition.id.as_str())
            .chain(beneath)
            .collect()
    }

    pub(crate) fn parameters(&self) -> &Validator {
        &self.prepared.parameters
    }

    pub(crate) fn has_effects(&self) -> bool {
        self.prepared.has_effects
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.prepared.is_plain
    }

    pub(crate) fn has_odd_names(&self) -> bool {
        self.prepared.has_odd_names
    }

    pub(crate) fn output(&self) -> Option<&Validator> {
        self.prepared.output.as_ref()
    }

    pub(crate) fn executor(&self) -> &Arc<dyn Executor> {
        &self.executor
    }
}

#[derive(Default)]
pub struct Snapshot {
    generation: u64,
    /// In order of their ids.
    tools: Vec<Arc<Tool>>,
    names: Names,
    hooks: Hooks,
}

impl Snapshot {
    pub(super) fn build(sources: &BTreeMap<String, Source>, generation: u64) -> Self {
        let services = services(sources);
        let owners = owners(sources);
        let mut tools: Vec<Arc<Tool>> = sources
            .values()
            .flat_map(|source| &source.tools)
            .map(|offer| {
                let stands_on = match &offer.behind {
                    Behind::Service(name) if *name != *offer.prepared.definition.id.as_str() => {
                        owners.get(name.as_str()).map(|owner| (*owner).clone())
                    }
                    _ => None,
                };
                let executor = match &offer.behind {
                    Behind::Executor(executor) => executor.clone(),
                    Behind::Service(name) => match services.get(name.as_str()) {
                        Some(service) => (*service).clone(),
                        None => Arc::new(NoService(name.clone())),
                    },
                };
                Arc::new(Tool {
                    prepared: offer.prepared.clone(),
                    executor,
                    stands_on,
                })
            })
            .collect();
        tools.sort_by(|a, b| a.definition().id.cmp(&b.definition().id));
        let mut names = Names::default();
        for tool in &tools {
            names.add(tool);
        }
        Self {
            generation,
            tools,
            names,
            hooks: Hooks::new(sources.values().flat_map(|source| source.hooks.clone())),
        }
    }

    /// Grows with every change of the registry.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    pub fn find(&self, name: &str) -> Lookup<'_> {
        self.names.find(name)
    }

    /// The ids of tools that were perhaps meant by a name that is none, nearest first.
    pub fn nearest(&self, name: &str, reach: &Reach) -> Vec<String> {
        let in_reach = |tool: &Tool| reach.includes(tool.definition());
        match self.find(name) {
            Lookup::Unknown { ambiguous } if !ambiguous.is_empty() => ambiguous
                .into_iter()
                .filter(|id| matches!(self.find(id), Lookup::Found(tool) if in_reach(tool)))
                .collect(),
            _ => self.names.nearest(name, &in_reach),
        }
    }

    /// All tools, by id.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &Arc<Tool>> {
        self.tools.iter()
    }

    /// What a caller with that reach may be told of.
    pub fn definitions<'s>(&'s self, reach: &'s Reach) -> impl Iterator<Item = &'s ToolDefinition> {
        self.tools
            .iter()
            .map(|tool| tool.definition().as_ref())
            .filter(|definition| reach.includes(definition))
    }

    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }
}

/// By name; one that replaces another's wins. Sources come in the order of their names.
fn services(sources: &BTreeMap<String, Source>) -> HashMap<&str, &Arc<dyn Executor>> {
    let mut services = HashMap::new();
    for source in sources.values() {
        for (name, service) in &source.services {
            if source.may_replace.contains(name) {
                services.insert(name.as_str(), service);
            } else {
                services.entry(name.as_str()).or_insert(service);
            }
        }
    }
    services
}

/// The tools that stand on a service of their own name.
fn owners(sources: &BTreeMap<String, Source>) -> HashMap<&str, &Arc<ToolDefinition>> {
    let offers = sources.values().flat_map(|source| &source.tools);
    offers
        .filter_map(|offer| match &offer.behind {
            Behind::Service(name) if *name == *offer.prepared.definition.id.as_str() => {
                Some((name.as_str(), &offer.prepared.definition))
            }
            _ => None,
        })
        .collect()
}

struct NoService(String);

#[async_trait]
impl Executor for NoService {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        Err(ToolError::unavailable(format!(
            "nobody provides the service '{}'; enable the plugin that does",
            self.0
        ))
        .because("service.missing")
        .permanent())
    }
}
