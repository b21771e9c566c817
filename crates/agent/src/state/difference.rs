//! What is different between two states: the smallest places, as far as they can be told apart. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::limits::{MAX_STATE_DIFFERENCES, MAX_STATE_DIFFERENCES_BYTES};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateChange {
    /// A JSON Pointer.
    pub path: String,
    /// None: nothing was there.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given"
    )]
    pub before: Option<Json>,
    /// None: nothing is there any more.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "given"
    )]
    pub after: Option<Json>,
    /// The values were too long to be kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// Keeps `null` apart from nothing.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(value).map(Some)
}

/// In the order of the states. Where there are too many, whole fields of the state are told, or the state as one.
pub fn differences(old: &Json, new: &Json) -> Vec<StateChange> {
    for depth in [usize::MAX, 1, 0] {
        let mut found = Found {
            changes: Vec::new(),
            path: String::new(),
            depth,
        };
        found.compare(Some(old), Some(new), 0);
        if depth == 0 || found.is_bearable() {
            return found.changes;
        }
    }
    Vec::new()
}

struct Found {
    changes: Vec<StateChange>,
    path: String,
    /// How far down is looked.
    depth: usize,
}

impl Found {
    fn is_bearable(&self) -> bool {
        let bytes: usize = self.changes.iter().map(|change| change.path.len()).sum();
        self.changes.len() <= MAX_STATE_DIFFERENCES && bytes <= MAX_STATE_DIFFERENCES_BYTES
    }

    /// A state has few levels, so going down them by calls is no danger.
    fn compare(&mut self, old: Option<&Json>, new: Option<&Json>, level: usize) {
        if old == new {
            return;
        }
        let goes_down = level < self.depth;
        match (old, new) {
            (Some(Json::Object(old)), Some(Json::Object(new))) if goes_down => {
                self.objects(old, new, level);
            }
            (Some(Json::Array(old)), Some(Json::Array(new))) if goes_down && is_grown(old, new) => {
                for at in 0..new.len() {
                    let name = at.to_string();
                    self.at(&name, |this| {
                        this.compare(old.get(at), new.get(at), level + 1);
                    });
                }
            }
            (before, after) => self.changes.push(StateChange {
                path: self.path.clone(),
                before: before.cloned(),
                after: after.cloned(),
                cut: false,
            }),
        }
    }

    fn objects(&mut self, old: &Map<String, Json>, new: &Map<String, Json>, level: usize) {
        let added = new.keys().filter(|name| !old.contains_key(*name));
        for name in old.keys().chain(added) {
            self.at(name, |this| {
                this.compare(old.get(name), new.get(name), level + 1);
            });
        }
    }

    fn at(&mut self, name: &str, go: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('/');
        self.path
            .push_str(&name.replace('~', "~0").replace('/', "~1"));
        go(self);
        self.path.truncate(length);
    }
}

/// Items have the places that they had; further ones may follow.
fn is_grown(old: &[Json], new: &[Json]) -> bool {
    new.len() == old.len() || new.starts_with(old)
}
