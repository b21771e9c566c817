//! One version of a state: who changed what, and when. What is kept of it has a bound.

use innkeeper_protocol::event::{CallId, ProfileId, RunId};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::difference::StateChange;
use crate::limits::{MAX_KEPT_VALUE_BYTES, MAX_KEPT_VERSION_BYTES};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StateVersion {
    pub version: u64,
    pub at: Timestamp,
    pub by: Author,
    pub changes: Vec<StateChange>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Author {
    Agent {
        profile_id: ProfileId,
        run_id: RunId,
        call_id: CallId,
    },
    /// From the command line or an application.
    Person,
}

impl StateVersion {
    /// Values that are long go, and all of them where they are too many.
    pub fn bounded(mut self) -> Self {
        let bytes = |value: &Option<serde_json::Value>| {
            value.as_ref().map_or(0, |value| value.to_string().len())
        };
        let mut all = 0;
        for change in &mut self.changes {
            let values = bytes(&change.before) + bytes(&change.after);
            if values > MAX_KEPT_VALUE_BYTES {
                cut(change);
            } else {
                all += values;
            }
        }
        if all > MAX_KEPT_VERSION_BYTES {
            self.changes.iter_mut().for_each(cut);
        }
        self
    }
}

fn cut(change: &mut StateChange) {
    change.before = None;
    change.after = None;
    change.cut = true;
}

/// What has changed since a version, each path once; nothing where not all versions since then are known. `history`: the
/// newest first.
pub(super) fn changed_since(history: &[StateVersion], expected: u64) -> Vec<String> {
    let since: Vec<&StateVersion> = history
        .iter()
        .take_while(|version| version.version > expected)
        .collect();
    if since
        .last()
        .is_none_or(|oldest| oldest.version != expected.saturating_add(1))
    {
        return Vec::new();
    }
    let mut paths: Vec<String> = Vec::new();
    let all = since.iter().rev().flat_map(|version| &version.changes);
    for change in all {
        if !paths.contains(&change.path) {
            paths.push(change.path.clone());
        }
    }
    paths
}
