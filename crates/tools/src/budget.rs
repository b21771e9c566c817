//! How many calls a run may make, in all and of each tool.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use innkeeper_protocol::ToolId;
use serde::{Deserialize, Serialize};

use crate::Pattern;

/// What a run is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetLimits {
    pub max_calls: Option<u32>,
    pub per_tool: Vec<ToolLimit>,
}

/// All calls together of the tools that a pattern names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolLimit {
    pub tool: Pattern,
    pub calls: u32,
}

/// What a run has left. A call counts when it is about to run; trying again counts once.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    limits: BudgetLimits,
    used: Mutex<Used>,
}

#[derive(Debug, Default)]
struct Used {
    all: u32,
    by_limit: HashMap<usize, u32>,
}

impl Budget {
    pub(crate) fn new(limits: BudgetLimits) -> Self {
        Self {
            limits,
            used: Mutex::default(),
        }
    }

    /// Takes one call out of the budget, or says which limit is used up.
    pub(crate) fn take(&self, tool: &ToolId) -> Result<(), String> {
        if self.limits.max_calls.is_none() && self.limits.per_tool.is_empty() {
            return Ok(());
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(max) = self.limits.max_calls
            && used.all >= max
        {
            return Err(format!("this run may call tools {max} times, and has"));
        }
        let concerned: Vec<_> = self
            .limits
            .per_tool
            .iter()
            .enumerate()
            .filter(|(_, limit)| limit.tool.matches_loosely(tool.as_str()))
            .collect();
        for (at, limit) in &concerned {
            if used.by_limit.get(at).copied().unwrap_or_default() >= limit.calls {
                return Err(format!(
                    "this run may call {} {} times, and has",
                    limit.tool.as_str(),
                    limit.calls
                ));
            }
        }
        used.all += 1;
        for (at, _) in concerned {
            *used.by_limit.entry(at).or_default() += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_hold_for_all_and_for_each() {
        let budget = Budget::new(BudgetLimits {
            max_calls: Some(4),
            per_tool: vec![
                ToolLimit {
                    tool: "File.*".into(),
                    calls: 2,
                },
                ToolLimit {
                    tool: "File.Read".into(),
                    calls: 1,
                },
            ],
        });
        for (tool, allowed) in [
            ("File.Read", true),
            ("file:read", false),
            ("File.Write", true),
            ("File.Write", false),
            ("A", true),
            ("B", true),
            ("C", false),
        ] {
            assert_eq!(budget.take(&tool.into()).is_ok(), allowed, "{tool}");
        }
    }

    #[test]
    fn no_limit_is_no_limit() {
        let budget = Budget::new(BudgetLimits::default());
        assert!((0..1_000).all(|_| budget.take(&"x".into()).is_ok()));
    }
}
