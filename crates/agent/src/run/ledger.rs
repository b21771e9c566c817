//! What a run has used of models, told apart by who used it: the agent itself, summaries of what it said, and each tool.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

/// What was asked of models, and what that took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Used {
    pub requests: u32,
    /// Of what was sent and what came back together.
    pub tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub prompt_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub completion_tokens: u64,
    /// Those of the prompt that the provider still remembered.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Those of the reply that were thinking.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
    /// In dollars, of those requests whose price is known.
    pub cost: f64,
    /// Requests whose price nobody knows; they are not in `cost`.
    #[serde(skip_serializing_if = "is_none")]
    pub unpriced: u32,
}

/// What a tool has taken.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolSpent {
    pub calls: u32,
    #[serde(skip_serializing_if = "is_none")]
    pub failed: u32,
    pub elapsed_ms: u64,
    /// Characters that it has put into the conversation, and about how many tokens they are.
    pub shown_chars: u64,
    pub shown_tokens: u64,
    /// What it has asked of models itself.
    #[serde(skip_serializing_if = "Used::is_nothing")]
    pub models: Used,
}

/// What a call has used of models while it ran.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUse {
    pub requests: u32,
    /// `{prompt_tokens, completion_tokens, …}` as far as they are known.
    pub usage: Json,
    /// Of those of them whose price is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    #[serde(skip_serializing_if = "is_none")]
    pub unpriced: u32,
}

/// What a model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wanted {
    Reply,
    /// Of what is too long.
    Summary,
}

impl ModelUse {
    /// One request, or several that were counted together.
    pub fn of(requests: u32, usage: &Json, cost: Option<f64>) -> Self {
        let is_priced = cost.is_some() || tokens(usage) == 0;
        Self {
            requests,
            usage: usage.clone(),
            cost,
            unpriced: if is_priced { 0 } else { requests },
        }
    }
}

impl ModelUse {
    pub fn tokens(&self) -> u64 {
        tokens(&self.usage)
    }
}

impl Used {
    /// By what has come to another of its kind.
    pub(super) fn grow(&mut self, before: &Self, after: &Self) {
        let add = |own: &mut u64, before: u64, after: u64| {
            *own = own.saturating_add(after.saturating_sub(before));
        };
        let count = |own: &mut u32, before: u32, after: u32| {
            *own = own.saturating_add(after.saturating_sub(before));
        };
        count(&mut self.requests, before.requests, after.requests);
        count(&mut self.unpriced, before.unpriced, after.unpriced);
        add(&mut self.tokens, before.tokens, after.tokens);
        add(
            &mut self.prompt_tokens,
            before.prompt_tokens,
            after.prompt_tokens,
        );
        add(
            &mut self.completion_tokens,
            before.completion_tokens,
            after.completion_tokens,
        );
        add(
            &mut self.cached_tokens,
            before.cached_tokens,
            after.cached_tokens,
        );
        add(
            &mut self.reasoning_tokens,
            before.reasoning_tokens,
            after.reasoning_tokens,
        );
        self.cost += (after.cost - before.cost).max(0.0);
    }
}

impl ToolSpent {
    pub(super) fn grow(&mut self, before: &Self, after: &Self) {
        let add = |own: &mut u64, before: u64, after: u64| {
            *own = own.saturating_add(after.saturating_sub(before));
        };
        let count = |own: &mut u32, before: u32, after: u32| {
            *own = own.saturating_add(after.saturating_sub(before));
        };
        count(&mut self.calls, before.calls, after.calls);
        count(&mut self.failed, before.failed, after.failed);
        add(&mut self.elapsed_ms, before.elapsed_ms, after.elapsed_ms);
        add(&mut self.shown_chars, before.shown_chars, after.shown_chars);
        add(
            &mut self.shown_tokens,
            before.shown_tokens,
            after.shown_tokens,
        );
        self.models.grow(&before.models, &after.models);
    }
}

impl Used {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn add(&mut self, more: &ModelUse) {
        let count = |name: &str| {
            more.usage
                .get(name)
                .and_then(Json::as_u64)
                .unwrap_or_default()
        };
        let add = |sum: &mut u64, name: &str| *sum = sum.saturating_add(count(name));
        self.requests = self.requests.saturating_add(more.requests);
        self.tokens = self.tokens.saturating_add(tokens(&more.usage));
        add(&mut self.prompt_tokens, "prompt_tokens");
        add(&mut self.completion_tokens, "completion_tokens");
        add(&mut self.cached_tokens, "cached_tokens");
        add(&mut self.reasoning_tokens, "reasoning_tokens");
        self.cost += dollars(more.cost);
        self.unpriced = self.unpriced.saturating_add(more.unpriced);
    }
}

/// What is no amount counts as nothing.
pub(super) fn dollars(cost: Option<f64>) -> f64 {
    cost.filter(|cost| cost.is_finite() && *cost > 0.0)
        .unwrap_or_default()
}

/// All of a request, as its provider counts it.
pub(super) fn tokens(usage: &Json) -> u64 {
    let count = |name: &str| usage.get(name).and_then(Json::as_u64);
    count("total_tokens").unwrap_or_else(|| {
        let parts = ["prompt_tokens", "completion_tokens"];
        parts.iter().filter_map(|name| count(name)).sum()
    })
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_none(number: &u32) -> bool {
    *number == 0
}
