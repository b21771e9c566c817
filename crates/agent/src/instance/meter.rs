//! What the tools of one run ask of models, call by call, and how much of that they may.
//!
//! What is counted goes into the journal with the end of the call; until then it is only here.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use innkeeper_engine::NodeError;
use innkeeper_tools::ModelMeter;
use serde_json::{Map, Value as Json};

use super::tap::add;
use crate::run::ModelUse;

#[derive(Debug, Default)]
pub(crate) struct RunMeter(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    requests: u64,
    /// By call, and there by request.
    open: HashMap<String, BTreeMap<u64, Json>>,
    /// What the run may still use, less what was told since.
    left: Allowed,
    /// By call, where its tool has a limit of its own.
    of_calls: HashMap<String, Allowed>,
}

/// None: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Allowed {
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<f64>,
}

impl Allowed {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }

    fn without(self, tokens: u64, cost: f64) -> Self {
        Self {
            tokens: self.tokens.map(|left| left.saturating_sub(tokens)),
            cost: self.cost.map(|left| (left - cost).max(0.0)),
        }
    }

    fn is_used_up(&self) -> bool {
        self.tokens == Some(0) || self.cost.is_some_and(|cost| cost <= 0.0)
    }
}

impl RunMeter {
    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Before calls are run: what the journal leaves to the run, and to those of their tools that have limits.
    pub(crate) fn allow(&self, left: Allowed, calls: impl IntoIterator<Item = (String, Allowed)>) {
        let mut counted = self.lock();
        let calls = calls.into_iter().filter(|(_, allowed)| !allowed.is_none());
        counted.of_calls.extend(calls);
        counted.left = left;
    }

    /// What a call has used since this was last asked.
    pub(crate) fn take(&self, call: &str) -> Option<ModelUse> {
        let mut counted = self.lock();
        let requests = counted.open.remove(call)?;
        let (tokens, cost) = spent(requests.values());
        counted.left = counted.left.without(tokens, cost);
        if let Some(allowed) = counted.of_calls.get_mut(call) {
            *allowed = allowed.without(tokens, cost);
        }
        drop(counted);
        let mut usage = Map::new();
        let mut unpriced = 0;
        for request in requests.values().filter_map(Json::as_object) {
            add(&mut usage, request);
            unpriced += u32::from(!request.contains_key("cost"));
        }
        Some(ModelUse {
            requests: u32::try_from(requests.len()).unwrap_or(u32::MAX),
            cost: usage.get("cost").and_then(Json::as_f64),
            usage: Json::Object(usage),
            unpriced,
        })
    }
}

impl ModelMeter for RunMeter {
    fn asking(&self, call: Option<&str>) -> Result<u64, NodeError> {
        let call = call.unwrap_or_default();
        let mut counted = self.lock();
        let all = counted.open.values().flat_map(BTreeMap::values);
        let (tokens, cost) = spent(all);
        if counted.left.without(tokens, cost).is_used_up() {
            let message = "the run has used all the tokens or dollars that its profile gives it, so its tools ask no more models; \
                raise agent.budget.maxTokens or maxCost, or resume the run to grant as much again";
            return Err(NodeError::invalid("agent.model_budget_exhausted", message));
        }
        if let Some(allowed) = counted.of_calls.get(call) {
            let own = counted.open.get(call);
            let (tokens, cost) = spent(own.into_iter().flat_map(BTreeMap::values));
            if allowed.without(tokens, cost).is_used_up() {
                let message = "this tool has asked models for all that the profile lets it; raise \
                    agent.budget.maxTokensPerTool or maxCostPerTool, or resume the run to grant as much again";
                let reason = "agent.tool_model_budget_exhausted";
                return Err(NodeError::invalid(reason, message));
            }
        }
        counted.requests += 1;
        let request = counted.requests;
        let open = counted.open.entry(call.to_owned()).or_default();
        open.insert(request, Json::Null);
        Ok(request)
    }

    fn used(&self, call: Option<&str>, request: u64, usage: &Json) {
        let mut counted = self.lock();
        let open = counted.open.entry(call.unwrap_or_default().to_owned());
        open.or_default().insert(request, usage.clone());
    }
}

/// Tokens and dollars.
fn spent<'u>(usages: impl IntoIterator<Item = &'u Json>) -> (u64, f64) {
    usages.into_iter().fold((0, 0.0), |(tokens, cost), usage| {
        let own = ModelUse::of(1, usage, usage.get("cost").and_then(Json::as_f64));
        let used = own.tokens();
        (
            u64::saturating_add(tokens, used),
            cost + own.cost.unwrap_or_default(),
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_used_up_is_asked_for_no_more() {
        let meter = RunMeter::default();
        let asked = meter.asking(None).unwrap();
        meter.used(None, asked, &json!({"total_tokens": 7}));
        assert_eq!(meter.take("").unwrap().unpriced, 1, "no limit, no price");
        let run = Allowed {
            tokens: Some(100),
            cost: None,
        };
        let own = Allowed {
            tokens: None,
            cost: Some(0.5),
        };
        meter.allow(
            run,
            [("a".to_owned(), own), ("b".to_owned(), Allowed::default())],
        );
        let first = meter.asking(Some("a")).unwrap();
        meter.used(Some("a"), first, &json!({"total_tokens": 10, "cost": 0.2}));
        // A later word replaces an earlier one.
        meter.used(Some("a"), first, &json!({"total_tokens": 30, "cost": 0.6}));
        let refused = meter.asking(Some("a")).unwrap_err();
        assert_eq!(refused.code, "agent.tool_model_budget_exhausted");
        let second = meter.asking(Some("b")).unwrap();
        meter.used(
            Some("b"),
            second,
            &json!({"prompt_tokens": 60, "completion_tokens": 9}),
        );
        let used = meter.take("a").unwrap();
        assert_eq!((used.requests, used.cost, used.unpriced), (1, Some(0.6), 0));
        assert_eq!(meter.take("a"), None, "once");
        assert!(meter.asking(Some("a")).is_err(), "what was taken counts on");
        let third = meter.asking(Some("b")).unwrap();
        meter.used(Some("b"), third, &json!({"prompt_tokens": 1}));
        let refused = meter.asking(Some("c")).unwrap_err();
        assert_eq!(refused.code, "agent.model_budget_exhausted");
        let used = meter.take("b").unwrap();
        assert_eq!((used.requests, used.tokens(), used.unpriced), (2, 70, 2));
        // The journal has the last word.
        meter.allow(Allowed::default(), []);
        assert!(meter.asking(Some("c")).is_ok());
    }
}
