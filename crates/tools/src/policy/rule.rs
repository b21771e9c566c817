//! A rule as people write it, and what is wrong with one that makes no sense.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::expires::Expires;
use super::place;
use crate::Pattern;
use crate::limits::{MAX_RULE_ARGUMENTS, MAX_RULE_CHARS, MAX_RULES};

/// From the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    /// A person decides.
    Ask,
    Deny,
}

impl Decision {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is decided where all that it names fits. What it does not name, it does not care about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// For messages and the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who brought the tool: `builtin`, `plugin:weather`, `mcp:*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Pattern>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Pattern>,
    /// `person`, `agent:storyteller`, `agent:*`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<Pattern>,
    /// By name, or by JSON pointer for something within.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, Pattern>,
    pub decision: Decision,
    /// Told to whoever wanted to call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How long a question of a run waits for its answer; then it is *no*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Expires>,
}

impl Rule {
    pub fn new(decision: Decision) -> Self {
        Self {
            name: None,
            source: None,
            tool: None,
            actor: None,
            arguments: BTreeMap::new(),
            decision,
            reason: None,
            expires: None,
        }
    }

    /// Its name, or what it says.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => name.clone(),
            None => self.says(),
        }
    }

    /// `tool=File.* file_path=user://projects/x/*`. An answer for longer than one call is about this: a name can be given
    /// to another rule.
    pub fn says(&self) -> String {
        let fields = [
            ("source", &self.source),
            ("tool", &self.tool),
            ("actor", &self.actor),
        ];
        let fields = fields
            .into_iter()
            .filter_map(|(name, pattern)| Some((name, pattern.as_ref()?)));
        let arguments = self.arguments.iter().map(|(name, p)| (name.as_str(), p));
        let parts: Vec<_> = fields
            .chain(arguments)
            .map(|(name, pattern)| format!("{}={}", plain(name), plain(pattern.as_str())))
            .collect();
        parts.join(" ")
    }
}

/// As it stands where that is one word; otherwise in quotes, so that no two rules say the same in other words.
fn plain(text: &str) -> String {
    match text.contains(|c: char| c.is_whitespace() || matches!(c, '=' | '"' | '\\')) {
        true => format!("{text:?}"),
        false => text.to_owned(),
    }
}

/// A rule that cannot be followed. Numbers begin at 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("rule {number} of the policy {problem}")]
pub struct PolicyError {
    pub number: usize,
    pub problem: String,
}

/// Reads rules one by one, so that a mistake is found by its number.
pub(super) fn read(rules: Vec<Json>) -> Result<Vec<Rule>, PolicyError> {
    let rules = rules.into_iter().enumerate().map(|(at, rule)| {
        serde_json::from_value(rule).map_err(|error| PolicyError {
            number: at + 1,
            problem: format!("cannot be read: {error}"),
        })
    });
    rules.collect()
}

/// The rules in the form in which they are compared, or what is wrong with the first that is.
pub(super) fn check(rules: Vec<Rule>) -> Result<Vec<Rule>, PolicyError> {
    if rules.len() > MAX_RULES {
        return Err(PolicyError {
            number: MAX_RULES + 1,
            problem: format!("is one too many: at most {MAX_RULES} are allowed"),
        });
    }
    let rules = rules.into_iter().enumerate().map(|(at, rule)| {
        checked(rule).map_err(|problem| PolicyError {
            number: at + 1,
            problem,
        })
    });
    rules.collect()
}

fn checked(mut rule: Rule) -> Result<Rule, String> {
    let names_nothing = rule.source.is_none()
        && rule.tool.is_none()
        && rule.actor.is_none()
        && rule.arguments.is_empty();
    if names_nothing {
        return Err("names nothing: give it a source, a tool, an actor or arguments (tool = \"*\" for every tool)".to_owned());
    }
    if rule.expires.is_some() && rule.decision != Decision::Ask {
        return Err(format!(
            "has 'expires' although it says '{}': only a question can wait for an answer",
            rule.decision
        ));
    }
    for (field, text) in [("name", &rule.name), ("reason", &rule.reason)] {
        if let Some(text) = text {
            check_text(field, text)?;
        }
    }
    for (field, pattern) in [
        ("source", &rule.source),
        ("tool", &rule.tool),
        ("actor", &rule.actor),
    ] {
        if let Some(pattern) = pattern {
            check_text(field, pattern.as_str())?;
        }
    }
    if let Some(actor) = &rule.actor {
        check_actor(actor)?;
    }
    if rule.arguments.len() > MAX_RULE_ARGUMENTS {
        return Err(format!(
            "names more than {MAX_RULE_ARGUMENTS} arguments; make several rules of it"
        ));
    }
    for (name, pattern) in &mut rule.arguments {
        check_text("name of an argument", name)?;
        // The empty text is something that an argument can be.
        if !pattern.as_str().is_empty() {
            check_text(&format!("pattern for '{name}'"), pattern.as_str())?;
        }
        if let Some(canonical) = place::canonical_pattern(pattern.as_str())
            .map_err(|problem| format!("has a pattern for '{name}' that {problem}"))?
        {
            *pattern = canonical;
        }
    }
    Ok(rule)
}

fn check_text(field: &str, text: &str) -> Result<(), String> {
    let problem = if text.is_empty() {
        "is empty"
    } else if text.trim() != text {
        "begins or ends with a blank"
    } else if text.chars().nth(MAX_RULE_CHARS).is_some() {
        return Err(format!(
            "has a {field} with more than {MAX_RULE_CHARS} characters"
        ));
    } else if text.chars().any(char::is_control) {
        "has a control character"
    } else {
        return Ok(());
    };
    Err(format!("has a {field} that {problem}"))
}

/// A rule about nobody would be a hole that looks like a fence.
fn check_actor(actor: &Pattern) -> Result<(), String> {
    const AGENT: &str = "agent:";
    let fixed = actor.as_str().split('*').next().unwrap_or_default();
    let fits_an_agent = fixed.starts_with(AGENT) || (AGENT.starts_with(fixed) && !actor.is_exact());
    match fits_an_agent || actor.matches("person") {
        true => Ok(()),
        false => Err(format!(
            "has the actor '{}', which is nobody: write 'person', 'agent:<profile>' or 'agent:*'",
            actor.as_str()
        )),
    }
}
