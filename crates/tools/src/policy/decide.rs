//! From rules and a call to a verdict.

use std::fmt;

use innkeeper_protocol::ToolDefinition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::defaults;
use super::fit::{Fit, fit};
use super::rule::{self, Decision, PolicyError, Rule};
use super::specificity::{Specificity, narrows};

/// What is about to be done.
#[derive(Clone, Copy)]
pub struct Question<'q> {
    pub tool: &'q ToolDefinition,
    /// `person`, `agent:storyteller`.
    pub actor: &'q str,
    pub arguments: &'q Map<String, Json>,
    /// The one URI of the file that a text names for this caller; `None` if it names none.
    pub normalise: &'q dyn Fn(&str) -> Option<String>,
}

impl fmt::Debug for Question<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Question")
            .field("tool", &self.tool.id)
            .field("actor", &self.actor)
            .field("arguments", &self.arguments)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    pub decision: Decision,
    /// The name of the rule that decided, or what it says.
    pub rule: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Rules of a person, and the defaults below them. The order of the rules means nothing.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Vec<Ranked>,
    /// Why nothing is allowed.
    closed: Option<String>,
}

#[derive(Debug, Clone)]
struct Ranked {
    rule: Rule,
    specificity: Specificity,
}

/// No rules: only the defaults.
impl Default for Policy {
    fn default() -> Self {
        Self::ranked(Vec::new())
    }
}

impl Policy {
    pub fn new(rules: Vec<Rule>) -> Result<Self, PolicyError> {
        rule::check(rules).map(Self::ranked)
    }

    /// From `[[policy.rules]]`, with the number of the rule in every error.
    pub fn read(rules: Vec<Json>) -> Result<Self, PolicyError> {
        Self::new(rule::read(rules)?)
    }

    /// For rules that cannot be read: nothing is allowed until they can.
    pub fn closed(reason: impl Into<String>) -> Self {
        Self {
            rules: Vec::new(),
            closed: Some(reason.into()),
        }
    }

    fn ranked(rules: Vec<Rule>) -> Self {
        let rank = |by_person| {
            move |rule: Rule| Ranked {
                specificity: Specificity::of(&rule, by_person),
                rule,
            }
        };
        let own = rules.into_iter().map(rank(true));
        let rules = own.chain(defaults::rules().into_iter().map(rank(false)));
        Self {
            rules: rules.collect(),
            closed: None,
        }
    }

    /// All rules, the defaults last.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().map(|ranked| &ranked.rule)
    }

    pub fn decide(&self, question: &Question<'_>) -> Verdict {
        if let Some(reason) = &self.closed {
            return Verdict {
                decision: Decision::Deny,
                rule: "policy".to_owned(),
                reason: Some(format!("the policy cannot be read: {reason}")),
            };
        }
        let mut best: Vec<Candidate<'_>> = Vec::new();
        for Ranked { rule, specificity } in &self.rules {
            let top = best.first().map(|best| best.specificity);
            if top.is_some_and(|top| specificity < top) {
                continue;
            }
            let unknown = match fit(rule, question) {
                Fit::No => continue,
                Fit::Yes => None,
                Fit::Unknown(why) => Some(why),
            };
            if top.is_some_and(|top| specificity > top) {
                best.clear();
            }
            best.push(Candidate {
                rule,
                specificity,
                unknown,
            });
        }
        let narrowest = best
            .iter()
            .filter(|candidate| !best.iter().any(|other| narrows(other.rule, candidate.rule)));
        // The label makes it one and the same whatever the order of the rules.
        let strictest = narrowest.max_by_key(|candidate| {
            (
                candidate.decision(),
                candidate.unknown.is_none(),
                candidate.rule.label(),
                candidate.rule.reason.clone(),
            )
        });
        match strictest {
            Some(candidate) => candidate.verdict(),
            // The defaults end with a rule for everything; should they ever not, the answer is no.
            None => Verdict {
                decision: Decision::Deny,
                rule: "policy".to_owned(),
                reason: Some("no rule speaks of this".to_owned()),
            },
        }
    }
}

struct Candidate<'p> {
    rule: &'p Rule,
    specificity: &'p Specificity,
    /// Why it cannot be told whether it fits. Then it stands for no.
    unknown: Option<String>,
}

impl Candidate<'_> {
    fn decision(&self) -> Decision {
        match self.unknown {
            Some(_) => Decision::Deny,
            None => self.rule.decision,
        }
    }

    fn verdict(&self) -> Verdict {
        let rule = self.rule.label();
        let reason = match &self.unknown {
            Some(why) => Some(format!(
                "whether the rule '{rule}' ({}) applies cannot be decided: {why}",
                self.rule.decision
            )),
            None => self.rule.reason.clone(),
        };
        Verdict {
            decision: self.decision(),
            rule,
            reason,
        }
    }
}
