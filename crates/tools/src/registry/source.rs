//! What one source brings, and whether it can stand beside the others.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use innkeeper_protocol::ToolId;

use super::{Prepared, RegisterError};
use crate::Executor;
use crate::hook::Hook;

/// All that a plugin, the platform itself or an engine offers.
#[derive(Clone, Default)]
pub struct Source {
    pub tools: Vec<Offer>,
    pub hooks: Vec<Arc<dyn Hook>>,
    /// Named implementations that tools refer to.
    pub services: Vec<(String, Arc<dyn Executor>)>,
    /// Services of others that this source may replace: granted by a person.
    pub may_replace: BTreeSet<String>,
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

/// Names in use: of tools (ids and aliases) and of services, each with its owner.
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
        for offer in &source.tools {
            let definition = &offer.prepared.definition;
            for id in std::iter::once(&definition.id).chain(&definition.aliases) {
                let other = match self.tools.get(id.as_str()) {
                    Some((other, owner)) => Some((other.clone(), owner.clone())),
                    // A tool may name itself twice.
                    None => own
                        .insert(id.as_str(), &definition.id)
                        .filter(|other| *other != &definition.id || *id == definition.id)
                        .map(|other| (other.clone(), name.to_owned())),
                };
                if let Some((other, source_name)) = other {
                    return Err(RegisterError::Taken {
                        name: id.to_string(),
                        tool: definition.id.clone(),
                        other,
                        source_name,
                    });
                }
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
        for offer in &source.tools {
            let definition = &offer.prepared.definition;
            for id in std::iter::once(&definition.id).chain(&definition.aliases) {
                self.tools.insert(
                    id.as_str().to_owned(),
                    (definition.id.clone(), name.to_owned()),
                );
            }
        }
        for (service, _) in &source.services {
            self.services
                .entry(service.clone())
                .or_insert_with(|| name.to_owned());
        }
    }
}
