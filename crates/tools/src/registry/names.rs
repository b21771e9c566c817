//! Which tool is meant by a name: exact, alias, letter case, `.` for `:`, and otherwise what is near.

use std::collections::HashMap;
use std::sync::Arc;

use innkeeper_protocol::key;

use super::Tool;
use crate::limits::{MAX_LOOKUP_CHARS, MAX_NEAREST, MAX_SEARCHED_NAMES};
use innkeeper_protocol::pattern::loose;

/// What a look-up came to.
pub enum Lookup<'s> {
    Found(&'s Arc<Tool>),
    /// No tool is meant, or more than one: then these.
    Unknown {
        ambiguous: Vec<String>,
    },
}

/// Every name of every tool, in the forms in which it may be written.
#[derive(Default)]
pub(super) struct Names {
    /// Ids and aliases as declared.
    exact: HashMap<String, Arc<Tool>>,
    lower: HashMap<String, Meant>,
    loose: HashMap<String, Meant>,
}

/// The tools that one spelling may mean.
enum Meant {
    One(Arc<Tool>),
    Several(Vec<Arc<Tool>>),
}

impl Meant {
    fn add(&mut self, tool: &Arc<Tool>) {
        match self {
            Self::One(first) if Arc::ptr_eq(first, tool) => {}
            Self::One(first) => *self = Self::Several(vec![first.clone(), tool.clone()]),
            Self::Several(list) if list.iter().any(|known| Arc::ptr_eq(known, tool)) => {}
            Self::Several(list) => list.push(tool.clone()),
        }
    }
}

impl Names {
    pub(super) fn add(&mut self, tool: &Arc<Tool>) {
        let definition = tool.definition();
        for id in std::iter::once(&definition.id).chain(&definition.aliases) {
            let name = id.as_str();
            self.exact.insert(name.to_owned(), tool.clone());
            for (map, form) in [
                (&mut self.lower, name.to_lowercase()),
                (&mut self.loose, loose(name)),
            ] {
                map.entry(form)
                    .and_modify(|meant| meant.add(tool))
                    .or_insert_with(|| Meant::One(tool.clone()));
            }
        }
    }

    pub(super) fn find(&self, name: &str) -> Lookup<'_> {
        let name = name.trim();
        if let Some(tool) = self.exact.get(name) {
            return Lookup::Found(tool);
        }
        if name.chars().nth(MAX_LOOKUP_CHARS).is_some() {
            return Lookup::Unknown {
                ambiguous: Vec::new(),
            };
        }
        let found = self
            .lower
            .get(&name.to_lowercase())
            .or_else(|| self.loose.get(&loose(name)));
        match found {
            Some(Meant::One(tool)) => Lookup::Found(tool),
            Some(Meant::Several(tools)) => Lookup::Unknown {
                ambiguous: ids(tools.iter()),
            },
            None => Lookup::Unknown {
                ambiguous: Vec::new(),
            },
        }
    }

    /// Names with few wrong letters, then names that share the last word (`FileWriter.Write` for `File.Write`).
    pub(super) fn nearest(&self, name: &str, fits: &dyn Fn(&Tool) -> bool) -> Vec<String> {
        if name.chars().nth(MAX_LOOKUP_CHARS).is_some() {
            return Vec::new();
        }
        let wanted = key::normalise(name).into_owned();
        let last = wanted.rsplit('_').next().unwrap_or_default();
        let length = wanted.chars().count();
        let mut near: Vec<(usize, &str)> = self
            .exact
            .iter()
            .take(MAX_SEARCHED_NAMES)
            .filter_map(|(other, _)| {
                let form = key::normalise(other);
                let cut_off = length.max(form.chars().count()) / 3;
                let distance = strsim::osa_distance(&wanted, &form);
                let shares = last.len() > 2 && form.split('_').any(|word| word == last);
                match (distance <= cut_off, shares) {
                    (true, _) => Some((distance, other.as_str())),
                    (false, true) => Some((cut_off + distance, other.as_str())),
                    (false, false) => None,
                }
            })
            .collect();
        near.sort_unstable();
        let mut suggestions: Vec<String> = Vec::new();
        for (_, other) in near {
            let Some(tool) = self.exact.get(other) else {
                continue;
            };
            let id = tool.definition().id.to_string();
            if !suggestions.contains(&id) && fits(tool) {
                suggestions.push(id);
            }
            if suggestions.len() == MAX_NEAREST {
                break;
            }
        }
        suggestions
    }
}

fn ids<'t>(tools: impl Iterator<Item = &'t Arc<Tool>>) -> Vec<String> {
    let mut ids: Vec<_> = tools.map(|tool| tool.definition().id.to_string()).collect();
    ids.sort();
    ids.truncate(MAX_NEAREST);
    ids
}
