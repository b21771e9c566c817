//! What a run has used up, and what is left of what its profile gives.

use std::collections::BTreeMap;

use innkeeper_protocol::ErrorCode;
use serde::{Deserialize, Serialize};

use super::Compaction;
use super::ledger::{ModelUse, ToolSpent, Used, Wanted, dollars, tokens};
use super::state::RunFailure;
use crate::AgentProfile;
use crate::limits::MAX_COUNTED_TOOLS;

/// All of it, over all resumptions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spent {
    pub rounds: u32,
    /// Granted by people who resumed it.
    pub additional_rounds: u32,
    /// That the model made and that were not refused at once.
    pub calls: u32,
    /// By the names under which the profile limits them.
    pub calls_per_tool: BTreeMap<String, u32>,
    pub tokens: u64,
    /// Characters of skills that were read.
    pub skill_chars: u64,
    /// In dollars.
    pub cost: f64,
    /// Time in which it was at work. Waiting for people, being paused and having nobody to drive it are no work.
    pub worked_ms: u64,
    /// What was asked of models, by whom: the id of the profile. Summaries are among it; what tools asked is not.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_agent: BTreeMap<String, Used>,
    /// The part of it that went into summaries of what was too long.
    #[serde(skip_serializing_if = "Used::is_nothing")]
    pub compaction: Used,
    /// By tool, as it calls itself.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_tool: BTreeMap<String, ToolSpent>,
    /// Requests to models, of the agent and of its tools, whose price nobody knows: `cost` is without them.
    #[serde(skip_serializing_if = "is_none")]
    pub unpriced: u32,
    /// What counted before a person granted the same again.
    pub(super) forgiven: Forgiven,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Forgiven {
    calls: u32,
    calls_per_tool: BTreeMap<String, u32>,
    tokens: u64,
    skill_chars: u64,
    cost: f64,
    worked_ms: u64,
    /// By the names under which the profile limits them: tokens and dollars that they have used of models.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    models_per_tool: BTreeMap<String, (u64, f64)>,
}

/// None: no limit.
#[derive(Debug, Clone, PartialEq)]
pub struct Left {
    pub rounds: u32,
    pub calls: u32,
    pub tokens: Option<u64>,
    pub skill_chars: u64,
    pub cost: Option<f64>,
    pub wall_time_ms: Option<u64>,
}

impl Spent {
    pub(super) fn max_rounds(&self, profile: &AgentProfile) -> u32 {
        let own = profile.tools.max_rounds;
        own.saturating_add(self.additional_rounds)
    }

    pub(super) fn left(&self, profile: &AgentProfile) -> Left {
        let budget = &profile.agent.budget;
        let calls = self.calls - self.forgiven.calls;
        let tokens = self.tokens - self.forgiven.tokens;
        let skill_chars = self.skill_chars - self.forgiven.skill_chars;
        let worked = self.worked_ms - self.forgiven.worked_ms;
        let cost = self.cost - self.forgiven.cost;
        Left {
            rounds: self.max_rounds(profile).saturating_sub(self.rounds),
            calls: profile.tools.max_calls_per_run.saturating_sub(calls),
            tokens: budget.max_tokens.map(|max| max.saturating_sub(tokens)),
            skill_chars: profile
                .skills
                .max_read_chars_per_run
                .saturating_sub(skill_chars),
            cost: budget.max_cost.map(|max| (max - cost).max(0.0)),
            wall_time_ms: budget
                .max_wall_time_ms
                .map(|max| max.saturating_sub(worked)),
        }
    }

    /// Which budget ends the run before the model is asked again; rounds are counted elsewhere.
    pub(super) fn exhausted(&self, profile: &AgentProfile) -> Option<RunFailure> {
        let left = self.left(profile);
        let budget = &profile.agent.budget;
        let (reason, message) = if left.tokens == Some(0) {
            let max = budget.max_tokens.unwrap_or_default();
            let message = format!(
                "The run has used {} tokens, and its profile gives it {max}; resume it to grant as many again, or raise agent.budget.maxTokens",
                self.tokens
            );
            ("agent.token_budget_exhausted", message)
        } else if left.cost.is_some_and(|cost| cost <= 0.0) {
            let max = budget.max_cost.unwrap_or_default();
            let message = format!(
                "The run has cost {:.4} dollars, and its profile gives it {max}; resume it to grant as much again, or raise agent.budget.maxCost",
                self.cost
            );
            ("agent.cost_budget_exhausted", message)
        } else if left.wall_time_ms == Some(0) {
            let max = budget.max_wall_time_ms.unwrap_or_default();
            let message = format!(
                "The run has used its time: it worked for {} ms, and its profile gives it {max}; resume it to grant as much again, or raise agent.budget.maxWallTimeMs",
                self.worked_ms
            );
            ("agent.time_budget_exhausted", message)
        } else {
            return None;
        };
        Some(RunFailure {
            code: ErrorCode::ToolBudgetExhausted,
            message,
            reason: Some(reason.to_owned()),
        })
    }

    /// How often a tool may still be called by its own limit, and under which name that stands in the profile.
    pub(super) fn left_of_tool<'p>(
        &self,
        profile: &'p AgentProfile,
        tool: &str,
    ) -> Option<(&'p str, u32)> {
        let (name, max) = limit_of(profile, tool)?;
        let used = self.calls_per_tool.get(name).copied().unwrap_or_default();
        let forgiven = &self.forgiven.calls_per_tool;
        let forgiven = forgiven.get(name).copied().unwrap_or_default();
        Some((name, max.saturating_sub(used - forgiven)))
    }

    pub(super) fn count_call(&mut self, profile: &AgentProfile, tool: &str) {
        self.calls = self.calls.saturating_add(1);
        if let Some((name, _)) = limit_of(profile, tool) {
            *self.calls_per_tool.entry(name.to_owned()).or_default() += 1;
        }
    }

    /// Calls of agents that work for this one, by the names under which its own profile limits them.
    pub(super) fn count_calls_of_tools(&mut self, calls: impl Iterator<Item = (String, u32)>) {
        for (name, count) in calls {
            let own = self.calls_per_tool.entry(name).or_default();
            *own = own.saturating_add(count);
        }
    }

    /// What an agent has used that works for this one is used of the same; how often it called single tools is counted
    /// apart.
    pub(super) fn add_of_child(&mut self, before: &Self, after: &Self) {
        self.tokens = self
            .tokens
            .saturating_add(after.tokens.saturating_sub(before.tokens));
        self.calls = self
            .calls
            .saturating_add(after.calls.saturating_sub(before.calls));
        self.cost += (after.cost - before.cost).max(0.0);
        self.unpriced = self
            .unpriced
            .saturating_add(after.unpriced.saturating_sub(before.unpriced));
        self.compaction.grow(&before.compaction, &after.compaction);
        for (agent, used) in &after.by_agent {
            let nothing = Used::default();
            let before = before.by_agent.get(agent).unwrap_or(&nothing);
            self.by_agent
                .entry(agent.clone())
                .or_default()
                .grow(before, used);
        }
        for (tool, spent) in &after.by_tool {
            let nothing = ToolSpent::default();
            let before = before.by_tool.get(tool).unwrap_or(&nothing);
            self.by_tool
                .entry(tool.clone())
                .or_default()
                .grow(before, spent);
        }
    }

    /// Another agent begins with rounds, calls and skills of its own. Tokens, cost and time are the run's.
    pub(super) fn hand_over(&mut self) {
        self.rounds = 0;
        self.additional_rounds = 0;
        self.calls = 0;
        self.calls_per_tool.clear();
        self.skill_chars = 0;
        self.forgiven = Forgiven {
            calls: 0,
            calls_per_tool: BTreeMap::new(),
            skill_chars: 0,
            ..self.forgiven.clone()
        };
    }

    pub(super) fn count_skill_chars(&mut self, chars: u64) {
        self.skill_chars = self.skill_chars.saturating_add(chars);
    }

    /// What the agent itself asked of its model.
    pub(super) fn count_model(&mut self, agent: &str, used: &ModelUse) {
        self.count(used);
        self.by_agent.entry(agent.to_owned()).or_default().add(used);
    }

    pub(super) fn count_compaction(&mut self, agent: &str, compaction: &Compaction) {
        if compaction.requests == 0 {
            return;
        }
        let Compaction {
            requests,
            usage,
            cost,
            ..
        } = compaction;
        let used = ModelUse::of(*requests, usage, *cost);
        self.count_model(agent, &used);
        self.compaction.add(&used);
    }

    pub(super) fn count_given_up(&mut self, agent: &str, used: &ModelUse, wanted: Wanted) {
        self.count_model(agent, used);
        if wanted == Wanted::Summary {
            self.compaction.add(used);
        }
    }

    /// What a call took until it ended, and what it asked of models while it ran.
    pub(super) fn count_end(
        &mut self,
        tool: &str,
        count: impl FnOnce(&mut ToolSpent),
        used: Option<&ModelUse>,
    ) {
        // A model may call what it likes; what is not counted by itself is counted together.
        let is_full = self.by_tool.len() >= MAX_COUNTED_TOOLS && !self.by_tool.contains_key(tool);
        let name = if is_full { "*" } else { tool };
        let spent = self.by_tool.entry(name.to_owned()).or_default();
        count(spent);
        if let Some(used) = used {
            spent.models.add(used);
            self.count(used);
        }
    }

    fn count(&mut self, used: &ModelUse) {
        self.tokens = self.tokens.saturating_add(tokens(&used.usage));
        self.cost += dollars(used.cost);
        self.unpriced = self.unpriced.saturating_add(used.unpriced);
    }

    /// Tokens and dollars that a tool may still spend on models by its own limit. None: no limit.
    pub(super) fn left_for_tool(
        &self,
        profile: &AgentProfile,
        tool: &str,
    ) -> (Option<u64>, Option<f64>) {
        let budget = &profile.agent.budget;
        let used = |name: &str| {
            let (tokens, cost) = self.used_by_tool(name);
            let forgiven = self.forgiven.models_per_tool.get(name);
            let (tokens_before, cost_before) = forgiven.copied().unwrap_or_default();
            (tokens - tokens_before, cost - cost_before)
        };
        let tokens = budget.max_tokens_per_tool.iter();
        let tokens = tokens
            .filter(|(name, _)| alike(name, tool))
            .map(|(name, max)| max.saturating_sub(used(name).0));
        let cost = budget.max_cost_per_tool.iter();
        let cost = cost
            .filter(|(name, _)| alike(name, tool))
            .map(|(name, max)| (max - used(name).1).max(0.0));
        (tokens.min(), cost.reduce(f64::min))
    }

    /// Tokens and dollars.
    fn used_by_tool(&self, name: &str) -> (u64, f64) {
        let own = self.by_tool.iter().filter(|(own, _)| alike(name, own));
        own.fold((0, 0.0), |(tokens, cost): (u64, f64), (_, own)| {
            let models = &own.models;
            (tokens.saturating_add(models.tokens), cost + models.cost)
        })
    }

    /// What is used up is given once more.
    pub(super) fn forgive(&mut self, profile: &AgentProfile) {
        let left = self.left(profile);
        if left.calls == 0 {
            self.forgiven.calls = self.calls;
        }
        if left.tokens == Some(0) {
            self.forgiven.tokens = self.tokens;
        }
        if left.skill_chars == 0 {
            self.forgiven.skill_chars = self.skill_chars;
        }
        if left.cost.is_some_and(|cost| cost <= 0.0) {
            self.forgiven.cost = self.cost;
        }
        if left.wall_time_ms == Some(0) {
            self.forgiven.worked_ms = self.worked_ms;
        }
        let budget = &profile.agent.budget;
        let limited = budget.max_tokens_per_tool.keys();
        for name in limited.chain(budget.max_cost_per_tool.keys()) {
            let (tokens, cost) = self.left_for_tool(profile, name);
            if tokens == Some(0) || cost.is_some_and(|cost| cost <= 0.0) {
                let used = self.used_by_tool(name);
                self.forgiven.models_per_tool.insert(name.clone(), used);
            }
        }
        for (name, max) in &profile.tools.max_calls_per_tool {
            let used = self.calls_per_tool.get(name).copied().unwrap_or_default();
            let forgiven = &mut self.forgiven.calls_per_tool;
            if used - forgiven.get(name).copied().unwrap_or_default() >= *max {
                forgiven.insert(name.clone(), used);
            }
        }
    }
}

fn is_none(number: &u32) -> bool {
    *number == 0
}

fn limit_of<'p>(profile: &'p AgentProfile, tool: &str) -> Option<(&'p str, u32)> {
    let limits = &profile.tools.max_calls_per_tool;
    if limits.is_empty() {
        return None;
    }
    let found = limits.iter().find(|(name, _)| alike(name, tool));
    found.map(|(name, max)| (name.as_str(), *max))
}

/// The same tool in the spellings of all dialects (`workspace.finish`, `workspace_finish`).
pub(super) fn alike(name: &str, tool: &str) -> bool {
    let normal = |character: char| match character.is_alphanumeric() {
        true => character.to_ascii_lowercase(),
        false => '_',
    };
    name.chars().map(normal).eq(tool.chars().map(normal))
}

#[cfg(test)]
mod tests {
    use innkeeper_protocol::event::Presentation;
    use serde_json::json;

    use super::*;
    use crate::run::Input;

    #[test]
    fn what_was_read_of_skills_counts_and_is_granted_again_when_it_is_used_up() {
        let Input::Created(created) =
            crate::run::testing::created(Presentation::Background, json!({}))
        else {
            panic!("no beginning");
        };
        let mut profile = created.profile.clone();
        profile.skills.max_read_chars_per_run = 100;
        let mut spent = Spent::default();
        spent.count_skill_chars(60);
        spent.forgive(&profile);
        assert_eq!(spent.left(&profile).skill_chars, 40, "some is left");
        spent.count_skill_chars(40);
        assert_eq!(spent.left(&profile).skill_chars, 0);
        spent.forgive(&profile);
        assert_eq!(spent.left(&profile).skill_chars, 100);
    }
}
