//! What is left to everybody in a run, for the one of them that is fed. The limits of whoever gives tasks hold for all who
//! work for it together: each is told what is left when it is fed, takes of that, and its caller counts what it took.

use std::collections::BTreeMap;

use innkeeper_protocol::event::InvocationId;

use super::AgentRun;
use super::child::Child;
use super::plan::RETURN;
use super::spent::alike;
use super::state::Phase;

/// Of the caller, as long as an agent that works for it is fed.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Ceiling {
    /// Calls.
    calls: u32,
    /// Of tools, by the names under which the caller limits them.
    of_tools: BTreeMap<String, ToolCeiling>,
}

/// None: no limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ToolCeiling {
    pub(super) calls: Option<u32>,
    pub(super) tokens: Option<u64>,
    pub(super) cost: Option<f64>,
    /// Calls that were taken.
    taken: u32,
}

impl Ceiling {
    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    /// The name of a limit of its caller under which a tool may not be called any more.
    pub(super) fn forbids(&self, tool: &str) -> Option<&str> {
        let mut all = self.of_tools.iter();
        let found = all.find(|(name, left)| left.calls == Some(0) && alike(name, tool));
        found.map(|(name, _)| name.as_str())
    }

    /// It may ask no more models.
    pub(super) fn has_no_models(&self, tool: &str) -> bool {
        self.of_tools.iter().any(|(name, left)| {
            let is_used_up = left.tokens == Some(0) || left.cost.is_some_and(|cost| cost <= 0.0);
            is_used_up && alike(name, tool)
        })
    }

    pub(super) fn take(&mut self, tool: &str) {
        self.calls = self.calls.saturating_sub(1);
        let its = self.of_tools.iter_mut();
        for (_, left) in its.filter(|(name, _)| alike(name, tool)) {
            left.calls = left.calls.map(|calls| calls.saturating_sub(1));
            left.taken = left.taken.saturating_add(1);
        }
    }

    /// How often tools were called, by the names under which the caller limits how often they may be.
    pub(super) fn taken(self) -> impl Iterator<Item = (String, u32)> {
        let limited = |(_, left): &(String, ToolCeiling)| left.calls.is_some() && left.taken > 0;
        let all = self.of_tools.into_iter().filter(limited);
        all.map(|(name, left)| (name, left.taken))
    }
}

impl AgentRun {
    /// What it leaves to one that works for it.
    pub(super) fn ceiling_for(&self, child: &Child) -> Ceiling {
        let of_tools = match child.run.shares_limits() {
            true => self.left_of_tools(),
            false => BTreeMap::new(),
        };
        Ceiling {
            calls: self.left().calls,
            of_tools,
        }
    }

    /// What is left of everything that the profile limits by the name of a tool.
    pub(super) fn left_of_tools(&self) -> BTreeMap<String, ToolCeiling> {
        let profile = &self.created.profile;
        let budget = &profile.agent.budget;
        let names = profile.tools.max_calls_per_tool.keys();
        let names = names.chain(budget.max_tokens_per_tool.keys());
        let names = names.chain(budget.max_cost_per_tool.keys());
        // What ends the work of another must be possible however few calls there are.
        let names = names.filter(|name| !alike(name, RETURN));
        let left = names.map(|name| {
            let (tokens, cost) = self.spent.left_for_tool(profile, name);
            let calls = self.spent.left_of_tool(profile, name);
            let left = ToolCeiling {
                calls: calls.map(|(_, calls)| calls),
                tokens,
                cost,
                taken: 0,
            };
            (name.clone(), left)
        });
        left.collect()
    }
}

/// What is left of models to an agent and to all who work for it, as a whole or for one of its tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Allowance {
    pub agent: InvocationId,
    pub tool: Option<String>,
    /// None: no limit.
    pub tokens: Option<u64>,
    pub cost: Option<f64>,
}

impl Allowance {
    /// Whether what this tool uses is taken of it.
    pub fn is_for(&self, tool: Option<&str>) -> bool {
        match (&self.tool, tool) {
            (None, _) => true,
            (Some(name), Some(tool)) => alike(name, tool),
            (Some(_), None) => false,
        }
    }
}

impl AgentRun {
    /// Of all agents that are not over, what they have a limit for.
    pub fn allowances(&self) -> Vec<Allowance> {
        let mut all = self.own_allowances();
        let children = self.children.values().filter(|child| !child.is_over());
        all.extend(children.flat_map(|child| child.run().own_allowances()));
        all
    }

    fn own_allowances(&self) -> Vec<Allowance> {
        let of = |tool, tokens, cost| Allowance {
            agent: self.invocation.clone(),
            tool,
            tokens,
            cost,
        };
        let left = self.left();
        let tools = self.left_of_tools().into_iter();
        let tools = tools.map(|(name, left)| of(Some(name), left.tokens, left.cost));
        let all = std::iter::once(of(None, left.tokens, left.cost)).chain(tools);
        all.filter(|left| left.tokens.is_some() || left.cost.is_some())
            .collect()
    }

    /// A call of any of its agents that has no end.
    pub fn is_open_call(&self, call: &str) -> bool {
        let is_open = |run: &Self| {
            let mut calls = run.turn.iter().flat_map(|turn| turn.calls());
            calls.any(|own| own.call.as_str() == call && own.is_open())
        };
        is_open(self) || self.children.values().any(|child| is_open(child.run()))
    }

    /// A call of any of its agents that goes on in the background.
    pub fn is_in_background(&self, call: &str) -> bool {
        let goes_on = |run: &Self| run.tasks.values().any(|task| task.call.as_str() == call);
        goes_on(self) || self.children.values().any(|child| goes_on(child.run()))
    }

    /// Its model is asked for a reply.
    pub fn is_asked(&self) -> bool {
        matches!(self.phase, Phase::Asked { .. })
    }
}
