//! From rules and a call to a verdict.

use std::fmt;
use std::time::Duration;

use innkeeper_protocol::ToolDefinition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::defaults;
use super::expires::Expires;
use super::fit::{Fit, fit, names};
use super::rule::{self, Decision, PolicyError, Rule};
use super::specificity::is_more_specific;

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
    /// How long a run waits for the answer; for ever if nothing is said.
    #[serde(skip)]
    pub expires: Option<Duration>,
    /// What the rule says, whatever its name.
    #[serde(skip)]
    pub says: String,
}

/// Rules of a person, and the defaults below them. The order of the rules means nothing.
#[derive(Debug, Clone)]
pub struct Policy {
    rules: Vec<Rule>,
    defaults: Vec<Rule>,
    /// Why nothing is allowed.
    closed: Option<String>,
    /// How long questions wait whose rule says nothing of it.
    expires: Option<Expires>,
}

/// No rules: only the defaults.
impl Default for Policy {
    fn default() -> Self {
        Self::over_defaults(Vec::new())
    }
}

impl Policy {
    pub fn new(rules: Vec<Rule>) -> Result<Self, PolicyError> {
        rule::check(rules).map(Self::over_defaults)
    }

    /// From `[[policy.rules]]`, with the number of the rule in every error.
    pub fn read(rules: Vec<Json>) -> Result<Self, PolicyError> {
        Self::new(rule::read(rules)?)
    }

    /// For rules that cannot be read: nothing is allowed until they can.
    pub fn closed(reason: impl Into<String>) -> Self {
        Self {
            rules: Vec::new(),
            defaults: Vec::new(),
            closed: Some(reason.into()),
            expires: None,
        }
    }

    fn over_defaults(rules: Vec<Rule>) -> Self {
        Self {
            rules,
            defaults: defaults::rules(),
            closed: None,
            expires: None,
        }
    }

    /// How long a run waits for an answer where the rule that asks does not say.
    pub fn with_expires(mut self, expires: Option<Expires>) -> Self {
        self.expires = expires;
        self
    }

    /// All rules, the defaults last.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter().chain(&self.defaults)
    }

    pub fn decide(&self, question: &Question<'_>) -> Verdict {
        if let Some(reason) = &self.closed {
            return Verdict {
                decision: Decision::Deny,
                rule: "policy".to_owned(),
                reason: Some(format!("the policy cannot be read: {reason}")),
                expires: None,
                says: String::new(),
            };
        }
        let decided = strictest(self.rules.iter(), question);
        let decided = decided.or_else(|| strictest(self.defaults.iter(), question));
        match decided {
            Some(candidate) => candidate.verdict(self.expires),
            // The defaults end with a rule for everything; should they ever not, the answer is no.
            None => Verdict {
                decision: Decision::Deny,
                rule: "policy".to_owned(),
                reason: Some("no rule speaks of this".to_owned()),
                expires: None,
                says: String::new(),
            },
        }
    }

    /// Whether every call of the tool is denied, whatever its arguments: nobody need be told of such a tool.
    pub fn forbids(&self, tool: &ToolDefinition, actor: &str) -> bool {
        if self.closed.is_some() {
            return true;
        }
        let question = Question {
            tool,
            actor,
            arguments: &Map::new(),
            normalise: &|_| None,
        };
        for rules in [&self.rules, &self.defaults] {
            let mut by_arguments = rules.iter().filter(|rule| !rule.arguments.is_empty());
            let may_pass = |rule: &Rule| rule.decision != Decision::Deny && names(rule, &question);
            if by_arguments.any(may_pass) {
                return false;
            }
            let plain = rules.iter().filter(|rule| rule.arguments.is_empty());
            if let Some(decided) = strictest(plain, &question) {
                return decided.decision() == Decision::Deny;
            }
        }
        true
    }
}

/// Of the rules that apply and than which none is more specific, the strictest.
fn strictest<'p>(
    rules: impl Iterator<Item = &'p Rule>,
    question: &Question<'_>,
) -> Option<Candidate<'p>> {
    let mut best: Vec<Candidate<'p>> = Vec::new();
    for rule in rules {
        let unknown = match fit(rule, question) {
            Fit::No => continue,
            Fit::Yes => None,
            Fit::Unknown(why) => Some(why),
        };
        if best.iter().any(|other| is_more_specific(other.rule, rule)) {
            continue;
        }
        best.retain(|other| !is_more_specific(rule, other.rule));
        best.push(Candidate { rule, unknown });
    }
    if best.len() == 1 {
        return best.pop();
    }
    // The texts make it one and the same whatever the order of the rules.
    best.into_iter().max_by_key(|candidate| {
        (
            candidate.decision(),
            candidate.unknown.is_none(),
            candidate.rule.label(),
            candidate.rule.decision,
            candidate.rule.reason.clone(),
        )
    })
}

struct Candidate<'p> {
    rule: &'p Rule,
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

    fn verdict(&self, usual: Option<Expires>) -> Verdict {
        let rule = self.rule.label();
        let reason = match &self.unknown {
            Some(why) => Some(format!(
                "whether the rule '{rule}' ({}) applies cannot be decided: {why}",
                self.rule.decision
            )),
            None => self.rule.reason.clone(),
        };
        let expires = self.rule.expires.or(usual);
        Verdict {
            decision: self.decision(),
            rule,
            reason,
            expires: expires
                .filter(|_| self.decision() == Decision::Ask)
                .map(Expires::duration),
            says: self.rule.says(),
        }
    }
}
