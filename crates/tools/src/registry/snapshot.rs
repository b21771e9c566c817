//! The tools, hooks and services of one moment. Never changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use jsonschema::Validator;
use serde_json::Value as Json;

use super::names::Names;
use super::{Behind, Hidden, Lookup, Prepared, Source};
use crate::hook::Hooks;
use crate::{Executor, Invocation, Reach, ToolError};

/// A tool that can be called.
pub struct Tool {
    prepared: Arc<Prepared>,
    executor: Arc<dyn Executor>,
    stands_on: Option<Arc<ToolDefinition>>,
    is_hidden: bool,
}

impl Tool {
    pub(super) fn hidden(prepared: Prepared, executor: Arc<dyn Executor>) -> Self {
        Self::node(Arc::new(prepared), executor)
    }

    /// A node of a workflow, about to do its work by `executor`.
    pub(crate) fn node(prepared: Arc<Prepared>, executor: Arc<dyn Executor>) -> Self {
        Self {
            prepared,
            executor,
            stands_on: None,
            is_hidden: true,
        }
    }

    /// What is judged as if it were a tool.
    pub(crate) fn unlisted(prepared: Arc<Prepared>, executor: Arc<dyn Executor>) -> Self {
        Self {
            is_hidden: false,
            ..Self::node(prepared, executor)
        }
    }

    /// Listed nowhere: whoever calls it knows its id.
    pub fn is_hidden(&self) -> bool {
        self.is_hidden
    }

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
    /// By their ids.
    hidden: HashMap<String, Hidden>,
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
                    is_hidden: false,
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
            hidden: sources
                .values()
                .flat_map(|source| &source.hidden)
                .map(|hidden| (hidden.id().to_owned(), hidden.clone()))
                .collect(),
            hooks: Hooks::new(sources.values().flat_map(|source| source.hooks.clone())),
        }
    }

    /// Grows with every change of the registry.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Tools that are listed come first; a hidden one is found under its very id alone.
    pub fn find(&self, name: &str) -> Lookup<'_> {
        match self.names.find(name) {
            Lookup::Unknown { ambiguous } if ambiguous.is_empty() => match self.hidden(name) {
                Some(tool) => Lookup::Found(tool),
                None => Lookup::Unknown { ambiguous },
            },
            found => found,
        }
    }

    fn hidden(&self, name: &str) -> Option<&Arc<Tool>> {
        let name = name.trim();
        let name = name.strip_prefix(Hidden::PREFIX).unwrap_or(name);
        self.hidden.get(name)?.tool()
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
        self.offered(reach).map(AsRef::as_ref)
    }

    /// The same, to be kept. Hidden tools are among them where the reach names them.
    pub fn offered<'s>(
        &'s self,
        reach: &'s Reach,
    ) -> impl Iterator<Item = &'s Arc<ToolDefinition>> {
        let listed = self.tools.iter().map(|tool| tool.definition());
        let listed = listed.filter(|definition| reach.includes(definition));
        let named = reach.allow.iter().filter(|pattern| pattern.is_exact());
        let mut hidden: Vec<_> = named
            .filter_map(|pattern| match self.find(pattern.as_str()) {
                Lookup::Found(tool) if tool.is_hidden() => Some(tool.definition()),
                _ => None,
            })
            .filter(|definition| reach.names(definition))
            .collect();
        hidden.sort_by(|a, b| a.id.cmp(&b.id));
        hidden.dedup_by(|a, b| a.id == b.id);
        listed.chain(hidden)
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
