//! Which tools the model has been told of, where that is not all that it may call.
//!
//! It follows from the journal alone: what `ContextReady` told of, and what each request added to it.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::limits::MAX_TOLD_LATER;

/// In what is told of the first request: how many tools that the model may call it is not told of.
pub const LEFT_OUT: &str = "toolsLeftOut";
/// In what is told of a request: the tools that are told from it on, as `ContextReady` tells of them.
pub const ADDED: &str = "toolsAdded";

/// By their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToldTools {
    /// From the first request on, as long as the run lasts.
    first: Vec<String>,
    /// Those that were found or called since, the earliest first. Where there are too many, the earliest give way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    later: Vec<String>,
}

impl ToldTools {
    /// Nothing where no tool was left out.
    pub(super) fn begin(request: &Json, tools: &Json) -> Option<Self> {
        let left_out = request.get(LEFT_OUT).and_then(Json::as_u64);
        left_out.filter(|count| *count > 0)?;
        Some(Self {
            first: names(tools).collect(),
            later: Vec::new(),
        })
    }

    pub(super) fn add(&mut self, added: &Json) {
        for name in names(added) {
            if !self.has(&name) {
                self.later.push(name);
            }
        }
        let over = self.later.len().saturating_sub(MAX_TOLD_LATER);
        self.later.drain(..over);
    }

    /// In the order in which they were told.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.first.iter().chain(&self.later).map(String::as_str)
    }

    pub fn has(&self, id: &str) -> bool {
        self.ids().any(|known| known == id)
    }
}

fn names(tools: &Json) -> impl Iterator<Item = String> {
    let tools = tools.as_array().into_iter().flatten();
    tools.filter_map(|tool| Some(tool.get("name")?.as_str()?.to_owned()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_found_comes_last_and_the_earliest_of_it_gives_way() {
        let specs = json!([{"name": "b"}, {"name": "a"}]);
        assert_eq!(ToldTools::begin(&json!({}), &specs), None);
        assert_eq!(ToldTools::begin(&json!({LEFT_OUT: 0}), &specs), None);
        let mut told = ToldTools::begin(&json!({LEFT_OUT: 3}), &specs).unwrap();
        told.add(&json!([{"name": "c"}, {"name": "a"}, {"other": 1}]));
        assert_eq!(told.ids().collect::<Vec<_>>(), ["b", "a", "c"]);
        let many: Vec<_> = (0..MAX_TOLD_LATER)
            .map(|at| json!({"name": format!("t{at}")}))
            .collect();
        told.add(&json!(many));
        assert!(!told.has("c") && told.has("a") && told.has("t0"));
        assert_eq!(told.ids().count(), 2 + MAX_TOLD_LATER);
        let kept: ToldTools = serde_json::from_value(json!(told)).unwrap();
        assert_eq!(kept, told);
    }
}
