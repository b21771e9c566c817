//! The node types that there are: those built in, and those that plugins bring.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::NodeType;
use crate::limits::MAX_NODE_TYPES;
use crate::problem::{did_you_mean, quoted};

/// All node types. Cheap to clone; clones are the same.
#[derive(Clone)]
pub struct NodeManager(Arc<Shared>);

struct Shared {
    sources: Mutex<BTreeMap<String, Vec<Arc<NodeType>>>>,
    current: ArcSwap<NodeTypes>,
}

/// The node types as they were at one moment.
#[derive(Debug, Default)]
pub struct NodeTypes {
    by_name: HashMap<String, Arc<NodeType>>,
    /// By category, then by name.
    list: Vec<Arc<NodeType>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    #[error("the node type '{full_type}' of {source_name} is already offered by {owner}")]
    Taken {
        full_type: String,
        source_name: String,
        owner: String,
    },
    #[error("more than {MAX_NODE_TYPES} node types")]
    TooMany,
}

impl NodeManager {
    /// With those that are built in.
    pub fn new() -> Self {
        let manager = Self::empty();
        let core = crate::nodes::all().into_iter().map(Arc::new).collect();
        manager.set(CORE, core);
        manager
    }

    /// With none at all.
    pub fn empty() -> Self {
        Self(Arc::new(Shared {
            sources: Mutex::default(),
            current: ArcSwap::default(),
        }))
    }

    fn set(&self, source: &str, types: Vec<Arc<NodeType>>) {
        let mut sources = self
            .0
            .sources
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match types.is_empty() {
            true => drop(sources.remove(source)),
            false => drop(sources.insert(source.to_owned(), types)),
        }
        self.0
            .current
            .store(Arc::new(NodeTypes::of(sources.values().flatten())));
    }

    /// What one source offers from now on, all or nothing; an empty list takes it away.
    pub fn replace(&self, source: &str, types: Vec<NodeType>) -> Result<(), RegisterError> {
        {
            let sources = self
                .0
                .sources
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            let others = sources.iter().filter(|(name, _)| *name != source);
            let mut taken: HashMap<&str, &str> = others
                .flat_map(|(name, types)| {
                    types
                        .iter()
                        .map(move |one| (one.full_type(), name.as_str()))
                })
                .collect();
            if taken.len() + types.len() > MAX_NODE_TYPES {
                return Err(RegisterError::TooMany);
            }
            for one in &types {
                if let Some(owner) = taken.insert(one.full_type(), source) {
                    return Err(RegisterError::Taken {
                        full_type: one.full_type().to_owned(),
                        source_name: source.to_owned(),
                        owner: owner.to_owned(),
                    });
                }
            }
        }
        self.set(source, types.into_iter().map(Arc::new).collect());
        Ok(())
    }

    pub fn types(&self) -> Arc<NodeTypes> {
        self.0.current.load_full()
    }
}

const CORE: &str = "core";

impl Default for NodeManager {
    fn default() -> Self {
        Self::new()
    }
}

impl NodeTypes {
    fn of<'t>(types: impl Iterator<Item = &'t Arc<NodeType>>) -> Self {
        let mut list: Vec<_> = types.cloned().collect();
        list.sort_by(|a, b| {
            let key =
                |one: &Arc<NodeType>| (one.definition.category.clone(), one.full_type().to_owned());
            key(a).cmp(&key(b))
        });
        let mut by_name: HashMap<_, _> = list
            .iter()
            .flat_map(|one| {
                one.aliases
                    .iter()
                    .map(move |alias| (alias.clone(), one.clone()))
            })
            .collect();
        by_name.extend(
            list.iter()
                .map(|one| (one.full_type().to_owned(), one.clone())),
        );
        Self { by_name, list }
    }

    pub fn get(&self, full_type: &str) -> Option<&Arc<NodeType>> {
        self.by_name.get(full_type)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<NodeType>> {
        self.list.iter()
    }

    /// Why there is none of that name, and what was perhaps meant.
    pub fn unknown(&self, full_type: &str) -> String {
        let hint = did_you_mean(full_type, self.by_name.keys().map(String::as_str));
        let plugin = full_type.split_once(':').map(|(namespace, _)| namespace);
        let remedy = match plugin {
            _ if !hint.is_empty() => String::new(),
            Some("core") | None => "; see the list of node types".to_owned(),
            Some(plugin) => format!("; enable the plugin {} that brings it", quoted(plugin)),
        };
        format!("there is no node type {}{hint}{remedy}", quoted(full_type))
    }
}
