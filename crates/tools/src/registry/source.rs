//! What one source brings, and whether it can stand beside the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use innkeeper_protocol::ToolId;

use super::{Hidden, Prepared, RegisterError};
use crate::Executor;
use crate::hook::Hook;
use innkeeper_protocol::pattern::loose;

/// All that a plugin, the platform itself or an engine offers.
#[derive(Clone, Default)]
pub struct Source {
    pub tools: Vec<Offer>,
    /// Tools that are listed nowhere.
    pub hidden: Vec<Hidden>,
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Named implementations that tools refer to.
    pub services: Vec<(String, Arc<dyn Executor>)>,
    /// Services of others that this source may replace: granted by a person.
    pub may_replace: BTreeSet<String>,
}

impl Source {
    fn offers(&self) -> impl Iterator<Item = (&ToolId, &ToolId)> {
        self.tools.iter().flat_map(|offer| {
            let definition = &offer.prepared.definition;
            std::iter::once(&definition.id)
                .chain(&definition.aliases)
                .map(|name| (name, &definition.id))
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.tools.is_empty()
            && self.hidden.is_empty()
            && self.hooks.is_empty()
            && self.services.is_empty()
    }
}

/// What becomes of one source.
pub struct Change {
    pub name: String,
    /// `None` takes it away.
    pub source: Option<Source>,
    /// What stands in its place where it is taken away or does not fit.
    pub otherwise: Source,
}

/// A tool and what stands behind it.
#[derive(Clone)]
pub struct Offer {
    pub prepared: Arc<Prepared>,
    pub behind: Behind,
}

#[derive(Clone)]
pub enum Behind {
    Executor(Arc<dyn Executor>),
    /// Whoever provides the service of that name in the snapshot.
    Service(String),
}

impl Offer {
    pub fn new(prepared: Prepared, executor: Arc<dyn Executor>) -> Self {
        Self {
            prepared: Arc::new(prepared),
            behind: Behind::Executor(executor),
        }
    }

    pub fn of_service(prepared: Prepared, service: impl Into<String>) -> Self {
        Self {
            prepared: Arc::new(prepared),
            behind: Behind::Service(service.into()),
        }
    }
}

/// Names in use: of tools (ids and aliases) and of services, each with its owner. Names of tools are compared
/// loosely: one that looks like another's would be taken for it.
pub(super) struct Taken {
    tools: HashMap<String, (ToolId, String)>,
    services: HashMap<String, String>,
}

impl Taken {
    pub(super) fn of(sources: &BTreeMap<String, Source>) -> Self {
        let mut taken = Self {
            tools: HashMap::new(),
            services: HashMap::new(),
        };
        for (name, source) in sources {
            taken.enter(name, source);
        }
        taken
    }

    /// All or nothing: a source that does not fit leaves no trace.
    pub(super) fn add(&mut self, name: &str, source: &Source) -> Result<(), RegisterError> {
        let mut own: HashMap<&str, &ToolId> = HashMap::new();
        for (id, tool) in source.offers() {
            let other = match self.tools.get(&loose(id.as_str())) {
                Some((other, owner)) => Some((other.clone(), owner.clone())),
                // A tool may name itself twice.
                None => own
                    .insert(id.as_str(), tool)
                    .filter(|other| *other != tool || id == tool)
                    .map(|other| (other.clone(), name.to_owned())),
            };
            if let Some((other, source_name)) = other {
                return Err(RegisterError::Taken {
                    name: id.to_string(),
                    tool: tool.clone(),
                    other,
                    source_name,
                });
            }
        }
        for (service, _) in &source.services {
            if let Some(owner) = self.services.get(service)
                && !source.may_replace.contains(service)
            {
                return Err(RegisterError::Service {
                    name: service.clone(),
                    source_name: owner.clone(),
                });
            }
        }
        self.enter(name, source);
        Ok(())
    }

    fn enter(&mut self, name: &str, source: &Source) {
        for (id, tool) in source.offers() {
            self.tools
                .insert(loose(id.as_str()), (tool.clone(), name.to_owned()));
        }
        for (service, _) in &source.services {
            self.services
                .entry(service.clone())
                .or_insert_with(|| name.to_owned());
        }
    }
}
